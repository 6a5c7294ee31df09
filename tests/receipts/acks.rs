//! Acks, by command and by a dropped file: the permitted senders, and the rejection of an earlier
//! status.

use super::{from_mailbag, statuses, wait_for_status};
use crate::files;
use crate::town::Town;
use crate::world::World;
use serde_json::json;

#[test]
fn a_dropped_ack_and_the_command_say_the_same() {
    let world = World::alice_and_bob();
    let id = world.send("alice", "bob", "please");
    let ack = json!({"type": "ack", "refs": [id], "status": "acknowledged"}).to_string();
    world.drop_file("bob", "ack.json", ack);
    assert_eq!(
        statuses(&world, &id, "bob"),
        ["accepted", "delivered", "acknowledged"]
    );
    world.ok(&[
        "ack",
        &format!("alice/{id}"),
        "--status",
        "actioned",
        "--note",
        "merged",
        "--as",
        "bob",
    ]);
    assert_eq!(
        statuses(&world, &id, "bob"),
        ["accepted", "delivered", "acknowledged", "actioned"]
    );
    assert_contains!(
        world.ok(&["trace", &id, "--as", "alice"]),
        "actioned: merged"
    );
    assert_eq!(world.inbox("alice").len(), 0, "an ack wakes nobody");
}

#[test]
fn an_ack_with_recipients_is_delivered_besides() {
    let world = World::alice_and_bob();
    let id = world.send("alice", "bob", "please");
    let ack =
        json!({"type": "ack", "refs": [id], "status": "actioned", "to": "alice", "body": "done"});
    world.route("bob", "ack.json", &ack);
    assert_eq!(world.bodies("alice"), ["done"]);
    assert_eq!(
        statuses(&world, &id, "bob"),
        ["accepted", "delivered", "actioned"]
    );
}

#[test]
fn only_who_got_it_may_say_and_a_wrong_ack_is_filed_without_a_bounce() {
    // P59
    let world = World::with("alice bob carol");
    let id = world.send("alice", "bob", "please");
    for who in ["carol", "alice"] {
        world.mail(
            who,
            "ack.json",
            json!({"type": "ack", "refs": [id], "status": "actioned"}),
        );
    }
    world.pass();
    assert_eq!(statuses(&world, &id, "bob"), ["accepted", "delivered"]);
    for who in ["carol", "alice"] {
        assert_eq!(
            world.names(&format!("rejected/{who}")).len(),
            2,
            "the ack and why"
        );
        assert_eq!(
            world.inbox(who).len(),
            0,
            "a wrong ack is filed without a bounce"
        );
    }
    world.fails(3, &["ack", &id, "--as", "carol"]);
    assert_contains!(
        world.fails(65, &["ack", &id, "--as", "alice"]),
        "only its recipients"
    );
}

#[test]
fn an_ack_of_an_unknown_message_is_not_found_and_changes_nothing() {
    let world = World::alice_and_bob();
    let id = world.send("alice", "bob", "please");
    for refs in ["999".to_owned(), "998 999".to_owned(), format!("{id} 999")] {
        let ran = world.run(&*format!("ack {refs} --as bob --json"));
        assert_eq!(ran.code, 3, "{refs}: {ran:?}");
        assert_contains!(ran.err, "\"code\":\"not_found\"", "999"; "{refs}");
    }
    assert_eq!(statuses(&world, &id, "bob"), ["accepted", "delivered"]);
}

#[test]
fn a_step_back_and_a_second_way_to_be_closed_are_refused() {
    // P59
    let world = World::alice_and_bob();
    let id = world.send("alice", "bob", "please");
    assert_eq!(
        world.ok(&["ack", &id, "--status", "resolved", "--as", "bob"]),
        "#2 from alice is resolved\n"
    );
    let listed = world.ok("list --type ack");
    assert!(listed.trim_end().ends_with("#2 · resolved"), "{listed}");
    for state in ["acknowledged", "actioned", "abandoned"] {
        assert_contains!(
            world.fails(65, &["ack", &id, "--status", state, "--as", "bob"]),
            "a step back"
        );
    }
    world.ok(&["ack", &id, "--status", "resolved", "--as", "bob"]);
    // Two in one batch are judged one after the other.
    let other = world.send("alice", "bob", "and this");
    for (name, state) in [("1.json", "actioned"), ("2.json", "acknowledged")] {
        world.mail(
            "bob",
            name,
            json!({"type": "ack", "refs": [other], "status": state}),
        );
    }
    world.pass();
    assert_eq!(
        statuses(&world, &other, "bob"),
        ["accepted", "delivered", "actioned"]
    );
}

#[test]
fn a_sender_s_withdrawal_of_closed_copies_is_accepted_without_effect() {
    // P59
    let world = World::alice_and_bob();
    let id = world.send("alice", "bob", "please");
    world.ok(&["ack", &id, "--status", "resolved", "--as", "bob"]);
    world.ok(&["ack", &id, "--status", "withdrawn", "--as", "alice"]);
    let ack = json!({"type": "ack", "refs": [id], "status": "superseded"});
    world.mail("alice", "again.json", ack);
    world.pass();
    assert_eq!(world.json("status")["rejected"], json!([]));
    assert_eq!(
        statuses(&world, &id, "bob"),
        ["accepted", "delivered", "resolved"]
    );
    assert_eq!(
        world.json(&["trace", &id])["recipients"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}

#[test]
fn a_message_that_its_sender_takes_back_leaves_the_inboxes_where_it_is_unread() {
    // P60
    let town = Town::of("alice bob carol").run();
    let id = town
        .ok("send -q bob carol 'stop the press' --as alice")
        .trim()
        .to_owned();
    town.wait_for_mail("bob", 1);
    town.wait_for_mail("carol", 1);
    town.ok("read --as carol");
    wait_for_status(&town, &id, "carol", "seen");
    town.ok(&["ack", &id, "--status", "withdrawn", "--as", "alice"]);
    wait_for_status(&town, &id, "bob", "withdrawn");
    town.wait("bob's copy to be set aside", || town.count("bob") == 0);
    assert_eq!(town.names("inbox/bob/expired").len(), 1);
    assert_eq!(
        town.names("inbox/carol/seen").len(),
        1,
        "what was read stays where it is"
    );
    assert!(
        !statuses(&town, &id, "bob").contains(&"seen".to_owned()),
        "nobody has seen it"
    );
}

#[test]
fn an_inbox_that_an_ack_cannot_change_is_named_and_delays_no_other_inbox() {
    let world = World::with("alice bob carol");
    let blocked_paths = || {
        let status = world.json("status");
        let blocked = status["blocked"].as_array().cloned().unwrap_or_default();
        let paths = blocked.into_iter().map(|one| one["path"].clone());
        paths.collect::<Vec<_>>()
    };
    for (sender, status, directory) in [("bob", "seen", "seen"), ("alice", "withdrawn", "expired")]
    {
        let id = world.send("alice", "bob,carol", "one");
        let obstacle = world.room(&format!("inbox/bob/{directory}"));
        std::fs::remove_dir_all(&obstacle).ok();
        std::os::unix::fs::symlink("/tmp", &obstacle).expect("a link");
        let ack = json!({"type": "ack", "refs": [id], "status": status});
        world.mail(sender, "ack.json", ack);
        world.pass();
        assert_eq!(blocked_paths(), ["inbox/bob"]);
        if sender == "alice" {
            assert_eq!(world.names("inbox/carol/expired").len(), 1);
        }
        files::remove_file(&obstacle);
        world.pass();
        assert!(blocked_paths().is_empty(), "{directory}");
        assert_eq!(world.names(&format!("inbox/bob/{directory}")).len(), 1);
    }
}

#[test]
fn a_withdrawal_that_was_committed_is_carried_out_after_a_kill() {
    let world = World::alice_and_bob();
    let id = world.send("alice", "bob", "stop the press");
    // An obstacle at the copy's destination keeps the record open.
    world.write("inbox/bob/expired", "in the way");
    world.ok(&["ack", &id, "--status", "withdrawn", "--as", "alice"]);
    assert_eq!(world.inbox("bob").len(), 1);
    files::remove_file(world.room("inbox/bob/expired"));
    world.pass();
    assert_eq!(
        (
            world.inbox("bob").len(),
            world.names("inbox/bob/expired").len()
        ),
        (0, 1)
    );
}

#[test]
fn an_id_that_several_senders_used_has_to_be_named_with_its_sender() {
    let world = World::with("alice bob carol");
    for who in ["alice", "carol"] {
        world.drop_file(
            who,
            "x.json",
            r#"{"id": "msg_1", "to": "bob", "body": "hi"}"#,
        );
    }
    world.pass();
    assert_contains!(
        world.fails(2, "ack msg_1 --as bob"),
        "alice/msg_1",
        "carol/msg_1"
    );
    world.ok("ack carol/msg_1 --as bob");
    assert_eq!(
        statuses(&world, "alice/msg_1", "bob"),
        ["accepted", "delivered"]
    );
    assert_eq!(
        statuses(&world, "carol/msg_1", "bob"),
        ["accepted", "delivered", "acknowledged"]
    );
    // A number is a seq where no message has it as its id.
    world.ok("ack 3 --status actioned --as bob");
}

#[test]
fn the_routers_own_mail_can_be_acknowledged_as_well() {
    let world = World::with("alice");
    world.route("alice", "bad.json", r#"{"to": "nobody", "body": "hi"}"#);
    let bounce = from_mailbag(&world, "alice", "error").remove(0);
    world.ok(&[
        "ack",
        bounce["id"].as_str().expect("an id"),
        "--as",
        "alice",
    ]);
}

#[test]
fn an_ack_in_the_same_pass_as_its_message_has_the_same_effect_as_later() {
    // P55, P591, P95, P366
    let ack = |refs: &str, status: &str, by: &str| {
        json!({"type": "ack", "refs": [refs], "status": status, "metadata": {"superseded_by": by}})
            .to_string()
    };
    let message = r#"{"id": "v2-of-the-plan", "to": "bob", "body": "new"}"#;
    for files in [
        &[format!(
            "{message}\n{}\n",
            ack("v2-of-the-plan", "withdrawn", "")
        )][..],
        &[message.to_owned(), ack("v2-of-the-plan", "withdrawn", "")],
        &[
            message.to_owned(),
            ack("alice/v2-of-the-plan", "withdrawn", ""),
        ],
        &[
            message.to_owned(),
            ack("v1", "superseded", "v2-of-the-plan"),
        ],
        &[format!(
            "{}\n\n{message}\n{}\n{}",
            json!({"to": "bob", "body": "first"}),
            ack("v1", "superseded", "v2-of-the-plan"),
            json!({"to": "bob", "body": "last"})
        )],
    ] {
        let world = World::alice_and_bob();
        world.route(
            "alice",
            "v1.json",
            r#"{"id": "v1", "to": "bob", "body": "old"}"#,
        );
        for (n, file) in files.iter().enumerate() {
            world.drop_file("alice", &format!("{n}.ndjson"), file);
        }
        world.pass();
        assert!(world.names("rejected/alice").is_empty(), "{files:?}");
        assert_eq!(world.names("inbox/bob/expired").len(), 1, "{files:?}");
        assert!(world.names("outbox/alice").is_empty(), "{files:?}");
        world.verify();
    }
}

#[test]
fn lines_that_wait_for_an_earlier_line_are_charged_once() {
    // P591
    let world = World::with("alice bob carol dave");
    world.write(
        "settings.toml",
        "budget.copies = 60\nbudget.window = \"10m\"\n",
    );
    let pairs = (0..10).map(|n| {
        let message = json!({"id": format!("m{n}"), "to": ["bob", "carol", "dave"], "body": "x"});
        format!(
            "{message}\n{}\n",
            json!({"type": "ack", "refs": [format!("m{n}")], "status": "withdrawn"})
        )
    });
    world.drop_file("alice", "a.ndjson", pairs.collect::<String>());
    world.pass();
    assert_eq!(world.names("inbox/bob/expired").len(), 10);
}

#[test]
fn a_message_that_is_withdrawn_before_its_delivery_never_becomes_unread_mail() {
    // P60
    let world = World::alice_and_bob();
    let inbox = world.room("inbox/bob");
    files::remove_dir(&inbox);
    files::write(&inbox, "in the way");
    world.mail(
        "alice",
        "a.json",
        json!({"id": "x", "to": "bob", "body": "delete the branch"}),
    );
    world.run("run --once");
    world.mail(
        "alice",
        "b.json",
        json!({"type": "ack", "refs": ["x"], "status": "withdrawn"}),
    );
    world.run("run --once");
    assert_eq!(statuses(&world, "x", "bob"), ["accepted", "withdrawn"]);
    files::remove_file(&inbox);
    world.pass();
    assert!(world.bodies("bob").is_empty());
    assert_eq!(world.names("inbox/bob/expired").len(), 1);
}

#[test]
fn an_ack_of_a_rejected_message_does_not_withdraw_one_with_a_longer_id() {
    // P59, P95
    let world = World::alice_and_bob();
    for (id, to) in [
        ("x10", "bob"),
        ("x1", "bobb"),
        ("deploy-2026-10", "bob"),
        ("deploy-2026-1", "bobb"),
    ] {
        let message = json!({"id": id, "to": to, "body": id});
        world.route("alice", &format!("{id}.json"), message);
    }
    let bounces = world.inbox("alice").len();
    for reference in ["alice/x1", "x1", "alice/deploy-2026-1", "deploy-2026-1"] {
        let ack = json!({"type": "ack", "refs": [reference], "status": "withdrawn"});
        let name = format!("ack-{}.json", reference.replace('/', "-"));
        world.route("alice", &name, ack);
        let withdraw = ["ack", reference, "--status", "withdrawn", "--as", "alice"];
        assert_contains!(world.fails(3, &withdraw), "neither sent nor received"; "{reference}");
    }
    assert_eq!(world.bodies("bob"), ["x10", "deploy-2026-10"]);
    // Each file has an explanation.
    assert_eq!(world.names("rejected/alice").len(), 2 * (bounces + 4));
}

#[test]
fn an_ack_of_a_message_of_others_does_not_close_an_own_one_with_a_longer_id() {
    // P59, P95
    let world = World::with("alice bob carol dave");
    for (id, to) in [
        ("m1", json!("bob")),
        ("m10", json!(["carol", "bob"])),
        ("w1", json!("carol")),
        ("w10", json!("dave")),
    ] {
        let message = json!({"id": id, "to": to, "type": "question", "body": id});
        world.route("alice", &format!("{id}.json"), message);
    }
    for (agent, id, status) in [("carol", "m1", "resolved"), ("dave", "w1", "abandoned")] {
        for reference in [format!("alice/{id}"), id.to_owned()] {
            let ack = json!({"type": "ack", "refs": [reference], "status": status});
            let name = format!("{}.json", reference.replace('/', "-"));
            world.route(agent, &name, ack);
            world.fails(3, &["ack", &reference, "--status", status, "--as", agent]);
        }
        assert_eq!(
            statuses(&world, &format!("{id}0"), agent),
            ["accepted", "delivered"]
        );
        assert_eq!(world.names(&format!("rejected/{agent}")).len(), 4);
    }
}

#[test]
fn a_replacement_is_named_completely_in_a_file_and_by_a_prefix_in_a_command() {
    // P95, P366
    let world = World::alice_and_bob();
    for id in ["first-plan", "second-plan"] {
        let message = json!({"id": id, "to": "bob", "body": id});
        world.route("alice", &format!("{id}.json"), message);
    }
    let ack = json!({"type": "ack", "refs": ["first-plan"], "status": "superseded",
        "metadata": {"superseded_by": "second-p"}});
    world.route("alice", "ack.json", ack);
    assert_eq!(world.names("rejected/alice").len(), 2, "the ack and why");
    world.ok("ack first-plan --status superseded --by second-p --as alice");
    assert_eq!(world.bodies("bob"), ["second-plan"]);
}
