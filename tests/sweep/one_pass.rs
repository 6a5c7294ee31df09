//! A room with one killed pass at a fixed time, and its state in the end.

use super::ledger::Figures;
use super::scenario::PROGRAM;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// A new room with these agents.
pub(super) fn new_room(room: &Path, agents: &[&str]) -> io::Result<()> {
    let mut init = Command::new(PROGRAM);
    init.args(["init", "--quiet"]).arg(room);
    done(init)?;
    let mut add = Command::new(PROGRAM);
    add.args(["agent", "add", "--quiet", "--room"]).arg(room).args(agents);
    done(add)
}

/// A pass.
pub(super) fn pass_now(room: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--once", "--quiet", "--room"]).arg(room);
    command
}

/// A pass at this time.
pub(super) fn pass(room: &Path, time: &str) -> Command {
    let mut command = pass_now(room);
    command.env("MAILBAG_TEST_NOW", time).env("MAILBAG_TEST_CREATED", "all");
    command
}

/// Runs a command that has to succeed.
pub(super) fn done(mut command: Command) -> io::Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// Drops a message.
pub(super) fn drop_file(room: &Path, agent: &str, id: &str, mut message: Value) -> io::Result<()> {
    message["id"] = json!(id);
    fs::write(room.join(format!("outbox/{agent}/{id}.json")), message.to_string())
}

/// Every one of these copies has come once, and no other one.
pub(super) fn came_once(room: &Path, agents: &[&str], wanted: &[&str], figures: &mut Figures) -> io::Result<()> {
    let mut came: BTreeMap<String, usize> = BTreeMap::new();
    for agent in agents.iter().chain(&["human"]) {
        for entry in fs::read_dir(room.join(format!("inbox/{agent}")))?.flatten() {
            let Ok(mail) = serde_json::from_slice::<Value>(&fs::read(entry.path()).unwrap_or_default()) else { continue };
            let what = match mail["from"].as_str() {
                Some("mailbag" | "po:mailbag") => mail["subject"].as_str().unwrap_or_default(),
                _ => mail["id"].as_str().unwrap_or_default(),
            };
            *came.entry(format!("{agent}: {what}")).or_default() += 1;
        }
    }
    for copy in wanted {
        match came.remove(*copy).unwrap_or_default() {
            0 => figures.lost((*copy).to_owned()),
            1 => {}
            n => figures.duplicated(format!("{copy} came {n} times")),
        }
    }
    came.keys().for_each(|copy| figures.damaged(format!("{copy} was not expected")));
    Ok(())
}

/// The other room of this link has confirmed every item, and so has this one.
pub(super) fn no_item_is_left(room: &Path, tag: &str, figures: &mut Figures) -> io::Result<()> {
    for side in ["in", "out"] {
        for entry in fs::read_dir(room.join(format!("links/{tag}/{side}")))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != "state.json" && !name.starts_with('.') {
                figures.damaged(format!("{} has {name} in the end", room.display()));
            }
        }
    }
    Ok(())
}
