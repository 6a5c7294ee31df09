//! A person's commands for a link to another machine.

use super::Pair;
use crate::links::bounced;
use crate::world::{World, wait};
use serde_json::Value;

/// Two rooms with no link, and a client that would connect them.
fn strangers() -> Pair {
    let pair = Pair::untrusted();
    pair.fit.write("settings.toml", "tag = \"fit\"\n");
    pair.po.write("settings.toml", "");
    pair
}

fn address(pair: &Pair) -> String {
    let path = pair.po.room("").display().to_string();
    format!("ann@po.example:{}", path.trim_end_matches('/'))
}

fn settings(world: &World) -> String {
    world.text("settings.toml")
}

#[test]
fn one_command_on_each_machine_adds_a_link_that_carries_mail() {
    // P226 P227
    let pair = strangers();
    let add = format!("link add po {} --carrier ssh", address(&pair));
    assert_contains!(
        pair.fit.ok(&add),
        "the other room needs a link to this one, too; see docs/machines.md"
    );
    let added = pair.po.json("link add fit --carrier none");
    assert_fields!(added, carrier: "none", address: "", next: Value::Null);
    assert_eq!(
        settings(&pair.po),
        "[links.fit]\ncarrier = \"none\"\naccept = [\"agents\", \"roles\"]\n"
    );
    // Who adds the link agrees to it.
    assert_contains!(pair.fit.ok("trust"), "po by ssh at ann@po.example:");
    pair.fit.send("alice", "po:sintra", "hello");
    pair.once().ok();
    assert_eq!(pair.po.inbox("sintra")[0]["from"], "fit:alice");
    assert_fields!(pair.fit.json(&add), added: false, changed: false);
    let known_as = pair.fit.json(&format!("{add} --known-as west"));
    assert_eq!(known_as["as"], "west");
    assert_contains!(settings(&pair.fit), "as = \"west\"");
}

#[test]
fn an_address_that_the_carrier_cannot_use_changes_nothing() {
    // P227
    let pair = strangers();
    let before = settings(&pair.fit);
    for address in [
        "-oProxyCommand=id:/x",
        "po:/x;id",
        "po:relative",
        "po",
        "/srv/po",
    ] {
        let said = pair
            .fit
            .fails(2, &format!("link add po --carrier ssh -- {address}"));
        assert_contains!(said, "address is none of SSH"; "{address}");
    }
    assert_contains!(
        pair.fit.fails(2, "link add po --carrier ssh"),
        "address is none of SSH"
    );
    let add = format!("link add po {} --carrier", address(&pair));
    let said = pair.fit.fails(2, &format!("{add} none"));
    assert_contains!(said, "has no address here");
    assert_contains!(
        pair.fit.fails(2, "link add po x --carrier pigeon"),
        "dir, ssh, nats and none"
    );
    assert_eq!(settings(&pair.fit), before);
    let shown = pair.fit.ok(&format!("{add} ssh --dry-run"));
    assert!(
        shown.starts_with("[links.po]\ncarrier = \"ssh\"\n"),
        "{shown}"
    );
    assert_eq!(settings(&pair.fit), before);
    assert!(
        !pair.fit.ok("trust").contains("po by ssh at"),
        "a look is no consent"
    );
}

#[test]
fn a_message_too_large_for_the_other_room_bounces_and_the_connection_continues() {
    // P231
    let pair = Pair::new();
    let larger = |world: &World| {
        let text = settings(world);
        world.write("settings.toml", format!("message_bytes = 8388608\n{text}"));
    };
    larger(&pair.fit);
    let carriers = pair.carriers();
    carriers.says("connected");
    Pair::drop_mail(&pair.fit, "alice", "po:sintra", &"x".repeat(2 << 20));
    Pair::drop_mail(&pair.fit, "alice", "po:sintra", &"y".repeat(3 << 20));
    Pair::drop_mail(&pair.fit, "alice", "po:sintra", "small");
    wait("the last one arrives", || {
        pair.po.bodies("sintra") == ["small"]
    });
    wait("both bounce", || pair.fit.inbox("alice").len() == 2);
    let mut told = bounced(&pair.fit, "alice");
    told.sort();
    assert_eq!(told, ["mailbag too_large", "po:mailbag too_large"]);
    let log = carriers.log();
    assert_eq!(log.matches("connected").count(), 1, "{log}");
    assert_eq!(carriers.end(), 0);
}
