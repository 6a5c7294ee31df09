//! A log that is restored, replaced, shortened or extended, between two passes of a router and at each call of a pass:
//! no number is given twice, no message is delivered twice, and no notice says that a delivered message was not.

use super::ledger::Figures;
use super::scenario::PROGRAM;
use super::sweeps::{Done, WORKERS, full, green, side_by_side};
use super::tracer::{End, Plan, Tracer};
use crate::world::lossy;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const AGENTS: [&str; 3] = ["alice", "bob", "carol"];
/// The number of calls of a pass that the small size tries for each accident.
const SMALL: usize = 6;

/// An accident of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accident {
    /// The directory is replaced by an older copy.
    OlderLog,
    /// The newest segment is replaced by an older copy.
    OlderSegment,
    /// The newest segment is replaced by a copy of itself, as an editor or a sync tool does.
    SameSegment,
    /// The last batch is cut off.
    CutBatch,
    /// The file is cut off in the middle of its last line.
    CutLine,
    /// One byte of the last line is another one.
    ChangedByte,
    /// Another program appends a line.
    ForeignLine,
    /// The newest segment is renamed, as by a log rotation.
    Renamed,
    /// The directory is moved, and a link is in its place.
    Linked,
    /// The directory is removed.
    Removed,
}

const ACCIDENTS: [Accident; 10] = [
    Accident::OlderLog,
    Accident::OlderSegment,
    Accident::SameSegment,
    Accident::CutBatch,
    Accident::CutLine,
    Accident::ChangedByte,
    Accident::ForeignLine,
    Accident::Renamed,
    Accident::Linked,
    Accident::Removed,
];

/// The evidence that remains after the accident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    All,
    /// The router's own files are gone.
    Sent,
    /// The router's note is as old as the log.
    OlderNote,
}

const EVIDENCE: [Evidence; 3] = [Evidence::All, Evidence::Sent, Evidence::OlderNote];

/// One story: the accident happens before a pass, or at this call of it.
#[derive(Debug, Clone, Copy)]
struct Story {
    accident: Accident,
    evidence: Evidence,
    call: Option<usize>,
    /// True if the person puts the lost log back, false if the person gives the lost records up.
    restores: bool,
}

struct Stage {
    home: TempDir,
    env: Vec<(&'static str, String)>,
    figures: Figures,
}

impl Accident {
    /// Returns true if the next router continues without a person's help.
    fn loses_nothing(self) -> bool {
        matches!(self, Accident::SameSegment | Accident::ForeignLine)
    }
}

impl Stage {
    fn new(env: &[(&'static str, String)]) -> io::Result<Stage> {
        let memory = Path::new("/dev/shm");
        let home = if memory.is_dir() { TempDir::new_in(memory)? } else { TempDir::new()? };
        let stage = Stage { home, env: env.to_vec(), figures: Figures { points: 1, ..Figures::default() } };
        stage.succeed(&["init"])?;
        stage.succeed(&["agent", "add", "alice", "bob", "carol"])?;
        // The messages repeat themselves, and no notice about that is expected.
        fs::write(stage.room("settings.toml"), "budget.replies = 0\n")?;
        for n in 1..=3 {
            stage.drop_message("alice", json!({"id": format!("a{n}"), "to": "bob", "body": "one"}))?;
            stage.drop_message("bob", json!({"to": "all", "body": format!("bob {n}")}))?;
            stage.succeed(&["run", "--once"])?;
            if n == 1 {
                copy(&stage.room("log"), &stage.path("old"))?;
                fs::copy(stage.room("spool/committed"), stage.path("old-note"))?;
            }
        }
        stage.drop_message("alice", json!({"id": "late", "to": ["bob", "carol"], "body": "late"}))?;
        stage.drop_message("carol", json!({"id": "carol", "to": "alice", "body": "carol"}))?;
        let lines = "{\"id\":\"l1\",\"to\":\"bob\",\"body\":\"x\"}\n{\"id\":\"l2\",\"to\":\"carol\",\"body\":\"y\"}\n";
        fs::write(stage.room("outbox/bob/lines.ndjson"), lines)?;
        Ok(stage)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.home.path().join(below)
    }

    fn room(&self, below: &str) -> PathBuf {
        self.path("room").join(below)
    }

    fn segment(&self) -> PathBuf {
        self.room("log/00000001.ndjson")
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        match arguments {
            ["init"] => command.arg("init").arg(self.path("room")),
            arguments => command.args(arguments).arg("--room").arg(self.path("room")),
        };
        command.env("MAILBAG_TEST_ANCESTRY", "person").envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    fn run(&self, arguments: &[&str]) -> io::Result<Output> {
        self.program(arguments).output()
    }

    fn succeed(&self, arguments: &[&str]) -> io::Result<()> {
        let done = self.run(arguments)?;
        let said = || io::Error::other(format!("{arguments:?}: {}", lossy(&done.stderr)));
        if done.status.success() { Ok(()) } else { Err(said()) }
    }

    fn drop_message(&self, agent: &str, message: Value) -> io::Result<()> {
        fs::write(self.room("outbox").join(agent).join("x.json"), message.to_string())
    }

    /// The accident, with a copy of the log as it was.
    fn happen(&self, story: Story) -> io::Result<()> {
        copy(&self.room("log"), &self.path("kept"))?;
        let segment = self.segment();
        let text = fs::read(&segment)?;
        match story.accident {
            Accident::OlderLog => {
                fs::rename(self.room("log"), self.path("gone"))?;
                copy(&self.path("old"), &self.room("log"))?;
            }
            Accident::OlderSegment | Accident::SameSegment => {
                let from = if story.accident == Accident::SameSegment { "kept" } else { "old" };
                fs::copy(self.path(from).join("00000001.ndjson"), self.path("draft"))?;
                fs::rename(self.path("draft"), segment)?;
            }
            Accident::CutBatch => {
                let last = rfind(&text, b"\"count\":").and_then(|at| rfind(&text[..at], b"\n")).map_or(0, |at| at + 1);
                fs::OpenOptions::new().write(true).open(segment)?.set_len(last as u64)?;
            }
            Accident::CutLine => {
                fs::OpenOptions::new().write(true).open(segment)?.set_len(text.len() as u64 - 20)?;
            }
            Accident::ChangedByte => {
                let (mut text, at) = (text.clone(), text.len() - 4);
                text[at] ^= 1;
                fs::write(segment, text)?;
            }
            Accident::ForeignLine => {
                use std::io::Write;
                fs::OpenOptions::new().append(true).open(segment)?.write_all(b"a line of another program\n")?;
            }
            Accident::Renamed => fs::rename(&segment, self.room("log/00000001.ndjson.1"))?,
            Accident::Linked => {
                fs::rename(self.room("log"), self.path("gone"))?;
                std::os::unix::fs::symlink(self.path("gone"), self.room("log"))?;
            }
            Accident::Removed => fs::remove_dir_all(self.room("log"))?,
        }
        self.reduce(story.evidence)
    }

    fn reduce(&self, evidence: Evidence) -> io::Result<()> {
        if evidence == Evidence::OlderNote {
            return fs::copy(self.path("old-note"), self.room("spool/committed")).map(drop);
        }
        if evidence != Evidence::All {
            fs::remove_file(self.room("spool/committed"))?;
            let _ = fs::remove_file(self.room("spool/checkpoint"));
        }
        Ok(())
    }

    /// A person makes the room usable again.
    fn repair(&mut self, story: Story) -> io::Result<()> {
        let first = self.run(&["run", "--once"])?;
        if first.status.success() {
            return Ok(());
        }
        if story.accident.loses_nothing() {
            self.figures.damaged(format!("nothing is lost, but: {}", lossy(&first.stderr)));
        }
        let log = self.room("log");
        if story.accident == Accident::Linked {
            // The room follows no link, so a person has to put the directory back.
            fs::remove_file(&log)?;
            fs::rename(self.path("gone"), &log)?;
        } else if story.restores {
            let _ = fs::remove_file(&log).or_else(|_| fs::remove_dir_all(&log));
            copy(&self.path("kept"), &log)?;
        } else {
            let verified = self.run(&["log", "verify"])?;
            if verified.status.success() {
                self.figures.damaged("no router starts, and `log verify` finds nothing".into());
            }
            self.succeed(&["log", "accept-gap", "--yes"])?;
        }
        self.succeed(&["run", "--once"])
    }

    /// Every sender drops each message with an id again that the log has, and one new message.
    fn drop_again(&self, story: Story) -> io::Result<()> {
        let has_all = story.restores || story.accident.loses_nothing();
        let again = (1..=if has_all { 3 } else { 0 }).map(|n| json!({"id": format!("a{n}"), "to": "bob", "body": "one"}));
        let late = json!({"id": "late", "to": ["bob", "carol"], "body": "late"});
        for (n, message) in again.chain([late, json!({"id": "new", "to": "carol", "body": "new"})]).enumerate() {
            fs::write(self.room("outbox/alice").join(format!("again-{n}.json")), message.to_string())?;
        }
        self.succeed(&["run", "--once"])
    }

    fn check(&mut self) -> io::Result<()> {
        let mut copies: BTreeMap<(String, String), usize> = BTreeMap::new();
        let mut numbers: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        for agent in AGENTS.iter().chain(&["human"]) {
            for path in files(&self.room("inbox").join(agent))? {
                let Ok(copy) = serde_json::from_slice::<Value>(&fs::read(&path)?) else { continue };
                let name = format!("{} {}", copy["from"], copy["id"]);
                numbers.entry(copy["delivery"]["seq"].as_u64().unwrap_or_default()).or_default().insert(name);
                let text = |field: &str| copy[field].as_str().unwrap_or_default().to_owned();
                if copy["from"] == "mailbag" {
                    self.figures.damaged(format!("{agent} is notified: {} {}", text("subject"), text("body")));
                }
                let token = copy["id"].as_str().filter(|id| id.len() < 6).map_or_else(|| text("body"), str::to_owned);
                *copies.entry(((*agent).to_owned(), token)).or_default() += 1;
            }
        }
        let mut wanted = BTreeSet::from([("alice", "carol"), ("bob", "late"), ("carol", "late"), ("bob", "l1")]);
        wanted.extend([("carol", "l2"), ("carol", "new"), ("bob", "a1"), ("bob", "a2"), ("bob", "a3")]);
        wanted.extend(["bob 1", "bob 2", "bob 3"].into_iter().flat_map(|body| [("alice", body), ("carol", body)]));
        for (agent, token) in wanted {
            match copies.remove(&(agent.to_owned(), token.to_owned())).unwrap_or_default() {
                1 => {}
                0 => self.figures.lost(format!("{token} for {agent}")),
                n => self.figures.duplicated(format!("{token} came to {agent} {n} times")),
            }
        }
        copies.keys().for_each(|copy| self.figures.damaged(format!("{copy:?} from nowhere")));
        for (seq, names) in numbers.into_iter().filter(|(_, names)| names.len() > 1) {
            self.figures.damaged(format!("number {seq} is given to {names:?}"));
        }
        for agent in AGENTS {
            let mut known = BTreeSet::new();
            for path in files(&self.room("sent").join(agent))? {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                if !known.insert(name.split('~').next().unwrap_or_default().to_owned()) {
                    self.figures.damaged(format!("sent/{agent}/{name} has the number of another original"));
                }
            }
            files(&self.room("outbox").join(agent))?.iter().for_each(|path| {
                self.figures.left_over(path.display().to_string());
            });
        }
        let verified = self.run(&["log", "verify"])?;
        if !verified.status.success() {
            self.figures.damaged(format!("log verify: {}", lossy(&verified.stderr)));
        }
        Ok(())
    }
}

fn play(story: Story, env: &[(&'static str, String)]) -> io::Result<Figures> {
    let mut stage = Stage::new(env)?;
    let mut done = Ok(());
    let mut calls = 0;
    let room = stage.path("room").canonicalize()?;
    if story.call.is_none() {
        stage.happen(story)?;
    }
    let outcome = Tracer::new(&room)?
        .at_call(|_| {
            calls += 1;
            if Some(calls) == story.call {
                done = stage.happen(story);
            }
        })
        .run(stage.program(&["run", "--once"]), Plan::Count)?;
    done?;
    if !matches!(outcome.end, End::Exited(0 | 1 | 75)) {
        stage.figures.damaged(format!("the router ended as {:?}: {}", outcome.end, outcome.stderr));
    }
    stage.figures.reached = usize::from(story.call.is_none_or(|call| call <= calls));
    stage.repair(story)?;
    stage.drop_again(story)?;
    stage.check()?;
    stage.figures.complaints.iter_mut().for_each(|complaint| *complaint += &format!("\n    after {story:?}"));
    Ok(stage.figures)
}

/// All accidents before a pass, and at some calls of a pass.
fn stories() -> io::Result<Vec<Story>> {
    let stage = Stage::new(&[])?;
    let room = stage.path("room").canonicalize()?;
    let calls = Tracer::new(&room)?.run(stage.program(&["run", "--once"]), Plan::Count)?.changes().count();
    let step = if full() { 1 } else { calls.div_ceil(SMALL).max(1) };
    let mut stories = Vec::new();
    for (n, accident) in ACCIDENTS.into_iter().enumerate() {
        let before = EVIDENCE.into_iter().map(|evidence| (evidence, None));
        let during = (1 + n * step / ACCIDENTS.len()..=calls).step_by(step);
        let during = during.map(|call| (Evidence::All, Some(call)));
        for (evidence, call) in before.chain(during) {
            // A file that was delivered, but is not in `sent/` yet, is delivered again after an accepted gap.
            let restores = call.is_some() || stories.len().is_multiple_of(3);
            stories.push(Story { accident, evidence, call, restores });
        }
    }
    Ok(stories)
}

#[test]
fn an_accident_of_the_log_at_any_call_of_a_pass() -> Done {
    let figures = side_by_side(WORKERS, stories()?, 20, |_, story| {
        play(story, &[]).map_err(|e| io::Error::other(format!("{e} after {story:?}")))
    })?;
    green("accidents of the log", &figures)
}

#[test]
fn without_the_checks_of_the_log_an_accident_does_harm() -> Done {
    for fault in ["log-check", "log-evidence", "log-check,log-evidence"] {
        let env = [("MAILBAG_FAILPOINT", fault.to_owned())];
        let figures = side_by_side(WORKERS, stories()?, 1, |_, story| {
            // A step that fails shows the harm as well.
            play(story, &env).or_else(|error| {
                let mut figures = Figures { points: 1, ..Figures::default() };
                figures.damaged(format!("{error} after {story:?}"));
                Ok(figures)
            })
        })?;
        println!("control {fault}: {figures}");
        println!("  {}", figures.complaints.first().ok_or_else(|| format!("no accident shows that {fault} is off"))?);
    }
    Ok(())
}

fn rfind(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).rposition(|window| window == part)
}

fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.is_file() && !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')));
    paths.sort();
    Ok(paths)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let done = Command::new("cp").arg("-aL").arg(from).arg(to).status()?;
    if done.success() { Ok(()) } else { Err(io::Error::other(format!("cannot copy {}", from.display()))) }
}
