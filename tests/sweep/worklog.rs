//! A pass that writes the worklog, killed at every step: in the end each entry is there once, and a changed file is kept.

use super::entries::without_check;
use super::ledger::Figures;
use super::one_pass::{done, pass_now};
use super::scenario::PROGRAM;
use super::sweeps::{Done, kill_each};
use super::tracer::{Outcome, Plan, Tracer};
use serde_json::json;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The text that an agent wrote into the worklog by hand.
const BY_HAND: &str = "\nby hand\n";

/// The file in the place of the worklog before the killed pass.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Before {
    AsLeft,
    Changed,
    Missing,
}

fn drop_file(room: &Path, id: &str, kind: &str) -> io::Result<()> {
    let message = json!({"id": id, "type": kind, "to": "all", "body": id});
    fs::write(room.join(format!("outbox/alice/{id}.json")), message.to_string())
}

/// A room with two entries, and mail that makes two more and changes the status.
fn room(room: &Path, before: Before) -> io::Result<()> {
    let mut init = Command::new(PROGRAM);
    init.args(["init", "--quiet"]).arg(room);
    done(init)?;
    let mut add = Command::new(PROGRAM);
    add.args(["agent", "add", "--quiet", "--room"]).arg(room).args(["alice", "bob"]);
    done(add)?;
    fs::write(room.join("settings.toml"), "worklog = true\nmailbox = true\n")?;
    drop_file(room, "one", "milestone")?;
    drop_file(room, "two", "decision.recorded")?;
    done(pass_now(room))?;
    drop_file(room, "three", "milestone")?;
    drop_file(room, "four", "decision.recorded")?;
    drop_file(room, "five", "status")?;
    let worklog = room.with_file_name("WORKLOG.md");
    match before {
        Before::AsLeft => Ok(()),
        Before::Changed => fs::write(&worklog, fs::read_to_string(&worklog)? + BY_HAND),
        Before::Missing => fs::remove_file(&worklog),
    }
}

/// The killed pass, the passes after it, and everything that is wrong then.
fn play(plan: Plan, before: Before) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let place = home.path().join("room");
    room(&place, before)?;
    let outcome = Tracer::new(&place)?.run(pass_now(&place), plan)?;
    let mut figures = Figures::of(&outcome);
    done(pass_now(&place))?;
    let worklog = home.path().join("WORKLOG.md");
    let text = fs::read_to_string(&worklog)?;
    let entries = text.split_once("\n## Entries\n\n").map(|(_, entries)| entries).unwrap_or_default();
    for body in ["one", "two", "three", "four"] {
        match entries.lines().filter(|line| line.ends_with(&format!("· {body}"))).count() {
            0 => figures.lost(format!("entry {body}")),
            1 => {}
            n => figures.duplicated(format!("entry {body} is there {n} times")),
        }
    }
    if entries.lines().count() != 4 || !text.contains("status: five") {
        figures.damaged(text.clone());
    }
    let files = [worklog, place.join("MAILBOX.md"), place.join("queue/to-bob.md")];
    let texts = files.iter().map(fs::read_to_string).collect::<io::Result<Vec<_>>>()?;
    files.iter().try_for_each(fs::remove_file)?;
    done(pass_now(&place))?;
    for (file, text) in files.iter().zip(texts) {
        if without_check(&fs::read_to_string(file)?) != without_check(&text) {
            figures.damaged(format!("{} is another one when it is made again", file.display()));
        }
    }
    count_kept(home.path(), before, &mut figures)?;
    Ok((figures, outcome))
}

/// Checks that a changed file was kept, and that the human was notified once.
fn count_kept(home: &Path, before: Before, figures: &mut Figures) -> io::Result<()> {
    let names: Vec<String> =
        fs::read_dir(home)?.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let kept: Vec<&String> = names.iter().filter(|name| name.contains(".kept-")).collect();
    let told = fs::read_dir(home.join("room/inbox/human"))?.flatten();
    let told = told.filter(|entry| fs::read_to_string(entry.path()).is_ok_and(|mail| mail.contains("another program or person wrote"))).count();
    let wanted = usize::from(before == Before::Changed);
    if (kept.len(), told) != (wanted, wanted) {
        figures.damaged(format!("{before:?}: {kept:?} kept, told {told} times"));
    }
    for name in kept {
        if !fs::read_to_string(home.join(name))?.ends_with(BY_HAND) {
            figures.lost(format!("what was written by hand, in {name}"));
        }
    }
    if names.len() != 2 + wanted {
        figures.damaged(format!("drafts are left: {names:?}"));
    }
    Ok(())
}

#[test]
fn a_pass_that_writes_the_worklog_killed_at_any_call() -> Done {
    // P164, P165
    for before in [Before::AsLeft, Before::Changed, Before::Missing] {
        kill_each(&format!("kills of a pass that writes the worklog, {before:?}"), 13, 164, |plan| play(plan, before))?;
    }
    Ok(())
}
