//! Several processes that share an inbox at the same time. Some of them are killed.

use super::Beside;
use crate::town::Town;
use crate::world::{World, parse_json};
use serde_json::json;
use std::collections::BTreeMap;

/// A room with this number of messages in the inbox `builders`, with the bodies `0`, `1`, …
pub(super) fn shop(count: usize) -> Town {
    let town = Town::of("alice builders").quick();
    for n in 0..count {
        town.mail(
            "alice",
            &format!("{n}.json"),
            json!({"id": format!("m-{n}"), "to": "builders", "body": n.to_string()}),
        );
    }
    town.pass();
    assert_eq!(town.count("builders"), count);
    town
}

/// The place of each message: every message is in exactly one place.
pub(super) fn places(world: &World, count: usize) -> [usize; 3] {
    let places = [
        "inbox/builders",
        "inbox/builders/taken",
        "inbox/builders/seen",
    ];
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    places
        .iter()
        .flat_map(|place| world.names(place))
        .for_each(|name| *found.entry(name).or_default() += 1);
    assert!(
        found.len() == count && found.values().all(|times| *times == 1),
        "{found:#?}"
    );
    places.map(|place| world.names(place).len())
}

#[test]
fn eight_processes_share_two_hundred_messages_and_none_is_handed_out_twice() {
    // P64
    let town = shop(200);
    let worlds: &World = &town;
    let handed: Vec<(String, String)> = std::thread::scope(|scope| {
        let work = |n: usize| {
            let holder = format!("builder-{n}");
            scope.spawn(move || {
                let mut mine = Vec::new();
                loop {
                    let ran =
                        worlds.run(&["take", "--as", "builders", "--holder", &holder, "--json"]);
                    if ran.code == 3 {
                        return mine;
                    }
                    let taken = parse_json(ran.ok());
                    let seq = taken["message"]["delivery"]["seq"].to_string();
                    worlds.ok(&[
                        "take", "--done", &seq, "--as", "builders", "--holder", &holder,
                    ]);
                    mine.push((taken["message"]["body"].to_string(), holder.clone()));
                }
            })
        };
        let threads: Vec<_> = (0..8).map(work).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a taker"))
            .collect()
    });
    let bodies: BTreeMap<&str, &str> = handed
        .iter()
        .map(|(body, holder)| (body.as_str(), holder.as_str()))
        .collect();
    assert_eq!((handed.len(), bodies.len()), (200, 200));
    assert!(
        bodies
            .values()
            .collect::<std::collections::BTreeSet<_>>()
            .len()
            > 1,
        "one did all the work"
    );
    assert_eq!(places(&town, 200), [0, 0, 200]);
}

#[test]
fn a_taker_killed_at_any_moment_leaves_each_message_in_one_place_and_it_comes_back() {
    // P64 and P65
    const COUNT: usize = 20;
    let town = shop(COUNT);
    for n in 0..60 {
        let mut taker = Beside::start(&town, "take --as builders --lease 1ms --holder doomed");
        // At a different moment each time: after this number of polls.
        let mut looks = 0;
        town.wait("its moment has come", || {
            looks += 1;
            looks > n % 4 || taker.child.try_wait().expect("a child").is_some()
        });
        taker
            .child
            .kill()
            .expect("it can be killed, if it has not ended");
        taker.ended(&town);
        places(&town, COUNT);
    }
    let mut handed: Vec<u64> = Vec::new();
    for _ in 0..COUNT {
        let taken = town.json("take --as builders --holder builder");
        handed.extend(taken["message"]["delivery"]["seq"].as_u64());
    }
    handed.sort_unstable();
    handed.dedup();
    assert_eq!(handed.len(), COUNT);
    assert_eq!(places(&town, COUNT), [0, COUNT, 0]);
}

#[test]
fn one_of_many_waiting_takers_gets_a_message() {
    // P64
    let town = Town::of("alice builders").run();
    let mut takers: Vec<Beside> = (0..4)
        .map(|_| Beside::start(&town, "take --as builders --wait 1m --json"))
        .collect();
    for n in 0..4 {
        town.mail(
            "alice",
            &format!("{n}.json"),
            json!({"to": "builders", "body": n.to_string()}),
        );
        let mut ended = None;
        town.wait("one gets it", || {
            ended = takers
                .iter_mut()
                .position(|taker| taker.child.try_wait().expect("a child").is_some());
            ended.is_some()
        });
        let taker = takers.remove(ended.expect("one has ended"));
        let taken = parse_json(taker.ends(&town, 0));
        assert_eq!(taken["message"]["body"], n.to_string());
    }
}
