//! Two rooms with a link: mail crosses once, each way, whichever side is interrupted.

use super::explore::holds;
use super::story::{Act, Story, drops_in};
use serde_json::json;

const FIT: &str = "/home/fit";
const PO: &str = "/home/po";

/// Two rooms. Their link was used each way before.
fn rooms(name: &'static str) -> Story {
    let story = Story::of_rooms(name, &[(FIT, &["alice", "anna"]), (PO, &["sintra", "bob"])]);
    let registry = json!({"agents": [{"id": "sintra"}, {"id": "bob", "role": "engineer"}]});
    let ready = [
        Act::Write("po/registry.json".into(), registry.to_string().into()),
        link("fit", "po"),
        link("po", "fit"),
        drops_in(
            "fit",
            "alice",
            "before",
            json!({"to": "po:sintra", "body": "x"}),
        ),
        drops_in(
            "po",
            "sintra",
            "before-back",
            json!({"to": "fit:alice", "body": "x"}),
        ),
    ];
    story.before(ready).before(settled()).before(settled())
}

fn link(room: &str, other: &str) -> Act {
    let settings = format!("[links.{other}]\naddress = \"/home/{other}\"\n");
    Act::Write(format!("{room}/settings.toml"), settings.into_bytes())
}

fn settled() -> [Act; 4] {
    [FIT, PO, FIT, PO].map(Act::pass)
}

fn from_fit(agent: &str, id: &str, to: serde_json::Value) -> Act {
    drops_in("fit", agent, id, json!({"to": to, "body": "x"}))
}

#[test]
fn a_message_to_the_other_room() {
    holds(&rooms("a message to the other room").then([
        from_fit("alice", "one", json!("po:sintra")),
        Act::pass(FIT),
        Act::pass(PO),
    ]));
}

#[test]
fn mail_both_ways_at_once() {
    holds(&rooms("mail both ways at once").then([
        from_fit("anna", "both", json!(["po:sintra", "po:bob"])),
        drops_in(
            "po",
            "bob",
            "back",
            json!({"to": ["fit:alice", "fit:anna"], "body": "x"}),
        ),
        Act::pass(PO),
        Act::pass(FIT),
        Act::pass(PO),
    ]));
}

#[test]
fn a_role_of_the_other_room_gets_mail_and_an_unknown_agent_gets_none() {
    holds(&rooms("a role and nobody").then([
        from_fit("alice", "role", json!("po:all_engineer")),
        from_fit("anna", "nobody", json!("po:nobody")),
        Act::pass(FIT),
        Act::pass(PO),
        Act::pass(FIT),
    ]));
}

/// The rooms are on two disks, and a power cut takes steps from one of them only.
fn only_one_loses_its_last_steps(name: &'static str, kept: &'static str) {
    holds(&rooms(name).keeps(kept).then([
        from_fit("alice", "one", json!("po:sintra")),
        drops_in("po", "bob", "back", json!({"to": "fit:anna", "body": "x"})),
        Act::pass(FIT),
        Act::pass(PO),
        Act::pass(FIT),
    ]));
}

#[test]
fn only_one_room_loses_its_last_steps() {
    only_one_loses_its_last_steps("only fit loses steps", PO);
    only_one_loses_its_last_steps("only po loses steps", FIT);
}

/// The text crosses as it was when the message was accepted.
#[test]
fn an_attached_text() {
    let attached = json!({"to": "po:sintra", "attachments": [{"path": "a.md"}]});
    holds(
        &rooms("an attached text")
            .before([Act::Write("fit/context/a.md".into(), b"first".into())])
            .then([
                drops_in("fit", "alice", "attached", attached),
                Act::pass_once(FIT),
                Act::pass(FIT),
                Act::Write("fit/context/a.md".into(), b"second".into()),
                Act::pass(PO),
            ]),
    );
}

/// A pass that is not repeated: the other room continues before this one starts again.
#[test]
fn the_other_room_goes_on_after_an_interrupted_pass() {
    holds(&rooms("the other room goes on").then([
        from_fit("alice", "one", json!("po:sintra")),
        drops_in(
            "po",
            "sintra",
            "back",
            json!({"to": "fit:alice", "body": "x"}),
        ),
        Act::pass_once(FIT),
        Act::pass_once(PO),
        Act::pass(FIT),
        from_fit("alice", "two", json!("po:sintra")),
        Act::pass(PO),
    ]));
}
