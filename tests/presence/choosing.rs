//! `any_<role>` prefers a recently active agent.

use super::run_at;
use crate::world::World;

fn choosing() -> World {
    let world = World::with("lead")
        .agent("e1", "--role engineer")
        .agent("e2", "--role engineer");
    run_at(&world, "10:00", "send lead 'I am here' --as e2");
    run_at(&world, "10:00", "send e2 good --as lead");
    world
}

/// P77: the choice follows from observations.
#[test]
fn any_role_chooses_a_recently_active_agent_despite_more_unread_mail() {
    let world = choosing();
    assert_contains!(
        run_at(&world, "10:30", "send --dry-run any_engineer ''"),
        "reaches e2 (any)"
    );
    run_at(&world, "10:30", "send any_engineer 'a task' --as lead");
    assert_eq!(
        (world.inbox("e1").len(), world.bodies("e2")),
        (0, vec!["good".to_owned(), "a task".to_owned()])
    );
}

#[test]
fn without_recent_activity_any_role_chooses_the_fewest_unread_messages() {
    let world = choosing();
    run_at(&world, "11:30", "send any_engineer 'a task' --as lead");
    assert_eq!(
        (world.bodies("e1"), world.inbox("e2").len()),
        (vec!["a task".to_owned()], 1)
    );
}

#[test]
fn any_role_chooses_an_agent_marked_offline_last() {
    let world = choosing();
    world.ok("agent set e2 --status offline");
    run_at(&world, "10:30", "send any_engineer 'a task' --as lead");
    assert_eq!((world.inbox("e1").len(), world.inbox("e2").len()), (1, 1));
}

/// P77: waiting counts as activity.
#[test]
fn any_role_prefers_an_agent_that_waits_for_mail() {
    let world = choosing();
    run_at(&world, "10:00", "send e1 'one more to read' --as lead");
    run_at(&world, "10:00", "send e1 'and one' --as lead");
    let mut command = world.bare("list --follow --as e1 --idle 0");
    command.env("MAILBAG_TEST_NOW", super::at("11:30"));
    let mut waiting = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    world.wait("it waits", || {
        super::seen_at(&world, "11:30", "e1")["presence"] == "online"
    });
    run_at(&world, "11:30", "send any_engineer 'a task' --as lead");
    let chosen = ["e1", "e2"].into_iter().find(|agent| {
        crate::town::so_within(crate::town::PATIENCE / 2, || {
            world.bodies(agent).contains(&"a task".to_owned())
        })
    });
    let _ = waiting.kill();
    waiting.wait().expect("it ended");
    assert_eq!(
        chosen,
        Some("e1"),
        "e2 was seen, but longer ago than an hour"
    );
}
