//! Too many files, too many rejections, slow patterns: one sender delays no other sender.

use crate::town::Town;
use mailbag::room::registry::Registry;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

#[test]
fn a_single_message_overtakes_the_flood_of_another_sender() {
    let flood = if Town::full_size() { 1_000_000 } else { 3_000 };
    let town = Town::of("mallory alice bob sink").quick();
    for n in 0..flood {
        town.drop_file(
            "mallory",
            &format!("{n}.json"),
            r#"{"to":"sink","body":"flood"}"#,
        );
    }
    town.mail("alice", "x.json", json!({"to": "bob", "body": "single"}));
    let town = town.run();
    let mail = town.wait_for_mail("bob", 1);
    let before = mail[0]["delivery"]["seq"].as_u64().expect("a number");
    // Outboxes take turns of 64 files, however many files wait in one of them.
    assert!(before < 200, "{before} records came before it");
    let mut n = 0;
    town.wait("the flood is routed as well", || {
        n += 1;
        n % 50 == 1 && town.names("outbox/mallory").is_empty()
    });
    town.wait("all of it arrives", || {
        town.status()["counts"]["accepted"] == flood + 1
    });
}

#[test]
fn a_storm_of_refusals_stays_between_the_router_and_its_sender() {
    let town = Town::of("mallory alice bob").run();
    for n in 0..300 {
        town.drop_file(
            "mallory",
            &format!("{n}.json"),
            r#"{"to": "nobody-known", "body": "x"}"#,
        );
    }
    town.is_alive("alice", "bob");
    town.wait_for_refusals("mallory", 300);
    town.wait_for_mail("mallory", 300);
    // The bounces that are sent back as messages: each is rejected with one bounce, and this ends
    // the chain.
    for (n, bounce) in town.inbox("mallory").iter().take(20).enumerate() {
        town.mail(
            "mallory",
            &format!("again-{n}.json"),
            json!({"to": bounce["from"], "body": "no"}),
        );
    }
    town.wait_for_mail("mallory", 320);
    town.is_alive("alice", "bob");
    assert_eq!(
        (
            town.count("mallory"),
            town.count("alice"),
            town.count("human")
        ),
        (320, 0, 0)
    );
}

#[test]
fn patterns_made_to_be_slow_are_not_against_ten_thousand_names() {
    let agents: Vec<Value> = (0..10_000)
        .map(|n| json!({"id": format!("a{}{n}", "ab".repeat(20))}))
        .collect();
    let registry =
        Registry::parse(json!({"agents": agents}).to_string().as_bytes()).expect("a registry");
    let bombs = [
        "*a*a*a*a*a*a*a*a*a*c",
        "*a*b*a*b*a*b*c",
        "a?a?a?a?a?a?*c",
        "{a,b}{a,b}{a,b}*c",
        "[a-z]*[a-z]*[a-z]*!",
    ];
    for bomb in bombs {
        let start = Instant::now();
        let reached = mailbag::room::resolve::resolve(
            &registry,
            "aabababababababababababababababababababab0",
            &[bomb.to_owned()],
            false,
            &mut Nobody,
        );
        let took = start.elapsed();
        assert!(reached.is_err(), "{bomb} reaches nobody");
        // Ten milliseconds in a release build; this one is slow, and so may the machine be.
        assert!(took < Duration::from_secs(2), "{bomb} took {took:?}");
    }
}

/// A presence without any agent.
struct Nobody;

impl mailbag::room::resolve::Availability for Nobody {
    fn unread(&self, _: &str) -> usize {
        0
    }

    fn online(&self, _: &str) -> bool {
        false
    }

    fn last_active(&self, _: &str) -> mailbag::base::clock::Stamp {
        mailbag::base::clock::Stamp::default()
    }
}

#[test]
fn a_flood_from_all_agents_to_all_is_delivered_and_a_single_message_passes_it() {
    const AGENTS: usize = 30;
    const EACH: usize = 20;
    let ids: Vec<String> = (0..AGENTS).map(|n| format!("m{n}")).collect();
    let town = Town::of(&ids.iter().map(String::as_str).collect::<Vec<_>>()).quick();
    for id in &ids {
        for n in 0..EACH {
            // The id is in the name of the copy.
            town.mail(
                id,
                &format!("{n}.json"),
                json!({"to": "all", "id": format!("n{n}"), "body": "to all of you"}),
            );
        }
    }
    let town = town.run();
    town.is_alive("human", "human");
    town.mail(
        "human",
        "x.json",
        json!({"to": "m7", "body": "single", "id": "single"}),
    );
    town.wait("the single message arrives", || {
        town.names("inbox/m7")
            .iter()
            .any(|name| name.ends_with("-human-single.json"))
    });
    let all = EACH * (AGENTS - 1);
    town.wait("all have all", || {
        ids.iter()
            .all(|id| town.count(id) >= all + usize::from(id == "m7"))
    });
    town.wait("nothing is left", || {
        ids.iter()
            .all(|id| town.names(&format!("outbox/{id}")).is_empty())
    });
    for id in &ids {
        let names = town.names(&format!("inbox/{id}"));
        let senders_and_ids: BTreeSet<&str> = names
            .iter()
            .filter_map(|name| name.split_once('-').map(|one| one.1))
            .collect();
        let single = usize::from(id == "m7");
        assert_eq!(
            (names.len(), senders_and_ids.len()),
            (all + single, all + single),
            "{id}"
        );
    }
    town.verify();
}

/// A town with this number of agents. `mallory` sends this number of files with 300 lines to all.
fn crowd(agents: usize, files: usize) -> Town {
    let mut ids: Vec<String> = (0..agents).map(|n| format!("m{n}")).collect();
    ids.push("mallory".into());
    let town = Town::of(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    for file in 0..files {
        let text: String = (0..300)
            .map(|n| format!("{{\"to\":\"all\",\"body\":\"{file} {n}\"}}\n"))
            .collect();
        town.drop_file("mallory", &format!("flood{file}.ndjson"), text);
    }
    town
}

// P111, P112
#[test]
fn a_message_waits_for_one_file_of_many_lines_to_all_and_not_for_the_next() {
    let town = crowd(30, 3).settings("budget.messages = 0\nbudget.copies = 0\n");
    town.mail(
        "m1",
        "x.json",
        json!({"to": "m2", "body": "single", "id": "single"}),
    );
    town.ok("run --once -q");
    let single = town
        .names("inbox/m2")
        .into_iter()
        .find(|name| name.ends_with("-m1-single.json"))
        .expect("it came");
    let single = town.read(&format!("inbox/m2/{single}"));
    let before = single["delivery"]["seq"].as_u64().expect("a number");
    assert!(before < 310, "{before} records came before it");
    assert_eq!(town.count("m7"), 900);
    let bodies = (0..3).flat_map(|file| (0..300).map(move |n| format!("{file} {n}")));
    assert!(
        town.bodies("m7") == bodies.collect::<Vec<_>>(),
        "each once, in order"
    );
    town.verify();
}

// P112
#[test]
fn messages_to_a_whole_crowd_let_others_mail_through_between_them() {
    let ids: Vec<String> = (0..3000).map(|n| format!("m{n}")).collect();
    let mut agents: Vec<&str> = ids.iter().map(String::as_str).collect();
    agents.extend(["mallory", "mallet", "alice", "bob"]);
    let role = |id: &&str| {
        if id.len() > 1 && id[1..].parse::<u32>().is_ok() {
            "crowd"
        } else {
            "other"
        }
    };
    let registry: Vec<Value> = agents
        .iter()
        .map(|id| json!({"id": id, "role": role(id)}))
        .collect();
    let town = Town::with(&registry).quick();
    for sender in ["mallory", "mallet"] {
        for n in 0..2 {
            town.mail(
                sender,
                &format!("{n}.json"),
                json!({"to": "all_crowd", "body": "to all of you"}),
            );
        }
    }
    town.mail("alice", "x.json", json!({"to": "bob", "body": "single"}));
    let town = town.run();
    let mail = town.wait_for_mail("bob", 1);
    let before = mail[0]["delivery"]["seq"].as_u64().expect("a number");
    assert!(
        before <= 5,
        "{before} records came before it: more than one such message"
    );
    town.wait("all of it arrives", || town.count("m2999") == 4);
    town.verify();
}
