//! Mail that was dropped before a deadline counts, although the router reads it later.

use super::{from_mailbag, statuses};
use crate::approvals::{approval, drop_at, outcomes, pass, run_at, say, steps, time};
use crate::world::World;
use serde_json::{Value, json};

/// Only bob has a supervisor. Answers are due after 2 minutes.
fn room() -> World {
    let world = World::with("alice boss carol").agent("bob", "--supervisor boss");
    world.settings("answer_within = \"2m\"\nworklog = true\n")
}

fn ack(status: &str) -> Value {
    json!({"type": "ack", "refs": ["m"], "status": status})
}

fn answer() -> Value {
    json!({"to": "alice", "in_reply_to": "alice/m", "body": "yes"})
}

fn urgent(more: Value) -> Value {
    let mut message = json!({"id": "m", "to": "bob", "body": "fire", "priority": "urgent"});
    let fields = message.as_object_mut().expect("fields");
    fields.extend(more.as_object().expect("fields").clone());
    message
}

fn question() -> Value {
    json!({"id": "m", "to": "bob", "body": "which?", "requires_response": true})
}

/// Asserts that no agent got a notice about the message.
#[track_caller]
fn nothing_was_reported(world: &World) {
    for agent in ["alice", "boss", "human"] {
        for kind in ["escalation", "notification"] {
            assert_eq!(
                from_mailbag(world, agent, kind),
                [json!(null); 0],
                "{agent}"
            );
        }
    }
    world.verify();
}

/// Sends a message at 0, drops a reply to it at 1, and passes at 5 and 60.
#[track_caller]
fn dropped_in_time(message: Value, by: &str, reply: Value) -> World {
    let world = room();
    say(&world, 0, "alice", message);
    drop_at(&world, 1, by, reply);
    for minutes in [5, 60] {
        pass(&world, minutes);
    }
    nothing_was_reported(&world);
    world
}

#[test]
fn a_question_with_an_answer_that_was_dropped_in_time_is_not_escalated() {
    // P62
    dropped_in_time(question(), "bob", answer());
}

#[test]
fn an_answer_counts_after_a_thousand_other_files() {
    // P62
    let world = room();
    say(&world, 0, "alice", question());
    for n in 0..1000 {
        let name = format!("a{n:04}.json");
        world.mail("bob", &name, json!({"to": "carol", "body": "x"}));
    }
    drop_at(&world, 1, "bob", answer());
    pass(&world, 5);
    nothing_was_reported(&world);
}

#[test]
fn urgent_mail_with_an_ack_that_was_dropped_in_time_is_not_escalated() {
    // P62
    dropped_in_time(urgent(json!({})), "bob", ack("acknowledged"));
}

#[test]
fn mail_that_was_withdrawn_in_time_is_not_escalated() {
    // P62
    dropped_in_time(urgent(json!({})), "alice", ack("withdrawn"));
    dropped_in_time(question(), "alice", ack("withdrawn"));
}

#[test]
fn urgent_mail_with_an_expiry_and_a_reply_that_was_dropped_in_time_does_not_expire() {
    // P61, P360
    let expiring = || urgent(json!({"expires_at": time(3)}));
    for (by, reply) in [
        ("bob", ack("acknowledged")),
        ("bob", ack("resolved")),
        ("bob", answer()),
        ("alice", ack("withdrawn")),
    ] {
        let world = room();
        say(&world, 0, "alice", expiring());
        drop_at(&world, 1, by, reply);
        pass(&world, 5);
        for agent in ["boss", "human"] {
            assert_eq!(from_mailbag(&world, agent, "escalation"), [json!(null); 0]);
        }
    }
    let world = dropped_in_time(expiring(), "bob", ack("resolved"));
    assert!(!statuses(&world, "m", "bob").contains(&"expired".to_owned()));
}

#[test]
fn a_question_and_its_answer_in_one_batch_leave_no_escalation() {
    let world = room();
    drop_at(&world, 0, "alice", question());
    drop_at(&world, 1, "bob", answer());
    pass(&world, 60);
    pass(&world, 120);
    nothing_was_reported(&world);
}

#[test]
fn an_approval_that_was_withdrawn_in_time_is_not_decided_by_its_deadline() {
    // P131
    let world = room();
    let terms = json!({"deadline": "3m", "on_deadline": "no"});
    say(&world, 0, "alice", approval("m", json!("bob"), terms));
    drop_at(&world, 1, "alice", ack("withdrawn"));
    pass(&world, 5);
    assert_eq!(steps(&world), ["ask", "withdraw"]);
    assert_eq!(outcomes(&world, "alice"), []);
}

#[test]
fn late_files_do_not_delay_a_deadline() {
    // P62
    let world = room();
    say(&world, 0, "alice", question());
    let unfinished = world.room("outbox/bob/x.json");
    std::fs::write(unfinished, "{").expect("a file");
    pass(&world, 5);
    assert_eq!(from_mailbag(&world, "boss", "escalation").len(), 1);
}

/// Moves bob's only copy between two of its directories.
fn move_copy(world: &World, from: &str, to: &str) {
    let [from, to] = [from, to].map(|place| world.room(place));
    std::fs::create_dir_all(&to).expect("a directory");
    let mut files = std::fs::read_dir(from).expect("a directory").flatten();
    let file = files.find(|entry| entry.path().is_file()).expect("a copy");
    std::fs::rename(file.path(), to.join(file.file_name())).expect("moved");
}

#[test]
fn a_leased_copy_expires_when_it_is_returned() {
    // P61
    for message in [
        json!({"id": "m", "to": "bob", "body": "x", "expires_at": time(3)}),
        urgent(json!({"expires_at": time(3)})),
    ] {
        let world = World::with("alice boss carol").agent("bob", "--supervisor boss");
        let is_urgent = message["priority"] == "urgent";
        say(&world, 0, "alice", message);
        move_copy(&world, "inbox/bob", "inbox/bob/taken");
        pass(&world, 5);
        nothing_was_reported(&world);
        move_copy(&world, "inbox/bob/taken", "inbox/bob");
        for minutes in [6, 7] {
            pass(&world, minutes);
        }
        assert_eq!(from_mailbag(&world, "alice", "notification").len(), 1);
        let escalations = from_mailbag(&world, "human", "escalation").len();
        assert_eq!(escalations, usize::from(is_urgent));
        assert_eq!(world.names("inbox/bob/expired").len(), 1);
    }
}

#[test]
fn a_copy_that_is_read_while_it_is_leased_does_not_expire() {
    // P61
    let world = room();
    let message = json!({"id": "m", "to": "bob", "body": "x", "expires_at": time(3)});
    say(&world, 0, "alice", message);
    move_copy(&world, "inbox/bob", "inbox/bob/taken");
    pass(&world, 5);
    move_copy(&world, "inbox/bob/taken", "inbox/bob/seen");
    pass(&world, 6);
    nothing_was_reported(&world);
    assert!(statuses(&world, "m", "bob").contains(&"seen".to_owned()));
}

#[test]
fn a_copy_that_was_moved_back_expires_unread() {
    // P61
    for place in ["taken", "seen"].map(|name| format!("inbox/bob/{name}")) {
        let world = room();
        let message = json!({"id": "m", "to": "bob", "body": "x", "expires_at": time(30)});
        say(&world, 0, "alice", message);
        move_copy(&world, "inbox/bob", &place);
        pass(&world, 1);
        move_copy(&world, &place, "inbox/bob");
        pass(&world, 2);
        for minutes in [31, 60] {
            pass(&world, minutes);
        }
        let notices = from_mailbag(&world, "alice", "notification").len();
        assert_eq!(notices, 1, "{place}");
        assert_eq!(world.names("inbox/bob/expired").len(), 1, "{place}");
        let last = statuses(&world, "m", "bob").pop();
        assert_eq!(last.as_deref(), Some("expired"), "{place}");
        run_at(&world, 61, "log verify");
    }
}
