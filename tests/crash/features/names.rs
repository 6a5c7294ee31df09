//! Agents that join, get another name, subscribe and retire, and addresses that mean several agents.

use crate::crash::explore::holds;
use crate::crash::story::{Act, ROOM, Story, drops};
use mailbag::agent::{self, AgentFields};
use mailbag::room::registry::AgentStatus;
use serde_json::{Value, json};

/// A person replaces the registry by one with these agents and aliases.
fn registers(agents: &[Value], aliases: Value) -> Act {
    let registry = json!({"agents": agents, "aliases": aliases});
    Act::Write(
        "room/registry.json".into(),
        registry.to_string().into_bytes(),
    )
}

fn entry(id: &str) -> Value {
    json!({"id": id})
}

#[test]
fn an_agent_subscribes_and_gets_mail_of_the_topic() {
    holds(&Story::new("a topic", &["alice", "bob"]).then([
        drops("bob", "s1", json!({"type": "subscribe", "topic": "parser"})),
        Act::pass(ROOM),
        drops("alice", "a1", json!({"to": "#parser", "body": "it parses"})),
        Act::pass(ROOM),
        drops(
            "bob",
            "s2",
            json!({"type": "unsubscribe", "topic": "parser"}),
        ),
        Act::pass(ROOM),
        drops(
            "alice",
            "a2",
            json!({"to": "#parser", "body": "nobody hears it"}),
        ),
        Act::pass(ROOM),
    ]));
}

#[test]
fn a_name_becomes_an_alias_of_another_agent() {
    let approval =
        json!({"to": "ana", "type": "approval", "subject": "Deploy?", "deadline": "10m"});
    let decided = json!({"type": "decision", "in_reply_to": "zoe/ask", "option": "yes"});
    holds(
        &Story::new("an alias", &["ana", "anna", "zoe"])
            .before([
                drops(
                    "ana",
                    "claimed",
                    json!({"type": "claim", "claims": ["src"]}),
                ),
                Act::pass(ROOM),
                drops("zoe", "ask", approval),
                drops(
                    "zoe",
                    "both",
                    json!({"to": ["ana", "anna"], "body": "to both"}),
                ),
                drops("zoe", "own", json!({"to": "ana", "body": "to ana"})),
                Act::pass(ROOM),
                registers(&[entry("anna"), entry("zoe")], json!({"ana": "anna"})),
                drops("anna", "decided", decided),
            ])
            .then([Act::pass(ROOM)]),
    );
}

#[test]
fn an_agent_is_renamed_that_has_read_and_that_waits_for_an_answer() {
    holds(
        &Story::new("a new name", &["ana", "zoe"])
            .before([
                drops("zoe", "z1", json!({"to": "ana", "body": "read"})),
                drops(
                    "ana",
                    "q",
                    json!({"to": "zoe", "type": "question", "body": "which?"}),
                ),
                Act::pass(ROOM),
                Act::Move("room/inbox/ana"),
                drops("zoe", "z2", json!({"to": "ana", "body": "unread"})),
                Act::pass(ROOM),
                registers(&[entry("eva"), entry("zoe")], json!({"ana": "eva"})),
            ])
            .then([
                Act::pass(ROOM),
                drops(
                    "zoe",
                    "a",
                    json!({"to": "ana", "in_reply_to": "ana/q", "body": "this"}),
                ),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn an_agent_joins() {
    holds(&Story::new("a newcomer", &["alice"]).then([
        drops(
            "alice",
            "a1",
            json!({"to": "all", "type": "milestone", "body": "before"}),
        ),
        Act::pass(ROOM),
        Act::Do(ROOM, |room| {
            let has_bob = room.registry()?.agent("bob").is_some();
            let fields = AgentFields {
                role: Some("writer".into()),
                ..Default::default()
            };
            if has_bob {
                Ok(())
            } else {
                agent::add(room, &["bob".into()], &fields).map(drop)
            }
        }),
        drops("alice", "a2", json!({"to": "@writers", "body": "welcome"})),
        Act::pass(ROOM),
    ]));
}

#[test]
fn mail_of_a_stranger_waits_for_its_registration() {
    holds(
        &Story::new("a stranger", &["alice"])
            .with("MAILBAG_TEST_STRAY_MS", "0")
            .then([
                drops("bob", "b1", json!({"to": "alice", "body": "may I?"})),
                Act::pass(ROOM),
                registers(&[entry("alice"), entry("bob")], json!({})),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn an_agent_retires() {
    holds(
        &Story::new("a retirement", &["alice", "bob", "carol"])
            .before([
                drops("bob", "b1", json!({"type": "claim", "claims": ["src"]})),
                drops("carol", "c1", json!({"type": "claim", "claims": ["docs"]})),
                Act::pass(ROOM),
                drops(
                    "carol",
                    "c2",
                    json!({"type": "handoff", "to": "bob", "claims": ["docs"], "body": "yours"}),
                ),
                Act::pass(ROOM),
            ])
            .then([
                Act::Do(ROOM, |room| {
                    let fields = AgentFields {
                        status: Some(AgentStatus::Retired),
                        ..Default::default()
                    };
                    agent::set(room, "bob", &fields).map(drop)
                }),
                Act::pass(ROOM),
                drops("alice", "a2", json!({"to": "bob", "body": "too late"})),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn patterns_and_roles_reach_their_agents() {
    let agents = [
        json!({"id": "alice"}),
        json!({"id": "engineer_1", "role": "engineer", "capabilities": ["telegram"]}),
        json!({"id": "engineer_2", "role": "engineer"}),
    ];
    holds(
        &Story::new("groups", &["alice", "engineer_1", "engineer_2"])
            .before([registers(&agents, json!({"team": ["engineer_1", "alice"]}))])
            .then([
                drops(
                    "alice",
                    "a1",
                    json!({"to": "engineer_*", "body": "a pattern"}),
                ),
                drops(
                    "alice",
                    "a2",
                    json!({"to": ["all_engineers", "engineer_1"], "body": "a role, and one of it"}),
                ),
                drops(
                    "alice",
                    "a3",
                    json!({"to": ["cap:telegram", "team"], "body": "a capability and an alias"}),
                ),
                drops("engineer_1", "e1", json!({"to": "all", "body": "to all"})),
                drops(
                    "engineer_2",
                    "e2",
                    json!({"to": "any_engineer", "body": "to one other"}),
                ),
                Act::pass(ROOM),
            ]),
    );
}

/// The person gets one notice of each change, and mail to a lane reaches its owners of the day.
#[test]
fn the_charter_changes() {
    let lanes = |owner: &str| {
        let text = format!("## Lanes\n- web: {owner}\n");
        Act::Write("room/charter.md".into(), text.into())
    };
    let to_lane = |id| drops("alice", id, json!({"to": "lane:web", "body": "x"}));
    holds(&Story::new("a charter", &["alice", "bob", "carol"]).then([
        lanes("bob"),
        to_lane("a1"),
        Act::pass(ROOM),
        lanes("carol"),
        to_lane("a2"),
        Act::pass(ROOM),
    ]));
}
