//! Keeps a router running, kills it every few seconds, sometimes replaces it by a single pass, and
//! measures its memory and descriptors.

use super::Bell;
use crate::sim::Random;
use crate::town::Town;
use crate::world::{Router, World, lossy};
use rustix::process::Signal;
use std::fmt;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(250);

pub(super) struct Keeper<'a> {
    town: &'a Town,
    bell: &'a Bell,
    random: Random,
    pub(super) watched: Watched,
    pub(super) kills: usize,
    pub(super) passes: usize,
    pub(super) killed_passes: usize,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(town: &'a Town, bell: &'a Bell) -> Keeper<'a> {
        Keeper {
            town,
            bell,
            random: Random::new(7),
            watched: Watched::default(),
            kills: 0,
            passes: 0,
            killed_passes: 0,
        }
    }

    /// Kills until then, leaves the last router alone, and returns it.
    pub(super) fn keep_until_rung(&mut self, kills: Instant) -> Router {
        loop {
            let router = World::router(self.town, "");
            let end = Instant::now() + self.random_time(500, 5000);
            self.watched.alone.clear();
            let mut there_is_time = true;
            while there_is_time && (Instant::now() < end || Instant::now() > kills) {
                there_is_time = self.bell.pause(LOOK);
                self.watched.look(&router, sent(self.town));
            }
            if !there_is_time {
                return router;
            }
            self.kill(router);
            if self.random.below(3) == 0 {
                self.pass();
            }
        }
    }

    fn kill(&mut self, mut router: Router) {
        router.signal(Signal::KILL);
        router.ended();
        self.kills += 1;
    }

    /// A single pass, every other of them killed as well.
    fn pass(&mut self) {
        self.passes += 1;
        let mut pass = self.town.bare("run --once");
        let mut child = pass
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        if self.random.below(2) == 0 {
            self.bell.pause(self.random_time(1, 60));
            let _ = child.kill();
            self.killed_passes += 1;
            child.wait().expect("its own child");
            return;
        }
        let output = child.wait_with_output().expect("its own child");
        assert!(output.status.success(), "{}", lossy(&output.stderr));
    }

    fn random_time(&mut self, from: usize, to: usize) -> Duration {
        Duration::from_millis((from + self.random.below(to - from)) as u64)
    }
}

/// The number of routed messages; each leaves an id in the router's memory.
fn sent(town: &Town) -> usize {
    (0..super::AGENTS)
        .map(|n| {
            fs::read_dir(town.room(&format!("sent/{}", super::name(n)))).map_or(0, Iterator::count)
        })
        .sum()
}

/// A measurement of a process.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// In kB.
    memory: usize,
    descriptors: usize,
    sent: usize,
}

#[derive(Default)]
pub(super) struct Watched {
    /// The most memory, and the most descriptors.
    pub(super) most: [usize; 2],
    /// Of the router that is left alone.
    alone: Vec<Look>,
}

impl Watched {
    fn look(&mut self, router: &Router, sent: usize) {
        let process = format!("/proc/{}", router.pid());
        let status = fs::read_to_string(format!("{process}/status")).unwrap_or_default();
        let memory = status.lines().find_map(|line| {
            line.strip_prefix("VmRSS:")?
                .trim()
                .strip_suffix(" kB")?
                .parse()
                .ok()
        });
        let descriptors = fs::read_dir(format!("{process}/fd")).map_or(0, Iterator::count);
        let Some(memory) = memory else { return };
        self.most = [self.most[0].max(memory), self.most[1].max(descriptors)];
        self.alone.push(Look {
            memory,
            descriptors,
            sent,
        });
    }

    /// Once warm, and at the end: the median of each, since a look may hit a large batch.
    fn early_and_late(&self) -> [Look; 2] {
        let count = self.alone.len();
        assert!(
            count >= 8,
            "only {count} looks at a router that was left alone"
        );
        let median = |looks: &[Look]| {
            let middle = |of: fn(&Look) -> usize| {
                let mut all: Vec<usize> = looks.iter().map(of).collect();
                all.sort_unstable();
                all[all.len() / 2]
            };
            Look {
                memory: middle(|look| look.memory),
                descriptors: middle(|look| look.descriptors),
                sent: middle(|look| look.sent),
            }
        };
        [
            median(&self.alone[count / 4..count / 2]),
            median(&self.alone[count * 3 / 4..]),
        ]
    }

    /// Checks that memory grows only by the router's entry for each message.
    pub(super) fn is_flat(&self) {
        // A hash table doubles: at most forty bytes for each id, and the same again while it is
        // moved.
        const AN_ID: usize = 80;
        const SLACK: usize = 6 << 20;
        let [early, late] = self.early_and_late();
        let grown = late.memory.saturating_sub(early.memory) << 10;
        let allowed = SLACK + AN_ID * late.sent.saturating_sub(early.sent);
        assert!(
            grown <= allowed,
            "{grown} bytes more, where {allowed} are for ids: {early:?} {late:?}"
        );
        // A batch holds the files of one barrier; a leak would be hundreds.
        assert!(
            late.descriptors <= early.descriptors + 32,
            "{early:?} {late:?}"
        );
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [early, late] = self.early_and_late();
        let time = LOOK * self.alone.len() as u32;
        write!(
            f,
            "left alone for {} s it went from {} kB and {} descriptors to {} kB and {} over {} messages",
            time.as_secs(),
            early.memory,
            early.descriptors,
            late.memory,
            late.descriptors,
            late.sent - early.sent
        )
    }
}
