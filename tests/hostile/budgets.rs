//! Budgets: a sender with too much mail, or too fast replies, is delayed but never rejected, and
//! delays no other sender.

use crate::files;
use crate::town::{Town, so_within};
use crate::world::World;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn numbered(town: &Town, from: &str, to: &str, numbers: std::ops::Range<usize>) {
    for n in numbers {
        town.mail(
            from,
            &format!("{n:03}.json"),
            json!({"to": to, "body": n.to_string()}),
        );
    }
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| n.to_string()).collect()
}

/// The entry of a delayed file or outbox in `status --json`.
fn blocked(town: &Town, what: &str) -> Option<Value> {
    let status = town.status();
    status["blocked"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|line| line["path"] == what)
        .cloned()
}

// P73, P74
#[test]
fn a_sender_over_its_budget_waits_in_its_outbox_in_order_and_status_says_so() {
    let settings = "budget.messages = 5\nbudget.window = \"1h\"\n";
    let mut town = Town::of("mallory alice bob").settings(settings);
    numbered(&town, "mallory", "bob", 0..20);
    town.start(&[]);
    town.wait("five arrive", || town.count("bob") == 5);
    town.wait_for_reason("over its budget of 5 messages an hour; next at ");
    town.is_alive("alice", "bob");
    let line = blocked(&town, "outbox/mallory").expect("it waits");
    let told = town.ok("status");
    assert_contains!(
        told,
        "outbox/mallory: over its budget of 5 messages an hour; next at "
    );
    assert_contains!(told, "15 files in outbox/mallory, first 005.json");
    // Further files wait after it, whatever their names, and the delay does not restart.
    numbered(&town, "mallory", "bob", 20..25);
    town.is_alive("alice", "bob");
    assert_eq!(
        (town.bodies("bob"), town.names("outbox/mallory").len()),
        (numbers(0..5), 20)
    );
    assert_eq!(
        blocked(&town, "outbox/mallory").expect("it waits")["since"],
        line["since"]
    );
    // The spent budget is kept only in the memory of a running router.
    town.router().signal(Signal::KILL);
    town.ended();
    town.start(&[]);
    town.wait("five more arrive", || town.count("bob") == 10);
    town.wait_for_reason("over its budget");
    assert_eq!(town.bodies("bob"), numbers(0..10));
    // A raised budget takes effect immediately.
    town.place("settings.toml", b"");
    town.wait("all arrive", || town.count("bob") == 25);
    assert_eq!(town.bodies("bob"), numbers(0..25));
    town.wait_until_nothing_waits();
    assert!(town.refusals("mallory").is_empty());
    town.verify();
}

#[test]
fn a_spent_budget_is_refilled_evenly() {
    let town = Town::of("mallory bob").settings("budget.messages = 3\nbudget.window = \"3s\"\n");
    numbered(&town, "mallory", "bob", 0..6);
    let start = Instant::now();
    let town = town.run();
    town.wait("all arrive", || town.count("bob") == 6);
    assert!(
        start.elapsed() >= Duration::from_secs(3),
        "three at once, and one a second"
    );
    assert_eq!(town.bodies("bob"), numbers(0..6));
    town.wait_until_nothing_waits();
}

#[test]
fn a_budget_of_copies_counts_who_a_message_reaches() {
    let settings = "budget.copies = 12\nbudget.window = \"1h\"\n";
    let town = Town::of("mallory a b c d e").settings(settings);
    numbered(&town, "mallory", "all", 0..4);
    town.mail(
        "mallory",
        "9.json",
        json!({"to": "human", "body": "cheap, and behind the others"}),
    );
    let town = town.run();
    town.wait_for_reason("over its budget of 12 copies an hour; next at ");
    town.is_alive("a", "b");
    assert_eq!((town.bodies("e"), town.count("human")), (numbers(0..2), 0));
    town.place("settings.toml", b"");
    town.wait("all arrive", || {
        town.count("e") == 4 && town.count("human") == 1
    });
    assert_eq!(town.bodies("e"), numbers(0..4));
}

#[test]
fn a_person_is_never_held_back() {
    let settings =
        "budget.messages = 2\nbudget.copies = 2\nbudget.replies = 2\nbudget.window = \"1h\"\n";
    let town = Town::of("bob").settings(settings);
    for n in 0..10 {
        town.mail(
            "human",
            &format!("{n}.json"),
            json!({"to": "bob", "body": n.to_string(), "thread_id": "t"}),
        );
    }
    let town = town.run();
    town.wait("all arrive", || town.count("bob") == 10);
    town.wait_until_nothing_waits();
}

/// An agent that immediately answers every message with the next number, until it is stopped.
fn answer_at_once(
    town: &Town,
    me: &str,
    answer: &(dyn Fn(&Value) -> Value + Sync),
    stop: &AtomicBool,
) {
    let inbox = format!("inbox/{me}");
    so_within(Duration::from_secs(300), || {
        for name in town.names(&inbox) {
            let below = format!("{inbox}/{name}");
            let mail = town.read(&below);
            files::remove_file(town.room(&below));
            if mail["from"] != "bystander" {
                town.mail(me, &name, answer(&mail));
            }
        }
        stop.load(Ordering::Relaxed)
    });
}

fn next_number(mail: &Value) -> String {
    (1 + mail["body"]
        .as_str()
        .and_then(|body| body.parse::<u64>().ok())
        .expect("a number"))
    .to_string()
}

/// Two agents that answer each other endlessly while `watch` runs. Returns the number of their
/// messages.
fn loop_of_two(
    town: &Town,
    answer: &(dyn Fn(&Value) -> Value + Sync),
    watch: impl FnOnce(),
) -> u64 {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for me in ["ping", "pong"] {
            let stop = &stop;
            scope.spawn(move || answer_at_once(town, me, answer, stop));
        }
        // Stops the two agents even if a check fails.
        let watched = std::panic::catch_unwind(std::panic::AssertUnwindSafe(watch));
        stop.store(true, Ordering::Relaxed);
        watched.unwrap_or_else(|e| std::panic::resume_unwind(e));
    });
    town.status()["counts"]["accepted"]
        .as_u64()
        .expect("a number")
}

/// The numbers that were sent and kept: each message once, if all is well.
fn sent_numbers(town: &Town) -> Vec<u64> {
    let kept = ["ping", "pong"].map(|agent| {
        (
            format!("sent/{agent}"),
            town.names(&format!("sent/{agent}")),
        )
    });
    let all = kept
        .iter()
        .flat_map(|(directory, names)| names.iter().map(move |name| format!("{directory}/{name}")));
    let mut numbers: Vec<u64> = all
        .filter_map(|below| {
            town.read(&below)["body"]
                .as_str()
                .and_then(|body| body.parse().ok())
        })
        .collect();
    numbers.sort_unstable();
    numbers
}

// P75
#[test]
fn two_agents_that_answer_each_other_are_slowed_after_thirty_hops() {
    let town = Town::of("ping pong bystander").quick().run();
    let answer = |mail: &Value| json!({"to": mail["from"], "in_reply_to": mail["id"], "body": next_number(mail)});
    town.mail("ping", "0.json", json!({"to": "pong", "body": "0"}));
    let accepted = || {
        town.status()["counts"]["accepted"]
            .as_u64()
            .expect("a number")
    };
    loop_of_two(&town, &answer, || {
        town.wait_for_reason("its conversation exceeded the reply rate of 30 a minute; next at ");
        let (start, before) = (Instant::now(), accepted());
        assert!(before >= 31, "{before}");
        // Only the conversation waits, not its participants or other agents.
        town.is_alive("bystander", "bystander");
        town.mail(
            "ping",
            "aside.json",
            json!({"to": "bystander", "body": "something else"}),
        );
        town.wait_for_bodies("bystander", &["something else"]);
        let aside = accepted() - before;
        town.wait("three more hops", || accepted() >= before + aside + 3);
        assert!(
            start.elapsed() >= Duration::from_secs(3),
            "one every two seconds"
        );
        // Without the bound they are as fast as they can.
        town.place("settings.toml", b"budget.replies = 0\n");
        town.wait("many more hops", || accepted() >= before + 50);
    });
    town.wait("all is routed", || {
        ["ping", "pong"]
            .iter()
            .all(|agent| town.names(&format!("outbox/{agent}")).is_empty())
    });
    let numbers = sent_numbers(&town);
    assert_eq!(
        numbers,
        (0..numbers.len() as u64).collect::<Vec<_>>(),
        "each once, none lost"
    );
    town.verify();
}

#[test]
fn a_loop_by_thread_id_is_slowed_and_fifty_answers_to_one_question_are_not() {
    let many: Vec<String> = (0..50).map(|n| format!("m{n}")).collect();
    let agents: Vec<&str> = many
        .iter()
        .map(String::as_str)
        .chain(["ping", "pong"])
        .collect();
    let town = Town::of(&agents)
        .settings("budget.replies = 10\nbudget.window = \"1h\"\n")
        .run();
    let said =
        json!({"to": "all", "body": "who is there?", "id": "question", "thread_id": "crowd"});
    town.mail("pong", "question.json", said);
    town.wait("everybody has the question", || {
        many.iter().all(|agent| town.count(agent) == 1)
    });
    town.wait("ping too", || town.count("ping") == 1);
    let asked = &town.names("inbox/ping")[0];
    files::remove_file(town.room(&format!("inbox/ping/{asked}")));
    for agent in &many {
        let to = ["ping", "m0"];
        town.mail(
            agent,
            "1.json",
            json!({"to": to, "body": "I am", "in_reply_to": "pong/question", "thread_id": "crowd"}),
        );
    }
    town.wait("all answers arrive", || town.count("ping") == 50);
    assert_eq!(town.status()["blocked"], json!([]));
    town.names("inbox/ping").iter().for_each(|name| {
        files::remove_file(town.room(&format!("inbox/ping/{name}")));
    });
    let answer = |mail: &Value| json!({"to": mail["from"], "conversation_id": "two", "body": next_number(mail)});
    town.mail(
        "ping",
        "0.json",
        json!({"to": "pong", "body": "0", "conversation_id": "two"}),
    );
    loop_of_two(&town, &answer, || {
        town.wait_for_reason("its conversation exceeded the reply rate of 10 an hour")
    });
    let numbers = sent_numbers(&town);
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
}

#[test]
fn an_agent_that_answers_each_bounce_with_a_bad_file_is_slowed() {
    let town = Town::of("mallory alice bob")
        .settings("budget.replies = 10\nbudget.window = \"1h\"\n")
        .run();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (town, stop) = (&town, &stop);
        let answer = |bounce: &Value| json!({"to": "nobody-known", "in_reply_to": bounce["id"], "body": "take that"});
        scope.spawn(move || answer_at_once(town, "mallory", &answer, stop));
        town.mail(
            "mallory",
            "first.json",
            json!({"to": "nobody-known", "body": "x"}),
        );
        let slowed = so_within(crate::town::PATIENCE, || {
            town.status()["blocked"].to_string().contains("reply rate")
        });
        town.is_alive("alice", "bob");
        stop.store(true, Ordering::Relaxed);
        assert!(slowed, "{:#?}", town.status());
    });
    assert_eq!(town.refusals("mallory").len(), 11);
    assert_eq!(
        (town.names("outbox/mallory").len(), town.count("human")),
        (1, 0),
        "the next one waits"
    );
    town.verify();
}

#[test]
fn a_storm_of_bad_files_without_answers_is_bounded_by_the_sender_s_budget() {
    let settings = "budget.messages = 20\nbudget.window = \"1h\"\n";
    let town = Town::of("mallory alice bob").settings(settings);
    for n in 0..200 {
        town.drop_file("mallory", &format!("{n}.json"), "{\"to\": ");
    }
    let town = town.run();
    // They are truncated, so they must stay unchanged for a while before they count as truncated.
    town.wait_for_reason("over its budget of 20 messages an hour");
    town.is_alive("alice", "bob");
    assert_eq!(
        (
            town.wait_for_refusals("mallory", 20).len(),
            town.names("outbox/mallory").len()
        ),
        (20, 180)
    );
}

#[test]
fn a_storm_of_replies_to_all_is_limited_by_the_senders_budgets() {
    let ids = ["a0", "a1", "a2", "a3", "a4"];
    let settings = "budget.messages = 20\nbudget.window = \"1h\"\n";
    let town = Town::of(&ids).settings(settings).run();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (town, stop) = (&town, &stop);
        let answer =
            |mail: &Value| json!({"to": "all", "in_reply_to": mail["id"], "body": "me too"});
        for me in ids {
            scope.spawn(move || answer_at_once(town, me, &answer, stop));
        }
        town.mail("human", "x.json", json!({"to": "all", "body": "hello"}));
        let slowed = so_within(crate::town::PATIENCE, || {
            ids.iter()
                .all(|id| blocked(town, &format!("outbox/{id}")).is_some())
        });
        town.is_alive("human", "human");
        stop.store(true, Ordering::Relaxed);
        assert!(slowed, "{:#?}", town.status());
    });
    let counts = &town.status()["counts"];
    assert_fields!(counts, accepted: 102, copies: 5 + 100 * 4 + 1);
    town.verify();
}

#[test]
fn a_storm_with_all_budgets_on_and_a_router_that_is_killed_arrives_once_each() {
    const EACH: usize = 15;
    let ids: Vec<String> = (0..8).map(|n| format!("a{n}")).collect();
    let settings =
        "budget.messages = 10\nbudget.copies = 70\nbudget.replies = 5\nbudget.window = \"1s\"\n";
    let mut town = Town::of(&ids.iter().map(String::as_str).collect::<Vec<_>>()).settings(settings);
    for id in &ids {
        for n in 0..EACH {
            let body = format!("{id} {n:02}");
            town.mail(
                id,
                &format!("{n:02}.json"),
                json!({"to": "all", "body": body, "thread_id": "storm"}),
            );
        }
    }
    for _ in 0..3 {
        let before = town.count("a1");
        town.start(&[]);
        town.wait("some of it is routed", || {
            town.count("a1") > before || town.names("outbox/a0").is_empty()
        });
        town.router().signal(Signal::KILL);
        town.ended();
    }
    town.start(&[]);
    let all = EACH * (ids.len() - 1);
    town.wait("all have all", || {
        ids.iter().all(|id| town.count(id) >= all)
    });
    for id in &ids {
        let mut bodies = town.bodies(id);
        bodies.sort();
        bodies.dedup();
        assert_eq!((bodies.len(), town.count(id)), (all, all), "{id}");
    }
    town.wait("nothing waits in outboxes", || {
        ids.iter()
            .all(|id| town.names(&format!("outbox/{id}")).is_empty())
    });
    town.verify();
}

// A single pass counts for itself, since it remembers nothing.
#[test]
fn without_a_router_each_pass_has_a_budget_of_its_own() {
    let town = Town::alice_and_bob().settings("budget.messages = 2\nbudget.window = \"1h\"\n");
    numbered(&town, "alice", "bob", 0..5);
    let ran = World::run(&town, &["run", "--once"]);
    assert_eq!(
        (ran.code, town.bodies("bob")),
        (0, numbers(0..2)),
        "{ran:?}"
    );
    assert!(
        blocked(&town, "outbox/alice").is_some(),
        "{:#?}",
        town.status()
    );
    town.pass();
    assert_eq!(town.bodies("bob"), numbers(0..4));
}
