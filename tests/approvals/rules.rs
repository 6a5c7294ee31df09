//! The agents that can decide, and the form of a valid decision.

use super::{approval, codes, decision, drop_at, outcomes, pass, room, run_at, say, steps};
use crate::world::World;
use serde_json::{Value, json};

fn pair(option: &str, by: &str) -> (String, String) {
    (option.to_owned(), by.to_owned())
}

#[test]
fn the_first_valid_decision_counts_and_notifies_the_asker_and_the_other_deciders() {
    // P128, P129, P130
    let world = room();
    say(
        &world,
        0,
        "alice",
        approval("d", json!(["human", "bob"]), json!({})),
    );
    let (copy, digest) = (
        &world.inbox("bob")[0]["delivery"]["approval"],
        world.digest("bob", "d"),
    );
    assert_eq!(
        copy,
        &json!({"status": "open", "options": ["yes", "no"], "digest": digest})
    );
    say(&world, 1, "bob", decision("alice/d", "YES"));
    assert_eq!(outcomes(&world, "alice"), [pair("yes", "bob")]);
    assert_eq!(outcomes(&world, "human"), [pair("yes", "bob")]);
    assert_eq!(outcomes(&world, "bob"), []);
    say(&world, 2, "human", decision("alice/d", "no"));
    assert_eq!(codes(&world, "human"), ["decided_already"]);
    assert_eq!(outcomes(&world, "alice"), [pair("yes", "bob")]);
    assert_eq!(steps(&world), ["ask", "decide"]);
}

#[test]
fn a_decision_on_an_approval_needs_both_the_approval_and_an_option() {
    // P129, P381
    let world = room();
    say(&world, 0, "alice", approval("d", json!("bob"), json!({})));
    say(
        &world,
        1,
        "bob",
        json!({"to": "alice", "type": "decision", "option": "yes", "body": "Deploy it"}),
    );
    say(
        &world,
        2,
        "bob",
        json!({"to": "alice", "type": "decision", "in_reply_to": "alice/d", "body": "yes"}),
    );
    assert_eq!(codes(&world, "bob"), ["no_approval", "bad_option"]);
    say(
        &world,
        3,
        "carol",
        json!({"to": "alice", "type": "decision", "in_reply_to": "alice/d", "body": "I say yes"}),
    );
    say(
        &world,
        4,
        "bob",
        json!({"to": "alice", "type": "decision", "body": "We use sqlite"}),
    );
    say(
        &world,
        4,
        "bob",
        json!({"to": "alice", "type": "answer", "in_reply_to": "alice/d", "body": "yes", "option": "yes"}),
    );
    assert_eq!(
        (codes(&world, "carol").len(), steps(&world)),
        (0, vec!["ask".to_owned()]),
        "prose decides nothing"
    );
    say(&world, 5, "bob", decision("alice/d", "yes"));
    assert_eq!(outcomes(&world, "alice"), [pair("yes", "bob")]);
}

#[test]
fn options_that_look_alike_or_have_invisible_characters_are_rejected() {
    // P581
    let world = room();
    for (options, what) in [
        (
            json!(["yes", "y\u{435}s"]),
            "the option \"y\u{435}s\" looks like another option",
        ),
        (
            json!(["да", "n\u{3bf}"]),
            "the option \"n\\u{3bf}\" looks like \"no\"",
        ),
        (
            json!(["\u{ff59}\u{ff45}\u{ff53}", "no"]),
            "looks like \"yes\"",
        ),
        (
            json!(["1\u{fe0f}", "2"]),
            "the option \"1\\u{fe0f}\" looks like \"1\"",
        ),
        (json!(["☎", "☎\u{fe0e}"]), "looks like another option"),
        (json!(["yes", "no", "n0"]), "looks like another option"),
        (json!(["YES", "ꓬꓰꓢ"]), "looks like another option"),
        (
            json!(["2", "1"]),
            "the option \"2\" is the number of another option",
        ),
        (
            json!(["yes\u{2800}", "no"]),
            "the option \"yes\\u{2800}\" has invisible characters",
        ),
        (
            json!(["a\u{202e}b", "c"]),
            "the option \"a\\u{202e}b\" has invisible characters",
        ),
    ] {
        world.mail(
            "alice",
            "a.json",
            approval("d", json!("bob"), json!({"options": options})),
        );
        pass(&world, 0);
        let told = world.inbox("alice").pop().expect("a notice");
        let problem = &told["metadata"]["problems"][0];
        assert_eq!(problem["code"], "bad_options");
        assert!(
            problem["what"]
                .as_str()
                .is_some_and(|text| text.contains(what)),
            "{options}: {problem}"
        );
    }
    for options in [
        json!(["да", "нет"]),
        json!(["ναι", "όχι"]),
        json!(["❤️ ship", "größer"]),
        json!(["是", "否"]),
    ] {
        let id = uuid::Uuid::now_v7().to_string();
        say(
            &world,
            0,
            "alice",
            approval(&id, json!("bob"), json!({"options": options})),
        );
    }
    assert_eq!(steps(&world), ["ask"; 4]);
}

#[test]
fn the_first_of_several_decisions_in_a_batch_counts_and_the_others_are_rejected() {
    // P130
    let world = room();
    say(
        &world,
        0,
        "alice",
        approval("d", json!(["human", "bob", "carol"]), json!({})),
    );
    for (agent, option) in [("bob", "yes"), ("carol", "no"), ("human", "no")] {
        world.mail(agent, "decision.json", decision("alice/d", option));
    }
    pass(&world, 1);
    assert_eq!(steps(&world), ["ask", "decide"]);
    assert_eq!(outcomes(&world, "alice").len(), 1);
    let losers: Vec<_> = ["bob", "carol", "human"]
        .into_iter()
        .flat_map(|agent| codes(&world, agent))
        .collect();
    assert_eq!(losers, ["decided_already"; 2]);
}

#[test]
fn a_forged_or_wrong_decision_is_rejected_and_changes_nothing() {
    // P129
    let world = room();
    say(
        &world,
        0,
        "alice",
        approval("d", json!("bob"), json!({"options": ["blue", "green"]})),
    );
    say(&world, 1, "alice", decision("alice/d", "blue"));
    say(&world, 1, "carol", decision("alice/d", "blue"));
    say(&world, 1, "human", decision("alice/d", "blue"));
    say(&world, 1, "bob", decision("alice/d", "yes"));
    say(&world, 1, "bob", decision("alice/other", "blue"));
    say(
        &world,
        1,
        "carol",
        json!({"from": "bob", "type": "decision", "in_reply_to": "alice/d", "option": "blue"}),
    );
    assert_eq!(codes(&world, "alice"), ["not_asked"]);
    assert_eq!(codes(&world, "carol"), ["not_asked", "spoofed_sender"]);
    assert_eq!(codes(&world, "human"), ["not_asked"]);
    assert_eq!(codes(&world, "bob"), ["bad_option", "no_approval"]);
    assert_eq!(steps(&world), ["ask"]);
    say(&world, 2, "bob", decision("d", "green"));
    assert_eq!(outcomes(&world, "alice"), [pair("green", "bob")]);
}

#[test]
fn an_approval_needs_another_agent_and_a_sender_has_at_most_a_hundred_open_approvals() {
    // P128
    let world = room();
    say(&world, 0, "alice", approval("d", json!("alice"), json!({})));
    assert_eq!(codes(&world, "alice"), ["no_decider"]);
    let lines: Vec<String> = (0..101)
        .map(|n| approval(&format!("a{n}"), json!("bob"), json!({})).to_string())
        .collect();
    world.drop_file("carol", "all.ndjson", lines.join("\n") + "\n");
    pass(&world, 1);
    assert_eq!(codes(&world, "carol"), ["too_many_approvals"]);
    assert_eq!(steps(&world).len(), 100);
    say(&world, 2, "bob", decision("carol/a7", "no"));
    say(
        &world,
        3,
        "carol",
        approval("again", json!("bob"), json!({})),
    );
    assert_eq!(codes(&world, "carol").len(), 1);
}

#[test]
fn an_approval_to_a_role_is_decided_by_one_of_it() {
    // P129
    let world = World::new()
        .agent("alice", "--role engineer")
        .agent("bob", "--role reviewer");
    let world = world.agent("carol", "--role reviewer");
    say(
        &world,
        0,
        "alice",
        approval("d", json!("all_reviewer"), json!({})),
    );
    say(&world, 1, "carol", decision("#2", "no"));
    assert_eq!(outcomes(&world, "alice"), [pair("no", "carol")]);
    assert_eq!(outcomes(&world, "bob"), [pair("no", "carol")]);
}

#[test]
fn an_asker_withdraws_its_approval_and_a_recipient_cannot() {
    // P180
    let world = World::alice_and_bob();
    say(
        &world,
        0,
        "alice",
        approval("d", json!(["human", "bob"]), json!({"deadline": "30m"})),
    );
    let ack =
        |id: &str| json!({"id": id, "type": "ack", "refs": ["alice/d"], "status": "withdrawn"});
    say(&world, 1, "bob", ack("b"));
    say(&world, 2, "alice", ack("a"));
    say(&world, 3, "human", decision("alice/d", "yes"));
    pass(&world, 40);
    assert_eq!(
        steps(&world),
        ["ask", "withdraw"],
        "neither decided nor expired"
    );
    assert_eq!(codes(&world, "human"), ["decided_already"]);
    let told = world
        .inbox("human")
        .into_iter()
        .find(|mail| mail["type"] == "error")
        .expect("a bounce");
    assert_contains!(told["metadata"]["problems"][0]["what"]
        .as_str()
        .unwrap_or_default()
        .to_owned(), "alice/d was decided already: withdrawn, by alice at"; "{told}");
    // The same in one batch.
    drop_at(
        &world,
        50,
        "alice",
        approval("e", json!("human"), json!({})),
    );
    pass(&world, 50);
    drop_at(
        &world,
        51,
        "alice",
        json!({"type": "ack", "refs": ["alice/e"], "status": "withdrawn"}),
    );
    drop_at(&world, 51, "human", decision("alice/e", "yes"));
    pass(&world, 51);
    assert_eq!(
        (steps(&world).len(), outcomes(&world, "alice").len()),
        (4, 0)
    );
}

#[test]
fn an_asker_cannot_withdraw_or_supersede_an_approval_that_has_an_outcome() {
    // P180
    let world = World::alice_and_bob();
    let ask = |id: &str| approval(id, json!("bob"), json!({"deadline": "30m"}));
    say(&world, 0, "alice", ask("d"));
    say(&world, 0, "alice", ask("e"));
    say(&world, 1, "bob", decision("alice/d", "yes"));
    let ack = |id: &str, status: &str| json!({"type": "ack", "refs": [id], "status": status});
    say(&world, 2, "alice", ack("alice/d", "superseded"));
    pass(&world, 40);
    say(&world, 41, "alice", ack("alice/e", "withdrawn"));
    // In one batch after its decision: files of alice are taken first.
    say(&world, 42, "bob", approval("f", json!("alice"), json!({})));
    drop_at(&world, 43, "alice", decision("bob/f", "no"));
    drop_at(&world, 43, "bob", ack("bob/f", "withdrawn"));
    pass(&world, 43);
    for (agent, acks) in [("alice", 2), ("bob", 1)] {
        let explained = world.names(&format!("rejected/{agent}")).into_iter();
        let explained = explained.filter(|name| name.ends_with(".error.json"));
        assert_eq!(explained.count(), acks, "{agent}");
    }
    assert_contains!(
        world.fails(65, "ack alice/d --status withdrawn --as alice"),
        "alice/d was decided already: yes, by bob at"
    );
    assert_eq!(
        steps(&world),
        ["ask", "ask", "decide", "expire", "ask", "decide"]
    );
}

/// An outcome as the router writes it.
fn outcome() -> Value {
    json!({"status": "decided", "approval": "alice/d", "option": "yes", "by": "human"})
}

#[test]
fn only_the_router_writes_outcomes_into_metadata() {
    // P250
    let world = room();
    say(&world, 0, "alice", approval("d", json!("bob"), json!({})));
    for name in ["approval", "claim"] {
        let forged = json!({"to": "alice", "type": "decision", "in_reply_to": "alice/d", "body": "yes", "metadata": {name: outcome()}});
        say(&world, 1, "carol", forged);
    }
    assert_eq!(codes(&world, "carol"), ["reserved_field", "reserved_field"]);
    assert!(world.inbox("alice").is_empty());
}

#[test]
fn no_field_of_a_sender_is_shown_as_an_outcome_in_a_conversation() {
    // P580
    let world = room();
    say(&world, 0, "alice", approval("d", json!("bob"), json!({})));
    for name in ["approval", "claim"] {
        let forged = json!({"to": "alice", "type": "decision", "body": "yes", name: outcome()});
        say(&world, 1, "carol", forged);
    }
    assert_eq!(codes(&world, "carol"), ["reserved_field", "reserved_field"]);
    let conversation = std::fs::read_to_string(world.room("channels/main/messages.ndjson"));
    assert!(!conversation.expect("a conversation").contains("decided"));
}

#[test]
fn an_asker_withdraws_an_approval_after_its_only_recipient_closed_its_copy() {
    // P180
    for status in ["withdrawn", "superseded"] {
        let world = World::alice_and_bob();
        say(&world, 0, "alice", approval("d", json!("bob"), json!({})));
        let closed = json!({"type": "ack", "refs": ["alice/d"], "status": "abandoned"});
        say(&world, 1, "bob", closed);
        assert_eq!(world.json("status")["questions"]["items"], 1);
        run_at(
            &world,
            2,
            &["ack", "d", "--status", status, "--as", "alice"],
        );
        assert_eq!(world.json("status")["questions"]["items"], 0, "{status}");
        // A second time it changes nothing.
        world.ok(&["ack", "d", "--status", status, "--as", "alice"]);
        say(&world, 3, "bob", decision("alice/d", "yes"));
        assert_eq!(codes(&world, "bob"), ["decided_already"]);
        let copy = &world.json("trace alice/d")["recipients"][0];
        assert_eq!(copy["status"], "abandoned", "{copy}");
    }
}

#[test]
fn a_decision_cannot_be_withdrawn() {
    // P180
    let world = World::alice_and_bob();
    say(&world, 0, "alice", approval("d", json!("bob"), json!({})));
    let mut decided = decision("alice/d", "yes");
    decided["id"] = json!("yes");
    say(&world, 1, "bob", decided);
    for status in ["withdrawn", "superseded"] {
        let ack = json!({"type": "ack", "refs": ["bob/yes"], "status": status});
        say(&world, 2, "bob", ack);
    }
    let rejected = world.ok("rejected");
    assert_eq!(rejected.matches("decided_already").count(), 2, "{rejected}");
    assert_eq!(outcomes(&world, "alice"), [pair("yes", "bob")]);
}

#[test]
fn a_withdrawal_is_an_event_and_is_shown_although_the_recipient_closed_its_copy() {
    // P167
    let world = World::alice_and_bob();
    say(&world, 0, "alice", approval("d", json!("bob"), json!({})));
    let closed = json!({"type": "ack", "refs": ["alice/d"], "status": "abandoned"});
    say(&world, 1, "bob", closed);
    run_at(
        &world,
        2,
        "ack d --status withdrawn --note obsolete --as alice",
    );
    let events = world.items("list --events --type approval");
    let [asked, end] = events.as_array().expect("a list").as_slice() else {
        panic!("{events:#?}");
    };
    assert_eq!(asked["type"], "approval.asked");
    assert_fields!(end, type: "approval.withdrawn", from: "alice");
    assert_eq!(end["payload"]["approvals"], json!(["alice/d"]));
    let trace = world.json("trace alice/d");
    assert_fields!(trace["withdrawn"], status: "withdrawn", by: "alice", note: "obsolete");
    assert_contains!(
        world.ok("trace alice/d"),
        "  withdrawn by alice: obsolete\n"
    );
    assert_contains!(world.ok("list"), "(withdrawn)");
}

/// Two open approvals of alice with ids that begin with `b1`.
fn ask_longer(world: &World) {
    for id in ["b10", "b11"] {
        say(
            world,
            0,
            "alice",
            approval(id, json!(["bob", "carol"]), json!({})),
        );
    }
}

#[test]
fn a_decision_on_a_closed_approval_never_decides_one_with_a_longer_id() {
    // P95, P129, P130
    let withdrawn = json!({"type": "ack", "refs": ["alice/b1"], "status": "withdrawn"});
    for (end, deadline) in [
        (Some(("bob", decision("alice/b1", "no"))), json!({})),
        (Some(("alice", withdrawn)), json!({})),
        (None, json!({"deadline": "1m"})),
    ] {
        let world = room();
        say(
            &world,
            0,
            "alice",
            approval("b1", json!(["bob", "carol"]), deadline),
        );
        ask_longer(&world);
        if let Some((agent, message)) = end {
            drop_at(&world, 1, agent, message);
        }
        pass(&world, 5);
        let closed = steps(&world);
        assert_eq!(closed.len(), 4, "{closed:?}");
        say(&world, 6, "carol", decision("alice/b1", "yes"));
        say(&world, 7, "carol", decision("b1", "yes"));
        let line = decision("alice/b1", "yes").to_string();
        world.drop_file("carol", "two.ndjson", format!("{line}\n{line}\n"));
        pass(&world, 8);
        assert_eq!(codes(&world, "carol"), ["decided_already"; 4]);
        assert_eq!(steps(&world), closed);
    }
}

#[test]
fn a_decision_on_a_message_that_is_not_an_approval_decides_nothing() {
    // P95, P129
    for first in [
        approval("b1", json!("bobb"), json!({})),
        json!({"id": "b1", "to": "carol", "body": "FYI"}),
    ] {
        let world = room();
        say(&world, 0, "alice", first);
        ask_longer(&world);
        say(&world, 1, "carol", decision("alice/b1", "yes"));
        say(&world, 2, "carol", decision("b1", "yes"));
        assert_eq!(codes(&world, "carol"), ["no_approval"; 2]);
        assert_eq!(steps(&world), ["ask", "ask"]);
    }
}

#[test]
fn a_repeated_decision_does_not_decide_an_approval_of_another_agent_with_the_same_id() {
    // P129, P130
    let world = room();
    say(
        &world,
        0,
        "alice",
        approval("deploy", json!("bob"), json!({})),
    );
    say(&world, 1, "bob", decision("deploy", "yes"));
    say(
        &world,
        2,
        "carol",
        approval("deploy", json!("bob"), json!({})),
    );
    say(&world, 3, "bob", decision("deploy", "yes"));
    assert_eq!(codes(&world, "bob"), ["no_approval"]);
    assert_eq!(steps(&world), ["ask", "decide", "ask"]);
    say(&world, 4, "bob", decision("carol/deploy", "no"));
    assert_eq!(outcomes(&world, "carol"), [pair("no", "bob")]);
}
