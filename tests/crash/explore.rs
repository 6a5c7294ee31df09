//! Places a crash at each step of a story, and at each step of the recovery from it.

use super::ending::{Ending, end};
use super::story::{Act, Play, Story};
use crate::sim::{Control, Crash, Fate, Random};
use mailbag::Result;
use std::collections::HashSet;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// The figures of an exploration.
#[derive(Debug, Default, Clone)]
pub(crate) struct Figures {
    /// Crash points of the first run.
    pub(crate) points: usize,
    /// Disks after a first crash that differ.
    pub(crate) states: usize,
    /// Disks after a second crash.
    pub(crate) second: usize,
    /// Calls that failed.
    pub(crate) failures: usize,
    /// Endings that were looked at.
    pub(crate) ends: usize,
    pub(crate) time: Duration,
}

/// The part of a story that is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(crate) enum Size {
    /// Some points and calls, chosen by the seed.
    Sample,
    /// Every first crash and every call, with some second crashes and one error each.
    First,
    /// Every second crash and every error as well.
    Full,
}

impl Size {
    /// The size of this run.
    pub(crate) fn of_run() -> Size {
        match std::env::var("MAILBAG_SWEEP").as_deref() {
            Ok("full") => Size::Full,
            Ok("first") => Size::First,
            _ => Size::Sample,
        }
    }

    /// One first crash in this number has a second one.
    fn second(self) -> usize {
        match self {
            Size::Sample => 3,
            Size::First => 10,
            Size::Full => 1,
        }
    }
}

/// The number of first crashes and of failing calls in a sample of a story.
pub(crate) const SAMPLE: usize = 24;

/// The seed of this run.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("MAILBAG_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    given.unwrap_or(1)
}

/// A story with its ending, and the tried states.
pub(crate) struct Exploration<'s> {
    pub(crate) story: &'s Story,
    pub(crate) ending: Ending,
    pub(crate) random: Random,
    pub(crate) size: Size,
    /// Computers before an act that have ended well, or that are being played to the end.
    tried: HashSet<(u64, usize, usize, bool)>,
    /// As `tried`, where no crash follows.
    ended: HashSet<(u64, usize, usize, bool)>,
    /// The other right ending, if an act was interrupted that is not repeated.
    pub(crate) without: Option<Ending>,
    pub(crate) figures: Figures,
    pub(crate) wrong: Vec<String>,
    /// Calls without their effect. A computer that ends wrong is expected then, so the first one is enough.
    pub(crate) control: Option<Control>,
}

/// The run of a story up to an act.
pub(crate) struct Scene {
    /// The number of the act.
    pub(crate) act: usize,
    pub(crate) play: Play,
    /// The steps of the computer before the act.
    pub(crate) steps: usize,
}

impl<'s> Exploration<'s> {
    /// Plays the story without a crash.
    pub(crate) fn new(story: &'s Story) -> Exploration<'s> {
        story.set_variables();
        let mut play = story.begin();
        for (n, act) in story.acts.iter().enumerate() {
            play.play(act)
                .unwrap_or_else(|e| panic!("{}: act {n}: {e}", story.name));
        }
        let ending = end(story, &mut play).unwrap_or_else(|wrong| {
            panic!("{} without a crash:\n{}", story.name, wrong.join("\n"))
        });
        Exploration {
            story,
            ending,
            random: Random::new(seed()),
            size: Size::First,
            tried: HashSet::new(),
            ended: HashSet::new(),
            without: None,
            figures: Figures::default(),
            wrong: Vec::new(),
            control: None,
        }
    }

    /// The story before each act that mailbag does.
    pub(crate) fn scenes(&self) -> Vec<Scene> {
        let mut play = self.story.begin();
        let mut scenes = Vec::new();
        for (n, act) in self.story.acts.iter().enumerate() {
            if act.has_steps() {
                scenes.push(Scene {
                    act: n,
                    play: play.clone(),
                    steps: play.machine.steps(),
                });
            }
            self.play(&mut play, n).expect("it went well before");
        }
        scenes
    }

    /// Places a crash at each step of each act.
    pub(crate) fn explore(&mut self, fates: &[Fate]) {
        let begun = Instant::now();
        for scene in self.scenes() {
            let mut whole = scene.play.clone();
            self.play(&mut whole, scene.act).ok();
            let steps = whole.machine.steps();
            self.figures.points += steps + 1 - scene.steps;
            let without = self.ending_without(scene.act);
            for at in self.points(scene.steps, steps) {
                // An act that has returned is a promise.
                self.without = without.clone().filter(|_| at < steps);
                let mut first = fates.to_vec();
                if whole.machine.is_name_next(at) {
                    first.retain(|fate| ![Fate::Journal, Fate::PerDirectory].contains(fate));
                }
                let mut crashes = whole.machine.crashes(at, &first, &mut self.random);
                if self.size == Size::Sample {
                    crashes = self.random.some_of(crashes, 2);
                }
                for crash in crashes {
                    self.after(&scene, at - scene.steps, crash, fates);
                    if self.control.is_some() && !self.wrong.is_empty() {
                        return;
                    }
                }
            }
        }
        self.without = None;
        self.figures.time += begun.elapsed();
    }

    /// The crash points of an act in a run of this size.
    fn points(&mut self, from: usize, to: usize) -> Vec<usize> {
        let points: Vec<usize> = (from..=to).collect();
        if self.size > Size::Sample {
            return points;
        }
        let acts = self.story.acts.iter().filter(|act| act.has_steps()).count();
        self.random.some_of(points, SAMPLE / 2 / acts.max(1) + 1)
    }

    /// The ending of the story without this act, if the act is not repeated.
    pub(crate) fn ending_without(&self, act: usize) -> Option<Ending> {
        if self.story.acts[act].is_repeated() {
            return None;
        }
        let mut play = self.story.begin();
        let others = self.story.acts.iter().enumerate();
        for (_, act) in others.filter(|(n, _)| *n != act) {
            play.play(act).expect("an act without another one");
        }
        Some(end(self.story, &mut play).unwrap_or_else(|wrong| panic!("{}", wrong.join("\n"))))
    }

    /// The next act after an interruption of this one.
    pub(crate) fn next_after(&self, act: usize) -> usize {
        act + usize::from(!self.story.acts[act].is_repeated())
    }

    /// The story goes on after a crash, which a second one interrupts.
    fn after(&mut self, scene: &Scene, at: usize, crash: Crash, fates: &[Fate]) {
        let place = &format_args!("act {}, step {at}, {}", scene.act, crash.fate);
        let mut play = scene.play.on(crash.machine);
        let mut next = self.next_after(scene.act);
        while !self.story.acts[next].has_steps() {
            play.play(&self.story.acts[next]).expect("it has no steps");
            next += 1;
        }
        let begun = play.machine.steps();
        if !self.is_new(&play, next) {
            return;
        }
        self.figures.states += 1;
        let mut recovered = play.clone();
        if !self.act(&mut recovered, next, place) {
            return;
        }
        let steps = recovered.machine.steps();
        // A control is rarely missed by the first crash alone.
        if self.control.is_none() && self.random.below(self.size.second()) > 0 {
            self.finish(recovered, next + 1, place);
            return;
        }
        self.finish(recovered.clone(), next + 1, place);
        let (mut points, mut fates): (Vec<usize>, _) = ((begun..=steps).collect(), fates.to_vec());
        if self.size < Size::Full {
            points = self.random.some_of(points, 1);
            fates = vec![*self.random.pick(&fates)];
        }
        for second in points {
            let mut crashes = recovered.machine.crashes(second, &fates, &mut self.random);
            if self.size < Size::Full {
                crashes = self.random.some_of(crashes, 1);
            }
            for crash in crashes {
                let mut again = play.on(crash.machine);
                if !self.is_new(&again, next) {
                    continue;
                }
                self.figures.second += 1;
                let place = &format_args!("{place}; then step {second}, {}", crash.fate);
                if self.act(&mut again, next, place) {
                    self.finish(again, next + 1, place);
                }
            }
        }
    }

    /// Plays an act, and the acts after it to the end.
    pub(crate) fn go_on(&mut self, mut play: Play, act: usize, place: &dyn Display) {
        if self.is_new(&play, act) && self.act(&mut play, act, place) {
            self.finish(play, act + 1, place);
        }
    }

    /// Plays an act under the control.
    pub(super) fn play(&self, play: &mut Play, act: usize) -> Result<()> {
        play.machine.swallow(self.control.clone());
        let done = play.play(&self.story.acts[act]);
        play.machine.swallow(None);
        done
    }

    fn act(&mut self, play: &mut Play, act: usize, place: &dyn Display) -> bool {
        let done = self.play(play, act);
        if let Err(e) = &done {
            self.complain(place, format!("act {act} then fails: {e}"));
        }
        done.is_ok()
    }

    fn finish(&mut self, mut play: Play, from: usize, place: &dyn Display) {
        for act in from..self.story.acts.len() {
            let is_mailbags = matches!(self.story.acts[act], Act::Do(..) | Act::Once(..));
            if is_mailbags && !self.is_shown_new(&play, act) || !self.act(&mut play, act, place) {
                return;
            }
        }
        if !self.is_shown_new(&play, self.story.acts.len()) {
            return;
        }
        self.figures.ends += 1;
        let wrong = match end(self.story, &mut play) {
            Ok(ending) if self.without.as_ref() == Some(&ending) => return,
            Ok(ending) => ending.differences(&self.ending),
            Err(wrong) => wrong,
        };
        if !wrong.is_empty() {
            self.complain(place, wrong.join("\n  "));
        }
    }

    fn is_new(&mut self, play: &Play, act: usize) -> bool {
        let either = self.without.is_some();
        self.tried
            .insert((play.machine.fingerprint(), act, play.taken.len(), either))
    }

    /// As [`Exploration::is_new`], where no crash follows.
    fn is_shown_new(&mut self, play: &Play, act: usize) -> bool {
        let either = self.without.is_some();
        self.ended
            .insert((play.machine.shown(), act, play.taken.len(), either))
    }

    pub(crate) fn complain(&mut self, place: &dyn Display, what: String) {
        self.wrong
            .push(format!("{}: {place}:\n  {what}", self.story.name));
    }

    /// Fails with the first things that went wrong.
    pub(crate) fn judge(&self) {
        println!("{}: {:?}", self.story.name, self.figures);
        assert!(
            self.wrong.is_empty(),
            "{} of the ends of {:?} are wrong (seed {}); the first ones:\n{}",
            self.wrong.len(),
            self.story.name,
            seed(),
            self.wrong[..self.wrong.len().min(5)].join("\n")
        );
    }
}

/// Crashes with these fates alone.
pub(crate) fn holds_under(fates: &[Fate], story: &Story) {
    explored(fates, story).judge();
}

fn explored<'s>(fates: &[Fate], story: &'s Story) -> Exploration<'s> {
    let mut exploration = Exploration::new(story);
    exploration.size = Size::of_run();
    exploration.explore(fates);
    exploration
}

/// Every first crash, in a run of any size, and no call that fails: a failure may allow another ending.
pub(crate) fn holds_everywhere(story: &Story) {
    let mut exploration = Exploration::new(story);
    exploration.explore(&Fate::ALL);
    exploration.judge();
}

/// Every crash, and every call that fails.
pub(crate) fn holds(story: &Story) {
    let mut exploration = explored(&Fate::ALL, story);
    exploration.fail_each_call();
    exploration.judge();
}
