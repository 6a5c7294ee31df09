//! A person's commands for a link to another machine.

use super::Pair;
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
    assert_contains!(
        pair.fit
            .ok(&["link", "add", "po", &address(&pair), "--carrier", "ssh"]),
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
    let again = pair
        .fit
        .json(&["link", "add", "po", &address(&pair), "--carrier", "ssh"]);
    assert_fields!(again, added: false, changed: false);
    let known_as = pair.fit.json(&[
        "link",
        "add",
        "po",
        &address(&pair),
        "--carrier",
        "ssh",
        "--known-as",
        "west",
    ]);
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
        assert_contains!(pair
            .fit
            .fails(2, &["link", "add", "po", "--carrier", "ssh", "--", address]), "address is none of SSH"; "{address}");
    }
    assert_contains!(
        pair.fit.fails(2, "link add po --carrier ssh"),
        "address is none of SSH"
    );
    assert_contains!(
        pair.fit.fails(
            2,
            &["link", "add", "po", &address(&pair), "--carrier", "none"],
        ),
        "has no address here"
    );
    assert_contains!(
        pair.fit.fails(2, "link add po x --carrier pigeon"),
        "dir, ssh, nats and none"
    );
    assert_eq!(settings(&pair.fit), before);
    let shown = pair.fit.ok(&[
        "link",
        "add",
        "po",
        &address(&pair),
        "--carrier",
        "ssh",
        "--dry-run",
    ]);
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
fn a_session_that_adds_a_link_does_not_agree_to_it() {
    // P226
    let pair = strangers();
    let address = address(&pair);
    let added = pair.fit.run_env(
        &["link", "add", "po", &address, "--carrier", "ssh"],
        "CLAUDE_CODE_SESSION_ID",
        "s1",
    );
    assert_ne!(added.code, 101, "{added:?}");
    pair.po
        .write("settings.toml", "[links.fit]\ncarrier = \"none\"\n");
    pair.fit.write(
        "settings.toml",
        format!("tag = \"fit\"\n[links.po]\ncarrier = \"ssh\"\naddress = \"{address}\"\n"),
    );
    assert_contains!(pair.once().fails(1), "not agreed");
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
    assert_eq!(
        pair.fit
            .inbox("alice")
            .iter()
            .map(|mail| mail["metadata"]["problems"][0]["code"].clone())
            .collect::<Vec<_>>(),
        ["too_large", "too_large"]
    );
    assert_eq!(
        carriers.log().matches("connected").count(),
        1,
        "{}",
        carriers.log()
    );
    assert_eq!(carriers.end(), 0);
}
