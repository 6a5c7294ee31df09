//! A renamed agent: its former name becomes an alias, and its mail and claims move to the new name.

use crate::files;
use crate::records::flat_record;
use crate::town::{Town, so_within};
use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

/// The action of a person or `join`: the agent is removed, and its name becomes an alias.
fn rename(world: &World, of: &str, to: &str) {
    let mut registry = world.read("registry.json");
    registry["agents"]
        .as_array_mut()
        .expect("a list")
        .retain(|agent| agent["id"] != of);
    registry["aliases"][of] = json!(to);
    world.write("registry.json", registry.to_string());
}

/// The action of a person: the name that is an alias is registered as a new agent.
fn register_again(world: &World, name: &str) {
    let mut registry = world.read("registry.json");
    registry["aliases"] = json!({});
    world.write("registry.json", registry.to_string());
    world.ok(&["agent", "add", name]);
}

fn renamed(agents: &[&str]) -> World {
    let world = World::with(agents);
    world.send("alice", "kiwi", "first");
    world.send("alice", "kiwi", "second");
    world
}

fn recipient(world: &World, seq: &str) -> Value {
    world.json(&["trace", seq, "--as", "alice"])["recipients"][0].clone()
}

fn renames(world: &World) -> Vec<Value> {
    let log = world.text("log/00000001.ndjson");
    let records = log.lines().map(flat_record);
    records
        .filter(|record| !record["facts"]["claims"]["rename"].is_null())
        .collect()
}

#[test]
fn a_rename_moves_unread_mail_with_its_markers_and_records_no_reading() {
    // P143, P144, P145
    let world = renamed(&["alice", "bob", "kiwi"]);
    world.send("alice", "kiwi", "third");
    world.send("alice", "kiwi", "fourth");
    let names = world
        .names("inbox/kiwi")
        .into_iter()
        .filter(|name| name.ends_with(".json"))
        .collect::<Vec<_>>();
    world.write(&format!("inbox/kiwi/.announced/{}", names[0]), "");
    world.take("kiwi");
    world.ok("read #5 --as kiwi");
    rename(&world, "kiwi", "bob");
    world.pass();
    world.pass();
    assert_eq!(renames(&world).len(), 1, "it is recorded once");
    assert_eq!(world.bodies("kiwi"), [""; 0]);
    assert_eq!(world.bodies("bob"), ["second", "third"]);
    assert!(
        world
            .room(&format!("inbox/bob/taken/{}", names[0]))
            .exists(),
        "the taken message is still taken"
    );
    assert!(
        world
            .room(&format!("inbox/bob/.announced/{}", names[0]))
            .exists()
    );
    assert!(
        !world
            .room(&format!("inbox/kiwi/.announced/{}", names[0]))
            .exists()
    );
    let third = recipient(&world, "4");
    assert_eq!(
        [&third["agent"], &third["renamed_to"], &third["status"]],
        ["kiwi", "bob", "delivered"],
        "{third}"
    );
    assert_eq!(recipient(&world, "5")["status"], "seen");
    assert_eq!(recipient(&world, "2")["status"], "announced");
    assert_contains!(world.ok("trace 4 --as alice"), "kiwi (now bob): delivered");
    assert_contains!(world.ok("read #4 --as bob"), "third");
    world.pass();
    assert_eq!(recipient(&world, "4")["status"], "seen");
    world.send("alice", "kiwi", "later");
    assert_eq!(world.bodies("bob"), ["second", "later"]);
    world.verify();
}

#[test]
fn a_message_to_both_is_delivered_to_the_agent_once() {
    // P144
    let world = World::with("alice bob kiwi");
    world.send("alice", "all", "hello");
    rename(&world, "kiwi", "bob");
    world.pass();
    assert_eq!(
        (world.bodies("bob"), world.bodies("kiwi").len()),
        (vec!["hello".to_owned()], 0)
    );
    let aside = world.names("inbox/kiwi/seen");
    assert_eq!(
        aside,
        world
            .names("inbox/bob")
            .into_iter()
            .filter(|name| name.ends_with("json"))
            .collect::<Vec<_>>()
    );
    world.ok("read --as bob");
    world.pass();
    let trace = world.json("trace 2 --as alice");
    let statuses: Vec<&Value> = trace["recipients"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["status"])
        .collect();
    assert_eq!(statuses, ["seen", "seen"], "{trace}");
}

#[test]
fn an_ack_an_answer_and_a_withdrawal_under_the_new_name_count() {
    // P145
    let world = World::with("alice bob kiwi");
    world.ok("send kiwi 'which port?' --type question --as alice");
    world.send("alice", "kiwi", "do this");
    world.ok("read #3 --as kiwi");
    world.mail(
        "alice",
        "bare.json",
        json!({"id": "bare", "to": "kiwi", "type": "question", "body": "and?"}),
    );
    world.send("kiwi", "alice", "never mind");
    let own = world.inbox("alice")[0]["delivery"]["seq"].to_string();
    rename(&world, "kiwi", "bob");
    world.ok("ack 3 --status resolved --as bob");
    assert_eq!(recipient(&world, "3")["status"], "resolved");
    let pending = world.json("pending --as bob");
    assert_contains!(pending.to_string(), "which port?"; "{pending}");
    world.ok("reply 2 8080 --as bob");
    world.route(
        "bob",
        "answer.json",
        json!({"to": "alice", "type": "answer", "in_reply_to": "bare", "body": "so"}),
    );
    let answers = world.json("trace 2 --as alice")["answers"].clone();
    assert_eq!(answers[0]["from"], "bob", "{answers}");
    assert_eq!(
        world.json("pending --as bob")["items"],
        json!([]),
        "{}",
        world.json("pending --as bob")
    );
    assert_contains!(world.ok("thread bare --as alice"), "and?", "so");
    assert_contains!(world.ok("list --as bob"), "do this"; "it sees the mail of its first name");
    world.ok(&["ack", &own, "--status", "withdrawn", "--as", "bob"]);
    world.pass();
    assert!(
        !world.bodies("alice").contains(&"never mind".to_owned()),
        "{:?}",
        world.bodies("alice")
    );
}

#[test]
fn a_rename_moves_claims_and_offers() {
    // P143
    let world = World::with("alice bob carol kiwi");
    let drop = |agent: &str, message: Value| {
        world.route(agent, "x.json", &message);
    };
    drop("kiwi", json!({"type": "claim", "claims": ["src", "docs"]}));
    drop("bob", json!({"type": "claim", "claims": ["tests", "web"]}));
    drop("alice", json!({"type": "claim", "claims": ["api"]}));
    drop(
        "kiwi",
        json!({"id": "docs", "type": "handoff", "to": "carol", "claims": ["docs"], "body": "yours"}),
    );
    drop("carol", json!({"type": "claim", "claims": ["doc2"]}));
    drop(
        "carol",
        json!({"id": "doc2", "type": "handoff", "to": "kiwi", "claims": ["doc2"], "body": "yours"}),
    );
    rename(&world, "kiwi", "bob");
    world.pass();
    let claims = world.json("claims");
    let mut owned: Vec<String> = claims["claims"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| {
            format!(
                "{} {}",
                one["subject"].as_str().unwrap_or_default(),
                one["owner"].as_str().unwrap_or_default()
            )
        })
        .collect();
    owned.sort();
    assert_eq!(
        owned,
        [
            "api alice",
            "doc2 carol",
            "docs bob",
            "src bob",
            "tests bob",
            "web bob"
        ],
        "{claims}"
    );
    drop("carol", json!({"type": "accept", "in_reply_to": "docs"}));
    drop("bob", json!({"type": "accept", "in_reply_to": "doc2"}));
    let claims = world.json("claims");
    let of = |subject: &str| {
        let all = claims["claims"].as_array().cloned().unwrap_or_default();
        all.into_iter()
            .find(|one| one["subject"] == subject)
            .map(|one| one["owner"].clone())
    };
    assert_eq!(
        (of("docs"), of("doc2")),
        (Some(json!("carol")), Some(json!("bob"))),
        "{claims}"
    );
}

#[test]
fn an_approval_that_was_asked_of_or_by_the_first_name_is_decided_under_the_new_one() {
    // P143
    let world = World::with("alice bob kiwi");
    world.mail(
        "alice",
        "a.json",
        json!({"id": "a", "to": "kiwi", "type": "approval", "body": "go?"}),
    );
    world.route(
        "kiwi",
        "k.json",
        json!({"id": "k", "to": "alice", "type": "approval", "body": "may I?"}),
    );
    rename(&world, "kiwi", "bob");
    world.pass();
    world.mail(
        "bob",
        "d.json",
        json!({"type": "decision", "in_reply_to": "alice/a", "option": "yes"}),
    );
    world.route(
        "alice",
        "d.json",
        json!({"type": "decision", "in_reply_to": "kiwi/k", "option": "no"}),
    );
    let options = |agent: &str| -> Vec<Value> {
        world
            .inbox(agent)
            .iter()
            .map(|mail| mail["delivery"]["approval"]["option"].clone())
            .filter(|one| !one.is_null())
            .collect()
    };
    assert_eq!(
        (options("alice"), options("bob")),
        (vec![json!("yes")], vec![json!("no")])
    );
}

#[test]
fn a_later_agent_of_that_name_gets_its_own_mail_and_keeps_it() {
    // P147
    let world = renamed(&["alice", "bob", "kiwi"]);
    rename(&world, "kiwi", "bob");
    world.pass();
    register_again(&world, "kiwi");
    world.send("alice", "kiwi", "for the new one");
    world.pass();
    assert_eq!(world.bodies("kiwi"), ["for the new one"]);
    assert_eq!(world.bodies("bob"), ["first", "second"]);
    assert_eq!(recipient(&world, "2")["renamed_to"], "bob");
    let trace = world.json("trace 5 --as alice");
    assert_fields!(trace["recipients"][0], agent: "kiwi", renamed_to: Value::Null);
}

#[test]
fn a_running_router_moves_present_and_later_mail_of_a_renamed_agent() {
    // P143, P144
    let mut town = Town::of("alice bob kiwi");
    town.start(&[]);
    for n in 0..20 {
        town.mail(
            "alice",
            &format!("{n}.json"),
            json!({"to": "kiwi", "body": n.to_string()}),
        );
        if n == 10 {
            rename(&town, "kiwi", "bob");
        }
    }
    let wanted: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    let all = || {
        let mut bodies = town.bodies("bob");
        bodies.sort_by_key(|body| body.parse::<u32>().unwrap_or_default());
        bodies == wanted && town.bodies("kiwi").is_empty()
    };
    assert!(
        so_within(Duration::from_secs(30), all),
        "{:?} {:?}",
        town.bodies("bob"),
        town.bodies("kiwi")
    );
    town.stop();
    for mail in town.inbox("bob") {
        assert_eq!(
            recipient(&town, &mail["delivery"]["seq"].to_string())["status"],
            "delivered",
            "{mail}"
        );
    }
    town.verify();
}

#[test]
fn mail_that_expires_or_waits_in_the_spool_follows_the_name() {
    // P144
    let world = World::with("alice bob carol kiwi");
    // A name is taken in the inbox: the copy stays staged.
    world.mail(
        "alice",
        "a.json",
        json!({"id": "a", "to": "kiwi", "body": "staged"}),
    );
    files::remove_dir(world.room("inbox/kiwi"));
    files::write(world.room("inbox/kiwi"), "in the way");
    world.pass();
    let staged = || {
        fs::read_dir(world.room("spool/stage"))
            .expect("it is there")
            .count()
    };
    assert_eq!(staged(), 1);
    rename(&world, "kiwi", "bob");
    world.pass();
    assert_eq!(world.bodies("bob"), ["staged"]);
    assert_eq!(staged(), 0);
    let expires =
        json!({"id": "b", "to": "bob", "body": "late", "expires_at": "2999-01-01T00:00:00Z"});
    world.route("alice", "b.json", &expires);
    rename(&world, "bob", "carol");
    world.pass();
    assert_eq!(world.bodies("carol"), ["staged", "late"]);
    let later = |program: &mut assert_cmd::Command| {
        program.env("MAILBAG_TEST_NOW", "2999-01-02T00:00:00Z");
    };
    world.run_with("run --once", later).ok();
    assert_eq!(world.bodies("carol"), ["staged"]);
    assert_eq!(world.names("inbox/carol/expired").len(), 1);
    assert!(
        world.inbox("alice")[0]["body"]
            .as_str()
            .is_some_and(|body| body.contains("by carol")),
        "{:?}",
        world.inbox("alice")
    );
}

#[test]
fn an_agent_that_has_read_its_own_copy_does_not_get_the_former_name_s_copy() {
    // P144
    let world = World::with("alice bob carol kiwi lemon");
    let drop = |name: &str, to: Value| {
        world.route("alice", name, json!({"to": to, "body": name}));
    };
    drop("three.json", json!(["bob", "kiwi", "lemon"]));
    drop("two.json", json!(["kiwi", "lemon"]));
    world.ok("read --as bob");
    world.pass();
    // The first name had two former names; one of them also got a copy.
    rename(&world, "lemon", "kiwi");
    world.pass();
    assert_eq!(world.bodies("kiwi"), ["three.json", "two.json"]);
    rename(&world, "kiwi", "bob");
    world.pass();
    assert_eq!(world.bodies("bob"), ["two.json"]);
    assert_contains!(world.ok("list --as bob --unread"), "two.json");
    world.ok("read --as bob");
    world.pass();
    let trace = world.json("trace 2 --as alice");
    assert!(
        trace["recipients"]
            .as_array()
            .is_some_and(|all| all.iter().all(|one| one["status"] == "seen")),
        "{trace}"
    );
    world.verify();
}

#[test]
fn a_corrected_file_under_the_present_name_closes_the_rejection() {
    // P145, P290
    let world = World::with("alice bob kiwi");
    let text = r#"{"from": "kiwi", "to": "carol", "body": "hello"}"#;
    world.route("kiwi", "x.json", text);
    rename(&world, "kiwi", "bob");
    world.pass();
    world.ok("agent add carol");
    assert_eq!(world.items("rejected list --agent bob")[0]["agent"], "kiwi");
    let open = || {
        world.json("pending --as bob")["items"]
            .as_array()
            .map(Vec::len)
    };
    assert_eq!(open(), Some(1));
    world.route("bob", "x.json", r#"{"to": "carol", "body": "hello"}"#);
    assert_eq!(world.bodies("carol"), ["hello"]);
    assert_eq!(open(), Some(0));
}

#[test]
fn an_approval_between_two_names_of_one_agent_is_left_to_the_human() {
    // P145, P184
    let world = World::with("alice bob kiwi");
    let approval = json!({"id": "d", "to": "bob", "type": "approval", "body": "Deploy?"});
    world.route("kiwi", "x.json", &approval);
    rename(&world, "kiwi", "bob");
    world.pass();
    world.pass();
    let pending = |agent: &str| world.json(&["pending", "--as", agent])["items"].clone();
    assert_eq!(pending("bob").as_array().map(Vec::len), Some(0));
    assert_eq!(pending("human")[0]["kind"], "approval");
    let notice = world.inbox("human").pop().expect("an escalation");
    assert_contains!(
        notice["body"].as_str().unwrap_or_default(),
        "is the sender now"
    );
    world.decide("human", "kiwi/d", "yes", &[]).ok();
    assert_eq!(pending("human").as_array().map(Vec::len), Some(0));
    let outcome = world.inbox("bob").pop().expect("the decision");
    assert_eq!(
        outcome["delivery"]["approval"]["option"], "yes",
        "{outcome}"
    );
}

#[test]
fn a_claim_of_a_former_name_is_traced_as_still_owned() {
    // P145
    let world = World::with("bob kiwi");
    let claim = json!({"id": "c", "type": "claim", "claims": ["src"]});
    world.route("kiwi", "x.json", &claim);
    rename(&world, "kiwi", "bob");
    world.pass();
    assert_eq!(world.json("trace kiwi/c")["claim"]["state"], "owned");
    world.ok("release src --as bob");
    assert_eq!(world.json("trace kiwi/c")["claim"]["state"], "ended");
}

#[test]
fn moved_mail_stays_known_if_its_alias_changes_or_the_name_is_registered_again() {
    // P143, P147
    let world = renamed(&["alice", "bob", "kiwi"]);
    rename(&world, "kiwi", "bob");
    world.pass();
    let before = world.ok("inbox --as bob");
    let mut registry = world.read("registry.json");
    registry["aliases"]["kiwi"] = json!(["bob", "alice"]);
    world.write("registry.json", registry.to_string());
    assert_eq!(world.ok("inbox --as bob"), before);
    registry["aliases"] = json!({});
    world.write("registry.json", registry.to_string());
    world.ok("agent add kiwi");
    assert_eq!(world.ok("inbox --as bob"), before);
    world.send("alice", "kiwi", "for the new one");
    let name = &world.names("inbox/kiwi")[0];
    fs::copy(
        world.room(&format!("inbox/kiwi/{name}")),
        world.room(&format!("inbox/bob/{name}")),
    )
    .expect("a copy of a foreign message");
    assert_contains!(world.ok("inbox --as bob"), "placed here directly");
}

#[test]
fn wait_finds_the_earlier_mail_of_a_renamed_sender() {
    // P145, P147
    let world = World::with("alice bob kiwi");
    world.send("kiwi", "alice", "from the first kiwi");
    rename(&world, "kiwi", "bob");
    world.pass();
    let wait = |from: &str| world.run(&["wait", "--as", "alice", "--from", from, "--timeout", "0"]);
    assert_contains!(wait("bob").ok(), "from the first kiwi");
    register_again(&world, "kiwi");
    wait("kiwi").fails(4);
    world.send("kiwi", "alice", "from the second kiwi");
    assert_contains!(wait("kiwi").ok(), "from the second kiwi");
}

#[test]
fn a_later_agent_of_that_name_can_not_close_earlier_messages() {
    // P147
    let world = renamed(&["alice", "bob", "kiwi"]);
    world.send("kiwi", "alice", "from the first kiwi");
    rename(&world, "kiwi", "bob");
    world.pass();
    register_again(&world, "kiwi");
    for ack in [
        "ack #2 --as kiwi --status resolved",
        "ack #4 --as kiwi --status withdrawn",
    ] {
        let ran = world.run(ack);
        assert_ne!(ran.code, 0, "{ack}: {ran:?}");
    }
    assert_eq!(world.bodies("alice").len(), 1);
    assert_eq!(recipient(&world, "4")["status"], "delivered");
}

#[test]
fn a_later_agent_of_that_name_is_not_shown_earlier_messages() {
    // P147
    let world = World::with("alice bob kiwi");
    world.ok("send kiwi 'which port?' --type question --as alice");
    world.ok("reply #2 8080 --as kiwi");
    rename(&world, "kiwi", "bob");
    world.pass();
    assert_contains!(world.ok("list --from bob --as human"), "8080");
    register_again(&world, "kiwi");
    world.send("alice", "kiwi", "for the new one");
    for shown in [
        "list --as kiwi",
        "list --from kiwi --as human",
        "list --to kiwi --as human",
        "search port --as kiwi",
        "search 8080 --as kiwi",
        "context --as kiwi",
    ] {
        let ran = world.run(shown);
        assert!(
            !ran.out.contains("8080") && !ran.out.contains("which"),
            "{shown}: {ran:?}"
        );
    }
    assert_contains!(world.ok("list --as kiwi"), "for the new one");
    for thread in ["thread 2 --as kiwi", "thread #3 --as kiwi"] {
        let ran = world.run(thread);
        assert_ne!(ran.code, 0, "{thread}: {ran:?}");
    }
    assert_contains!(world.ok("thread 2 --as alice"), "which port?", "8080");
}

#[test]
fn a_reply_to_an_earlier_message_goes_to_the_agent_that_sent_it() {
    // P147
    let world = World::with("alice bob carol kiwi");
    world.send("kiwi", "alice", "from the first kiwi");
    let to_both = json!({"to": ["alice", "kiwi"], "body": "to the first kiwi"});
    world.route("carol", "both.json", to_both);
    rename(&world, "kiwi", "bob");
    world.pass();
    register_again(&world, "kiwi");
    world.ok("reply #2 one --as alice");
    world.ok("reply #3 two --all --as alice");
    assert_eq!(world.bodies("bob"), ["to the first kiwi", "one", "two"]);
    assert_eq!(world.bodies("kiwi"), [""; 0]);
}

#[test]
fn an_open_question_has_the_present_name_of_its_asker() {
    // P143
    let world = World::with("alice alicia bob");
    world.route(
        "alice",
        "q.json",
        r#"{"type": "question", "to": "bob", "body": "Why?"}"#,
    );
    rename(&world, "alice", "alicia");
    world.pass();
    let item = world.json("pending --as bob")["items"][0].clone();
    assert_eq!(item["from"], "alicia", "{item}");
}
