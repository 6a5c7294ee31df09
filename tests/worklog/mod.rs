//! Milestones, and the files that report events to people.

mod agree;
mod entries;
mod events;
mod foreign;
mod live;
mod mailbox;
mod milestones;
mod places;
mod rebuilt;
mod recipes;
mod status;
mod written;

use crate::world::{Words, World};
use std::fs;
use std::process::Command;

/// Runs a line in a shell at the room's parent, as an agent without the program does.
#[track_caller]
fn shell(world: &World, line: &str) {
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(world.path())
        .output()
        .expect("a shell");
    assert!(
        output.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// An agent drops a message by a shell's echo.
#[track_caller]
fn echo(world: &World, agent: &str, message: &str) {
    let name = uuid::Uuid::now_v7();
    shell(
        world,
        &format!("echo '{message}' > .mailbag/outbox/{agent}/{name}.json"),
    );
}

/// A room of these agents that writes a worklog.
fn room(agents: &(impl Words + ?Sized)) -> World {
    World::with(agents).settings("worklog = true\n")
}

/// The worklog; nothing if there is none.
fn worklog(world: &World) -> String {
    fs::read_to_string(world.path().join("WORKLOG.md")).unwrap_or_default()
}

/// The part of the worklog with the entries.
#[track_caller]
fn entries_of(worklog: &str) -> &str {
    worklog
        .split_once("\n## Entries\n\n")
        .unwrap_or_else(|| panic!("no entries in {worklog}"))
        .1
}

/// The agent, kind and text of each entry.
#[track_caller]
fn said(world: &World) -> Vec<String> {
    let worklog = worklog(world);
    entries_of(&worklog)
        .lines()
        .map(|line| {
            line.splitn(4, ' ')
                .nth(3)
                .unwrap_or_else(|| panic!("{line}"))
                .to_owned()
        })
        .collect()
}

/// The files beside the room that the router kept.
fn kept(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.path()).expect("the directory").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.contains(".kept-")).collect();
    names.sort();
    names
}
