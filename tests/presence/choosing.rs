//! `any_<role>` prefers a recently active agent.

use super::run_at;
use crate::world::World;

fn choosing() -> World {
    let world = World::with(&["lead"])
        .agent("e1", &["--role", "engineer"])
        .agent("e2", &["--role", "engineer"]);
    run_at(
        &world,
        "10:00",
        &["send", "lead", "I am here", "--as", "e2"],
    );
    run_at(&world, "10:00", &["send", "e2", "good", "--as", "lead"]);
    world
}

/// P77: the choice follows from observations.
#[test]
fn who_was_seen_within_the_hour_is_chosen_although_it_has_more_to_read() {
    let world = choosing();
    let why = run_at(&world, "10:30", &["send", "--dry-run", "any_engineer", ""]);
    assert!(
        why.contains("was not active within the last hour, and e2 was"),
        "{why}"
    );
    run_at(
        &world,
        "10:30",
        &["send", "any_engineer", "a task", "--as", "lead"],
    );
    assert_eq!(
        (world.inbox("e1").len(), world.bodies("e2")),
        (0, vec!["good".to_owned(), "a task".to_owned()])
    );
}

#[test]
fn without_recent_activity_any_role_chooses_the_fewest_unread_messages() {
    let world = choosing();
    run_at(
        &world,
        "11:30",
        &["send", "any_engineer", "a task", "--as", "lead"],
    );
    assert_eq!(
        (world.bodies("e1"), world.inbox("e2").len()),
        (vec!["a task".to_owned()], 1)
    );
}

#[test]
fn who_is_said_to_be_offline_comes_last_even_if_it_was_seen() {
    let world = choosing();
    world.ok(&["agent", "set", "e2", "--status", "offline"]);
    run_at(
        &world,
        "10:30",
        &["send", "any_engineer", "a task", "--as", "lead"],
    );
    assert_eq!((world.inbox("e1").len(), world.inbox("e2").len()), (1, 1));
}

/// P77: waiting counts as activity.
#[test]
fn who_waits_for_mail_is_chosen_before_who_was_not_seen_lately() {
    let world = choosing();
    run_at(
        &world,
        "10:00",
        &["send", "e1", "one more to read", "--as", "lead"],
    );
    run_at(&world, "10:00", &["send", "e1", "and one", "--as", "lead"]);
    let mut command = world.bare(&["list", "--follow", "--as", "e1", "--idle", "0"]);
    command.env("MAILBAG_TEST_NOW", super::at("11:30"));
    let mut waiting = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    world.wait("it waits", || {
        super::seen_at(&world, "11:30", "e1")["presence"] == "online"
    });
    run_at(
        &world,
        "11:30",
        &["send", "any_engineer", "a task", "--as", "lead"],
    );
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
