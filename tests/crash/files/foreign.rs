//! Derived files with text of other programs: the text is kept, the person gets one notice, and the file agrees with the
//! log again.

use super::super::explore::holds;
use super::super::kept::FOREIGN;
use super::super::story::{Act, ROOM, Story, drops, letter};
use serde_json::json;

/// Mail, a claim and a question, with all derived files.
fn story(name: &'static str) -> Story {
    Story::new(name, &["alice", "bob"]).before([
        Act::Write(
            "room/settings.toml".into(),
            b"worklog = true\nmailbox = true\n".into(),
        ),
        drops(
            "alice",
            "claim",
            json!({"type": "claim", "claims": ["src/a.rs"]}),
        ),
        drops(
            "bob",
            "milestone",
            json!({"type": "milestone", "body": "done"}),
        ),
        letter("a1"),
        Act::pass(ROOM),
    ])
}

/// A program replaces the file by this text, and later another message comes.
fn replaced(story: Story, path: &str, text: &str) {
    holds(&story.then([
        Act::Write(path.into(), text.into()),
        letter("a2"),
        Act::pass(ROOM),
        letter("a3"),
        Act::pass(ROOM),
    ]));
}

#[test]
fn a_line_in_a_conversation() {
    let line = json!({"from": "bob", "to": "alice", "body": "a line of somebody's"});
    replaced(
        story("a line in a conversation"),
        "room/channels/main/messages.ndjson",
        &format!("{line}\n"),
    );
}

#[test]
fn a_roster_of_somebody() {
    replaced(story("a roster of somebody"), "room/roster.json", FOREIGN);
}

#[test]
fn claims_of_somebody() {
    let text = json!({ "claims": FOREIGN }).to_string();
    replaced(story("claims of somebody"), "room/claims.json", &text);
}

#[test]
fn a_pending_list_of_somebody() {
    let text = json!({ "pending": FOREIGN }).to_string();
    replaced(
        story("a pending list of somebody"),
        "room/pending.json",
        &text,
    );
}

#[test]
fn a_worklog_of_somebody() {
    replaced(story("a worklog of somebody"), "WORKLOG.md", FOREIGN);
}

#[test]
fn a_mailbox_of_somebody() {
    replaced(story("a mailbox of somebody"), "room/MAILBOX.md", FOREIGN);
}

#[test]
fn a_queue_of_somebody() {
    replaced(
        story("a queue of somebody"),
        "room/queue/to-bob.md",
        FOREIGN,
    );
}

/// A block in the form of a message is sent once.
#[test]
fn a_message_in_a_mailbox() {
    let block =
        "## 2026-11-21T10:30:00Z · from:bob · to:alice · type:question\n\nWhat is written here?\n";
    replaced(story("a message in a mailbox"), "room/MAILBOX.md", block);
}
