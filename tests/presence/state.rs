//! The observed activity of agents survives a snapshot unchanged.

use super::{in_roster, run_at};
use crate::world::{World, parse_json};
use mailbag::features::presence;
use mailbag::log::state::replay;
use mailbag::room::Room;
use serde_json::json;

#[test]
fn activity_and_current_work_survive_a_snapshot() {
    let world = World::alice_and_bob();
    let told =
        json!({"type": "progress", "to": "bob", "body": "half", "metadata": {"progress": 50.0}});
    world.mail("alice", "x.json", &told);
    run_at(&world, "10:00", "run --once");
    run_at(&world, "10:01", "read --as bob");
    let before = parse_json(run_at(&world, "10:02", "who --json"));
    assert_eq!(
        in_roster(&before, "alice")["report"]["progress"].to_string(),
        "50.0"
    );
    assert!(in_roster(&before, "bob")["last_seen"].as_str().is_some());

    let room = Room::open(&world.room("")).expect("a room");
    let mut whole = replay(&room.dir).expect("a log");
    whole.state.save(&room.dir).expect("a snapshot");
    let quick = replay(&room.dir).expect("a log");
    assert_eq!(quick.read, 0, "the snapshot was used");
    assert_eq!(presence::of(&quick.state), presence::of(&whole.state));
    let after = parse_json(run_at(&world, "10:02", "who --json"));
    assert_eq!(after, before);
}
