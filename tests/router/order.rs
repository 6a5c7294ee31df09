//! The order of acceptance of one sender's files.

use crate::files;
use crate::sim::Random;
use crate::town::{Town, so_within};
use crate::world::{World, parse_json};
use mailbag::disk::{Dir, linux_calls};
use mailbag::room::outbox::Outboxes;
use rustix::process::Signal;
use serde_json::json;
use std::fs::File;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Drops messages of alice with these numbers.
fn drop_numbered(town: &Town, numbers: std::ops::Range<u32>) {
    for n in numbers {
        let draft = town.mail(
            "alice",
            &format!(".{n:05}"),
            json!({"to": "bob", "body": n.to_string()}),
        );
        files::rename(draft, town.room(&format!("outbox/alice/{n:05}.json")));
    }
}

#[test]
fn thousands_of_files_of_one_sender_are_accepted_in_order_including_later_ones() {
    // P234
    let town = Town::alice_and_bob().quick();
    drop_numbered(&town, 0..2000);
    let town = town.run();
    drop_numbered(&town, 2000..3000);
    let came = town.wait_for_mail("bob", 3000);
    let bodies: Vec<u32> = came
        .iter()
        .filter_map(|mail| mail["body"].as_str()?.parse().ok())
        .collect();
    assert_eq!(
        (
            bodies.len(),
            (0..3000).zip(bodies).find(|(n, body)| n != body)
        ),
        (3000, None)
    );
}

#[test]
fn the_router_takes_the_first_names_of_very_many_files_first() {
    // P234
    let home = tempfile::TempDir::new().expect("a directory");
    let outbox = home.path().join("outbox/alice");
    files::make_dir(&outbox);
    let name = |n: u32| format!("{n:06}.json");
    (0..70_000)
        .rev()
        .for_each(|n| files::write(outbox.join(name(n)), ""));
    let (room, alice) = (Dir::open(home.path()).expect("a room"), Arc::from("alice"));
    // All stay at first, because they are empty; then they are taken.
    for stays in [true, false] {
        let (mut outboxes, mut shown) = (Outboxes::default(), Vec::new());
        outboxes.scan(&alice);
        while let Some((_, turn)) = outboxes.next_turn(&room) {
            let files = turn.expect("a turn");
            files
                .names
                .iter()
                .filter(|_| !stays)
                .for_each(|name| files::remove_file(outbox.join(name)));
            shown.extend(files.names);
        }
        assert_eq!(shown.len(), 70_000, "each of them once");
        assert!(shown.is_sorted());
    }
}

#[test]
fn files_that_come_while_an_outbox_is_read_are_taken_in_their_order() {
    // P234
    let home = tempfile::TempDir::new().expect("a directory");
    let outbox = home.path().join("outbox/alice");
    files::make_dir(&outbox);
    let drop_files = |numbers: std::ops::Range<u32>| {
        numbers.for_each(|n| files::write(outbox.join(format!("{n:06}.json")), ""));
    };
    drop_files(0..20_000);
    let (room, alice) = (Dir::open(home.path()).expect("a room"), Arc::from("alice"));
    let (mut outboxes, mut shown, mut dropped) = (Outboxes::default(), Vec::new(), 20_000);
    outboxes.scan(&alice);
    while let Some((_, turn)) = outboxes.next_turn(&room) {
        let files = turn.expect("a turn");
        if dropped < 40_000 {
            let new = dropped..dropped + 500;
            drop_files(new.clone());
            new.for_each(|n| outboxes.hint(&alice, format!("{n:06}.json").into()));
            dropped += 500;
        }
        let there: Vec<_> = files
            .names
            .into_iter()
            .filter(|name| outbox.join(name).exists())
            .collect();
        there
            .iter()
            .for_each(|name| files::remove_file(outbox.join(name)));
        shown.extend(there);
    }
    assert!(dropped > 20_000, "some came meanwhile");
    assert_eq!(shown.len() as u32, dropped, "each of them once");
    assert!(shown.is_sorted());
}

#[test]
fn files_that_a_killed_router_picked_up_keep_their_order_also_where_one_does_not_fit_into_a_batch()
{
    // P234
    let world = World::with("alice bob carol");
    let to = |n: u32| {
        if n % 2 == 1 {
            json!(["bob", "carol"])
        } else {
            json!("bob")
        }
    };
    for n in 0..700 {
        world.write(
            &format!("spool/claim/{}~alice~x.json", n + 1),
            json!({"to": to(n), "body": n.to_string()}).to_string(),
        );
    }
    world.route("alice", "y.json", r#"{"to":"bob","body":"700"}"#);
    let bodies: Vec<u32> = world
        .bodies("bob")
        .iter()
        .filter_map(|body| body.parse().ok())
        .collect();
    assert_eq!(
        (
            bodies.len(),
            (0..701).zip(bodies).find(|(n, body)| n != body)
        ),
        (701, None)
    );
}

#[test]
fn files_that_a_killed_router_picked_up_keep_their_order() {
    // P234
    let world = World::alice_and_bob();
    let lines: String = (1..6)
        .map(|n| json!({"to": "bob", "body": n.to_string()}).to_string() + "\n")
        .collect();
    world.write(
        "spool/claim/9~alice~a.json",
        r#"{"to":"bob","body":"behind"}"#,
    );
    world.write("spool/claim/8~alice~b.ndjson", lines);
    world.drop_file("alice", "0.json", r#"{"to":"bob","body":"last"}"#);
    world.pass();
    assert_eq!(
        world.bodies("bob"),
        ["1", "2", "3", "4", "5", "behind", "last"]
    );
}

/// Drops numbered files, some for one agent and some for two.
fn drop_for_one_or_two(world: &World, sender: &str, files: usize) {
    for n in 0..files {
        let to = if n % 3 == 0 {
            json!("carol")
        } else {
            json!(["carol", "dave"])
        };
        let text = json!({"to": to, "body": format!("{sender} {n}")}).to_string();
        let draft = world.drop_file(sender, &format!(".{n:06}"), text);
        files::rename(draft, world.room(&format!("outbox/{sender}/{n:06}.json")));
    }
}

#[test]
fn a_router_that_is_killed_again_and_again_keeps_the_order_of_each_sender() {
    // P234
    const SENDERS: [&str; 2] = ["alice", "bob"];
    let files = if Town::full_size() { 50_000 } else { 1_500 };
    let quick = "budget.messages = 0\nbudget.copies = 0\n";
    let (world, mut random) = (
        World::with("alice bob carol dave").settings(quick),
        Random::new(7),
    );
    let count = |below: &str| {
        SENDERS
            .iter()
            .map(|of| world.names(&format!("{below}/{of}")).len())
            .sum::<usize>()
    };
    thread::scope(|scope| {
        let dropping = SENDERS.map(|sender| {
            let world = &world;
            scope.spawn(move || drop_for_one_or_two(world, sender, files))
        });
        while !dropping
            .iter()
            .all(std::thread::ScopedJoinHandle::is_finished)
            || count("outbox") > 0
        {
            let enough = count("sent") + random.below(600);
            let router = world.router("");
            so_within(Duration::from_secs(2), || count("sent") >= enough);
            router.signal(Signal::KILL);
        }
    });
    world.pass();
    for (recipient, wanted) in [("carol", files), ("dave", files - files.div_ceil(3))] {
        let bodies = world.bodies(recipient);
        for sender in SENDERS {
            let of_sender = bodies
                .iter()
                .filter_map(|body| body.strip_prefix(sender)?.trim().parse().ok());
            let of_sender: Vec<usize> = of_sender.collect();
            let late = of_sender.windows(2).find(|two| two[0] >= two[1]);
            assert_eq!(
                (of_sender.len(), late),
                (wanted, None),
                "{sender} to {recipient}"
            );
        }
    }
}

/// A child that another thread of the sender has just started has copies of its open files for a moment.
#[test]
fn a_file_that_a_process_still_has_open_is_taken_after_a_later_one() {
    // P3, P234
    if !linux_calls() {
        return; // Other systems cannot tell.
    }
    let world = World::alice_and_bob();
    let first = world.mail("alice", "8.json", json!({"to": "bob", "body": "8"}));
    let open = File::options().append(true).open(first).expect("a file");
    world.route("alice", "9.json", json!({"to": "bob", "body": "9"}));
    assert_eq!(world.bodies("bob"), ["9"]);
    drop(open);
    world.pass();
    assert_eq!(world.bodies("bob"), ["9", "8"]);
}

#[test]
fn beside_ids_of_other_forms_messages_are_in_the_order_of_their_acceptance() {
    // P53, P403
    let world = World::alice_and_bob();
    let ulids = ["01KB0000000000000000000009", "01KB0000000000000000000001"];
    let mut wanted = Vec::new();
    for (n, ulid) in ulids.iter().enumerate() {
        world.route(
            "alice",
            &format!("{ulid}.json"),
            json!({"id": ulid, "to": "bob", "body": "x", "thread_id": "t"}),
        );
        wanted.push((*ulid).to_owned());
        let args = [
            "send",
            "-q",
            "bob",
            "y",
            "--thread",
            "t",
            "--as",
            if n == 0 { "human" } else { "alice" },
        ];
        wanted.push(world.ok(&args).trim().to_owned());
    }
    let ids = |list: &serde_json::Value| -> Vec<String> {
        let ids = list
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one["id"].as_str());
        ids.map(str::to_owned).collect()
    };
    assert_eq!(ids(&world.items("list")), wanted);
    assert_eq!(ids(&world.items("thread t")), wanted);
    assert_eq!(ids(&world.items("inbox bob")), wanted);
    let conversation = world.text("channels/main/messages.ndjson");
    let lines: serde_json::Value = conversation.lines().map(parse_json).collect();
    assert_eq!(ids(&lines), wanted);
}
