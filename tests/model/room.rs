//! The real room: the effects of the acts, and the messages that its recipients found.

use super::acts::{Act, Edit, Taking};
use super::compare;
use super::letters::instant;
use super::people::{AGENTS, AT_FIRST, Address, CAPABILITY, HUMAN, Name, People};
use super::state::{File, State};
use crate::sim::{
    Call, CallName, Control, ControlKind, ERRORS, Failure, Fate, Machine, Node, Random,
};
use mailbag::Room as RealRoom;
use mailbag::base::clock::{self, Stamp};
use mailbag::base::set_test_variable;
use mailbag::query::status::{self, BlockedPath};
use mailbag::query::verify::verify;
use mailbag::router::daemon::{self, PassResult};
use rustix::io::Errno;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The time before the clock is set.
const TODAY: &str = "2026-11-21T10:00:00Z";
/// The time between two acts, in seconds.
const BETWEEN: i64 = 2;
const ROOM: &str = "/home/room";

/// A room on a simulated computer, and every file that was ever in its inboxes.
pub(super) struct Room {
    machine: Machine,
    /// Whether its syncs have no effect.
    is_without_syncs: bool,
    /// The number of times that the computer was used.
    uses: u32,
    dropped: usize,
    pub(super) found: Found,
}

/// The figures of all sequences of one test: events and their number.
pub(super) type Figures = BTreeMap<&'static str, usize>;

thread_local! {
    /// A test plays all its sequences on its own thread.
    pub(super) static FIGURES: RefCell<Figures> = const { RefCell::new(Figures::new()) };
}

fn count(what: &'static str, more: usize) {
    FIGURES.with(|figures| *figures.borrow_mut().entry(what).or_default() += more);
}

/// The messages that recipients found, taken or not.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Found {
    /// By recipient and file name.
    pub(super) copies: BTreeMap<(Name, String), Vec<u8>>,
    /// The taken messages.
    pub(super) taken: BTreeSet<(Name, String)>,
    /// The messages that arrived a second time.
    pub(super) again: Vec<String>,
}

impl Room {
    /// A room with its first agents.
    pub(super) fn new(is_without_syncs: bool) -> Room {
        set_test_variable("MAILBAG_TEST_CREATED", "all");
        set_test_variable("MAILBAG_TEST_HOME", "/home");
        let mut room = Room {
            machine: Machine::new(),
            is_without_syncs,
            uses: 0,
            dropped: 0,
            found: Found::default(),
        };
        let made = room.at(None, || RealRoom::init(Path::new(ROOM)));
        made.expect("a room");
        let people = People::at_first();
        let mut agents: Vec<Value> = (0..AT_FIRST)
            .map(|n| json!({"id": people.agents[n].id, "role": people.agents[n].role}))
            .collect();
        agents[1]["name"] = json!("Sintra");
        agents[1]["capabilities"] = json!([CAPABILITY]);
        agents[2]["topics"] = json!([people.topics.keys().next().map(|(_, topic)| topic)]);
        let texts = |to: &[Address]| to.iter().map(Address::text).collect::<Vec<_>>();
        let aliases: BTreeMap<_, _> = people
            .aliases
            .iter()
            .map(|(alias, to)| (alias, texts(to)))
            .collect();
        room.write_registry(&json!({"agents": agents, "aliases": aliases}));
        room.machine.settle();
        room
    }

    /// Does something on the computer at this hour, as a process of its own.
    fn at<T>(&mut self, hour: Option<u32>, act: impl FnOnce() -> T) -> T {
        let now = self.next_moment(hour);
        self.machine.run_as(1000 + self.uses, now, act)
    }

    /// A moment of this hour, later than all before.
    fn next_moment(&mut self, hour: Option<u32>) -> Stamp {
        self.uses += 1;
        let begun = hour.map_or(TODAY.to_owned(), instant);
        let begun = Stamp::parse(&begun).expect("a time").micros();
        Stamp::from_micros(begun + i64::from(self.uses) * BETWEEN * 1_000_000)
    }

    /// Looks at the room.
    fn within<T>(&self, look: impl FnOnce(&RealRoom) -> T) -> T {
        self.machine
            .run(|| look(&RealRoom::open(Path::new(ROOM)).expect("the room that was made")))
    }

    pub(super) fn read(&self, below: &str) -> Option<Vec<u8>> {
        self.machine.read(path(below))
    }

    pub(super) fn exists(&self, below: &str) -> bool {
        self.machine.exists(path(below))
    }

    /// The names in a directory, in order; empty without the directory.
    pub(super) fn all_names(&self, directory: &str) -> Vec<String> {
        let directory = path(directory);
        let there = self.machine.tree(&directory).into_keys();
        let own = there.filter(|path| path.parent() == Some(&directory));
        own.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .collect()
    }

    /// The message files in a directory.
    pub(super) fn names(&self, directory: &str) -> Vec<String> {
        let mut names = self.all_names(directory);
        names.retain(|name| name.ends_with(".json") && !name.starts_with('.'));
        names
    }

    /// The segments of the log, in order.
    pub(super) fn log(&self) -> Vec<Vec<u8>> {
        let nodes = self.machine.tree(&path("log")).into_values();
        let files = nodes.filter_map(|node| match node {
            Node::File(bytes) => Some(bytes),
            _ => None,
        });
        files.collect()
    }

    /// Does to the room what happened, and compares it with the model's state after it where that is settled.
    pub(super) fn play(&mut self, act: &Act, state: &State) {
        match *act {
            Act::Drop { .. } | Act::Again { .. } => self.drop_file(state),
            Act::Take { agent, which, way } => self.take(agent, which, way),
            Act::Edit(ref edit) => self.edit(edit),
            Act::Later(_) => {}
            Act::Crash { step, fate, choice } => self.crash(state, step, fate, choice),
            Act::Fail { call, error, lasts } => self.fail(state, call, error, lasts),
            Act::Pass => {
                self.pass(state);
                self.holds(state);
            }
        }
    }

    /// After a last pass everything has to be where it belongs, and one pass more has nothing to do.
    pub(super) fn end(&mut self, state: State) {
        let state = state.after(&Act::Pass);
        self.pass(&state);
        self.holds(&state);
        let before = (self.found.clone(), compare::outcomes(self));
        // An unfinished file is rejected once it has not changed for a while, which may be now.
        let mut files = state.files.iter();
        let may_be_unfinished = files.any(|file| self.is_left_unfinished(file));
        self.pass(&state);
        self.look();
        let after = (self.found.clone(), compare::outcomes(self));
        assert!(
            may_be_unfinished || before == after,
            "one more pass did something; before:\n{before:?}\nafter:\n{after:?}"
        );
        if let Err(e) = self.within(verify) {
            panic!("log verify: {e}");
        }
        count("sequences", 1);
        count("files", state.files.len());
        count("copies", self.found.copies.len());
        count("taken by recipients", self.found.taken.len());
        for outcome in compare::outcomes(self).values() {
            count(outcome.event.as_str(), 1);
        }
    }

    fn holds(&mut self, state: &State) {
        self.look();
        let wrong = compare::complaints(self, state);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Returns true if this file is unfinished and still in its outbox.
    pub(super) fn is_left_unfinished(&self, file: &File) -> bool {
        let waiting = format!("outbox/{}/{}", file.sender, file.name);
        file.letter.is_unfinished() && self.exists(&waiting)
    }

    /// The router's entries for undelivered files.
    pub(super) fn blocked(&self) -> Vec<BlockedPath> {
        self.within(status::status)
            .map(|status| status.blocked)
            .unwrap_or_default()
    }

    fn drop_file(&mut self, state: &State) {
        let Some(file) = state.files.get(self.dropped) else {
            return;
        };
        self.dropped += 1;
        let place = path(&format!("outbox/{}/{}", file.sender, file.name));
        clock::set(Some(self.next_moment(state.hour)));
        self.machine.write(place, file.letter.bytes());
        clock::set(None);
    }

    fn take(&mut self, agent: Name, which: usize, way: Taking) {
        self.look();
        let unread = self.names(&format!("inbox/{agent}"));
        let Some(name) = unread.get(which % unread.len().max(1)) else {
            return;
        };
        let inbox = path(&format!("inbox/{agent}"));
        let away = match way {
            Taking::ToSeen => Some(inbox.join("seen")),
            Taking::Elsewhere => Some(Path::new("/home").join(agent)),
            Taking::Delete => None,
        };
        match away {
            None => self.machine.remove(inbox.join(name)),
            Some(away) => {
                self.machine.make_directory(&away);
                self.machine.rename(inbox.join(name), away.join(name));
            }
        }
        self.found.taken.insert((agent, name.clone()));
    }

    /// Every recipient reads its inbox.
    fn look(&mut self) {
        for agent in AGENTS.into_iter().chain([HUMAN]) {
            let inbox = format!("inbox/{agent}");
            for place in [inbox.clone(), format!("{inbox}/{}", compare::EXPIRED)] {
                for name in self.names(&place) {
                    let bytes = self
                        .read(&format!("{place}/{name}"))
                        .expect("it was listed");
                    self.find((agent, name), bytes);
                }
            }
        }
    }

    fn find(&mut self, key: (Name, String), bytes: Vec<u8>) {
        let (agent, name) = &key;
        if self.found.taken.contains(&key) {
            let again = format!("{name} came to {agent} once more");
            self.found.again.push(again);
        }
        let before = self.found.copies.get(&key);
        if before.is_some_and(|before| *before != bytes) {
            let other = format!("{name} of {agent} has other content now");
            self.found.again.push(other);
        }
        self.found.copies.insert(key, bytes);
    }

    fn edit(&self, edit: &Edit) {
        let bytes = self.read("registry.json").expect("a registry");
        let mut registry: Value = serde_json::from_slice(&bytes).expect("JSON");
        let agents = registry["agents"].as_array_mut().expect("a list");
        let place = |id: &str| agents.iter().position(|agent| agent["id"] == id);
        let (id, field, value) = match edit {
            Edit::Add(id, role) => {
                if place(id).is_none() {
                    agents.push(json!({"id": id, "role": role}));
                }
                return self.write_registry(&registry);
            }
            Edit::Alias(alias, to) => {
                registry["aliases"][alias] =
                    json!(to.iter().map(Address::text).collect::<Vec<_>>());
                return self.write_registry(&registry);
            }
            Edit::Retire(id) => (id, "status", "retired"),
            Edit::Activate(id) => (id, "status", "online"),
            Edit::Role(id, role) => (id, "role", *role),
        };
        if let Some(place) = place(id) {
            agents[place][field] = json!(value);
        }
        self.write_registry(&registry);
    }

    fn write_registry(&self, registry: &Value) {
        let text = serde_json::to_vec_pretty(registry).expect("JSON prints");
        let beside = path(".registry.json.editing");
        self.machine.write(&beside, text);
        self.machine.rename(beside, path("registry.json"));
    }

    fn pass(&mut self, state: &State) {
        match self.try_pass(state) {
            Ok(PassResult::Routed(_)) => {}
            other => panic!("a pass ended as {other:?}"),
        }
    }

    fn try_pass(&mut self, state: &State) -> mailbag::Result<PassResult> {
        if self.is_without_syncs {
            self.machine.swallow(Some(Control {
                kind: ControlKind::Swallow,
                matches: Arc::new(|call: &Call| call.name.is_sync()),
            }));
        }
        self.at(state.hour, || {
            RealRoom::open(Path::new(ROOM)).and_then(|room| daemon::pass(&room))
        })
    }

    /// A pass, and a crash at one of its steps.
    fn crash(&mut self, state: &State, step: usize, fate: Fate, choice: usize) {
        let begun = self.machine.steps();
        self.pass(state);
        let step = begun + step % (self.machine.steps() - begun + 1);
        let mut random = Random::new(choice as u64);
        let mut crashes = self.machine.crashes(step, &[fate], &mut random);
        let crash = crashes.swap_remove(choice % crashes.len());
        self.machine = crash.machine;
        count("crashes", 1);
    }

    /// A pass with a failing call.
    fn fail(&mut self, state: &State, call: usize, error: usize, lasts: bool) {
        let errno = ERRORS[error % ERRORS.len()].raw_os_error();
        let before = self.machine.copy();
        self.machine.watch();
        self.try_pass(state).ok();
        let calls = std::mem::replace(&mut self.machine, before).calls();
        let possible: Vec<usize> = (0..calls.len())
            .filter(|n| can_fail(&calls[*n], errno))
            .collect();
        let Some(call) = possible.get(call % possible.len().max(1)) else {
            return;
        };
        self.machine.fail(Some(Failure {
            call: *call,
            errno,
            lasts,
            short: false,
        }));
        self.try_pass(state).ok();
        self.machine.fail(None);
        count("passes with failing calls", 1);
    }
}

/// Returns true if a call can fail with this error. A message that cannot be opened for lack of a permission is rightly
/// rejected.
fn can_fail(call: &Call, errno: i32) -> bool {
    let is_message = |path: &PathBuf| {
        let below = path.strip_prefix(ROOM).unwrap_or(path);
        below.starts_with("outbox") || below.starts_with("spool/claim")
    };
    let is_rejection = errno == Errno::ACCESS.raw_os_error()
        && call.name == CallName::Open
        && call.paths.iter().any(is_message);
    call.name.can_fail_with(errno) && !is_rejection
}

/// A path in the room.
fn path(below: &str) -> PathBuf {
    Path::new(ROOM).join(below)
}
