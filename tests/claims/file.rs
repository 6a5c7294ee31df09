//! `claims.json`: true up to a record, and made again from the log.

use super::{answer, claim, owned, owner, say};
use crate::files;
use crate::town::Town;
use crate::world::World;
use serde_json::json;

#[test]
fn the_file_names_the_record_up_to_which_it_is_true() {
    // P125
    let world = World::alice_and_bob();
    assert!(!world.room("claims.json").exists(), "no claims, no file");
    say(
        &world,
        0,
        "alice",
        json!({"type": "claim", "claims": ["src"], "subject": "Passkeys", "lease": "90m"}),
    );
    let file = world.read("claims.json");
    let held = &file["claims"][0];
    assert_fields!(held, subject: "src", owner: "alice", purpose: "Passkeys");
    assert_fields!(held, lease: "90m", since: "2026-11-21T10:00:00.000001Z");
    assert!(file["seq"].as_u64() >= held["seq"].as_u64());
}

#[test]
fn a_deleted_damaged_or_foreign_file_is_made_again_and_believed_by_nobody() {
    // P125
    let world = World::alice_and_bob();
    let other = World::alice_and_bob();
    say(&world, 0, "alice", claim(&["src"]));
    say(&other, 0, "bob", claim(&["src"]));
    let good = files::read(world.room("claims.json"));
    let foreign = files::read(other.room("claims.json"));
    for bad in [
        &b""[..],
        b"{",
        &good[..good.len() / 2],
        &foreign,
        &[0; 4096],
    ] {
        files::write(world.room("claims.json"), bad);
        assert_contains!(world.ok("send --dry-run owner:src ''"), "alice"; "readers fall back to the log");
        assert_eq!(say(&world, 1, "bob", claim(&["src/b"])), "claimed");
        say(&world, 2, "alice", claim(&["src"]));
        assert_eq!(owner(&world, "src"), "alice");
    }
    files::remove_file(world.room("claims.json"));
    say(&world, 3, "alice", claim(&["docs"]));
    assert_eq!(owned(&world).len(), 2);
}

#[test]
fn readers_add_the_records_behind_the_file() {
    // P125
    let world = World::with("alice bob carol");
    say(&world, 0, "alice", claim(&["src"]));
    let old = files::read(world.room("claims.json"));
    say(
        &world,
        1,
        "alice",
        json!({"type": "handoff", "to": "bob", "claims": ["src"], "body": "yours"}),
    );
    say(&world, 2, "bob", answer(&world, "accept"));
    files::write(world.room("claims.json"), old);
    assert_contains!(world.ok("send --dry-run owner:src ''"), "bob");
}

#[test]
fn a_snapshot_keeps_the_claims_and_so_does_the_archive() {
    let mut town = Town::alice_and_bob().quick().run();
    town.mail("alice", "c.json", claim(&["src"]));
    town.wait_for_mail("alice", 1);
    for n in 0..300 {
        town.mail(
            "bob",
            &format!("{n}.json"),
            json!({"to": "alice", "body": "x".repeat(8000)}),
        );
    }
    town.wait_for_mail("alice", 301);
    town.stop();
    assert!(town.room("spool/snapshot").exists() || town.names("spool").is_empty());
    town.ok("archive --older-than 0");
    assert_eq!(say(&town, 0, "bob", claim(&["src/x"])), "claimed");
    files::remove_file(town.room("claims.json"));
    assert_contains!(town.ok("send --dry-run owner:src ''"), "alice");
}
