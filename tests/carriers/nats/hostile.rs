//! A hostile peer: it has the other room's rights, and publishes any messages.

use super::super::hostile::items;
use super::{drop_mail, once, run, with_one_connected};
use crate::world::{parse_json, wait};
use serde_json::{Value, json};

/// A carrier's message about its room.
fn said(count: u64, state: Value) -> Vec<u8> {
    json!({"hello": {"version": 1, "room": "far"}, "session": "s", "count": count, "state": state})
        .to_string()
        .into()
}

fn frame(item: &Value) -> Vec<u8> {
    json!({ "item": item }).to_string().into()
}

#[test]
fn a_carrier_drops_invalid_messages_and_still_delivers_valid_mail() {
    // P213 P214
    let Some((cluster, rooms, po)) = with_one_connected(|rooms| &rooms.po) else {
        return;
    };
    let mut evil = cluster.talk(json!({}));
    let good = items(&["one", "two", "three"]);
    let mut climbs = good[0].clone();
    climbs["name"] = "../../outbox/bob/x.json".into();
    let mut huge = good[0].clone();
    huge["n"] = u64::MAX.into();
    let huge = frame(&huge);
    let state = |n: u64| json!({"room": "far", "in": null, "out": {"stream": good[0]["stream"], "n": n, "acked": 0}});
    for (what, bytes) in [
        ("state", &b"\0\xff"[..]),
        ("state", b"{}"),
        ("state", &b"[".repeat(50_000)),
        (
            "state",
            &said(
                1,
                json!({"room": "r".repeat(100_000), "in": null, "out": null}),
            ),
        ),
        ("again", b"{\"again\":[-1,2]}"),
        ("again", b"{\"bye\":\"gone\"}"),
        ("again", b"{\"again\":[0,18446744073709551615]}"),
        ("item.1.1.1", b"{\"bye\":\"gone\"}"),
        (
            "item.1.1.1",
            b"\n\n{\"hello\":{\"version\":1,\"room\":\"x\"}}\n",
        ),
        ("item.1.1.1", &frame(&climbs)),
        ("item.1.1.1", &frame(&good[1])),
        ("item.1.1.1", &b"x".repeat(200_000)),
        ("item.2.1.2", b"{\"item\":"),
        ("item.2.2.3", b"7}"),
        ("item.3.7.9000000", b"x"),
        ("item.1001.1.1", &huge),
        ("item.18446744073709551615.1.1", &huge),
        ("item.x.1.1", &huge),
        ("item.1", &huge),
        ("passwd", b"x"),
        ("state", &said(2, state(3))),
    ] {
        evil.publish(&format!("mailbag.po.fit.{what}"), bytes);
    }
    for n in 1..=3 {
        evil.publish(
            &format!("mailbag.po.fit.item.{n}.1.1"),
            &frame(&good[n - 1]),
        );
    }
    wait("what fits comes", || {
        rooms.po.bodies("sintra") == ["one", "two", "three"]
    });
    assert!(
        rooms.po.bodies("bob").is_empty() && !po.log().contains("not connected"),
        "{}",
        po.log()
    );
    let names = rooms.po.names("links/fit/in");
    assert!(names.iter().all(|name| name == "state.json"), "{names:?}");
    // The servers also remove invalid messages.
    wait("the servers keep none of it", || {
        let info = evil.ask(
            "$JS.API.STREAM.INFO.mailbag_po",
            "{\"subjects_filter\":\">\"}",
        );
        let info = parse_json(&info);
        info["state"]["subjects"]
            .as_object()
            .is_none_or(serde_json::Map::is_empty)
    });
}

#[test]
fn a_carrier_reports_a_peer_of_another_version() {
    // P213
    let Some((cluster, rooms, po)) = with_one_connected(|rooms| &rooms.po) else {
        return;
    };
    let newer = json!({"hello": {"version": 9, "room": "far"}, "unknown": true}).to_string();
    cluster
        .talk(json!({}))
        .publish("mailbag.po.fit.state", newer.as_bytes());
    po.says("version 9");
    po.says("version 1");
    drop(po);
    // The servers still have its messages, so no connection counts as one.
    let told = once(&rooms.po).fails(75);
    assert!(
        told.contains("version 9") && !told.contains("connected to"),
        "{told}"
    );
}

#[test]
fn a_state_that_comes_late_takes_nothing_back() {
    // P213
    let Some((cluster, rooms, po)) = with_one_connected(|rooms| &rooms.po) else {
        return;
    };
    let fit = run(&rooms.fit);
    drop_mail(&rooms.fit, "alice", "po:sintra", "hello");
    wait("it arrives", || rooms.po.bodies("sintra") == ["hello"]);
    rooms.settled();
    // As a carrier of `po` that was killed would have said it, over a server that was slow.
    let mut late = cluster.talk(json!({}));
    late.publish(
        "mailbag.fit.po.state",
        &said(7, json!({"room": "po", "in": null, "out": null})),
    );
    drop_mail(&rooms.fit, "alice", "po:sintra", "again");
    wait("mail goes on", || rooms.po.bodies("sintra").len() == 2);
    rooms.settled();
    assert!(
        rooms.fit.inbox("human").is_empty(),
        "the link has not stopped"
    );
    drop((fit, po));
}
