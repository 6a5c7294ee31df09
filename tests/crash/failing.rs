//! Each call of a story fails: once, or from then on. The act may end with an error; afterwards the story goes on.

use super::ending::Ending;
use super::explore::{Exploration, SAMPLE, Scene, Size};
use super::story::Play;
use crate::sim::{Call, ERRORS, Failure, Fate};
use rustix::io::Errno;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

impl Exploration<'_> {
    /// Lets each call of each act fail. A full run tries each error, once and lasting; another run
    /// chooses one, and the smallest one chooses the calls as well.
    pub(crate) fn fail_each_call(&mut self) {
        self.fail_each(|_| true);
    }

    /// As [`Exploration::fail_each_call`], for some calls.
    pub(crate) fn fail_each(&mut self, is_wanted: fn(&Call) -> bool) {
        let begun = Instant::now();
        let scenes = self.scenes();
        let acts = scenes.len().max(1);
        for scene in scenes {
            let mut whole = scene.play.clone();
            whole.machine.watch();
            whole.play(&self.story.acts[scene.act]).ok();
            let calls = whole.machine.calls();
            let without = self.ending_without(scene.act);
            let mut calls: Vec<_> = calls.iter().enumerate().collect();
            calls.retain(|(_, call)| is_wanted(call));
            if self.size == Size::Sample {
                calls = self.random.some_of(calls, SAMPLE / acts + 1);
            }
            for (number, call) in calls {
                let mut failures = failures(number, call);
                if self.size < Size::Full {
                    failures = self.random.some_of(failures, 1);
                }
                for failure in failures {
                    self.fail(&scene, call, failure, without.as_ref());
                }
            }
        }
        self.figures.time += begun.elapsed();
    }

    /// `without` is the ending without the act, if the act is not repeated.
    fn fail(&mut self, scene: &Scene, call: &Call, failure: Failure, without: Option<&Ending>) {
        let error = std::io::Error::from_raw_os_error(failure.errno);
        let lasts = if failure.lasts { ", and so on" } else { "" };
        let place = &format_args!("act {}: {call} fails: {error}{lasts}", scene.act);
        self.figures.failures += 1;
        let mut play = scene.play.clone();
        play.machine.watch();
        play.machine.fail(Some(failure));
        let played = catch_unwind(AssertUnwindSafe(|| {
            self.play(&mut play, scene.act).err().map(|e| e.to_string())
        }));
        play.machine.fail(None);
        if played.is_err() {
            self.complain(place, "mailbag panicked".to_owned());
            return;
        }
        let next = self.next_after(scene.act);
        let is_refused = matches!(played, Ok(Some(_)));
        self.without = without.filter(|_| is_refused).cloned();
        if call.name.is_sync() && failure.errno == Errno::IO.raw_os_error() {
            self.cut(&play, next, place, 1);
            // Recovery acts on bytes that are in memory only.
            let mut recovered = play.clone();
            if self.play(&mut recovered, next).is_ok() {
                self.cut(
                    &recovered,
                    next,
                    &format_args!("{place}; then act {next}"),
                    3,
                );
            }
        }
        self.go_on(play, next, place);
        self.without = None;
    }

    /// Cuts the power after the last step. The story goes on with at most this number of disks.
    fn cut(&mut self, play: &Play, next: usize, place: &dyn Display, most: usize) {
        let steps = play.machine.steps();
        let fates = [Fate::Journal, Fate::Unordered];
        let crashes = play.machine.crashes(steps, &fates, &mut self.random);
        for crash in self.random.some_of(crashes, most) {
            let place = &format_args!("{place}; then {}", crash.fate);
            self.go_on(play.on(crash.machine), next, place);
        }
    }
}

/// The possible failures of a call.
fn failures(number: usize, call: &Call) -> Vec<Failure> {
    let errors = ERRORS.map(Errno::raw_os_error);
    // A message file that mailbag may not read is rejected, if it is two seconds old, and a message with such a text for
    // another room.
    let is_message = call.paths.iter().any(|path| {
        let text = path.to_string_lossy();
        let is_of_sender = ["/outbox/", "/spool/claim/"]
            .iter()
            .any(|place| text.contains(place));
        is_of_sender && path.extension().is_some() || text.contains("/context")
    });
    // Without a record of the rooms of its home, a program asks the person later.
    let mut parts = call.paths.iter().flat_map(|path| path.iter());
    let is_of_home = parts.any(|part| part == "mailbag");
    let possible = errors
        .into_iter()
        .filter(|errno| call.name.can_fail_with(*errno))
        .filter(|errno| !is_message || *errno != Errno::ACCESS.raw_os_error())
        .filter(|errno| {
            !is_of_home || ![Errno::ACCESS, Errno::ROFS].contains(&Errno::from_raw_os_error(*errno))
        });
    let ways = possible.flat_map(|errno| {
        let is_write =
            call.name == crate::sim::CallName::Write && errno == Errno::NOSPC.raw_os_error();
        let failure = |lasts, short| Failure {
            call: number,
            errno,
            lasts,
            short,
        };
        [
            Some(failure(false, false)),
            Some(failure(true, false)),
            is_write.then(|| failure(true, true)),
        ]
    });
    ways.flatten().collect()
}
