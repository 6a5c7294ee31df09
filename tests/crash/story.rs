//! A story: what agents, a person and mailbag do, one act after the other.

use crate::sim::Machine;
use mailbag::Result;
use mailbag::base::clock::{self, Stamp};
use mailbag::base::set_test_variable;
use mailbag::disk::Dir;
use mailbag::router::daemon::pass;
use mailbag::{Room, agent};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The room of stories with one room.
pub(crate) const ROOM: &str = "/home/room";
/// The time of the first act.
const BEGIN: &str = "2026-11-21T10:00:00Z";
/// The time between two acts, in seconds.
const BETWEEN: i64 = 2;

/// A story.
pub(crate) struct Story {
    pub(crate) name: &'static str,
    /// The rooms, each with its agents.
    pub(crate) rooms: Vec<(&'static str, Vec<&'static str>)>,
    /// Variables of a test build.
    pub(crate) variables: Vec<(&'static str, &'static str)>,
    /// Acts before the first crash.
    pub(crate) before: Vec<Act>,
    pub(crate) acts: Vec<Act>,
    /// A room on another disk, which a power cut takes nothing from.
    kept: Option<&'static str>,
}

/// One act.
pub(crate) enum Act {
    /// A program writes a whole file, which is durable immediately. Paths are below `/home`.
    Write(String, Vec<u8>),
    /// A recipient moves all its unread mail to `seen/`, which is durable immediately.
    Move(&'static str),
    /// A recipient takes all its unread mail out of the room, which is durable immediately.
    Take(&'static str),
    /// A recipient moves its unread mail to `seen/` without a sync.
    MoveLoosely(&'static str),
    /// Another program changes files, which is durable immediately.
    Outside(fn(&Machine)),
    /// Time passes, in seconds.
    Wait(i64),
    /// mailbag does something in a room. A crash can stop it, and then it does it again.
    Do(&'static str, fn(&Room) -> Result<()>),
    /// As `Do`, but it is not repeated. After a crash or an error it has happened, or has not.
    Once(&'static str, fn(&Room) -> Result<()>),
}

impl Act {
    /// A pass of the router.
    pub(crate) fn pass(room: &'static str) -> Act {
        Act::Do(room, |room| pass(room).map(drop))
    }

    /// A pass that is not repeated after a crash.
    pub(crate) fn pass_once(room: &'static str) -> Act {
        Act::Once(room, |room| pass(room).map(drop))
    }

    /// Whether it changes the disk in steps, between which a crash can come.
    pub(crate) fn has_steps(&self) -> bool {
        matches!(self, Act::Do(..) | Act::Once(..) | Act::MoveLoosely(_))
    }

    /// Whether a process does it again after a crash.
    pub(crate) fn is_repeated(&self) -> bool {
        !matches!(self, Act::Once(..))
    }
}

impl Story {
    /// A story of one room.
    pub(crate) fn new(name: &'static str, agents: &[&'static str]) -> Story {
        Story::of_rooms(name, &[(ROOM, agents)])
    }

    pub(crate) fn of_rooms(name: &'static str, rooms: &[(&'static str, &[&'static str])]) -> Story {
        Story {
            name,
            rooms: rooms
                .iter()
                .map(|(room, agents)| (*room, agents.to_vec()))
                .collect(),
            variables: vec![
                ("MAILBAG_TEST_CREATED", "all"),
                ("MAILBAG_TEST_HOME", "/home"),
            ],
            before: Vec::new(),
            acts: Vec::new(),
            kept: None,
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Story {
        self.variables.push((name, value));
        self
    }

    pub(crate) fn keeps(mut self, room: &'static str) -> Story {
        self.kept = Some(room);
        self
    }

    pub(crate) fn before(mut self, acts: impl IntoIterator<Item = Act>) -> Story {
        self.before.extend(acts);
        self
    }

    pub(crate) fn then(mut self, acts: impl IntoIterator<Item = Act>) -> Story {
        self.acts.extend(acts);
        self
    }

    /// The computer at the first act.
    pub(crate) fn begin(&self) -> Play {
        let mut play = Play {
            machine: Machine::new(),
            now: Stamp::parse(BEGIN).expect("a time"),
            processes: 1000,
            taken: Vec::new(),
        };
        // An act makes a room without agents.
        for (room, agents) in self.rooms.iter().filter(|(_, agents)| !agents.is_empty()) {
            let ids: Vec<String> = agents.iter().map(|agent| (*agent).to_owned()).collect();
            let made = play.as_process(|| {
                let (room, _) = Room::init(Path::new(room))?;
                agent::add(&room, &ids, &agent::AgentFields::default())
            });
            made.expect("a room with its agents");
        }
        for (n, act) in self.before.iter().enumerate() {
            play.play(act)
                .unwrap_or_else(|e| panic!("{}: act {n} before it begins: {e}", self.name));
        }
        play.machine.settle();
        if let Some(room) = self.kept {
            play.machine.keep(room);
        }
        play
    }

    /// Sets the variables for this thread.
    pub(crate) fn set_variables(&self) {
        for (name, value) in &self.variables {
            set_test_variable(name, value);
        }
    }
}

/// A computer that plays a story.
#[derive(Clone)]
pub(crate) struct Play {
    pub(crate) machine: Machine,
    now: Stamp,
    processes: u32,
    /// The copies that recipients took out of the room, by inbox.
    pub(crate) taken: Vec<(String, Vec<u8>)>,
}

impl Play {
    /// The same play on another computer, such as one after a crash, a moment later.
    pub(crate) fn on(&self, machine: Machine) -> Play {
        Play {
            machine,
            now: Stamp::from_micros(self.now.micros() + BETWEEN * 1_000_000),
            processes: self.processes + 1,
            taken: self.taken.clone(),
        }
    }

    /// Calls `act` on this computer as a process of its own.
    pub(crate) fn as_process<T>(&mut self, act: impl FnOnce() -> T) -> T {
        self.processes += 1;
        let done = self.machine.run_as(self.processes, self.now, act);
        self.now = Stamp::from_micros(self.now.micros() + BETWEEN * 1_000_000);
        done
    }

    /// Plays an act.
    pub(crate) fn play(&mut self, act: &Act) -> Result<()> {
        clock::set(Some(self.now));
        match act {
            Act::Write(path, bytes) => self.machine.write(at(path), bytes),
            Act::Move(inbox) => {
                for name in self.unread(inbox) {
                    let inbox = at(inbox);
                    self.machine.make_directory(inbox.join("seen"));
                    self.machine
                        .rename(inbox.join(&name), inbox.join("seen").join(&name));
                }
            }
            Act::Take(inbox) => {
                for name in self.unread(inbox) {
                    let file = at(inbox).join(&name);
                    let bytes = self.machine.read(&file).expect("it was listed");
                    self.taken.push(((*inbox).to_owned(), bytes));
                    self.machine.remove(file);
                }
            }
            Act::MoveLoosely(inbox) => {
                let names = self.unread(inbox);
                return self.as_process(|| {
                    let inbox = Dir::open(&at(inbox))?;
                    let seen = inbox.make_loose("seen")?;
                    names
                        .iter()
                        .try_for_each(|name| inbox.rename(name, &seen, name, "move"))
                });
            }
            Act::Outside(act) => act(&self.machine),
            Act::Wait(seconds) => {
                self.now = Stamp::from_micros(self.now.micros() + seconds * 1_000_000)
            }
            Act::Do(room, act) | Act::Once(room, act) => {
                return self.as_process(|| act(&Room::open(Path::new(room))?));
            }
        }
        clock::set(None);
        Ok(())
    }

    /// The names of unread mail.
    fn unread(&self, inbox: &str) -> Vec<String> {
        let inbox = at(inbox);
        let files = self.machine.tree(&inbox).into_keys();
        let names = files
            .filter(|path| path.parent() == Some(&inbox))
            .filter_map(|path| {
                let name = path.file_name()?.to_str()?;
                (name.ends_with(".json") && !name.starts_with('.')).then(|| name.to_owned())
            });
        names.collect()
    }
}

/// A path below `/home`.
pub(crate) fn at(path: &str) -> PathBuf {
    Path::new("/home").join(path)
}

/// A message file that an agent drops.
pub(crate) fn drops(agent: &str, id: &str, message: Value) -> Act {
    drops_in("room", agent, id, message)
}

/// A message of alice to bob.
pub(crate) fn letter(id: &str) -> Act {
    drops("alice", id, json!({"to": "bob", "body": id}))
}

/// A message file that an agent of this room drops.
pub(crate) fn drops_in(room: &str, agent: &str, id: &str, mut message: Value) -> Act {
    message["id"] = id.into();
    Act::Write(
        format!("{room}/outbox/{agent}/{id}.json"),
        message.to_string().into_bytes(),
    )
}

/// The number of times that each of these texts occurs.
pub(crate) fn counts(texts: impl IntoIterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    counts
}
