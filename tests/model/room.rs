//! The real room: the effects of the acts, and the messages that its recipients found.

use super::acts::{Act, Edit, Side, Taking};
use super::compare;
use super::letters::instant;
use super::people::{AGENTS, AT_FIRST, Address, CAPABILITY, HUMAN, Name, People};
use super::state::{File, State};
use crate::files;
use mailbag::query::status::{self, BlockedPath};
use mailbag::router::daemon::{self, PassResult};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_mailbag");

/// A room, and every file that was ever in its inboxes.
pub(super) struct Room {
    directory: tempfile::TempDir,
    fault: Option<&'static str>,
    dropped: usize,
    pub(super) found: Found,
    last: Option<State>,
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
    /// A room with its first agents; the program runs with this protection disabled.
    pub(super) fn new(fault: Option<&'static str>) -> Room {
        let memory = Path::new("/dev/shm");
        let mut builder = tempfile::Builder::new();
        builder.prefix("mailbag-model-");
        let directory = if memory.is_dir() {
            builder.tempdir_in(memory)
        } else {
            builder.tempdir()
        };
        let directory = directory.expect("a temporary directory");
        let room = Room {
            directory,
            fault,
            dropped: 0,
            found: Found::default(),
            last: None,
        };
        mailbag::room::Room::init(&room.path("")).expect("a room");
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
        room
    }

    /// A path below the room.
    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join("room").join(below)
    }

    /// The room, opened.
    pub(super) fn open(&self) -> mailbag::room::Room {
        mailbag::room::Room::open(&self.path("")).expect("the room that was made")
    }

    /// Does to the room what happened, and compares it with the model's state after it where that is settled.
    pub(super) fn play(&mut self, act: &Act, state: &State) {
        match act {
            Act::Drop { as_, .. } | Act::Again { as_, .. } => self.drop_file(state, as_.in_place),
            Act::Take { agent, which, way } => self.take(agent, *which, *way),
            Act::Edit(edit) => self.edit(edit),
            Act::Later(_) => {}
            Act::Killed { call, side } => self.kill(state, *call, *side),
            Act::Pass => {
                self.pass(state);
                self.holds(state);
            }
        }
        self.last = Some(state.clone());
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
        if let Err(e) = mailbag::query::verify::verify(&self.open()) {
            panic!("log verify: {e}");
        }
        count("sequences", 1);
        count("files", state.files.len());
        count("copies", self.found.copies.len());
        count("taken by recipients", self.found.taken.len());
        compare::outcomes(self)
            .values()
            .for_each(|outcome| count(outcome.event.as_str(), 1));
    }

    fn holds(&mut self, state: &State) {
        self.look();
        let wrong = compare::complaints(self, state);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Returns true if this file is unfinished and still in its outbox.
    pub(super) fn is_left_unfinished(&self, file: &File) -> bool {
        let outbox = self.path("outbox").join(file.sender);
        file.letter.is_unfinished() && outbox.join(&file.name).exists()
    }

    /// The router's entries for undelivered files.
    pub(super) fn blocked(&self) -> Vec<BlockedPath> {
        status::status(&self.open())
            .map(|status| status.blocked)
            .unwrap_or_default()
    }

    fn drop_file(&mut self, state: &State, in_place: bool) {
        let Some(file) = state.files.get(self.dropped) else {
            return;
        };
        self.dropped += 1;
        let outbox = self.path("outbox").join(file.sender);
        files::make_dir(&outbox);
        let draft = outbox.join(if in_place {
            file.name.clone()
        } else {
            format!(".{}", file.name)
        });
        files::write(&draft, file.letter.bytes());
        files::rename(draft, outbox.join(&file.name));
        crate::fuzz::outbox::let_go(&outbox.join(&file.name));
    }

    fn take(&mut self, agent: Name, which: usize, way: Taking) {
        self.look();
        let inbox = self.path("inbox").join(agent);
        let unread = names(&inbox);
        let Some(name) = unread.get(which % unread.len().max(1)) else {
            return;
        };
        let away = match way {
            Taking::ToSeen => Some(inbox.join("seen")),
            Taking::Elsewhere => Some(self.directory.path().join(agent)),
            Taking::Delete => None,
        };
        match away {
            None => files::remove_file(inbox.join(name)),
            Some(away) => {
                files::make_dir(&away);
                files::rename(inbox.join(name), away.join(name));
            }
        }
        self.found.taken.insert((agent, name.clone()));
    }

    /// Every recipient reads its inbox.
    fn look(&mut self) {
        for agent in AGENTS.into_iter().chain([HUMAN]) {
            let inbox = self.path("inbox").join(agent);
            let expired = inbox.join(compare::EXPIRED);
            let there = names(&inbox)
                .into_iter()
                .map(|name| (inbox.join(&name), name));
            for (file, name) in there.chain(
                names(&expired)
                    .into_iter()
                    .map(|name| (expired.join(&name), name)),
            ) {
                let bytes = files::read(file);
                let key = (agent, name);
                if self.found.taken.contains(&key) {
                    self.found
                        .again
                        .push(format!("{} came to {agent} once more", key.1));
                }
                let before = self.found.copies.insert(key.clone(), bytes);
                if before.is_some_and(|before| before != self.found.copies[&key]) {
                    self.found
                        .again
                        .push(format!("{} of {agent} has other content now", key.1));
                }
            }
        }
    }

    fn edit(&self, edit: &Edit) {
        let bytes = files::read(self.path("registry.json"));
        let mut registry: Value = serde_json::from_slice(&bytes).expect("JSON");
        let agents = registry["agents"].as_array_mut().expect("a list");
        let find = |id: &str| agents.iter().position(|agent| agent["id"] == id);
        match edit {
            Edit::Add(id, role) if find(id).is_none() => {
                agents.push(json!({"id": id, "role": role}))
            }
            Edit::Add(..) => {}
            Edit::Retire(id) => find(id)
                .into_iter()
                .for_each(|n| agents[n]["status"] = json!("retired")),
            Edit::Activate(id) => find(id)
                .into_iter()
                .for_each(|n| agents[n]["status"] = json!("online")),
            Edit::Role(id, role) => find(id)
                .into_iter()
                .for_each(|n| agents[n]["role"] = json!(role)),
            Edit::Alias(alias, to) => {
                registry["aliases"][alias] =
                    json!(to.iter().map(Address::text).collect::<Vec<_>>());
            }
        }
        self.write_registry(&registry);
    }

    fn write_registry(&self, registry: &Value) {
        let beside = self.path(".registry.json.editing");
        files::write(
            &beside,
            serde_json::to_vec_pretty(registry).expect("JSON prints"),
        );
        files::rename(beside, self.path("registry.json"));
    }

    /// One pass: in this process if possible, otherwise by the program, with its settable clock and
    /// protections.
    fn pass(&self, state: &State) {
        if state.hour.is_none() && self.fault.is_none() {
            match daemon::pass(&self.open()) {
                Ok(PassResult::Routed(_)) => return,
                other => panic!("a pass ended as {other:?}"),
            }
        }
        let ran = self.command(state).output().expect("the program runs");
        assert!(
            ran.status.success(),
            "a pass: {}, {}",
            ran.status,
            String::from_utf8_lossy(&ran.stderr)
        );
    }

    fn command(&self, state: &State) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(["run", "--once", "--room"])
            .arg(self.path(""))
            .current_dir(self.directory.path());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MAILBAG_")) {
            command.env_remove(name);
        }
        command.envs(state.hour.map(|hour| ("MAILBAG_TEST_NOW", instant(hour))));
        command.envs(self.fault.map(|fault| ("MAILBAG_FAILPOINT", fault)));
        command
    }

    #[cfg(all(
        target_os = "linux",
        target_env = "gnu",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))]
    fn kill(&self, state: &State, call: usize, side: Side) {
        use crate::sweep::tracer::{End, Moment, Plan, Tracer};
        let moment = match side {
            Side::Before => Moment::Before,
            Side::Halfway => Moment::Halfway,
            Side::After => Moment::After,
        };
        let mut tracer = Tracer::new(&self.path("")).expect("a tracer");
        let outcome = tracer
            .run(self.command(state), Plan::Kill { call, moment })
            .expect("it can be traced");
        let ended = matches!(outcome.end, End::Killed | End::Exited(0));
        count("passes killed", usize::from(outcome.end == End::Killed));
        assert!(
            ended,
            "the pass to be killed ended as {:?}: {}",
            outcome.end, outcome.stderr
        );
    }

    #[cfg(not(all(
        target_os = "linux",
        target_env = "gnu",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    fn kill(&self, state: &State, _: usize, _: Side) {
        self.pass(state);
    }
}

/// The message files in a directory, in order; empty without the directory.
pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| name.ends_with(".json") && !name.starts_with('.'))
        .collect();
    names.sort();
    names
}
