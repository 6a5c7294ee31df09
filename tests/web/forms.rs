//! What a person does on the page, as the forms send it.

use super::Page;
use crate::world::{World, wait};

fn item<'a>(pending: &'a serde_json::Value, kind: &str) -> &'a serde_json::Value {
    let items = pending["items"].as_array().expect("items");
    items.iter().find(|item| item["kind"] == kind).unwrap_or_else(|| panic!("no {kind} in {pending}"))
}

fn fields(item: &serde_json::Value) -> Vec<(&'static str, String)> {
    let text = |name: &str| item[name].as_str().map_or_else(|| item[name].to_string(), str::to_owned);
    vec![("kind", text("kind")), ("seq", text("seq")), ("message", text("message"))]
}

fn answer(page: &Page, kind: &str, more: &[(&str, &str)]) -> super::Answer {
    let pending = page.get("/api/pending").json();
    let fields = fields(item(&pending, kind));
    let own: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    page.submit("/answer", &[&own, more].concat())
}

#[test]
fn an_approval_is_decided_with_a_reason_and_the_next_click_learns_the_outcome() {
    let world = World::with(&["alice"]);
    world.ok(&["send", "human", "Deploy?", "--as", "alice", "--type", "approval"]);
    let page = Page::of(&world);
    let open = page.get("/api/pending").json();
    let next = answer(&page, "approval", &[("option", "no"), ("text", "not on a Friday")]);
    assert!(next.body.contains("decided #2: no"), "{}", next.body);
    assert!(next.body.contains("Nothing. An agent asks with"), "{}", next.body);
    let answered = world.ok(&["read", "--as", "alice"]);
    assert!(answered.contains("not on a Friday"), "{answered}");
    let fields = fields(item(&open, "approval"));
    let mut again: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    again.push(("option", "yes"));
    let late = page.submit("/answer", &again);
    assert!(late.body.contains("class=\"failed\""), "{}", late.body);
}

#[test]
fn a_question_is_replied_to_and_dismissed() {
    let world = World::with(&["alice"]);
    world.ok(&["send", "human", "Which port?", "--as", "alice", "--type", "question"]);
    let page = Page::of(&world);
    let empty = answer(&page, "question", &[("action", "reply"), ("text", "  ")]);
    assert!(empty.body.contains("the reply is empty"), "{}", empty.body);
    let next = answer(&page, "question", &[("action", "reply"), ("text", "8080")]);
    assert!(next.body.contains("replied to #2 of alice"), "{}", next.body);
    wait("the reply is there", || world.ok(&["inbox", "alice"]).contains("8080"));
    world.ok(&["send", "human", "And the host?", "--as", "alice", "--type", "question"]);
    wait("it is asked", || page.get("/api/pending").json()["items"][0]["title"] == "And the host?");
    let next = answer(&page, "question", &[("action", "dismiss")]);
    assert!(next.body.contains("dismissed #"), "{}", next.body);
}

#[test]
fn a_message_is_written_and_one_that_cannot_be_sent_is_shown_again() {
    let world = World::with(&["alice", "bob"]);
    let page = Page::of(&world);
    let wrong = page.post("/write", &[("to", "alcie"), ("subject", "Hi"), ("body", "a long <text>")]);
    assert_eq!(wrong.status, 422, "{wrong:?}");
    assert!(wrong.body.contains("did you mean alice") && wrong.body.contains("a long &lt;text&gt;"), "{}", wrong.body);
    let next =
        page.submit("/write", &[("to", "alice bob"), ("kind", "task"), ("subject", "Hi"), ("body", "line\r\nline")]);
    assert!(next.body.contains("to alice, bob"), "{}", next.body);
    let got = world.json(&["read", "--as", "alice"]);
    assert_eq!((&got[0]["from"], &got[0]["body"]), (&"human".into(), &"line\nline".into()), "{got}");
    // Loading the page again does not say it again.
    assert!(!page.get("/?note=1").body.contains("to alice, bob"));
}

#[test]
fn refused_mail_is_mended_and_sent_again() {
    let world = World::with(&["alice", "bob"]);
    world.drop_file("alice", "bad.json", r#"{"to": "bbo", "body": "x"}"#);
    world.ok(&["run", "--once"]);
    let page = Page::of(&world);
    let seq = page.get("/api/rejected").json()[0]["seq"].to_string();
    let again = page.post(&format!("/rejected/{seq}"), &[("text", r#"{"to": "bib", "body": "mended"}"#)]);
    assert_eq!(again.status, 422, "{again:?}");
    assert!(again.body.contains("did you mean bob?") && again.body.contains("mended"), "{}", again.body);
    let listed = || page.get("/api/rejected").json()[0]["seq"].as_u64();
    let first = seq.parse().ok();
    wait("the new file is listed", || listed().is_some() && listed() != first);
    let seq = listed().expect("a number");
    let next = page.submit(&format!("/rejected/{seq}"), &[("text", r#"{"to": "bob", "body": "mended"}"#)]);
    assert!(next.body.contains("to bob"), "{}", next.body);
    assert!(world.ok(&["read", "--as", "bob"]).contains("mended"));
    assert_eq!(page.get("/api/rejected").json(), serde_json::json!([]));
}

#[test]
fn the_page_can_be_killed_at_any_time() {
    let world = World::with(&["alice"]);
    let mut page = Page::of(&world);
    page.post("/write", &[("to", "alice"), ("body", "before")]);
    page.kill();
    world.ok(&["send", "human", "after", "--as", "alice"]);
    wait("it is delivered", || world.ok(&["inbox", "alice"]).contains("before"));
    assert!(Page::of(&world).get("/").body.contains("after"));
    assert!(world.json(&["log", "verify"])["problems"].as_array().is_none_or(Vec::is_empty));
}

#[test]
fn two_pages_and_the_terminal_agree() {
    let world = World::with(&["alice"]);
    world.ok(&["send", "human", "Deploy?", "--as", "alice", "--type", "approval"]);
    let (one, other) = (Page::of(&world), Page::of(&world));
    answer(&one, "approval", &[("option", "yes")]);
    assert!(!other.get("/").body.contains("value=\"yes\""));
    assert_eq!(world.json(&["pending", "--as", "human"])["items"], serde_json::json!([]));
}
