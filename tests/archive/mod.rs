//! The archiver: the files that it packs and keeps, and that all mail stays readable.

pub(crate) mod packs;

mod beside;
mod chain;
mod artifacts;
mod obstacles;
mod packing;
mod tar;
mod timers;

use crate::world::{Ran, Words, World};
use serde_json::Value;

/// So far from now that everything in a test is old.
pub(crate) const LATER: &str = "2099-01-01T00:00:00Z";

/// The program with log segments of this size.
fn with_segments(world: &World, bytes: u32, args: &(impl Words + ?Sized)) -> assert_cmd::Command {
    let mut program = world.program(args);
    program.env("MAILBAG_TEST_SEGMENT_BYTES", bytes.to_string());
    program
}

/// Routes the waiting mail, one pass for each message, in small segments.
fn route(world: &World) {
    with_segments(world, 1000, "run --once").assert().success();
}

/// alice writes to bob, and it is routed.
fn letter(world: &World, n: usize) {
    world.drop_file(
        "alice",
        &format!("{n}.json"),
        format!(r#"{{"id":"m-{n}","to":"bob","body":"letter {n}"}}"#),
    );
    route(world);
}

/// A room with enough messages from alice to bob for several segments.
fn room_with_segments() -> World {
    let world = World::alice_and_bob();
    (0..8).for_each(|n| letter(&world, n));
    assert!(world.room("log/00000003.ndjson").exists());
    world
}

/// Packs all that there is.
#[track_caller]
fn archive(world: &World) -> Value {
    world.json("archive --older-than 0s")
}

/// Runs the archiver at another time.
fn archive_at(world: &World, now: &str, args: &(impl Words + ?Sized)) -> Ran {
    let mut program = world.program(&[vec!["archive"], args.words()].concat());
    Ran::of(program.env("MAILBAG_TEST_NOW", now))
}

/// The records of the log.
fn log(world: &World) -> String {
    world.log("")
}
