//! Messages with addresses that reach no agent: their sender is notified, with the nearest name.

use crate::mcp::Client;
use crate::world::{World, parse_json};
use serde_json::{Value, json};

/// Alice is the only lead, the only subscriber of `lonely`, and the only agent with the capability `solo`. The alias `quiet`
/// means a topic without subscribers.
fn room() -> World {
    let world = World::new()
        .agent("alice", "--role lead --topic lonely --capability solo")
        .agent("bob", "--role engineer --topic auth-module")
        .agent("carol", "--role engineer");
    let mut registry = world.read("registry.json");
    registry["aliases"] = json!({"quiet": ["#silence"]});
    world.write("registry.json", registry.to_string());
    world
}

/// The notices in alice's inbox about addresses that reached no agent.
fn notices(world: &World) -> Vec<Value> {
    let mut mail = world.inbox("alice");
    mail.retain(|mail| mail["from"] == "mailbag" && mail["type"] == "alert");
    mail
}

#[track_caller]
fn drop_and_route(world: &World, message: &Value) {
    world.route("alice", "x.json", message);
    assert_eq!(
        world.names("rejected/alice"),
        Vec::<String>::new(),
        "{message}"
    );
}

#[test]
fn the_sender_of_a_message_that_reaches_no_agent_is_notified_with_the_nearest_name() {
    // P400
    for (to, code, near) in [
        ("#auth-modul", "no_subscriber", "did you mean #auth-module?"),
        ("#bob", "no_subscriber", "write bob for this agent"),
        ("#engineers", "no_subscriber", "write all_engineer"),
        ("#weather", "no_subscriber", "there is #auth-module"),
        (
            "#lonely",
            "only_sender",
            "mailbag agent set NAME --topic lonely",
        ),
        ("all_lead", "only_sender", "the only agent with this role"),
        ("@leads", "only_sender", "the only agent with this role"),
        ("ali*", "only_sender", "the pattern matches only you"),
        (
            "cap:solo",
            "only_sender",
            "the only agent with this capability",
        ),
        (
            "quiet",
            "no_target",
            "quiet means #silence: no agent subscribes to #silence",
        ),
    ] {
        let world = room();
        drop_and_route(&world, &json!({"id": "m-1", "to": to, "body": "hello"}));
        let notices = notices(&world);
        assert_eq!(notices.len(), 1, "{to}: {notices:?}");
        let (body, problem) = (
            notices[0]["body"].as_str().unwrap_or_default(),
            &notices[0]["metadata"]["problems"][0],
        );
        assert!(
            body.starts_with("No agent received your message m-1:") && body.contains(near),
            "{to}: {body}"
        );
        assert_eq!(
            (&problem["code"], &problem["where"]),
            (&json!(code), &json!("/to")),
            "{to}"
        );
        assert_fields!(notices[0], in_reply_to: "m-1", subject: "no agent received “hello”");
        assert!(
            world.inbox("bob").is_empty() && world.inbox("carol").is_empty(),
            "{to}"
        );
    }
}

#[test]
fn the_reasons_of_a_lane_are_the_reasons_of_the_addresses_that_it_means() {
    // P400
    let world = room();
    world.write("charter.md", "## Lanes\n- top: all_lead, quiet\n");
    let why = "lane:top means all_lead, quiet: all_lead reaches no other agent: you are the only agent with this role";
    for address in ["lane:top", "top", "@top"] {
        let sent = world.run(&["send", address, "hi", "--as", "alice"]);
        assert_eq!(sent.code, 3, "{sent:?}");
        assert_contains!(sent.err, why; "{sent:?}");
        let checked = world.run(&["send", "--dry-run", address, "hi", "--as", "alice"]);
        assert_contains!(checked.out, why; "{checked:?}");
    }
    drop_and_route(&world, &json!({"to": "lane:top", "body": "hello"}));
    let told = notices(&world).pop().expect("a notice");
    assert_contains!(told["body"].as_str().unwrap_or_default(), why);
}

#[test]
fn the_owner_of_a_claim_that_writes_to_its_owner_is_notified() {
    // P400
    let world = room();
    world.ok("claim src/** --as alice");
    drop_and_route(&world, &json!({"to": "owner:src/a.rs", "body": "hello"}));
    let notices = notices(&world);
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_contains!(notices[0]["body"].to_string(), "you own it");
}

#[test]
fn an_address_that_reaches_no_agent_is_reported_beside_one_that_does() {
    // P400
    let world = room();
    drop_and_route(
        &world,
        &json!({"id": "m-1", "to": ["bob", "#auth-modul", "all_lead"], "body": "hello"}),
    );
    assert_eq!(world.bodies("bob"), ["hello"]);
    let notices = notices(&world);
    assert_eq!(notices.len(), 1, "{notices:?}");
    let body = notices[0]["body"].as_str().unwrap_or_default();
    assert!(
        body.starts_with("Your message m-1 was delivered, but not to each of its addresses:"),
        "{body}"
    );
    let places: Vec<&Value> = notices[0]["metadata"]["problems"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["where"])
        .collect();
    assert_eq!(places, ["/to/1", "/to/2"]);
}

#[test]
fn a_misspelled_mention_beside_a_correct_one_is_reported() {
    // P400
    let world = room();
    drop_and_route(
        &world,
        &json!({"body": "@bob and @carlo: please look at `@property` and a@b.example."}),
    );
    drop_and_route(&world, &json!({"body": "@bob: the @Override is wrong"}));
    assert_eq!(
        world.inbox("bob").len(),
        2,
        "a word that resembles no name is no mention"
    );
    let notices = notices(&world);
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_contains!(
        notices[0]["body"].as_str().unwrap_or_default(),
        "no agent is called \"@carlo\"",
        "did you mean carol?"
    );
}

#[test]
fn a_message_with_only_misspelled_mentions_is_rejected_with_the_nearest_name() {
    let world = room();
    world.route("alice", "x.json", json!({"body": "@carlo: hello"}));
    let bounce = world.inbox("alice").remove(0);
    assert_eq!(bounce["metadata"]["problems"][0]["code"], "no_recipient");
    assert_contains!(bounce["body"].to_string(), "did you mean carol?");
}

#[test]
fn a_message_that_needs_no_recipient_causes_no_notice() {
    // P400
    let world = World::with("alice");
    for (n, message) in [
        json!({"type": "milestone", "body": "done"}),
        json!({"type": "status", "body": "works with @pytest.fixture"}),
        json!({"type": "announcement", "to": "all", "body": "done"}),
        json!({"type": "progress", "to": "all", "body": "half"}),
        json!({"to": "alice", "body": "a note"}),
        json!({"to": "human", "body": "a question"}),
    ]
    .into_iter()
    .enumerate()
    {
        world.mail("alice", &format!("{n}.json"), &message);
    }
    world.pass();
    assert_eq!(notices(&world), Vec::<Value>::new());
    drop_and_route(&world, &json!({"to": "all", "body": "hello"}));
    assert_eq!(
        notices(&world).len(),
        1,
        "a message to all agents has no reader"
    );
}

#[test]
fn each_line_of_a_file_has_its_own_notice_and_a_duplicate_has_none() {
    // P400
    let world = room();
    let lines = [
        json!({"id": "l-1", "to": "#none", "body": "one"}),
        json!({"id": "l-2", "to": "bob", "body": "two"}),
        json!({"id": "l-3", "to": "#none", "body": "three"}),
        json!({"id": "l-3", "to": "#none", "body": "three"}),
    ];
    world.drop_file(
        "alice",
        "x.ndjson",
        lines.map(|line| line.to_string()).join("\n") + "\n",
    );
    world.mail(
        "alice",
        "y.json",
        json!({"id": "l-1", "to": "#none", "body": "one"}),
    );
    for _ in 0..3 {
        world.ok("run --once");
    }
    let answered: Vec<Value> = notices(&world)
        .into_iter()
        .map(|notice| notice["in_reply_to"].clone())
        .collect();
    assert_eq!(answered, ["l-1", "l-3"]);
}

#[test]
fn send_says_that_no_agent_received_the_message() {
    // P401
    let world = room();
    let ran = world.run("send #auth-modul hi --as alice");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (3, "sent #2, but no agent received it\n"),
        "{ran:?}"
    );
    assert_contains!(ran.err, "no agent subscribes to #auth-modul; did you mean #auth-module?"; "{ran:?}");
    assert_eq!(
        notices(&world),
        Vec::<Value>::new(),
        "the command has shown the notice"
    );
    let ran = world.run("send #auth-modul hi --as alice --json");
    let sent = parse_json(&ran.out);
    assert_eq!(
        (ran.code, &sent["unreached"][0]["code"]),
        (3, &json!("no_subscriber")),
        "{sent}"
    );
    let ran = world.run("send -q #auth-modul hi --as alice");
    assert!(
        ran.code == 3 && ran.out.lines().count() == 1,
        "only the id: {ran:?}"
    );
}

#[test]
fn send_warns_of_an_address_that_reached_no_agent_beside_one_that_did() {
    // P401
    let world = room();
    let ran = world.run("send bob #auth-modul hi --as alice");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.out.starts_with("sent #2 to bob\n") && ran.err.contains("did you mean #auth-module?"),
        "{ran:?}"
    );
}

#[test]
fn send_says_it_while_a_router_runs_and_without_waiting() {
    // P401
    let world = room();
    let router = world.router("");
    let ran = world.run("send #auth-modul hi --as alice");
    assert!(
        ran.code == 3 && ran.err.contains("did you mean #auth-module?"),
        "{ran:?}"
    );
    world.wait("the notice is marked as read", || {
        world.names("inbox/alice/seen").len() == 1
    });
    let ran = world.run("send #auth-modul hi --as alice --no-wait");
    assert!(
        ran.code == 3 && ran.err.contains("did you mean #auth-module?"),
        "{ran:?}"
    );
    // It is read already if the router was fast enough for the command.
    world.wait("the notice of the second message arrives", || {
        notices(&world).len() + world.names("inbox/alice/seen").len() == 2
    });
    drop(router);
}

#[test]
fn a_question_that_reaches_no_agent_fails_immediately() {
    // P401
    let world = room();
    assert_contains!(
        world.fails(3, "ask #auth-modul 'which port?' --as alice"),
        "no agent received question",
        "did you mean #auth-module?"
    );
}

#[test]
fn the_tool_send_message_says_that_no_agent_received_the_message() {
    // P401
    let world = room();
    let client = Client::of(&world, "alice");
    let (text, data) = client.call("send_message", json!({"to": ["#auth-modul"], "body": "hi"}));
    assert!(
        text.starts_with("sent #2, but no agent received it\n")
            && text.contains("did you mean #auth-module?"),
        "{text}"
    );
    assert_eq!(data["unreached"][0]["code"], "no_subscriber", "{data}");
}

#[test]
fn check_shows_the_addresses_that_reach_no_agent() {
    let world = room();
    let checked = world.pipe(
        "send --dry-run --file - --as alice",
        json!({"to": ["bob", "#auth-modul"], "body": "x"}).to_string(),
    );
    assert!(
        checked.code == 0 && checked.out.contains("did you mean #auth-module?"),
        "{checked:?}"
    );
}
