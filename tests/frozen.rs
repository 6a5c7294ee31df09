//! The room `fixtures/rooms/v1` opens. `fixtures/rooms/generate` writes it; the first release freezes the format.

use crate::world::World;
use std::path::Path;
use std::process::Command;

fn room_of_version_1() -> World {
    let world = World::empty();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rooms/v1");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(fixture)
        .arg(world.room(""))
        .status()
        .expect("cp runs");
    assert!(copied.success());
    world
}

#[test]
fn its_log_verifies_and_its_unread_mail_is_read() {
    let world = room_of_version_1();
    assert_contains!(world.verify(), "the log is intact: 8 records");
    let unread = world.inbox("agent_engineer_2_def456");
    assert_eq!(unread[0]["n"].to_string(), "12345678901234567890");
    assert_contains!(
        world.ok("read m-1 --as agent_engineer_2_def456"),
        "Which one?"
    );
}

#[test]
fn mail_that_waited_in_it_is_routed_by_its_alias() {
    let world = room_of_version_1();
    world.pass();
    assert!(world.names("outbox/agent_engineer_1_abc123").is_empty());
    assert!(
        world
            .bodies("planner")
            .contains(&"not routed yet".to_owned())
    );
}

#[test]
fn an_id_that_it_used_is_known_and_a_topic_has_its_subscribers() {
    let world = room_of_version_1();
    let text =
        r##"{"id":"m-2","to":["human","#auth-module"],"body":"for the person and a topic"}"##;
    world.drop_file("planner", "again.json", text);
    world.route(
        "planner",
        "new.json",
        r##"{"to":"#auth-module","body":"for both"}"##,
    );
    assert!(
        world
            .bodies("agent_engineer_2_def456")
            .contains(&"for both".to_owned())
    );
    assert_eq!(
        world
            .bodies("human")
            .iter()
            .filter(|body| *body == "for the person and a topic")
            .count(),
        1,
        "the message that came again was not delivered again"
    );
}
