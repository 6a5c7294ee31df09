//! Acks, receipts, answers, withdrawals and expiry.

use crate::crash::explore::holds;
use crate::crash::outcomes::receipts_are_true;
use crate::crash::story::{Act, ROOM, Story, drops};
use mailbag::commands::read::{self, ReadSelection};
use mailbag::room::inbox;
use serde_json::{Value, json};

fn ack(of: &str, status: &str) -> Value {
    json!({"type": "ack", "refs": [of], "status": status})
}

#[test]
fn a_copy_is_read_and_acknowledged() {
    holds(&Story::new("acks", &["alice", "bob"]).then([
        drops(
            "alice",
            "a1",
            json!({"to": "bob", "type": "task", "body": "build it"}),
        ),
        Act::pass(ROOM),
        Act::Move("room/inbox/bob"),
        drops("bob", "b1", ack("alice/a1", "acknowledged")),
        Act::pass(ROOM),
        drops("bob", "b2", ack("alice/a1", "actioned")),
        Act::pass(ROOM),
    ]));
}

#[test]
fn an_ack_moves_an_unread_copy_to_seen() {
    holds(
        &Story::new("an ack of unread mail", &["alice", "bob"])
            .before([
                drops("alice", "a1", json!({"to": "bob", "body": "hello"})),
                Act::pass(ROOM),
            ])
            .then([drops("bob", "b1", ack("alice/a1", "seen")), Act::pass(ROOM)]),
    );
}

#[test]
fn a_message_is_withdrawn_and_another_superseded() {
    let superseded = json!({"type": "ack", "refs": ["alice/old"], "status": "superseded",
        "metadata": {"superseded_by": "alice/new"}});
    holds(
        &Story::new("a withdrawal", &["alice", "bob", "carol"])
            .before([
                drops(
                    "alice",
                    "gone",
                    json!({"to": ["bob", "carol"], "body": "stop"}),
                ),
                drops(
                    "alice",
                    "old",
                    json!({"to": ["bob", "carol"], "body": "at one"}),
                ),
                Act::pass(ROOM),
                Act::Move("room/inbox/carol"),
                Act::pass(ROOM),
            ])
            .then([
                drops("alice", "new", json!({"to": "bob", "body": "at two"})),
                Act::pass(ROOM),
                drops("alice", "x1", ack("alice/gone", "withdrawn")),
                drops("alice", "x2", superseded),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn an_unread_copy_expires() {
    let expires =
        json!({"to": ["bob", "carol"], "subject": "soon", "expires_at": "2026-11-21T10:02:00Z"});
    holds(
        &Story::new("an expiry", &["alice", "bob", "carol"])
            .before([
                drops("alice", "a1", expires),
                Act::pass(ROOM),
                Act::Move("room/inbox/carol"),
            ])
            .then([Act::pass(ROOM), Act::Wait(150), Act::pass(ROOM)]),
    );
}

#[test]
fn urgent_mail_expires() {
    let urgent = json!({"to": "bob", "subject": "now!", "priority": "urgent", "expires_at": "2026-11-21T10:02:00Z"});
    holds(
        &Story::new("an urgent message that expires", &["alice", "bob"])
            .before([
                drops("alice", "a1", urgent),
                Act::pass(ROOM),
                Act::Wait(150),
            ])
            .then([Act::pass(ROOM)]),
    );
}

#[test]
fn a_question_is_answered_and_a_reply_replied_to() {
    holds(&Story::new("an answer", &["alice", "bob"]).then([
        drops(
            "alice",
            "q",
            json!({"to": "bob", "type": "question", "body": "which port?"}),
        ),
        Act::pass(ROOM),
        Act::Move("room/inbox/bob"),
        drops(
            "bob",
            "a",
            json!({"to": "alice", "type": "answer", "in_reply_to": "alice/q", "body": "8080"}),
        ),
        Act::pass(ROOM),
        drops(
            "alice",
            "thanks",
            json!({"to": "bob", "in_reply_to": "bob/a", "body": "thanks"}),
        ),
        Act::pass(ROOM),
    ]));
}

// P291
#[test]
fn a_question_without_an_answer_is_escalated() {
    let settings = "answer_within = \"4m\"\n";
    holds(
        &Story::new("an overdue answer", &["alice", "bob", "carol"])
            .before([
                Act::Write("room/settings.toml".into(), settings.into()),
                drops(
                    "alice",
                    "q",
                    json!({"to": ["bob", "carol"], "type": "question", "subject": "which port?"}),
                ),
                Act::pass(ROOM),
                drops(
                    "bob",
                    "a",
                    json!({"to": "alice", "in_reply_to": "alice/q", "body": "8080"}),
                ),
                Act::pass(ROOM),
            ])
            .then([Act::Wait(250), Act::pass(ROOM)]),
    );
}

#[test]
fn a_copy_leaves_without_a_sync() {
    holds(
        &Story::new("loose moves", &["alice", "bob"])
            .before([
                drops("alice", "a1", json!({"to": "bob", "body": "one"})),
                drops("alice", "a2", json!({"to": "bob", "body": "two"})),
                Act::pass(ROOM),
            ])
            .then([
                Act::MoveLoosely("room/inbox/bob"),
                Act::pass(ROOM),
                Act::Do(ROOM, receipts_are_true),
                // A power cut may have undone the moves.
                Act::Move("room/inbox/bob"),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn a_command_shows_mail_and_moves_it() {
    holds(
        &Story::new("a command that reads", &["alice", "bob"])
            .before([
                drops("alice", "a1", json!({"to": "bob", "body": "one"})),
                Act::pass(ROOM),
            ])
            .then([
                Act::Do(ROOM, |room| {
                    // `read::mark_seen` would ask the router if the inbox was read-only.
                    let held = read::find(room, "bob", &ReadSelection::All)?;
                    let names = held.mails.iter().map(|mail| &*mail.name);
                    inbox::mark_all_seen(&room.dir, "bob", names)
                }),
                Act::pass(ROOM),
                Act::Do(ROOM, receipts_are_true),
                Act::Move("room/inbox/bob"),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn a_long_talk_is_announced_later() {
    let turn = |n: usize| {
        let (from, to) = if n.is_multiple_of(2) {
            ("alice", "bob")
        } else {
            ("bob", "alice")
        };
        let message = json!({"to": to, "body": format!("no, you {n}"), "thread_id": "t"});
        [drops(from, &format!("turn-{n}"), message), Act::pass(ROOM)]
    };
    holds(
        &Story::new("a talk", &["alice", "bob"])
            .before((0..20).flat_map(turn))
            .then(turn(20)),
    );
}
