//! Claims: granting, rejecting, waiting, handing over, releasing.

use super::{answer, claim, notices, office, outcome, owned, owner, pass, release_all, say};
use crate::approvals::run_at;
use serde_json::{Value, json};

#[test]
fn a_claim_is_granted_and_comes_back_to_its_sender_as_the_grant() {
    // P117
    let world = office();
    let message = json!({"type": "claim", "claims": ["src/auth/**", "task:Login"], "subject": "Passkeys", "lease": "2h"});
    assert_eq!(say(&world, 0, "alice", message), "granted");
    let copy = &world.inbox("alice")[0];
    let told = json!({"status": "granted", "claims": ["src/auth/**", "task:login"], "lease": "2h"});
    assert_fields!(copy["delivery"], claim: told, via: "claim");
    assert_eq!(
        owned(&world),
        [("src/auth/**", "alice"), ("task:login", "alice")].map(|(s, o)| (s.into(), o.into()))
    );
    assert_eq!(world.inbox("bob").len(), 0, "nobody else is told");
}

#[test]
fn a_losing_claim_is_rejected_with_owner_reason_and_time_and_granted_whole_or_not_at_all() {
    // P118
    let world = office();
    say(
        &world,
        0,
        "alice",
        json!({"type": "claim", "claims": ["src/auth"], "subject": "Passkeys"}),
    );
    assert_eq!(
        say(&world, 1, "bob", claim(&["docs", "SRC/Auth/login.rs"])),
        "claimed"
    );
    let bounce = world.inbox("bob")[0]["body"].to_string();
    for word in [
        "alice owns src/auth",
        "2026-11-21T10:00:00",
        "Passkeys",
        "send alice",
        "wait",
    ] {
        assert!(bounce.contains(word), "{word} is missing in {bounce}");
    }
    assert_eq!(
        owner(&world, "docs"),
        "",
        "a claim is granted whole or not at all"
    );
    assert_eq!(
        say(&world, 2, "alice", claim(&["docs", "src/auth"])),
        "granted",
        "its own claims are not in the way"
    );
}

#[test]
fn two_claims_in_one_batch_are_judged_in_their_order() {
    // P118
    let world = office();
    let ids = ["m1", "m2", "m3"];
    let lines: Vec<String> = [
        ("m1", claim(&["src"])),
        ("m2", release_all()),
        ("m3", claim(&["docs"])),
    ]
    .into_iter()
    .map(|(id, mut message)| {
        message["id"] = json!(id);
        message.to_string()
    })
    .collect();
    world.drop_file("alice", "a.ndjson", lines.join("\n") + "\n");
    pass(&world, 0);
    assert_eq!(
        ids.map(|id| outcome(&world, "alice", id)),
        ["granted", "", "granted"]
    );
    for (agent, subject) in [("bob", "lane:web"), ("carol", "lane:WEB")] {
        world.mail(agent, "x.json", claim(&[subject]));
    }
    pass(&world, 1);
    assert_eq!(owned(&world).len(), 2, "{:?}", owned(&world));
    let lost = ["bob", "carol"].map(|agent| world.names(&format!("rejected/{agent}")).len());
    assert_eq!(
        lost.iter().sum::<usize>(),
        2,
        "one file and its explanation"
    );
}

#[test]
fn a_refused_claim_names_the_owner_and_the_time_left_and_never_waits() {
    // P119
    let world = office();
    say(
        &world,
        0,
        "alice",
        json!({"type": "claim", "claims": ["src"], "lease": "1h", "subject": "Passkeys"}),
    );
    assert_eq!(say(&world, 1, "bob", claim(&["docs", "src/a"])), "claimed");
    assert_contains!(
        world.inbox("bob")[0]["body"].as_str().expect("a text"),
        "alice owns src since 2026-11-21T10:00:00Z, until 2026-11-21T11:00:00Z, or longer if it is active before",
        "Passkeys"
    );
    let waits = json!({"type": "claim", "claims": ["src/a"], "wait": true});
    assert_eq!(say(&world, 2, "bob", waits), "no_waiting_claims");
    say(&world, 3, "alice", release_all());
    assert_eq!(owned(&world), []);
}

#[test]
fn an_offer_leaves_the_owner_until_it_is_accepted() {
    // P120
    let world = office();
    say(&world, 0, "alice", claim(&["src", "task:login"]));
    let offer =
        json!({"type": "handoff", "to": "bob", "claims": ["src"], "body": "tests are missing"});
    say(&world, 1, "alice", offer.clone());
    let offered = &world.inbox("bob")[0];
    assert_eq!(
        offered["delivery"]["claim"],
        json!({"status": "offered", "claims": ["src"]})
    );
    assert_eq!(owner(&world, "src"), "alice");
    let wrong = json!({"type": "accept", "in_reply_to": offered["id"]});
    assert_eq!(say(&world, 2, "carol", wrong), "no_offer");
    let number = offered["delivery"]["seq"].as_u64().expect("a number");
    assert_eq!(
        say(
            &world,
            3,
            "bob",
            json!({"type": "accept", "in_reply_to": format!("#{number}")})
        ),
        "granted"
    );
    assert_eq!(
        (owner(&world, "src"), owner(&world, "task:login")),
        ("bob".into(), "alice".into())
    );
    let told = world
        .inbox("alice")
        .into_iter()
        .find(|mail| mail["type"] == "accept")
        .expect("alice is told");
    assert_eq!(told["delivery"]["claim"]["status"], "granted");
    assert_eq!(
        say(
            &world,
            4,
            "bob",
            json!({"type": "accept", "in_reply_to": format!("#{number}")})
        ),
        "no_offer",
        "an offer is accepted once"
    );
    assert_eq!(
        say(&world, 5, "bob", offer),
        "bad_claim",
        "nobody hands over to itself"
    );
}

#[test]
fn an_offer_ends_by_decline_by_withdrawal_by_release_and_when_its_recipient_retires() {
    // P120
    let world = office();
    say(&world, 0, "alice", claim(&["src"]));
    let offer = |to: &str| json!({"type": "handoff", "to": to, "claims": ["src"], "body": "yours"});
    say(&world, 1, "alice", offer("bob"));
    let accept = answer(&world, "accept");
    let mut decline = answer(&world, "decline");
    decline["body"] = json!("no time");
    assert_eq!(say(&world, 2, "bob", decline), "");
    let told = world
        .inbox("alice")
        .into_iter()
        .find(|mail| mail["type"] == "decline")
        .expect("alice is told");
    assert_eq!(told["body"], "no time");
    assert_eq!(say(&world, 3, "bob", accept), "no_offer");
    say(&world, 4, "alice", offer("bob"));
    let accept = answer(&world, "accept");
    say(&world, 5, "alice", answer(&world, "decline"));
    assert_eq!(
        say(&world, 6, "bob", accept),
        "no_offer",
        "its sender has withdrawn it"
    );
    say(&world, 7, "alice", offer("bob"));
    let accept = answer(&world, "accept");
    say(&world, 8, "alice", release_all());
    assert_eq!(
        say(&world, 9, "bob", accept),
        "no_offer",
        "its sender owns nothing any more"
    );
    say(&world, 10, "alice", claim(&["src"]));
    say(&world, 11, "alice", offer("carol"));
    run_at(&world, 12, "agent set carol --status retired");
    assert_eq!(
        (
            owner(&world, "src"),
            world.read("claims.json")["offers"].clone()
        ),
        ("alice".into(), json!([]))
    );
    assert_eq!(
        notices(&world, "alice").last().map(String::as_str),
        Some("not handed over: src")
    );
}

#[test]
fn claims_are_handed_over_to_one_agent_and_a_handoff_without_claims_is_a_message() {
    // P120
    let world = office();
    say(&world, 0, "alice", claim(&["src"]));
    assert_eq!(
        say(
            &world,
            1,
            "alice",
            json!({"type": "handoff", "to": "all", "claims": "all", "body": "x"})
        ),
        "bad_handoff"
    );
    let prose = json!({"type": "handoff", "to": ["bob", "carol"], "body": "I go home"});
    assert_eq!(say(&world, 2, "alice", prose), "");
    assert_eq!(
        (world.inbox("bob").len(), world.inbox("carol").len()),
        (1, 1)
    );
    assert_eq!(world.read("claims.json")["offers"], json!([]));
}

#[test]
fn an_owner_cannot_hand_over_only_one_of_two_overlapping_claims() {
    // P120
    let world = office();
    say(&world, 0, "alice", claim(&["src", "src/auth/**"]));
    let offer = json!({"type": "handoff", "to": "bob", "claims": ["src/auth/**"], "body": "yours"});
    assert_eq!(say(&world, 1, "alice", offer), "overlap_kept");
}

#[test]
fn an_agent_releases_only_its_own_claims_and_only_as_a_whole() {
    // P121
    let world = office();
    say(&world, 0, "alice", claim(&["src/**"]));
    assert_eq!(
        say(
            &world,
            1,
            "alice",
            json!({"type": "release", "claims": ["src/a"]})
        ),
        "not_owned"
    );
    assert_eq!(
        say(
            &world,
            2,
            "bob",
            json!({"type": "release", "claims": ["src/**"]})
        ),
        "not_owned"
    );
    assert_eq!(
        say(
            &world,
            3,
            "bob",
            json!({"type": "release", "claims": "all", "of": "alice"})
        ),
        "not_steward"
    );
    assert_eq!(owner(&world, "src/**"), "alice");
}

#[test]
fn a_word_of_prose_does_not_change_the_ownership_of_work() {
    // P380
    let world = office();
    say(&world, 0, "alice", claim(&["src/**"]));
    say(
        &world,
        1,
        "alice",
        json!({"type": "handoff", "to": "bob", "claims": ["src/**"], "body": "yours"}),
    );
    for (agent, prose, code) in [
        (
            "alice",
            json!({"type": "release", "to": "bob", "subject": "v1.2 released"}),
            "no_claims",
        ),
        (
            "alice",
            json!({"type": "release", "to": "bob", "claims": [], "body": "v1.2"}),
            "no_claims",
        ),
        (
            "alice",
            json!({"type": "release", "to": "bob", "claims": null, "body": "v1.2"}),
            "no_claims",
        ),
        (
            "alice",
            json!({"type": "handoff", "to": "bob", "claims": [], "body": "Your turn"}),
            "no_claims",
        ),
        (
            "bob",
            json!({"type": "accept", "to": "alice", "body": "A good idea"}),
            "no_offer",
        ),
        (
            "alice",
            json!({"type": "decline", "to": "bob", "body": "No time for the meeting"}),
            "no_offer",
        ),
    ] {
        assert_eq!(say(&world, 2, agent, prose.clone()), code, "{prose}");
    }
    assert_eq!(owner(&world, "src/**"), "alice");
    assert_eq!(
        say(&world, 3, "bob", answer(&world, "accept")),
        "granted",
        "the offer is still open"
    );
}

#[test]
fn everything_is_released_and_handed_over_by_its_own_word() {
    // P121
    let world = office();
    say(&world, 0, "alice", claim(&["src", "all"]));
    assert_eq!(
        say(
            &world,
            1,
            "alice",
            json!({"type": "release", "claims": ["all"]})
        ),
        ""
    );
    assert_eq!(
        owned(&world),
        [("src".to_owned(), "alice".to_owned())],
        "in a list, all is the name of a file"
    );
    say(
        &world,
        2,
        "alice",
        json!({"type": "handoff", "to": "bob", "claims": "all"}),
    );
    assert_eq!(say(&world, 3, "bob", answer(&world, "accept")), "granted");
    say(&world, 4, "bob", release_all());
    assert_eq!(owned(&world), []);
}

#[test]
fn the_human_and_a_steward_release_a_claim_and_its_owner_is_notified() {
    // P121
    let world = office().agent("lead", "--capability steward");
    say(&world, 0, "alice", claim(&["src", "docs"]));
    let over =
        json!({"type": "release", "of": "alice", "claims": ["src"], "body": "you are on leave"});
    say(&world, 1, "human", over);
    assert_eq!(
        (owner(&world, "src"), owner(&world, "docs")),
        ("".into(), "alice".into())
    );
    let told = world
        .inbox("alice")
        .into_iter()
        .find(|mail| mail["from"] == "human")
        .expect("the owner is told");
    assert_eq!(
        told["delivery"]["claim"],
        json!({"status": "released", "of": "alice", "claims": ["src"]})
    );
    say(
        &world,
        2,
        "lead",
        json!({"type": "release", "claims": "all", "of": "alice"}),
    );
    assert_eq!(owned(&world), []);
    let human = world
        .inbox("human")
        .into_iter()
        .find(|mail| mail["from"] == "lead")
        .expect("so is the human");
    assert_eq!(human["type"], "release");
}

#[test]
fn mail_reaches_the_owner_of_work() {
    // P122
    let world = office();
    say(&world, 0, "alice", claim(&["src/auth/**", "lane:web"]));
    for address in ["owner:src/auth/login.rs", "owner:lane:WEB", "OWNER:src"] {
        say(&world, 1, "bob", json!({"to": address, "body": address}));
    }
    let mail = world.inbox("alice");
    let mail: Vec<&Value> = mail.iter().filter(|mail| mail["from"] == "bob").collect();
    assert_eq!(mail.len(), 3);
    assert!(mail.iter().all(|mail| mail["delivery"]["via"] == "owner"));
    assert_eq!(
        say(&world, 2, "bob", json!({"to": "owner:docs", "body": "?"})),
        "no_owner"
    );
    assert_eq!(
        say(&world, 2, "bob", json!({"to": "owner:../x", "body": "?"})),
        "bad_address"
    );
    assert_contains!(world.ok("send --dry-run owner:src/auth/x ''"), "alice");
}

#[test]
fn a_claim_with_recipients_is_delivered_besides_and_may_name_agents_in_its_text() {
    // P117
    let world = office();
    let announced = json!({"type": "claim", "claims": ["src"], "to": "all", "subject": "Passkeys", "body": "@carol knows"});
    assert_eq!(say(&world, 0, "alice", announced), "granted");
    assert_eq!(
        (world.inbox("bob").len(), world.inbox("carol").len()),
        (1, 1)
    );
    let silent = json!({"type": "claim", "claims": ["docs"], "body": "@carol knows"});
    assert_eq!(say(&world, 1, "alice", silent), "granted");
    assert_eq!(
        world.inbox("carol").len(),
        1,
        "a mention in a claim is no address"
    );
}

#[test]
fn an_agent_owns_a_bounded_number_of_subjects() {
    // P118
    let world = office().settings("budget.messages = 0\nbudget.copies = 0\n");
    for n in 0..10 {
        let subjects: Vec<String> = (0..100).map(|m| format!("d{n}/f{m}")).collect();
        let message = json!({"type": "claim", "claims": subjects});
        world.mail("alice", &format!("{n}.json"), &message);
    }
    pass(&world, 0);
    assert_eq!(owned(&world).len(), 1000);
    assert_eq!(
        say(&world, 1, "alice", claim(&["one/more"])),
        "too_many_claims"
    );
    assert_eq!(
        say(&world, 2, "alice", claim(&["d0/f0"])),
        "granted",
        "a renewal is not one more"
    );
    let many: Vec<String> = (0..101).map(|n| format!("e{n}")).collect();
    world.mail("bob", "many.json", json!({"type": "claim", "claims": many}));
    pass(&world, 3);
    assert_contains!(
        world
            .inbox("bob")
            .iter()
            .map(Value::to_string)
            .collect::<String>(),
        "claims has more than 100 items"
    );
}

#[test]
fn a_claim_of_all_files_needs_its_explicit_form_and_the_human_gets_it_once() {
    // P270
    let world = office();
    for (n, subject) in [".", "**", "*", "?*", "[!q]*", "*/**"]
        .into_iter()
        .enumerate()
    {
        assert_eq!(
            say(&world, n as u64, "alice", claim(&[subject])),
            "claims_everything",
            "{subject}"
        );
    }
    assert_eq!(world.inbox("human").len(), 0);
    assert_eq!(say(&world, 20, "alice", claim(&["./**"])), "granted");
    assert_eq!(
        say(&world, 21, "alice", claim(&["./**"])),
        "granted",
        "renewed"
    );
    let mail = world.inbox("human");
    assert_eq!(
        (mail.len(), &mail[0]["from"], &mail[0]["claims"]),
        (1, &json!("alice"), &json!(["./**"]))
    );
}

#[test]
fn claims_that_cover_all_files_together_notify_the_human() {
    // P270
    let world = office();
    assert_eq!(say(&world, 0, "alice", claim(&["[a-m]*"])), "granted");
    assert_eq!(world.inbox("human").len(), 0);
    assert_eq!(
        say(&world, 1, "alice", claim(&["[n-z]*", "[0-9]*", ".*", "_*"])),
        "granted"
    );
    assert_eq!(world.inbox("human").len(), 1);
}

#[test]
fn a_command_claims_all_files_only_in_the_explicit_form() {
    // P270
    let world = office();
    for word in ["", " ", ".", "**", "*", "./"] {
        let said = world.fails(65, &["claim", word, "--as", "alice"]);
        assert!(
            said.contains("empty") || said.contains("covers all files"),
            "{word:?}: {said}"
        );
    }
    assert!(
        world.run("claim / --as alice").code != 0,
        "the root of the file system"
    );
    assert_eq!(world.json("claims")["claims"], json!([]));
    world.ok("claim ./** --as alice");
    assert_eq!(world.inbox("human").len(), 1);
    world.fails(65, "release '' --as alice");
    world.ok("release ./** --as alice");
}

#[test]
fn an_answer_to_a_closed_offer_never_answers_one_with_a_longer_id() {
    // P95, P120
    let world = office();
    assert_eq!(say(&world, 0, "alice", claim(&["src", "docs"])), "granted");
    for (id, subject) in [("h1", "src"), ("h10", "docs")] {
        let offer = json!({"id": id, "type": "handoff", "to": "bob", "claims": [subject]});
        world.mail("alice", &format!("{id}.json"), offer);
    }
    pass(&world, 1);
    let answer = |kind: &str, offer: &str| json!({"type": kind, "in_reply_to": offer});
    say(&world, 2, "bob", answer("decline", "alice/h1"));
    for offer in ["alice/h1", "h1"] {
        for kind in ["accept", "decline"] {
            assert_eq!(say(&world, 3, "bob", answer(kind, offer)), "no_offer");
        }
    }
    assert_eq!(owner(&world, "docs"), "alice");
    say(&world, 4, "bob", answer("accept", "alice/h10"));
    assert_eq!(owner(&world, "docs"), "bob");
}
