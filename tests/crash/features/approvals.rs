//! Approvals: decided, expired, escalated and withdrawn, and disagreements.

use crate::crash::explore::{holds, holds_everywhere};
use crate::crash::story::{Act, ROOM, Story, drops};
use mailbag::commands::approval::{DecisionRequest, decide};
use mailbag::query::displayed::DisplayedApproval;
use mailbag::query::identity::AgentIdentity;
use mailbag::{Result, Room};
use serde_json::{Value, json};
use std::time::Duration;

fn approval(to: &str, more: Value) -> Value {
    let mut message = json!({"to": to, "type": "approval", "subject": "Deploy?"});
    for (field, value) in more.as_object().into_iter().flatten() {
        message[field] = value.clone();
    }
    message
}

fn decision(approval: &str, option: &str) -> Value {
    json!({"type": "decision", "in_reply_to": approval, "option": option})
}

#[test]
fn an_agent_decides() {
    holds(&Story::new("an approval", &["alice", "bob"]).then([
        drops("alice", "ask", approval("bob", json!({}))),
        Act::pass(ROOM),
        drops("bob", "yes", decision("alice/ask", "yes")),
        Act::pass(ROOM),
    ]));
}

#[test]
fn the_person_decides() {
    let options = json!({"options": ["ship", "wait", "stop"]});
    holds(&Story::new("an approval of the person", &["alice"]).then([
        drops("alice", "ask", approval("human", options)),
        Act::pass(ROOM),
        drops("human", "later", decision("alice/ask", "wait")),
        Act::pass(ROOM),
    ]));
}

fn sign(room: &Room, approval: &str) -> Result<()> {
    let open = DisplayedApproval::read(room, approval)?;
    let choice = DecisionRequest {
        approval: open.approval,
        option: "yes".into(),
        note: None,
        digest: open.digest,
    };
    let who = AgentIdentity::verified("human", "a story");
    decide(room, &who, choice, Duration::ZERO).map(drop)
}

/// The first signed decision pins the key of the person, which the command makes.
#[test]
fn the_person_signs() {
    let signed = |id| {
        drops(
            "alice",
            id,
            approval("human", json!({"signature": "required"})),
        )
    };
    holds(
        &Story::new("signed decisions", &["alice"])
            .with("MAILBAG_TEST_ANCESTRY", "person")
            .before([signed("ask"), signed("again"), Act::pass(ROOM)])
            .then([
                Act::Once(ROOM, |room| sign(room, "alice/ask")),
                Act::pass(ROOM),
                Act::Once(ROOM, |room| sign(room, "alice/again")),
                Act::pass(ROOM),
                // An interrupted command leaves the copies where they are.
                Act::Move("room/inbox/human"),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn two_decide() {
    holds(
        &Story::new("two decisions", &["alice", "bob", "carol"])
            .before([
                drops(
                    "alice",
                    "ask",
                    json!({"to": ["bob", "carol"], "type": "approval", "subject": "Deploy?"}),
                ),
                Act::pass(ROOM),
            ])
            .then([
                drops("bob", "yes", decision("alice/ask", "yes")),
                Act::pass(ROOM),
                drops("carol", "no", decision("alice/ask", "no")),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn an_approval_is_denied_at_its_deadline() {
    holds(
        &Story::new("a deadline", &["alice", "bob"])
            .before([
                drops("alice", "ask", approval("bob", json!({"deadline": "1m"}))),
                Act::pass(ROOM),
            ])
            .then([Act::Wait(90), Act::pass(ROOM)]),
    );
}

const WITH_DEADLINE: [(&str, &str); 2] = [("deadline", "1m"), ("on_deadline", "no")];

#[test]
fn a_decision_in_time_counts_after_the_deadline() {
    let more: Value = WITH_DEADLINE.into_iter().collect();
    holds(
        &Story::new("a decision in time", &["alice", "bob"])
            .before([
                drops("alice", "ask", approval("bob", more)),
                Act::pass(ROOM),
                drops("bob", "in-time", decision("alice/ask", "yes")),
                // Mail that cannot be read delays the outcome by ten seconds.
                Act::Wait(60),
            ])
            .then([Act::pass(ROOM)]),
    );
}

#[test]
fn a_decision_after_the_deadline_does_not_count() {
    let more: Value = WITH_DEADLINE.into_iter().collect();
    // If its rejection cannot be staged at first, it is rejected because the deadline has decided.
    holds_everywhere(
        &Story::new("a late decision", &["alice", "carol"])
            .before([
                drops("alice", "ask", approval("carol", more)),
                Act::pass(ROOM),
                Act::Wait(60),
                drops("carol", "late", decision("alice/ask", "yes")),
            ])
            .then([Act::pass(ROOM)]),
    );
}

#[test]
fn an_approval_is_escalated_twice() {
    let escalated = json!({"deadline": "1m", "on_deadline": "escalate"});
    holds(
        &Story::new("an escalation", &["alice", "bob", "lead"])
            .before([
                supervised_by_lead(),
                drops("alice", "ask", approval("bob", escalated)),
                Act::pass(ROOM),
                Act::Wait(60),
            ])
            .then([
                Act::pass(ROOM),
                Act::Wait(60),
                Act::pass(ROOM),
                drops("lead", "yes", decision("alice/ask", "yes")),
                Act::pass(ROOM),
            ]),
    );
}

fn supervised_by_lead() -> Act {
    Act::Do(ROOM, |room| {
        let fields = mailbag::agent::AgentFields {
            supervisor: Some("lead".into()),
            ..Default::default()
        };
        mailbag::agent::set(room, "bob", &fields).map(drop)
    })
}

#[test]
fn an_asker_withdraws() {
    holds(
        &Story::new("a withdrawn approval", &["alice", "bob"])
            .before([
                drops("alice", "ask", approval("bob", json!({"deadline": "1m"}))),
                Act::pass(ROOM),
            ])
            .then([
                drops(
                    "alice",
                    "never-mind",
                    json!({"type": "ack", "refs": ["alice/ask"], "status": "withdrawn"}),
                ),
                Act::pass(ROOM),
                Act::Wait(90),
                drops("bob", "yes", decision("alice/ask", "yes")),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn all_that_could_decide_retire() {
    holds(
        &Story::new("an approval without a decider", &["alice", "bob"])
            .before([
                drops("alice", "ask", approval("bob", json!({"deadline": "1h"}))),
                Act::pass(ROOM),
            ])
            .then([
                retires_bob(),
                Act::pass(ROOM),
                drops("human", "yes", decision("alice/ask", "yes")),
                Act::pass(ROOM),
            ]),
    );
}

fn retires_bob() -> Act {
    Act::Do(ROOM, |room| {
        let fields = mailbag::agent::AgentFields {
            status: Some(mailbag::room::registry::AgentStatus::Retired),
            ..Default::default()
        };
        mailbag::agent::set(room, "bob", &fields).map(drop)
    })
}

const DISPUTES: &str = "[escalation]\nattempts = 1\nsupervisor = \"lead\"\nwithin = \"5m\"\n";

#[test]
fn a_disagreement_goes_to_the_supervisor_and_then_to_the_person() {
    let objection =
        json!({"to": "alice", "type": "objection", "in_reply_to": "alice/p1", "body": "Too slow"});
    holds(
        &Story::new("a disagreement", &["alice", "bob", "lead"])
            .before([
                Act::Write("room/settings.toml".into(), DISPUTES.into()),
                drops(
                    "alice",
                    "p1",
                    json!({"to": "bob", "type": "proposal", "body": "Use sqlite"}),
                ),
                Act::pass(ROOM),
            ])
            .then([
                drops("bob", "o1", objection),
                Act::pass(ROOM),
                Act::Wait(310),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn the_supervisor_ends_a_disagreement() {
    let objection =
        json!({"to": "alice", "type": "objection", "in_reply_to": "alice/p1", "body": "Too slow"});
    let decided = json!({"to": ["alice", "bob"], "type": "decision", "in_reply_to": "alice/p1", "body": "sqlite"});
    holds(
        &Story::new("the end of a disagreement", &["alice", "bob", "lead"])
            .before([
                Act::Write("room/settings.toml".into(), DISPUTES.into()),
                drops(
                    "alice",
                    "p1",
                    json!({"to": "bob", "type": "proposal", "body": "Use sqlite"}),
                ),
                Act::pass(ROOM),
                drops("bob", "o1", objection),
                Act::pass(ROOM),
            ])
            .then([
                drops("lead", "d1", decided),
                Act::pass(ROOM),
                Act::Wait(310),
                Act::pass(ROOM),
            ]),
    );
}
