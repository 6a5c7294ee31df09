//! Claims: granted, refused, released, handed over, and over.

use crate::crash::explore::holds;
use crate::crash::story::{Act, ROOM, Story, drops};
use serde_json::json;

#[test]
fn claims_are_granted_and_refused() {
    holds(&Story::new("claims", &["alice", "bob"]).then([
        drops(
            "alice",
            "a1",
            json!({"type": "claim", "claims": ["src", "task:x"]}),
        ),
        Act::pass(ROOM),
        drops("bob", "b1", json!({"type": "claim", "claims": ["src/b"]})),
        Act::pass(ROOM),
    ]));
}

#[test]
fn released_work_is_granted_to_the_next_claim() {
    holds(
        &Story::new("a release", &["alice", "bob"])
            .before([
                drops("alice", "a1", json!({"type": "claim", "claims": ["src"]})),
                Act::pass(ROOM),
            ])
            .then([
                drops("alice", "a2", json!({"type": "release", "claims": "all"})),
                Act::pass(ROOM),
                drops("bob", "b1", json!({"type": "claim", "claims": ["src/b"]})),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn an_offer_is_accepted_and_another_declined() {
    holds(
        &Story::new("handoffs", &["alice", "bob"])
            .before([
                drops(
                    "alice",
                    "a1",
                    json!({"type": "claim", "claims": ["src", "docs"]}),
                ),
                Act::pass(ROOM),
            ])
            .then([
                drops(
                    "alice",
                    "a2",
                    json!({"type": "handoff", "to": "bob", "claims": ["src"], "body": "yours"}),
                ),
                drops(
                    "alice",
                    "a3",
                    json!({"type": "handoff", "to": "bob", "claims": ["docs"], "body": "this too"}),
                ),
                Act::pass(ROOM),
                drops(
                    "bob",
                    "b1",
                    json!({"type": "accept", "in_reply_to": "alice/a2"}),
                ),
                drops(
                    "bob",
                    "b2",
                    json!({"type": "decline", "in_reply_to": "alice/a3"}),
                ),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn a_claim_lapses_in_the_batch_that_grants_the_next_one() {
    holds(
        &Story::new("a lease", &["alice", "bob"])
            .before([
                drops(
                    "alice",
                    "a1",
                    json!({"type": "claim", "claims": ["src"], "lease": "5m"}),
                ),
                Act::pass(ROOM),
            ])
            .then([
                Act::Wait(280),
                Act::pass(ROOM),
                Act::Wait(60),
                drops("bob", "b1", json!({"type": "claim", "claims": ["src"]})),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn a_steward_releases_the_claims_of_another_agent() {
    let registry = json!({"agents": [{"id": "alice"}, {"id": "bob", "capabilities": ["steward"]}, {"id": "carol"}]});
    let claim = json!({"type": "claim", "claims": ["src"]});
    let release = json!({"type": "release", "of": "alice", "claims": ["src"], "body": "gone"});
    holds(
        &Story::new("a steward", &["alice", "bob", "carol"])
            .before([
                Act::Write("room/registry.json".into(), registry.to_string().into()),
                drops("alice", "a1", claim.clone()),
                Act::pass(ROOM),
            ])
            .then([
                drops("bob", "b1", release),
                Act::pass(ROOM),
                drops("carol", "c1", claim),
                Act::pass(ROOM),
            ]),
    );
}
