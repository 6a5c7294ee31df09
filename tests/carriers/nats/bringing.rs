//! Delivery over NATS, whichever rooms are connected.

use super::servers::Cluster;
use super::{Rooms, drop_mail, once, run, with_one_connected};
use crate::files;
use crate::links::{copy_all, state};
use crate::world::{parse_json, wait};
use serde_json::json;

/// Waits until the stream to `po` has this number of messages.
#[track_caller]
fn servers_have(cluster: &Cluster, count: usize) {
    let mut talk = cluster.talk(json!({}));
    wait(&format!("the servers have {count} messages"), || {
        let info = talk.ask("$JS.API.STREAM.INFO.mailbag_po", "");
        info.contains(&format!("\"messages\":{count}"))
    });
}

#[test]
fn mail_and_its_answer_cross_over_a_server() {
    // P211 P212
    let Some(cluster) = Cluster::start(1, "") else {
        return;
    };
    let rooms = Rooms::new(&cluster);
    let carriers = rooms.run();
    for carrier in &carriers {
        carrier.says("connected to nats://127.0.0.1:");
    }
    drop_mail(&rooms.fit, "alice", "po:sintra", "which port?");
    wait("it arrives", || {
        rooms.po.bodies("sintra") == ["which port?"]
    });
    drop_mail(&rooms.po, "sintra", "fit:alice", "8080");
    wait("the answer comes", || rooms.fit.bodies("alice") == ["8080"]);
    rooms.settled();
    wait("nothing is left in the rooms", || {
        rooms.fit.names("links/po/out") == ["state.json"]
    });
    wait("nothing is left on the servers", || {
        let count = |stream| {
            let info = cluster
                .talk(json!({}))
                .ask(&format!("$JS.API.STREAM.INFO.{stream}"), "");
            parse_json(&info)["state"]["messages"] == 0
        };
        count("mailbag_fit") && count("mailbag_po")
    });
    for carrier in carriers {
        assert!(
            !carrier.log().contains("not connected"),
            "{}",
            carrier.log()
        );
        assert_eq!(carrier.end(), 0);
    }
}

#[test]
fn the_servers_keep_mail_for_a_room_that_is_away_also_from_one_that_has_gone() {
    // P212
    let Some((mut cluster, rooms, fit)) = with_one_connected(|rooms| &rooms.fit) else {
        return;
    };
    for n in 0..3 {
        drop_mail(&rooms.fit, "alice", "po:sintra", &n.to_string());
    }
    servers_have(&cluster, 4);
    fit.end();
    cluster.kill(0);
    let (store, before) = (cluster.store(0), rooms.fit.path().join("before"));
    copy_all(&store, &before);
    cluster.revive(0);
    let po = run(&rooms.po);
    wait("it arrives without its sender", || {
        rooms.po.bodies("sintra") == ["0", "1", "2"]
    });
    assert_eq!(state(&rooms.fit, "po")["out"]["acked"], 0);
    servers_have(&cluster, 0);
    po.end();
    // The confirmation has waited for the sender.
    once(&rooms.fit).ok();
    assert_eq!(state(&rooms.fit, "po")["out"]["acked"], 3);
    // The server returns with its earlier data, as after a power cut: old items and states.
    cluster.kill(0);
    files::remove_dir(&store);
    copy_all(&before, &store);
    cluster.revive(0);
    drop_mail(&rooms.fit, "alice", "po:sintra", "3");
    drop_mail(&rooms.po, "sintra", "fit:alice", "4");
    let _carriers = rooms.run();
    wait("mail goes on", || {
        rooms.po.bodies("sintra") == ["0", "1", "2", "3"] && rooms.fit.bodies("alice") == ["4"]
    });
    rooms.settled();
    assert!(
        rooms.fit.inbox("human").is_empty() && rooms.po.inbox("human").is_empty(),
        "no link has stopped"
    );
}

#[test]
fn an_item_that_is_larger_than_a_message_of_the_servers_comes_in_parts() {
    // P214
    let Some(cluster) = Cluster::start(1, "max_payload: 100000") else {
        return;
    };
    let rooms = Rooms::new(&cluster);
    let _carriers = rooms.run();
    let large = "0123456789".repeat(300_000);
    drop_mail(&rooms.fit, "alice", "po:sintra", &large);
    drop_mail(&rooms.fit, "alice", "po:sintra", "small");
    wait("both arrive", || rooms.po.names("inbox/sintra").len() == 2);
    assert!(rooms.po.bodies("sintra") == [large, "small".to_owned()]);
    rooms.settled();
}

#[test]
fn a_stream_that_was_deleted_loses_nothing() {
    // P212
    let Some((cluster, rooms, fit)) = with_one_connected(|rooms| &rooms.fit) else {
        return;
    };
    let delete = |stream: &str| {
        assert_contains!(
            cluster
                .talk(json!({}))
                .ask(&format!("$JS.API.STREAM.DELETE.{stream}"), ""),
            "\"success\":true"
        );
    };
    for n in 0..3 {
        drop_mail(&rooms.fit, "alice", "po:sintra", &n.to_string());
    }
    servers_have(&cluster, 4);
    delete("mailbag_po");
    // The other room's carrier starts, and this one resends the unconfirmed items.
    let po = run(&rooms.po);
    wait("it arrives", || {
        rooms.po.bodies("sintra") == ["0", "1", "2"]
    });
    rooms.settled();
    delete("mailbag_po");
    delete("mailbag_fit");
    drop_mail(&rooms.fit, "alice", "po:sintra", "3");
    drop_mail(&rooms.po, "sintra", "fit:alice", "4");
    wait("mail goes on", || {
        rooms.po.bodies("sintra").len() == 4 && rooms.fit.bodies("alice") == ["4"]
    });
    assert!(fit.log().contains("not connected") && po.log().contains("not connected"));
}

#[test]
fn a_link_that_is_removed_and_added_continues_to_deliver() {
    let Some(cluster) = Cluster::start(1, "") else {
        return;
    };
    let rooms = Rooms::new(&cluster);
    let _carriers = rooms.run();
    for n in 0..3 {
        drop_mail(&rooms.fit, "alice", "po:sintra", &n.to_string());
    }
    wait("they arrive", || rooms.po.bodies("sintra").len() == 3);
    rooms.settled();
    for (room, tag) in [(&rooms.fit, "po"), (&rooms.po, "fit")] {
        let removed = room.ok(&format!("link remove {tag}"));
        let mut lines = removed.lines().map(str::trim);
        let add = lines
            .find_map(|line| line.strip_prefix("mailbag "))
            .expect("a command");
        room.ok(add);
    }
    drop_mail(&rooms.fit, "alice", "po:sintra", "3");
    drop_mail(&rooms.po, "sintra", "fit:alice", "4");
    wait("mail goes on", || {
        rooms.po.bodies("sintra").len() == 4 && rooms.fit.bodies("alice") == ["4"]
    });
}

#[test]
fn unreachable_servers_are_reported() {
    let Some(mut cluster) = Cluster::start(1, "") else {
        return;
    };
    let rooms = Rooms::new(&cluster);
    cluster.kill(0);
    rooms.fit.send("alice", "po:sintra", "hello");
    let told = once(&rooms.fit).fails(75);
    assert!(
        told.contains("cannot connect to nats://127.0.0.1:") && told.contains("refused"),
        "{told}"
    );
    assert_eq!(rooms.fit.read("links/po/carrier.json")["state"], "waiting");
}

#[test]
fn a_link_to_the_room_itself_and_more_replicas_than_servers_are_reported() {
    // P213
    let Some(cluster) = Cluster::start(1, "") else {
        return;
    };
    let rooms = Rooms::untrusted(&cluster.address(), "as = \"po\"\n");
    rooms.trust();
    rooms.fit.send("alice", "po:sintra", "hello");
    assert_contains!(once(&rooms.fit).fails(75), "leads to this room itself");
    let rooms = Rooms::untrusted(&cluster.address(), "");
    let settings = rooms.fit.text("settings.toml");
    let settings = settings
        .replace("replicas = 1\n", "")
        .replace("\"fit\"", "\"gym\"");
    rooms.fit.write("settings.toml", settings);
    rooms.trust();
    rooms.fit.send("alice", "po:sintra", "hello");
    assert_contains!(
        once(&rooms.fit).fails(75),
        "cannot create the stream mailbag_gym",
        "replicas"
    );
}
