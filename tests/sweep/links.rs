//! Two rooms with a link, and a pass of either router that is killed or unplugged at every step: in the end each message has crossed
//! once, and in order.

use super::cache::booted;
use super::device::{Cut, Kind, PowerDevice};
use super::ledger::Figures;
use super::one_pass::{came_once, done, drop_file, new_room, no_item_is_left, pass};
use super::sweeps::{Done, Points, devices, green};
use super::tracer::{End, Outcome, Plan, Tracer};
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const TIME: &str = "2026-11-21T10:00:00Z";
/// The mail in each inbox in the end.
const IN_FIT: [&str; 5] = ["alice: before-back", "alice: back", "alice: both", "anna: both", "alice: rejected: unknown recipient"];
const IN_PO: [&str; 7] =
    ["sintra: before", "sintra: one", "sintra: both", "bob: both", "bob: role", "sintra: line-1", "bob: line-2"];

/// Two rooms, before one of them is killed.
struct Rooms {
    fit: PathBuf,
    po: PathBuf,
}

impl Rooms {
    fn new(fit: &Path, po: &Path) -> io::Result<Rooms> {
        let rooms = Rooms { fit: fit.join("fit"), po: po.join("po") };
        new_room(&rooms.fit, &["alice", "anna"])?;
        new_room(&rooms.po, &["sintra", "bob"])?;
        let mut registry: Value = serde_json::from_slice(&fs::read(rooms.po.join("registry.json"))?)?;
        for agent in registry["agents"].as_array_mut().into_iter().flatten().filter(|agent| agent["id"] == "bob") {
            agent["role"] = json!("engineer");
        }
        fs::write(rooms.po.join("registry.json"), registry.to_string())?;
        fs::write(rooms.fit.join("settings.toml"), format!("[links.po]\naddress = {:?}\n", rooms.po))?;
        fs::write(rooms.po.join("settings.toml"), format!("[links.fit]\naddress = {:?}\n", rooms.fit))?;
        drop_file(&rooms.fit, "alice", "before", json!({"to": "po:sintra", "body": "x"}))?;
        drop_file(&rooms.po, "sintra", "before-back", json!({"to": "fit:alice", "body": "x"}))?;
        rooms.settle()?;
        fs::create_dir_all(rooms.fit.join("context"))?;
        fs::write(rooms.fit.join("context/a.md"), "first")?;
        rooms.fill()?;
        Ok(rooms)
    }

    /// Mail each way, of each kind, that is on its way when a router is killed.
    fn fill(&self) -> io::Result<()> {
        drop_file(&self.po, "sintra", "back", json!({"to": "fit:alice", "body": "x"}))?;
        drop_file(&self.po, "bob", "both", json!({"to": ["fit:alice", "fit:anna"], "body": "x"}))?;
        done(pass(&self.po, TIME))?;
        drop_file(&self.fit, "alice", "one", json!({"to": "po:sintra", "attachments": [{"path": "a.md"}]}))?;
        drop_file(&self.fit, "alice", "nobody", json!({"to": "po:nobody", "body": "x"}))?;
        drop_file(&self.fit, "anna", "both", json!({"to": ["po:sintra", "po:bob"], "body": "x"}))?;
        let lines = [json!({"id": "line-1", "to": "po:sintra", "body": "x"}), json!({"id": "line-2", "to": "po:bob", "body": "x"})];
        fs::write(self.fit.join("outbox/anna/lines.ndjson"), lines.map(|line| line.to_string()).join("\n"))?;
        drop_file(&self.fit, "anna", "role", json!({"to": "po:all_engineer", "body": "x"}))
    }

    fn settle(&self) -> io::Result<()> {
        for _ in 0..5 {
            done(pass(&self.fit, TIME))?;
            done(pass(&self.po, TIME))?;
        }
        Ok(())
    }

    /// Everything that is wrong in the end.
    fn judge(&self, figures: &mut Figures) -> io::Result<()> {
        came_once(&self.fit, &["alice", "anna"], &IN_FIT, figures)?;
        came_once(&self.po, &["sintra", "bob"], &IN_PO, figures)?;
        for (room, tag) in [(&self.fit, "po"), (&self.po, "fit")] {
            no_item_is_left(room, tag, figures)?;
            numbers_are_whole(room, figures)?;
        }
        self.check_text_against_log(figures)
    }

    /// An attached file crosses as the text that the log has, although the file has changed since.
    fn check_text_against_log(&self, figures: &mut Figures) -> io::Result<()> {
        let log = fs::read_to_string(self.fit.join("log/00000001.ndjson"))?;
        let mut records = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let recorded = records.find(|record| record["id"] == "one").map(|record| record["enclosed"][0]["content"].clone());
        for entry in fs::read_dir(self.po.join("inbox/sintra"))?.flatten() {
            let Ok(mail) = serde_json::from_slice::<Value>(&fs::read(entry.path()).unwrap_or_default()) else { continue };
            let text = &mail["attachments"][0]["content"];
            if mail["id"] == "one" && (recorded.as_ref() != Some(text) || !text.is_string()) {
                figures.damaged(format!("the attached text is {text}, and the log has {recorded:?}"));
            }
        }
        Ok(())
    }
}

/// The items of each stream are 1, 2, 3, in the order of the log, as sent and as taken.
fn numbers_are_whole(room: &Path, figures: &mut Figures) -> io::Result<()> {
    let (mut sent, mut taken) = (Vec::new(), Vec::new());
    for line in fs::read_to_string(room.join("log/00000001.ndjson"))?.lines() {
        let record: Value = serde_json::from_str(line)?;
        sent.extend(record["carried"].as_array().into_iter().flatten().filter_map(|item| item["n"].as_u64()));
        taken.extend(record["arrived"]["n"].as_u64());
    }
    for numbers in [sent, taken] {
        if numbers != (1..=numbers.len() as u64).collect::<Vec<_>>() {
            figures.damaged(format!("the numbers in {} are {numbers:?}", room.display()));
        }
    }
    Ok(())
}

/// A pass of one of the rooms, disturbed by `run`, which gets the command; then the passes after it, and everything that is
/// wrong then.
fn play(
    of: &str,
    (fit, po): (&Path, &Path),
    run: impl FnOnce(Command) -> io::Result<Outcome>,
) -> io::Result<(Figures, Outcome)> {
    let rooms = Rooms::new(fit, po)?;
    let room = if of == "fit" {
        &rooms.fit
    } else {
        done(pass(&rooms.fit, TIME))?;
        &rooms.po
    };
    // What agents dropped is not the router's to make durable.
    done(Command::new("sync"))?;
    let outcome = run(pass(room, TIME))?;
    let mut figures = Figures::of(&outcome);
    fs::write(rooms.fit.join("context/a.md"), "second")?;
    rooms.settle()?;
    rooms.judge(&mut figures)?;
    Ok((figures, outcome))
}

fn kill(of: &str, plan: Plan) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    play(of, (home.path(), home.path()), |pass| Tracer::new(home.path())?.run(pass, plan))
}

/// A power cut of the room's file system, but not of the other room's.
fn cut(of: &str, kind: Kind, plan: Plan) -> io::Result<Figures> {
    let (mut device, other) = (PowerDevice::new(kind)?, TempDir::new()?);
    let home = device.path();
    let homes = if of == "fit" { (&*home, other.path()) } else { (other.path(), &*home) };
    let device = &mut device;
    let (figures, _) = play(of, homes, |pass| {
        let mut gone = Ok(());
        let outcome = Tracer::new(&home)?.before_kill(|| gone = device.cut(Cut::Hard)).run(pass, plan)?;
        gone?;
        if outcome.end != End::Killed {
            device.cut(Cut::Hard)?;
        }
        device.remount()?;
        booted(&home.join(of))?;
        Ok(outcome)
    })?;
    Ok(figures)
}

#[track_caller]
fn sweep(of: &str, seed: u64) -> Done {
    let (mut figures, outcome) = kill(of, Plan::Count)?;
    let points = Points::of(outcome);
    for (call, moment) in points.choose(6, seed) {
        figures.add(kill(of, Plan::Kill { call, moment })?.0);
    }
    green(&format!("kills of a pass with a link, in {of}"), &figures)?;
    for kind in devices() {
        let mut figures = Figures::default();
        for (call, moment) in points.choose(2, seed + 1) {
            figures.add(cut(of, kind, Plan::Kill { call, moment })?);
        }
        green(&format!("power cuts of a pass with a link, in {of}, on {kind}"), &figures)?;
    }
    Ok(())
}

#[test]
fn a_pass_that_sends_by_a_link_killed_or_unplugged_at_any_call() -> Done {
    // P201, P202, P204
    sweep("fit", 200)
}

#[test]
fn a_pass_that_takes_from_a_link_killed_or_unplugged_at_any_call() -> Done {
    // P203, P209
    sweep("po", 203)
}
