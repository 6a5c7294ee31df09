//! `mailbag pending` and `pending.json`: the items that need an agent or the human.

use super::{approval, decision, drop_at, pass, room, run_at, say};
use crate::files;
use crate::world::{World, parse_json};
use serde_json::{Value, json};

/// The pending items of an agent at this time: kind and title.
#[track_caller]
fn pending(world: &World, minutes: u64, agent: &str) -> Vec<(String, String)> {
    let list = parse_json(run_at(
        world,
        minutes,
        &["pending", "--json", "--as", agent],
    ));
    let text = |item: &Value, field: &str| item[field].as_str().unwrap_or_default().to_owned();
    list["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| (text(item, "kind"), text(item, "title")))
        .collect()
}

fn items(wanted: &[(&str, &str)]) -> Vec<(String, String)> {
    wanted
        .iter()
        .map(|(kind, title)| ((*kind).to_owned(), (*title).to_owned()))
        .collect()
}

#[test]
fn a_command_without_an_item_lists_the_items_that_it_settles() {
    let world = room();
    say(
        &world,
        0,
        "bob",
        json!({"to": "bbo", "body": "a wrong address"}),
    );
    let listed = |command| run_at(&world, 1, &[command, "--as", "bob"]);
    assert_eq!(listed("reply"), "no item of bob needs `mailbag reply`\n");
    assert_eq!(listed("decide"), "no item of bob needs `mailbag decide`\n");
    say(
        &world,
        2,
        "alice",
        json!({"to": "bob", "type": "question", "body": "Which port?"}),
    );
    say(
        &world,
        3,
        "alice",
        approval("a", json!("bob"), json!({"subject": "Deploy?"})),
    );
    assert_eq!(pending(&world, 4, "bob").len(), 3);
    let (replies, decisions) = (listed("reply"), listed("decide"));
    assert!(
        replies.contains("Which port?") && replies.lines().count() == 2,
        "{replies}"
    );
    assert!(
        decisions.contains("Deploy?") && !decisions.contains("Which port?"),
        "{decisions}"
    );
}

#[test]
fn an_item_of_higher_priority_comes_first_and_a_deadline_before_it() {
    // P137
    let world = room();
    let (bob, high) = (
        json!("bob"),
        json!({"priority": "high", "subject": "High?"}),
    );
    let messages = [
        json!({"to": "bob", "type": "question", "body": "Normal?"}),
        json!({"to": "bob", "type": "question", "body": "Low?", "priority": "low"}),
        json!({"to": "bob", "type": "escalation", "subject": "Urgent", "priority": "P0"}),
        approval("high", bob.clone(), high),
        approval("dated", bob, json!({"deadline": "3h", "subject": "Dated?"})),
    ];
    for (minute, message) in messages.into_iter().enumerate() {
        say(&world, minute as u64, "alice", message);
    }
    let wanted = [
        ("approval", "Dated?"),
        ("escalation", "Urgent"),
        ("approval", "High?"),
        ("question", "Normal?"),
        ("question", "Low?"),
    ];
    assert_eq!(pending(&world, 10, "bob"), items(&wanted));
    let file: Value = world.read("pending.json");
    let priority = |n: usize| file["pending"]["bob"][n]["priority"].clone();
    assert_eq!((priority(1), priority(2)), (json!("urgent"), json!("high")));
}

#[test]
fn items_of_equal_priority_come_by_deadline_then_by_who_is_blocked_then_by_age() {
    // P137
    let world = room();
    say(
        &world,
        0,
        "alice",
        json!({"to": "bob", "type": "escalation", "subject": "Passed on"}),
    );
    say(
        &world,
        1,
        "alice",
        json!({"to": "bob", "type": "question", "body": "Which port?\nAnd why?"}),
    );
    say(
        &world,
        2,
        "carol",
        json!({"to": "bob", "requires_response": true, "subject": "Done?"}),
    );
    say(
        &world,
        3,
        "alice",
        approval(
            "late",
            json!("bob"),
            json!({"deadline": "3h", "subject": "Later?"}),
        ),
    );
    say(
        &world,
        4,
        "carol",
        approval(
            "soon",
            json!("bob"),
            json!({"deadline": "1h", "subject": "Soon?"}),
        ),
    );
    say(
        &world,
        7,
        "carol",
        json!({"type": "claim", "claims": ["docs"]}),
    );
    say(
        &world,
        8,
        "carol",
        json!({"to": "bob", "type": "handoff", "claims": ["docs"]}),
    );
    say(&world, 9, "bob", json!({"to": "nobody", "body": "x"}));
    let wanted = [
        ("approval", "Soon?"),
        ("approval", "Later?"),
        ("question", "Which port?"),
        ("question", "Done?"),
        ("escalation", "Passed on"),
        ("offer", "docs"),
        ("rejection", "unknown recipient \"nobody\""),
    ];
    let seen = pending(&world, 10, "bob");
    assert_eq!(seen[..6], items(&wanted[..6]));
    assert_eq!(seen[6].0, "rejection");
    assert_eq!(pending(&world, 10, "alice"), []);
    let file: Value = world.read("pending.json");
    assert_eq!(file["pending"]["bob"].as_array().map(Vec::len), Some(7));
}

#[test]
fn a_pending_item_is_removed_when_it_is_settled() {
    // P137
    let world = room();
    say(
        &world,
        0,
        "alice",
        json!({"id": "q", "to": ["bob", "carol"], "type": "question", "body": "Which port?"}),
    );
    say(
        &world,
        1,
        "alice",
        json!({"id": "e", "to": "bob", "type": "escalation", "body": "Look"}),
    );
    say(
        &world,
        2,
        "alice",
        approval("d", json!(["bob", "human"]), json!({})),
    );
    say(&world, 3, "bob", json!({"to": "nobody", "body": "x"}));
    assert_eq!(pending(&world, 4, "bob").len(), 4);
    say(
        &world,
        5,
        "bob",
        json!({"to": "alice", "in_reply_to": "alice/q", "body": "8080"}),
    );
    assert_eq!(
        pending(&world, 6, "carol"),
        items(&[("question", "Which port?")])
    );
    assert_eq!(pending(&world, 6, "bob").len(), 3);
    say(
        &world,
        7,
        "bob",
        json!({"type": "ack", "refs": ["alice/e"], "status": "acknowledged"}),
    );
    say(&world, 8, "human", decision("alice/d", "yes"));
    run_at(&world, 9, "read --as bob --all");
    assert_eq!(pending(&world, 10, "bob"), []);
    assert_eq!(pending(&world, 10, "human"), []);
    let file: Value = world.read("pending.json");
    assert_eq!(
        file["pending"]
            .as_object()
            .map(|agents| agents.keys().cloned().collect()),
        Some(vec!["carol".to_owned()])
    );
}

#[test]
fn a_dismissed_item_is_removed_only_for_the_agent_that_dismissed_it() {
    // P137
    let world = room();
    let question =
        json!({"id": "q", "to": ["bob", "carol"], "type": "question", "body": "Which port?"});
    say(&world, 1, "alice", question);
    run_at(
        &world,
        2,
        "dismiss alice/q --as bob --note 'settled by phone'",
    );
    assert_eq!(pending(&world, 3, "bob"), []);
    assert_eq!(pending(&world, 3, "carol").len(), 1);
}

#[test]
fn no_ack_of_a_recipient_hides_an_approval() {
    // P137, P180
    let world = room();
    let terms = json!({"deadline": "30m", "on_deadline": "no"});
    say(
        &world,
        0,
        "alice",
        approval("d", json!(["bob", "human"]), terms),
    );
    for (minutes, status) in [(1, "acknowledged"), (2, "actioned"), (3, "resolved")] {
        run_at(
            &world,
            minutes,
            &["ack", "alice/d", "--status", status, "--as", "bob"],
        );
    }
    for agent in ["bob", "human"] {
        let ack = json!({"type": "ack", "refs": ["alice/d"], "status": "abandoned"});
        say(&world, 4, agent, ack);
    }
    for agent in ["bob", "human"] {
        assert_eq!(pending(&world, 5, agent).len(), 1, "{agent}");
        assert_contains!(run_at(&world, 5, &["pending", "--as", agent]), "Deploy?");
    }
    let file = files::read_text(world.room("pending.json"));
    assert_eq!(file.matches("\"alice/d\"").count(), 2, "{file}");
    say(&world, 6, "bob", decision("alice/d", "no"));
    assert_eq!(pending(&world, 7, "human"), []);
}

#[test]
fn the_time_left_has_two_units() {
    // P137
    let world = room();
    let terms = json!({"deadline": "2h"});
    say(&world, 0, "alice", approval("d", json!(["bob"]), terms));
    for (minutes, text) in [
        (0, "1s ago, 2h left"),
        (1, "1m ago, 1h 59m left"),
        (61, "1h 01m ago, 59m left"),
    ] {
        assert_contains!(run_at(&world, minutes, "pending --as bob"), text);
    }
}

#[test]
fn hidden_characters_of_a_title_are_shown_as_escapes() {
    // P137
    let world = room();
    let question = json!({"to": "bob", "type": "question", "body": "Pay \u{202e}001 to me?"});
    say(&world, 0, "alice", question);
    let escaped = "Pay \\u{202e}001 to me?";
    assert_contains!(run_at(&world, 1, "pending --as bob"), escaped);
    assert_contains!(run_at(&world, 1, "list --as bob"), escaped);
}

#[test]
fn a_pending_item_of_an_inactive_sender_is_marked() {
    // P137
    let world = room();
    say(
        &world,
        0,
        "alice",
        json!({"to": "bob", "type": "question", "body": "Which port?"}),
    );
    let inactive = |minutes| {
        let text = run_at(&world, minutes, "pending --json --as bob");
        parse_json(&text)["items"][0]["inactive"].clone()
    };
    assert_eq!((inactive(1), inactive(600)), (json!(false), json!(true)));
    assert_contains!(run_at(&world, 600, "pending --as bob"), "10h ago, inactive");
}

#[test]
fn a_flooding_agent_does_not_hide_items_of_other_agents() {
    // P137
    let world = room();
    say(
        &world,
        0,
        "carol",
        json!({"to": "bob", "type": "question", "body": "Of carol"}),
    );
    world.drop_file(
        "alice",
        "all.ndjson",
        (0..150)
            .map(|n| {
                json!({"to": "bob", "type": "question", "body": format!("Of alice {n}")})
                    .to_string()
            })
            .collect::<Vec<_>>()
            .join("\n")
            + "\n",
    );
    pass(&world, 1);
    let seen = pending(&world, 2, "bob");
    assert_eq!(
        (seen.len(), &seen[0].1, &seen[1].1),
        (101, &"Of carol".to_owned(), &"Of alice 50".to_owned())
    );
    let file: Value = world.read("pending.json");
    assert_eq!(
        (
            file["pending"]["bob"].as_array().map(Vec::len),
            &file["more"]
        ),
        (Some(50), &json!({"bob": 101}))
    );
}

#[test]
fn items_that_are_not_listed_are_counted_until_an_agent_acts_on_them() {
    // P137, P138
    let world = room();
    let questions = (1..=105).map(|n| {
        let question = json!({"to": "human", "id": format!("q{n}"), "type": "question", "body": format!("Of alice {n}")});
        question.to_string() + "\n"
    });
    world.drop_file("alice", "all.ndjson", questions.collect::<String>());
    pass(&world, 0);
    let older =
        |minutes| parse_json(run_at(&world, minutes, "pending --as human --json"))["older"].clone();
    assert_eq!(older(1), 5);
    assert_contains!(
        run_at(&world, 1, "pending --as human"),
        "and 5 older, not listed: `mailbag list --to human --all`"
    );
    assert_contains!(
        run_at(&world, 1, "status"),
        "100 items, oldest 1m ago, and 5 older; see"
    );
    assert_eq!(world.read("pending.json")["more"], json!({"human": 55}));
    // The listed ones are dismissed.
    let listed = parse_json(run_at(&world, 2, "pending --as human --json"));
    let items = listed["items"].as_array().expect("a list");
    let numbers: Vec<String> = items.iter().map(|item| item["seq"].to_string()).collect();
    let mut dismiss: Vec<&str> = vec!["dismiss", "--as", "human"];
    dismiss.extend(numbers.iter().map(String::as_str));
    run_at(&world, 2, &dismiss);
    assert!(pending(&world, 3, "human").is_empty());
    assert_eq!(
        run_at(&world, 3, "pending --as human").trim(),
        "and 5 older, not listed: `mailbag list --to human --all`"
    );
    assert_contains!(run_at(&world, 3, "status"), "0 items, and 5 older; see");
    // A reply, an answer in a file, an ack and a withdrawal each close one.
    run_at(&world, 4, "reply alice/q1 yes --as human");
    say(
        &world,
        4,
        "human",
        json!({"to": "alice", "in_reply_to": "alice/q2", "body": "no"}),
    );
    run_at(&world, 4, "dismiss alice/q3 --as human");
    run_at(&world, 4, "ack alice/q4 --status withdrawn --as alice");
    assert_eq!(older(5), 1);
    // The same from a new start, without the snapshot.
    files::remove_file(world.room("spool/snapshot"));
    assert_eq!(older(6), 1);
    let _ = run_at(&world, 6, "dismiss alice/q5 --as human");
    assert_contains!(
        run_at(&world, 7, "pending --as human"),
        "nothing needs human"
    );
}

#[test]
fn escalations_of_one_asker_do_not_displace_escalations_of_another() {
    // P137
    let world = World::with("alice bob carol").settings("answer_within = \"30m\"\n");
    world.ok("agent set carol --supervisor human");
    for (asker, count) in [("bob", 1), ("alice", 119)] {
        let questions = (0..count).map(|n| {
            let question =
                json!({"to": "carol", "type": "question", "body": format!("Of {asker} {n}")});
            question.to_string() + "\n"
        });
        world.drop_file(asker, "all.ndjson", questions.collect::<String>());
    }
    pass(&world, 0);
    pass(&world, 40);
    let seen = pending(&world, 41, "human");
    assert_eq!(seen.len(), 101);
    let list = parse_json(run_at(&world, 41, "pending --as human --json"));
    assert_eq!(list["older"], 19);
}

#[test]
fn pending_shows_a_sender_s_text_in_one_line_without_control_characters() {
    // P137
    let world = room();
    let title = "Deploy?\u{1b}[2J\u{202e}\u{2028}#99  approval human";
    drop_at(
        &world,
        0,
        "alice",
        approval("d", json!("bob"), json!({"subject": title})),
    );
    pass(&world, 0);
    let shown = run_at(&world, 1, "pending --as bob");
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(
        !shown.contains(['\u{1b}', '\u{202e}', '\u{2028}']),
        "{shown:?}"
    );
}

#[test]
fn status_counts_what_needs_the_human() {
    let world = room();
    say(&world, 0, "alice", approval("d", json!("human"), json!({})));
    assert_contains!(
        run_at(&world, 180, "status"),
        "1 item, oldest 3h ago; see `mailbag pending --as human`"
    );
    let status = parse_json(run_at(&world, 180, "status --json"));
    assert_eq!(
        status["needs_human"],
        json!({"items": 1, "older": 0, "oldest": "2026-11-21T10:00:00.000001Z"})
    );
}

#[test]
fn a_changed_or_deleted_pending_json_is_written_again() {
    // P138
    let world = room();
    say(&world, 0, "alice", approval("d", json!("bob"), json!({})));
    let right = world.read("pending.json");
    files::remove_file(world.room("pending.json"));
    say(&world, 1, "alice", json!({"to": "carol", "body": "x"}));
    assert_eq!(world.read("pending.json")["pending"], right["pending"]);
}

#[test]
fn a_flood_of_questions_to_all_agents_is_limited() {
    // P138
    let names: Vec<String> = (0..1100).map(|n| format!("a{n:04}")).collect();
    let world = World::with(&names.iter().map(String::as_str).collect::<Vec<_>>());
    world.drop_file(
        "a0000",
        "all.ndjson",
        (0..4)
            .map(|n| {
                json!({"to": ["all", "human"], "type": "question", "body": format!("Number {n}")})
                    .to_string()
            })
            .collect::<Vec<_>>()
            .join("\n")
            + "\n",
    );
    pass(&world, 0);
    let file: Value = world.read("pending.json");
    let listed: usize = file["pending"]
        .as_object()
        .expect("agents")
        .values()
        .filter_map(Value::as_array)
        .map(Vec::len)
        .sum();
    let more: u64 = file["more"]
        .as_object()
        .expect("agents")
        .values()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!((listed, more), (2000, 2000));
    assert_eq!(pending(&world, 1, "a1000").len(), 4);
    assert!(
        pending(&world, 1, "a1099").is_empty(),
        "beyond the first thousand"
    );
}

#[test]
fn an_approval_that_was_passed_on_stays_until_it_is_decided() {
    // P133, P137
    let world = World::with("alice bob chief");
    world.ok("agent set bob --supervisor chief");
    let terms = json!({"deadline": "30m", "on_deadline": "escalate"});
    say(&world, 0, "alice", approval("d", json!("bob"), terms));
    pass(&world, 31);
    let ack = |status: &str| json!({"type": "ack", "refs": ["alice/d"], "status": status});
    for (agent, status) in [
        ("chief", "resolved"),
        ("chief", "withdrawn"),
        ("bob", "resolved"),
    ] {
        say(&world, 32, agent, ack(status));
    }
    for agent in ["bob", "chief"] {
        assert_eq!(pending(&world, 33, agent).len(), 1, "{agent}");
    }
    say(&world, 34, "chief", decision("alice/d", "yes"));
    assert_eq!(pending(&world, 35, "bob"), []);
}

#[test]
fn dismiss_names_the_command_for_an_item_that_no_ack_closes() {
    // P137
    let world = World::with("alice bob carol");
    say(
        &world,
        0,
        "alice",
        json!({"type": "claim", "claims": ["src"]}),
    );
    let offer = json!({"id": "o", "to": "bob", "type": "handoff", "claims": ["src"]});
    say(&world, 2, "alice", offer);
    say(&world, 2, "alice", approval("d", json!("carol"), json!({})));
    let dismiss = |item: &str, agent: &str| {
        let set_time = |command: &mut assert_cmd::Command| {
            command.env("MAILBAG_TEST_NOW", super::time(3));
        };
        let args = ["dismiss", item, "--as", agent];
        world.run_with(&args, set_time).fails(2)
    };
    let offered = dismiss("alice/o", "bob");
    assert_contains!(offered, "mailbag handoff --accept");
    assert_contains!(offered, "mailbag handoff --decline");
    assert_contains!(dismiss("alice/d", "carol"), "mailbag decide ");
    assert_eq!(pending(&world, 4, "bob").len(), 1);
}

#[test]
fn an_approval_with_an_expired_copy_stays_in_the_list_until_it_is_decided() {
    // P128, P137
    let world = room();
    let expires = json!({"expires_at": super::time(5), "deadline": "60m"});
    say(&world, 0, "alice", approval("d", json!("bob"), expires));
    pass(&world, 10);
    assert_eq!(world.inbox("bob").len(), 0, "its copy expired");
    assert_eq!(pending(&world, 11, "bob").len(), 1);
    say(&world, 12, "bob", decision("alice/d", "yes"));
    assert_eq!(pending(&world, 13, "bob"), []);
}
