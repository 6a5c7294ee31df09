//! Many agents, many files, many writers and readers at the same time.

use crate::files;
use crate::town::Town;
use crate::world::{lossy, parse_json};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[test]
fn all_reaches_the_999_others_of_a_thousand_agents() {
    let agents: Vec<Value> = (0..1000)
        .map(|n| json!({"id": format!("a{n}"), "role": "engineer"}))
        .collect();
    let town = Town::with(&agents).quick().run();
    town.mail("a0", "x.json", json!({"to": "all", "body": "to everybody"}));
    let has = |n: usize| town.count(&format!("a{n}")) == 1;
    town.wait("everybody else has it", || (1..1000).rev().all(has));
    town.wait("it is retired", || town.names("sent/a0").len() == 1);
    assert_eq!((town.count("a0"), town.count("human")), (0, 0));
    assert_eq!(town.status()["counts"]["copies"], 999);
    town.verify();
}

/// The messages of ten writers, as their readers took them: body, and number.
type Taken = BTreeMap<String, usize>;

/// Reads the messages in an inbox, deletes them, and counts them.
fn take(town: &Town, agent: &str, taken: &mut Taken) {
    for name in town.names(&format!("inbox/{agent}")) {
        let path = town.room(&format!("inbox/{agent}/{name}"));
        let copy = parse_json(files::read(&path));
        files::remove_file(path);
        *taken
            .entry(copy["body"].as_str().unwrap_or_default().to_owned())
            .or_default() += 1;
    }
}

#[test]
fn ten_simultaneous_writers_lose_and_repeat_no_message() {
    const WRITERS: usize = 10;
    let each = if Town::full_size() { 2000 } else { 200 };
    let agents: Vec<String> = (0..WRITERS).map(|n| format!("a{n}")).collect();
    let town = Town::of(&agents.iter().map(String::as_str).collect::<Vec<_>>()).run();
    let done = AtomicBool::new(false);
    let taken: Vec<Taken> = thread::scope(|scope| {
        let (town, done, agents) = (&town, &done, &agents);
        let readers: Vec<_> = agents
            .iter()
            .map(|agent| {
                scope.spawn(move || {
                    let mut taken = Taken::new();
                    let all = || each * 2;
                    town.wait("all that is theirs", || {
                        take(town, agent, &mut taken);
                        taken.values().sum::<usize>() >= all() || done.load(Ordering::Relaxed)
                    });
                    taken
                })
            })
            .collect();
        for n in 0..WRITERS {
            scope.spawn(move || write_to_neighbours(town, n, WRITERS, each));
        }
        let taken = readers
            .into_iter()
            .map(|reader| reader.join().expect("a reader sees whole messages"))
            .collect();
        done.store(true, Ordering::Relaxed);
        taken
    });
    town.wait("all are retired", || {
        agents
            .iter()
            .all(|agent| town.names(&format!("sent/{agent}")).len() == each)
    });
    for (n, mut taken) in taken.into_iter().enumerate() {
        take(&town, &agents[n], &mut taken);
        assert_eq!(taken.len(), each * 2, "a{n}");
        assert!(
            taken.values().all(|times| *times == 1),
            "a{n} got something twice"
        );
    }
    assert_eq!(town.status()["counts"]["accepted"], json!(WRITERS * each));
    town.verify();
}

/// Every message has the two neighbours as recipients; some writers rename into place, some write
/// under the final name.
fn write_to_neighbours(town: &Town, n: usize, writers: usize, each: usize) {
    let to = [
        format!("a{}", (n + 1) % writers),
        format!("a{}", (n + 2) % writers),
    ];
    for m in 0..each {
        let text = json!({"to": to, "body": format!("{n}.{m}")}).to_string();
        let name = if m % 2 == 0 {
            format!("{m}.json")
        } else {
            format!(".{m}")
        };
        let path = town.drop_file(&format!("a{n}"), &name, text);
        if m % 2 == 1 {
            files::rename(&path, path.with_file_name(format!("{m}.json")));
        }
    }
}

#[test]
fn ten_simultaneous_send_commands_without_a_router_deliver_each_message_once() {
    let town = Town::alice_and_bob();
    let sends: Vec<_> = (0..10)
        .map(|n| {
            let mut send = town.bare(&["send", "bob", &format!("number {n}"), "--as", "alice"]);
            send.stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the program")
        })
        .collect();
    for send in sends {
        let output = send.wait_with_output().expect("its own child");
        assert!(output.status.success(), "{}", lossy(&output.stderr));
    }
    let wanted: Vec<String> = (0..10).map(|n| format!("number {n}")).collect();
    town.wait_for_bodies(
        "bob",
        &wanted.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    town.verify();
}

#[test]
fn thousands_of_files_waiting_at_start_are_all_routed() {
    let files = if Town::full_size() { 100_000 } else { 5_000 };
    let town = Town::of("alice bob carol").quick();
    for n in 0..files {
        town.mail(
            ["alice", "bob"][n % 2],
            &format!("{n:06}.json"),
            json!({"to": "carol", "body": n.to_string()}),
        );
    }
    let town = town.run();
    town.wait("all are routed", || {
        town.names("outbox/alice").is_empty() && town.names("outbox/bob").is_empty()
    });
    town.wait("all have arrived", || town.count("carol") == files);
    let bodies: BTreeSet<String> = town.bodies("carol").into_iter().collect();
    assert_eq!(bodies.len(), files);
    assert_eq!(town.status()["counts"]["accepted"], json!(files));
}
