//! `mailbag take` and `mailbag take --done`: one consumer after the other.

use super::{Beside, routes};
use crate::files;
use crate::town::Town;
use crate::world::{Words, World, lossy, parse_json};
use serde_json::{Value, json};

fn shop() -> World {
    World::with("alice builders")
}

fn take(world: &World, more: &(impl Words + ?Sized)) -> Value {
    world.json(&[vec!["take", "--as", "builders"], more.words()].concat())
}

fn seq(taken: &Value) -> String {
    taken["message"]["delivery"]["seq"].to_string()
}

#[test]
fn the_most_urgent_comes_first_and_then_the_oldest() {
    // P64
    let world = shop();
    for (priority, body) in [
        ("low", "5"),
        ("normal", "3"),
        ("urgent", "1"),
        ("normal", "4"),
        ("high", "2"),
    ] {
        world.ok(&[
            "send",
            "builders",
            body,
            "--priority",
            priority,
            "--as",
            "alice",
        ]);
    }
    for n in 1..=5 {
        let taken = take(&world, "");
        assert_eq!(taken["message"]["body"], n.to_string());
        let file = taken["file"].as_str().expect("a path");
        assert!(
            file.starts_with("inbox/builders/taken/") && world.room(file).exists(),
            "{taken}"
        );
    }
    assert_contains!(world.fails(3, "take --as builders"), "no message to lease");
    assert_contains!(world.fails(4, "take --as builders --wait 50ms"), "50ms");
    assert_eq!(
        (
            world.names("inbox/builders").len(),
            world.names("inbox/builders/taken").len()
        ),
        (0, 5)
    );
}

#[test]
fn a_leased_message_is_unread_in_every_view() {
    // P64, P68
    let world = shop();
    world.send("alice", "builders", "one");
    world.send("alice", "builders", "two");
    take(&world, "");
    let unread = || {
        let who = world.json("who");
        let mut agents = who["agents"].as_array().into_iter().flatten();
        let of_who = agents
            .find(|agent| agent["id"] == "builders")
            .map(|one| one["unread"].clone());
        let listed = world.items("list --unread --to builders");
        let status = world.json("status")["unread"]["builders"].clone();
        (of_who, status, listed.as_array().map(Vec::len))
    };
    assert_eq!(unread(), (Some(json!(2)), json!(2), Some(2)));
    assert_contains!(
        world.run("inbox builders").err,
        "1 leased message not shown"
    );
    world.ok("read --as builders");
    world.pass();
    assert_eq!(unread(), (Some(json!(1)), json!(1), Some(1)));
    let none = "no unread messages except 1 leased message";
    assert_contains!(world.run("inbox builders").err, none);
    assert_contains!(world.run("read --as builders").err, none);
    assert_contains!(
        world.fails(65, "agent remove builders"),
        "builders has 1 unread"
    );
}

#[test]
fn done_moves_it_to_seen_and_give_back_to_the_inbox() {
    // P64
    let world = shop();
    world.send("alice", "builders", "one");
    let shown = world.run("take --as builders");
    assert!(
        shown.out.ends_with("one\n") && shown.err.contains("leased by process"),
        "{shown:?}"
    );
    let id = world.read(&format!(
        "inbox/builders/taken/{}",
        world.names("inbox/builders/taken")[0]
    ))["id"]
        .clone();
    let id = id.as_str().expect("an id");
    assert_contains!(
        world.ok(&["take", "--give-back", id, "--as", "builders"]),
        "released"
    );
    assert_eq!(world.names("inbox/builders").len(), 1);
    let again = take(&world, "");
    assert_eq!(again["lease"]["times"], 2);
    assert_eq!(
        world.json(&["take", "--done", &seq(&again), "--as", "builders"])["state"],
        "done"
    );
    assert_eq!(world.names("inbox/builders/seen").len(), 1);
    assert_eq!(
        world.json(&["take", "--done", id, "--as", "builders"])["state"],
        "done_before"
    );
    world.fails(3, "take --done nothing --as builders");
    let left = std::fs::read_dir(world.room("inbox/builders/taken"))
        .expect("it is there")
        .count();
    assert_eq!(left, 1, "only the lock is left");
}

fn shop_with(body: &str) -> World {
    let world = shop();
    world.send("alice", "builders", body);
    world
}

#[test]
fn a_taken_message_returns_after_its_lease_and_a_late_done_names_the_new_holder() {
    // P65
    let world = shop_with("one");
    let first = take(&world, "--lease 1ms --holder first");
    let seq = seq(&first);
    let mut second = None;
    world.wait("the lease has lapsed", || {
        let ran = world.run("take --as builders --holder second --json");
        second = Some(ran);
        second.as_ref().is_some_and(|ran| ran.code == 0)
    });
    let second = second.expect("it was taken again");
    assert_contains!(second.err, "returned ", "first"; "{second:?}");
    for args in [
        &["take", "--done", &seq][..],
        &["take", "--done", &seq, "--holder", "first"],
        &["take", "--renew", &seq],
    ] {
        assert_contains!(
            world.fails(65, &[args, &["--as", "builders"]].concat()),
            "is leased to second",
            "until"
        );
    }
    assert_eq!(world.names("inbox/builders/taken").len(), 1);
    world.ok(&[
        "take", "--done", &seq, "--as", "builders", "--holder", "second",
    ]);
}

#[test]
fn a_late_done_counts_if_no_other_process_has_the_message() {
    let world = shop_with("one");
    let taken = take(&world, "--lease 1ms --holder first");
    world.send("alice", "builders", "more urgent");
    world.ok("send builders 'more urgent' --priority urgent --as alice");
    assert_eq!(
        take(&world, "--holder second")["message"]["body"],
        "more urgent"
    );
    assert_eq!(
        world.names("inbox/builders").len(),
        2,
        "the first was given back"
    );
    world.fails(
        65,
        &[
            "take",
            "--renew",
            &seq(&taken),
            "--as",
            "builders",
            "--holder",
            "first",
        ],
    );
    let done = world.json(&[
        "take",
        "--done",
        &seq(&taken),
        "--as",
        "builders",
        "--holder",
        "first",
    ]);
    assert_eq!(done["state"], "done_late");
    assert_eq!(
        (
            world.names("inbox/builders").len(),
            world.names("inbox/builders/seen").len()
        ),
        (1, 1)
    );
}

#[test]
fn a_lease_can_be_made_longer() {
    let world = shop_with("one");
    let taken = take(&world, "--lease 1h --holder first");
    let renewed = [
        "take",
        "--renew",
        &seq(&taken),
        "--lease",
        "2h",
        "--as",
        "builders",
        "--holder",
        "first",
    ];
    assert_eq!(world.json(&renewed)["state"], "renewed");
    let at = |minutes: i64| (chrono::Utc::now() + chrono::Duration::minutes(minutes)).to_rfc3339();
    let take_at = |minutes: i64| {
        let mut take = world.program("take --as builders");
        take.env("MAILBAG_TEST_NOW", at(minutes))
            .output()
            .expect("it runs")
            .status
            .code()
    };
    assert_eq!((take_at(90), take_at(121)), (Some(3), Some(0)));
    world.fails(2, "take --done 1 --lease 1h --as builders");
}

#[test]
fn a_message_taken_by_hand_has_a_lease_of_ten_minutes() {
    // P64 and P65
    let world = shop_with("one");
    let name = world.names("inbox/builders")[0].clone();
    files::make_dir(world.room("inbox/builders/taken"));
    let taken = world.room(&format!("inbox/builders/taken/{name}"));
    files::rename(world.room(&format!("inbox/builders/{name}")), &taken);
    world.fails(3, "take --as builders");
    let later = (chrono::Utc::now() + chrono::Duration::minutes(11)).to_rfc3339();
    let mut take = world.program("take --as builders");
    let output = take
        .env("MAILBAG_TEST_NOW", later)
        .output()
        .expect("it runs");
    assert!(
        output.status.success() && lossy(&output.stderr).contains("an unknown process"),
        "{output:?}"
    );
}

#[test]
fn take_returns_a_message_that_it_could_not_print() {
    let world = shop_with(&"x".repeat(1000));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    world
        .bare("take --as builders")
        .stdout(writer)
        .status()
        .expect("it runs");
    assert_eq!(
        (
            world.names("inbox/builders").len(),
            world.names("inbox/builders/taken").len()
        ),
        (1, 0)
    );
}

#[test]
fn a_file_with_the_longest_name_can_be_taken() {
    let world = shop();
    let name = format!("{}.json", "n".repeat(250));
    world.write(
        &format!("inbox/builders/{name}"),
        r#"{"id": "long", "from": "alice", "body": "by hand"}"#,
    );
    assert_contains!(
        take(&world, "--lease 1h")["message"].to_string(),
        "by hand",
        "sender unknown"
    );
    world.ok(&["take", "--done", &name, "--as", "builders"]);
    assert_eq!(world.names("inbox/builders/seen"), [name]);
}

#[test]
fn a_waiting_take_gets_new_messages_and_lapsed_ones() {
    // P65
    let world = shop();
    let mut waiting = Beside::start(&world, "take --as builders --wait 1m --json --lease 300ms");
    routes(&mut waiting, &world);
    world.mail(
        "alice",
        "x.json",
        json!({"to": "builders", "body": "comes"}),
    );
    let taken = parse_json(waiting.ends(&world, 0));
    assert_eq!(taken["message"]["body"], "comes");
    let again = take(&world, "--wait 1m");
    assert!(
        again["returned"][0]["holder"]
            .as_str()
            .is_some_and(|holder| holder.starts_with("process ")),
        "{again}"
    );
    assert_fields!(again, message.body: "comes", lease.times: 2);
}

#[test]
fn a_message_that_is_taken_is_seen_once_it_is_done() {
    let town = Town::of("alice builders").run();
    let id = town.send("alice", "builders", "one");
    town.wait_for_mail("builders", 1);
    let status = || town.json(&["trace", &id, "--as", "alice"])["recipients"][0]["status"].clone();
    for word in ["--give-back", "--renew"] {
        take(&town, "");
        town.ok(&["take", word, &id, "--as", "builders"]);
        // The router has looked since.
        town.is_alive("alice", "alice");
        assert_eq!(status(), "delivered");
    }
    town.ok(&["take", "--done", &id, "--as", "builders"]);
    town.wait("it is seen", || status() == "seen");
}

#[test]
fn a_message_moves_under_another_name_if_its_name_is_occupied() {
    // P96: to seen/, to expired/ and back to the inbox.
    let world = World::alice_and_bob();
    let handed = |body: &str| {
        world.send("alice", "bob", body);
        world.json("take --as bob")["message"]["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    let id = handed("done with");
    let name = world.names("inbox/bob/taken").remove(0);
    world.write(&format!("inbox/bob/seen/{name}"), "{}");
    world.ok(&["take", "--done", &id, "--as", "bob"]);
    assert_eq!(
        (
            world.names("inbox/bob/taken").len(),
            world.names("inbox/bob/seen").len()
        ),
        (0, 2)
    );
    let id = handed("given back");
    let name = world.names("inbox/bob/taken").remove(0);
    let bytes = files::read(world.room(&format!("inbox/bob/taken/{name}")));
    world.write(&format!("inbox/bob/{name}"), &bytes);
    assert!(
        world.run("take --as bob").out.is_empty(),
        "it is handed out already"
    );
    world.write(&format!("inbox/bob/{name}"), &bytes);
    world.ok(&["take", "--give-back", &id, "--as", "bob"]);
    assert_eq!(
        (world.bodies("bob"), world.names("inbox/bob/taken").len()),
        (vec!["given back".to_owned()], 0)
    );
    world.ok("read --as bob");
    let id = world.send("alice", "bob", "taken back");
    let name = world.names("inbox/bob").remove(0);
    world.write(&format!("inbox/bob/expired/{name}"), "{}");
    world.ok(&["ack", &id, "--status", "withdrawn", "--as", "alice"]);
    assert_eq!(
        (
            world.bodies("bob").len(),
            world.names("inbox/bob/expired").len()
        ),
        (0, 2)
    );
}

#[test]
fn a_message_that_ends_while_it_is_leased_is_not_leased_again() {
    // P60, P61, P65
    let world = shop();
    let at = |minutes: u64| {
        let time = format!("2026-11-21T10:{minutes:02}:00Z");
        move |command: &mut assert_cmd::Command| {
            command.env("MAILBAG_TEST_NOW", &time);
        }
    };
    let run_at = |minutes: u64, args: &[&str]| world.run_with(args, at(minutes));
    let expires =
        json!({"id": "e", "to": "builders", "body": "x", "expires_at": "2026-11-21T10:05:00Z"});
    world.mail("alice", "a.json", &expires);
    for id in ["w", "s", "r", "k"] {
        let message = json!({"id": id, "to": "builders", "body": "x"});
        world.mail("alice", &format!("{id}.json"), &message);
    }
    run_at(0, &["run", "--once"]).ok();
    for _ in 0..5 {
        let args = ["take", "--as", "builders", "--lease", "8m"];
        run_at(1, &args).ok();
    }
    for (id, status) in [("w", "withdrawn"), ("s", "superseded"), ("r", "withdrawn")] {
        let args = ["ack", id, "--status", status, "--as", "alice"];
        run_at(2, &args).ok();
    }
    let released = ["take", "--give-back", "r", "--as", "builders"];
    run_at(3, &released).ok();
    let again = ["take", "--as", "builders", "--json"];
    let taken = run_at(20, &again).ok();
    let taken = parse_json(&taken);
    assert_eq!(taken["message"]["id"], "k", "{taken}");
    run_at(20, &again).fails(3);
    assert_eq!(world.names("inbox/builders/expired").len(), 4);
    run_at(21, &["run", "--once"]).ok();
    let status = |id: &str| world.json(&["trace", id])["recipients"][0]["status"].clone();
    assert_eq!(
        [
            status("e"),
            status("w"),
            status("s"),
            status("r"),
            status("k")
        ],
        [
            "expired",
            "withdrawn",
            "superseded",
            "withdrawn",
            "delivered"
        ]
    );
    let told = world.inbox("alice");
    assert_eq!(told.len(), 1, "the expiry is reported once: {told:?}");
}

#[test]
fn a_lease_has_a_holder_and_a_duration() {
    let world = shop();
    world.send("alice", "builders", "one");
    let take = ["take", "--as", "builders"];
    for wrong in [["--holder", ""], ["--lease", "0s"], ["--lease", "0"]] {
        assert_contains!(world.fails(2, &[&take[..], &wrong].concat()), wrong[0]);
    }
    assert_eq!(world.names("inbox/builders").len(), 1);
}

#[test]
fn a_withdrawal_of_a_leased_message_is_traced_once() {
    let world = shop();
    let id = world.send("alice", "builders", "one");
    take(&world, "--holder h");
    world.ok(&["ack", &id, "--status", "withdrawn", "--as", "alice"]);
    world.ok(&[
        "take",
        "--give-back",
        &id,
        "--as",
        "builders",
        "--holder",
        "h",
    ]);
    world.pass();
    let trace = world.json(&["trace", &id, "--as", "alice"]);
    let statuses = trace["recipients"][0]["statuses"].as_array();
    let withdrawn = statuses
        .into_iter()
        .flatten()
        .filter(|step| step["status"] == "withdrawn");
    let by: Vec<&Value> = withdrawn.map(|step| &step["by"]).collect();
    assert_eq!(by, ["alice"], "{trace:#}");
}
