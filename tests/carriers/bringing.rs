//! Delivery by the carriers, and their output.

use super::Pair;
use super::hostile::{Talk, items, lines};
use crate::files;
use crate::links::state;
use crate::world::wait;
use serde_json::json;

#[test]
fn mail_and_its_answer_cross_without_a_daemon_in_either_room() {
    // P220 P222
    let pair = Pair::new();
    pair.fit.send("alice", "po:sintra", "which port?");
    assert_contains!(pair.once().ok(), "all mail is confirmed");
    assert_eq!(pair.po.bodies("sintra"), ["which port?"]);
    pair.po.send("sintra", "fit:alice", "8080");
    pair.once().ok();
    assert_eq!(pair.fit.bodies("alice"), ["8080"]);
    assert_eq!(
        pair.po.names("links/fit/out"),
        ["state.json"],
        "what is confirmed is gone"
    );
    assert_eq!(pair.fit.names("links/po/out"), ["state.json"]);
}

#[test]
fn mail_arrives_while_the_carriers_run_and_they_end_by_a_signal() {
    let pair = Pair::new();
    let carriers = pair.carriers();
    carriers.says("link po: connected to po.example:");
    Pair::drop_mail(&pair.fit, "alice", "po:sintra", "hello");
    wait("it arrives", || pair.po.bodies("sintra") == ["hello"]);
    Pair::drop_mail(&pair.po, "bob", "fit:anna", "hi");
    wait("it comes back", || pair.fit.bodies("anna") == ["hi"]);
    assert_eq!(pair.fit.read("links/po/carrier.json")["state"], "connected");
    assert_eq!(carriers.end(), 0);
    assert_eq!(pair.fit.read("links/po/carrier.json")["state"], "ended");
}

#[test]
fn the_daemon_starts_the_carriers_along() {
    let pair = Pair::new();
    let daemon = pair.start(&["run", "--links"]);
    daemon.says("link po: connected");
    Pair::drop_mail(&pair.fit, "alice", "po:sintra", "hello");
    wait("it arrives", || pair.po.bodies("sintra") == ["hello"]);
    let carrier = pair.fit.read("links/po/carrier.json")["pid"]
        .as_i64()
        .expect("a number");
    assert_ne!(
        carrier,
        i64::from(daemon.child.id()),
        "what breaks a carrier does not end the router"
    );
    let carrier = rustix::process::Pid::from_raw(carrier as i32).expect("a process");
    rustix::process::kill_process(carrier, rustix::process::Signal::KILL).expect("it runs");
    daemon.says("the carriers ended (signal: 9 (SIGKILL)); restarting them");
    Pair::drop_mail(&pair.fit, "alice", "po:sintra", "again");
    wait("it arrives", || {
        pair.po.bodies("sintra") == ["hello", "again"]
    });
    let served: i32 = files::read_text(pair.bin("serving"))
        .trim()
        .parse()
        .expect("a number");
    assert_eq!(daemon.end(), 0);
    let pid = rustix::process::Pid::from_raw(served).expect("a process");
    wait("the far end ends with it", || {
        rustix::process::test_kill_process(pid).is_err()
    });
}

#[test]
fn a_second_carrier_of_a_link_names_the_first_one() {
    // P221
    let pair = Pair::new();
    let first = pair.carriers();
    first.says("connected");
    let told = pair.once().fails(75);
    assert_contains!(told, "another carrier serves the link po", "process");
    if cfg!(target_os = "linux") {
        assert!(told.contains(&first.child.id().to_string()), "{told}");
    }
    let second = pair.carriers();
    second.says("another carrier serves the link po");
    Pair::drop_mail(&pair.fit, "alice", "po:sintra", "once");
    wait("it arrives", || pair.po.bodies("sintra") == ["once"]);
    drop(first);
    second.says("connected");
    Pair::drop_mail(&pair.fit, "alice", "po:sintra", "twice");
    wait("the second goes on", || {
        pair.po.bodies("sintra") == ["once", "twice"]
    });
}

#[test]
fn a_link_that_is_down_keeps_its_mail_and_says_why() {
    let pair = Pair::new();
    files::write(pair.bin("down"), "");
    let carriers = pair.carriers();
    carriers.says("link po: not connected:");
    carriers.says("Connection refused");
    for n in 0..5 {
        Pair::drop_mail(&pair.fit, "alice", "po:sintra", &n.to_string());
    }
    wait("it waits", || pair.fit.names("links/po/out").len() == 6);
    let note = pair.fit.read("links/po/carrier.json");
    assert_eq!(note["state"], "waiting");
    assert_contains!(note["reason"].to_string(), "Connection refused");
    assert_eq!(
        carriers.log().matches("not connected").count(),
        1,
        "a state is said once: {}",
        carriers.log()
    );
    files::remove_file(pair.bin("down"));
    wait("it arrives", || {
        pair.po.bodies("sintra") == ["0", "1", "2", "3", "4"]
    });
    wait("it is confirmed", || {
        state(&pair.fit, "po")["out"]["acked"] == 5
    });
}

#[test]
fn an_item_that_is_damaged_in_out_is_not_sent_and_the_router_makes_it_again() {
    // P222
    let pair = Pair::new();
    for n in 0..4 {
        pair.po.send("sintra", "fit:alice", &n.to_string());
    }
    pair.po
        .write("links/fit/out/000000000002.json", "{\"n\":2}");
    let said = [
        json!({"hello": {"version": 1, "room": "r"}}),
        json!({"state": {"room": "r", "in": null, "out": null}}),
    ];
    let mut talk = Talk::begin(&pair.po, "fit");
    talk.say(&lines(&said));
    let heard = talk.hears("\"n\":1,");
    let damaged = pair.po.room("links/fit/out/000000000002.json");
    wait("it is removed", || {
        std::fs::read_to_string(&damaged).ok().as_deref() != Some("{\"n\":2}")
    });
    // The router's repaired item may follow immediately.
    assert!(!heard.contains("{\"n\":2}"), "{heard}");
    drop(talk);
    pair.once().ok();
    assert_eq!(pair.fit.bodies("alice"), ["0", "1", "2", "3"]);
}

#[test]
fn an_item_that_is_lost_in_in_is_asked_for_again() {
    // P224
    let pair = Pair::new();
    let first = items(&["0", "1"]);
    let said = [
        json!({"hello": {"version": 1, "room": "r"}}),
        json!({"state": {"room": "r", "in": null, "out": {"stream": first[0]["stream"], "n": 2, "acked": 0}}}),
        json!({"item": first[1]}),
    ];
    let mut talk = Talk::begin(&pair.po, "fit");
    talk.say(&lines(&said));
    talk.hears("{\"again\":[1,1]}");
    talk.say(&lines(&[json!({"item": first[0]})]));
    wait("both are taken", || pair.po.bodies("sintra") == ["0", "1"]);
}

#[test]
fn a_room_that_is_known_by_another_tag_says_so() {
    let pair = Pair::untrusted();
    pair.fit
        .write("settings.toml", pair.settings("gym", "as = \"fit\"\n"));
    pair.fit.ok("trust --yes");
    pair.fit.send("alice", "po:sintra", "hello");
    pair.once().ok();
    assert_eq!(pair.po.inbox("sintra")[0]["from"], "fit:alice");
    pair.fit.write("settings.toml", pair.settings("gym", ""));
    pair.fit.ok("trust --yes");
    assert_contains!(pair.once().fails(75), "has no link gym");
}

#[test]
fn a_carrier_reports_another_version_at_the_far_side() {
    // P220
    let pair = Pair::new();
    files::remove_file(pair.bin("mailbag"));
    pair.script(
        "mailbag",
        "#!/bin/sh\necho '{\"hello\":{\"version\":9,\"room\":\"x\"}}'\ncat >/dev/null\n",
    );
    assert_contains!(pair.once().fails(75), "version 9", "version 1", "update");
    pair.script(
        "mailbag",
        "#!/bin/sh\necho 'bash: mailbag: command not found' >&2\nexit 127\n",
    );
    assert_contains!(pair.once().fails(75), "command not found");
}

#[test]
fn a_link_from_a_room_to_itself_is_rejected() {
    // P220
    let pair = Pair::untrusted();
    let own = pair.fit.room("").display().to_string();
    let own = own.trim_end_matches('/');
    let link = |tag: &str, more: &str| format!("[links.{tag}]\n{more}\n");
    let to_itself = link("po", &format!("carrier = \"ssh\"\naddress = \"po:{own}\""));
    pair.fit.write(
        "settings.toml",
        format!(
            "tag = \"fit\"\n{to_itself}{}",
            link("fit", "carrier = \"none\"")
        ),
    );
    pair.fit.ok("trust --yes");
    assert_contains!(pair.once().fails(75), "leads to this room itself");
}
