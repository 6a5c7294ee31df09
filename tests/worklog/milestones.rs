//! Milestones go to all agents, in the name of the one who reached them.

use super::shell;
use crate::world::World;
use serde_json::json;

#[test]
fn a_milestone_by_a_shell_s_echo_goes_to_all_agents() {
    // P160
    let world = World::with("alice bob carol");
    shell(
        &world,
        r#"echo '{"type":"milestone","body":"it works, thanks @bob"}' > .mailbag/outbox/alice/x.json"#,
    );
    shell(
        &world,
        r#"echo '{"type":"milestone","to":[],"body":"again"}' > .mailbag/outbox/alice/y.json"#,
    );
    shell(
        &world,
        r#"echo '{"type":"milestone","to":"bob","body":"only bob"}' > .mailbag/outbox/alice/z.json"#,
    );
    world.pass();
    assert_eq!(world.bodies("carol"), ["it works, thanks @bob", "again"]);
    assert_eq!(
        world.bodies("bob"),
        ["it works, thanks @bob", "again", "only bob"]
    );
    let copy = &world.inbox("carol")[0];
    assert_fields!(copy, from: "alice", addressed_to: "all", type: "milestone");
    assert_eq!(copy["delivery"]["via"], "all");
}

#[test]
fn the_command_announces_in_the_caller_s_name_also_from_standard_input() {
    let world = World::alice_and_bob();
    let id = world
        .ok("send --type milestone -q 'half of it' --as alice")
        .trim()
        .to_owned();
    let sent = world
        .pipe(
            &[
                "send",
                "--type",
                "milestone",
                "-q",
                "-",
                "--ref",
                &id,
                "--as",
                "bob",
            ],
            "the rest\n",
        )
        .ok();
    assert_eq!(world.bodies("bob"), ["half of it"]);
    let copy = &world.inbox("alice")[0];
    assert_eq!(
        (copy["id"].as_str(), &copy["refs"]),
        (Some(sent.trim()), &json!([id]))
    );
    assert_fields!(copy, from: "bob", body: "the rest");
}

#[test]
fn the_only_agent_of_a_room_can_announce_too_but_not_without_a_text() {
    let world = World::with("alice");
    world.ok("send --type milestone done --as alice");
    assert_contains!(world.ok("list"), "done");
    assert_contains!(world.fails(65, "send --type milestone '' --as alice"), "no text"; "an empty text");
}
