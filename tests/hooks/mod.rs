//! Hooks: their output for recorded inputs of the clients, byte for byte, and the frequency of
//! announcements.

mod budget;
mod claims;
mod clients;
mod identity;
mod joining;
mod names;
mod permissions;
mod queue;
mod rewake;
mod socket;
mod telling;

use crate::world::{Words, World, lossy};
use std::path::Path;
use std::process::Output;

/// A client's input, as it was recorded.
pub(crate) fn recorded(client: &str, event: &str) -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/hooks/{client}/{event}.json"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Runs a hook, as its client does.
fn run(world: &World, args: &[&str], agent: Option<&str>, input: &str) -> Output {
    let mut hook = world.program(&[&["hook"], args].concat());
    if let Some(agent) = agent {
        hook.env("MAILBAG_AGENT", agent);
    }
    hook.write_stdin(input).output().expect("the program runs")
}

/// The hook's output for alice; it must end with status 0 and without standard error.
#[track_caller]
pub(crate) fn fire(world: &World, client: &str, event: &str) -> String {
    let output = run(world, &[client], Some("alice"), &recorded(client, event));
    assert_eq!(lossy(&output.stderr), "", "{client} {event}");
    assert_eq!(output.status.code(), Some(0), "{client} {event}");
    lossy(&output.stdout)
}

/// Puts a message into alice's inbox, and returns its number.
#[track_caller]
fn mail(world: &World, body: &str, more: &(impl Words + ?Sized)) -> u64 {
    let id = world.ok(&[
        vec!["send", "-q", "alice", body, "--as", "bob"],
        more.words(),
    ]
    .concat());
    let mut seq = None;
    world.wait("it is in alice's inbox", || {
        let there = world
            .inbox("alice")
            .into_iter()
            .find(|mail| mail["id"] == id.trim());
        seq = there.and_then(|mail| mail["delivery"]["seq"].as_u64());
        seq.is_some()
    });
    seq.expect("it was awaited")
}

/// A room with alice and bob.
fn room() -> World {
    World::alice_and_bob()
}
