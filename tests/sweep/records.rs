//! Records beside the log: a person's consent, and the note of where the committed log ends. They are killed, cut off from
//! the power and refused calls at every step.

use crate::world::lossy;
use super::controls::red;
use super::errors::ERRORS;
use super::ledger::Figures;
use super::letters::Random;
use super::scenario::{PROGRAM, Setting, World};
use super::story::Ground;
use super::sweeps::{Done, Points, full, green};
use super::tracer::{End, Outcome, Plan, Tracer};
use super::weak::Unsynced;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A person with two rooms. In the first one the person agreed to a link; the second one came with a link.
struct Person {
    ground: Ground,
    env: Vec<(&'static str, String)>,
}

impl Person {
    fn new(setting: &Setting) -> io::Result<Person> {
        let person = Person { ground: Ground::directory()?, env: setting.env.clone() };
        for room in ["first", "second"] {
            person.ok(&["init", &person.room(room)])?;
            let link = format!("tag = \"home\"\n[links.po]\ncarrier = \"ssh\"\naddress = \"{room}.example:/srv/po/.mailbag\"\n");
            fs::write(person.home().join(room).join("settings.toml"), link)?;
        }
        person.ok(&["trust", "--yes", &person.room("first")])?;
        Ok(person)
    }

    fn home(&self) -> PathBuf {
        self.ground.room().parent().expect("a directory").to_path_buf()
    }

    fn room(&self, name: &str) -> String {
        self.home().join(name).display().to_string()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(self.home()).env("MAILBAG_TRUST_DIR", self.home().join("trust")).env("MAILBAG_TEST_ANCESTRY", "person");
        command.envs(self.env.iter().map(|(name, value)| (*name, value)));
        command
    }

    fn ok(&self, args: &[&str]) -> io::Result<()> {
        let output = self.command(args).output()?;
        output.status.success().then_some(()).ok_or_else(|| io::Error::other(format!("{args:?}: {}", lossy(&output.stderr))))
    }

    /// The rooms with recorded consent to a link, or the reason why the record cannot be read.
    fn agreed(&self) -> io::Result<Result<BTreeSet<String>, String>> {
        let output = self.command(&["trust", "--list", "--json"]).output()?;
        if !output.status.success() {
            return Ok(Err(lossy(&output.stderr)));
        }
        let listed: Value = serde_json::from_slice(&output.stdout)?;
        let rooms = listed["rooms"].as_array().into_iter().flatten();
        let with_link = rooms.filter(|room| !room["links"].as_array().is_none_or(Vec::is_empty));
        Ok(Ok(with_link.filter_map(|room| Some(Path::new(room["path"].as_str()?).file_name()?.to_str()?.to_owned())).collect()))
    }
}

/// The person agrees to the second room's link, disturbed, and then again.
fn agree(setting: &Setting, plan: Plan, cut: Option<u64>) -> io::Result<(Figures, Outcome)> {
    let person = Person::new(setting)?;
    let (mut unsynced, mut figures) = (Unsynced::default(), Figures::default());
    let outcome = Tracer::new(&person.home())?
        .at_call(|call| unsynced.about_to(call))
        .run(person.command(&["trust", "--yes", &person.room("second")]), plan)?;
    unsynced.ended(&outcome);
    cut.map_or(Ok(()), |seed| unsynced.undo(&mut Random(seed)))?;
    if matches!(outcome.end, End::Exited(101) | End::Hung | End::Signalled(_)) {
        figures.damaged(format!("{plan:?}: it ended as {:?}: {}", outcome.end, outcome.stderr));
    }
    let (one, both) = (BTreeSet::from(["first".to_owned()]), ["first", "second"].map(str::to_owned).into());
    match person.agreed()? {
        Ok(agreed) if agreed == both || agreed == one && outcome.end != End::Exited(0) => {}
        found => figures.damaged(format!("{plan:?}, cut {cut:?}, ended as {:?}: {found:?}", outcome.end)),
    }
    if figures.complaints.is_empty() {
        person.ok(&["trust", "--yes", &person.room("second")])?;
        if person.agreed()?.as_ref() != Ok(&both) {
            figures.damaged(format!("{plan:?}, cut {cut:?}: it can't be agreed to afterwards"));
        }
    }
    (figures.points, figures.reached) = (1, usize::from(outcome.end == End::Killed || outcome.failed > 0));
    Ok((figures, outcome))
}

/// The names of the rooms that the person is recorded to have created.
fn created(person: &Person) -> io::Result<BTreeSet<String>> {
    let recorded: Value = serde_json::from_slice(&fs::read(person.home().join("trust/rooms.json"))?)?;
    let rooms = recorded["rooms"].as_array().into_iter().flatten();
    Ok(rooms.filter_map(|room| Some(Path::new(room["path"].as_str()?).file_name()?.to_str()?.to_owned())).collect())
}

/// The person creates a third room, disturbed, and then again.
fn create(plan: Plan, cut: Option<u64>) -> io::Result<(Figures, Outcome)> {
    let person = Person::new(&Setting::default())?;
    let before = created(&person)?;
    let (mut unsynced, mut figures) = (Unsynced::default(), Figures::default());
    let outcome = Tracer::new(&person.home())?
        .at_call(|call| unsynced.about_to(call))
        .run(person.command(&["init", &person.room("third")]), plan)?;
    unsynced.ended(&outcome);
    cut.map_or(Ok(()), |seed| unsynced.undo(&mut Random(seed)))?;
    match created(&person) {
        Ok(now) if before.is_subset(&now) => {}
        found => figures.damaged(format!("{plan:?}, cut {cut:?}: {found:?}")),
    }
    if let Err(e) = person.ok(&["init", &person.room("third")]) {
        figures.damaged(format!("{plan:?}, cut {cut:?}: the room cannot be created afterwards: {e}"));
    }
    if !created(&person)?.contains("third") {
        figures.lost(format!("{plan:?}, cut {cut:?}: the record of the third room"));
    }
    (figures.points, figures.reached) = (1, usize::from(outcome.end == End::Killed || outcome.failed > 0));
    Ok((figures, outcome))
}

#[test]
fn the_record_of_created_rooms_survives_a_kill_and_a_power_cut_at_any_call() -> Done {
    // P301
    let (mut figures, outcome) = create(Plan::Count, None)?;
    for (n, (call, moment)) in Points::of(outcome).choose(10, 45).into_iter().enumerate() {
        let cut = (n % 2 == 0).then_some(n as u64);
        figures.add(create(Plan::Kill { call, moment }, cut)?.0);
    }
    green("kills and power cuts while a room is created", &figures)
}

fn agreed_and_cut(setting: &Setting, enough: usize) -> io::Result<Figures> {
    let (mut figures, outcome) = agree(setting, Plan::Count, Some(setting.seed))?;
    for (n, (call, moment)) in Points::of(outcome).choose(24, setting.seed).into_iter().enumerate() {
        for way in 0..if full() { 8 } else { 2 } {
            // Half of the cuts come after the end.
            let plan = if (n + way) % 2 == 0 { Plan::Kill { call, moment } } else { Plan::Count };
            figures.add(agree(setting, plan, Some(setting.seed ^ (n as u64) << 8 ^ way as u64))?.0);
            if figures.complaints.len() >= enough {
                return Ok(figures);
            }
        }
    }
    Ok(figures)
}

#[test]
fn consent_survives_a_kill_and_a_power_cut_at_any_call() -> Done {
    // P226
    let setting = Setting { seed: 41, ..Setting::default() };
    let (mut figures, outcome) = agree(&setting, Plan::Count, None)?;
    for (call, moment) in Points::of(outcome).choose(8, 41) {
        figures.add(agree(&setting, Plan::Kill { call, moment }, None)?.0);
    }
    figures.add(agreed_and_cut(&setting, usize::MAX)?);
    green("kills and power cuts while consent is recorded", &figures)
}

#[test]
fn consent_is_recorded_or_not_whichever_call_fails() -> Done {
    let setting = Setting { seed: 42, ..Setting::default() };
    let (mut figures, outcome) = agree(&setting, Plan::Count, None)?;
    let (made, mut random) = (outcome.names(), Random(42));
    for (name, errors) in ERRORS {
        let calls = made.get(name).copied().unwrap_or_default();
        for &errno in errors.iter().filter(|errno| calls > 0 && **errno != libc::EINTR) {
            let chosen = if full() { (1..=calls).collect() } else { vec![1 + random.below(calls)] };
            for nth in chosen {
                figures.add(agree(&setting, Plan::Fail { name, nth, errno, lasting: false }, None)?.0);
            }
        }
    }
    green("calls that fail while consent is recorded", &figures)
}

#[test]
fn without_the_sync_of_recorded_consent() -> Done {
    red("trust-sync", Setting { seed: 43, ..Setting::default() }, |setting| agreed_and_cut(setting, 1))
}

/// A pass over letters with a kill and a power cut, while a program reads the log: all shown records still exist
/// afterwards.
fn read_and_cut(setting: &Setting, plan: Plan, seed: u64) -> io::Result<(Figures, Outcome)> {
    let ground = Ground::directory()?;
    let mut world = World::new(&ground.room(), setting.clone())?;
    let (mut unsynced, mut shown) = (Unsynced::default(), Ok(BTreeSet::new()));
    let reader = |world: &World| world.program(&["log", "head"]);
    let (command, mut reading) = (world.command(), reader(&world));
    let outcome = Tracer::new(&world.room().canonicalize()?)?
        .at_call(|call| unsynced.about_to(call))
        .before_kill(|| shown = read(&mut reading))
        .run(command, plan)?;
    unsynced.ended(&outcome);
    world.power_went();
    unsynced.undo(&mut Random(seed))?;
    // The note may be old, torn or missing now.
    let mut shown = shown?;
    shown.extend(read(&mut reader(&world))?);
    world.settle()?;
    for head in shown {
        if !world.program(&["log", "verify", "--head", &head]).output()?.status.success() {
            world.complain(format!("{plan:?}: a reader was shown a record that the log lost: {head}"));
        }
    }
    let reached = usize::from(outcome.end == End::Killed);
    Ok((Figures { points: 1, reached, ..world.figures()? }, outcome))
}

/// The head of the log that a reader is shown. It stands for all records before it. An empty log shows nothing.
fn read(reader: &mut Command) -> io::Result<BTreeSet<String>> {
    let output = reader.output()?;
    let err = lossy(&output.stderr);
    match output.status.success() {
        true => Ok(lossy(&output.stdout).lines().map(str::to_owned).collect()),
        false if err.contains("has no records") => Ok(BTreeSet::new()),
        false => Err(io::Error::other(format!("log: {err}"))),
    }
}

/// Kills at the calls between the writing of a batch and its note, each with other undone parts.
fn notes(setting: &Setting, enough: usize) -> io::Result<Figures> {
    let (mut figures, outcome) = read_and_cut(setting, Plan::Count, setting.seed)?;
    let calls: Vec<usize> =
        outcome.changes().filter(|call| call.paths.iter().any(|path| path.ends_with("spool/committed") || path.parent().is_some_and(|p| p.ends_with("log")))).filter_map(|call| call.number).collect();
    let points = Points::of(outcome).sides_of(&calls);
    let chosen = if full() { 1 } else { points.len().div_ceil(24).max(1) };
    for (n, (call, moment)) in points.into_iter().enumerate().filter(|(n, _)| n % chosen == 0) {
        figures.add(read_and_cut(setting, Plan::Kill { call, moment }, setting.seed ^ (n as u64) << 8)?.0);
        if figures.complaints.len() >= enough {
            break;
        }
    }
    Ok(figures)
}

#[test]
fn nothing_that_a_reader_was_shown_is_lost_by_a_power_cut() -> Done {
    // P94
    let setting = Setting { seed: 44, power: true, unordered: true, ..Setting::default() };
    green("power cuts around the note of the committed log", &notes(&setting, usize::MAX)?)
}

#[test]
fn without_the_note_of_the_committed_log() -> Done {
    let setting = Setting { seed: 44, power: true, unordered: true, ..Setting::default() };
    red("committed-note", setting, |setting| notes(setting, 1))
}
