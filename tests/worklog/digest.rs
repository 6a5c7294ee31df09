//! `mailbag log digest`: the day in Markdown.

use super::{echo, shell};
use crate::files;
use crate::world::{Words, World, parse_json};
use serde_json::json;

/// A day with an event of each kind, and an older day.
fn day() -> World {
    let world = World::with("alice bob carol");
    let at = |time: &str, agent: &str, message: &str| {
        echo(&world, agent, message);
        world.run_env("run --once", "MAILBAG_TEST_NOW", time).ok();
    };
    at(
        "2026-11-19T10:00:00Z",
        "alice",
        r#"{"type":"milestone","body":"too old"}"#,
    );
    at(
        "2026-11-20T23:50:00Z",
        "alice",
        r#"{"type":"question","to":"bob","body":"An old question?","requires_response":true}"#,
    );
    at(
        "2026-11-21T08:00:00Z",
        "alice",
        r#"{"type":"decision.recorded","subject":"Port","body":"8080"}"#,
    );
    at(
        "2026-11-21T08:01:00Z",
        "bob",
        r#"{"type":"milestone","body":"Half of it"}"#,
    );
    at(
        "2026-11-21T08:02:00Z",
        "bob",
        r#"{"type":"escalation","to":"human","body":"I am stuck"}"#,
    );
    at(
        "2026-11-21T08:03:00Z",
        "carol",
        r#"{"type":"claim","claims":["src/**"],"subject":"Passkeys"}"#,
    );
    at(
        "2026-11-21T08:04:00Z",
        "carol",
        r#"{"to":"nobody","body":"lost"}"#,
    );
    at(
        "2026-11-21T08:05:00Z",
        "carol",
        r#"{"type":"question","to":"human","body":"May I?","requires_response":true}"#,
    );
    at(
        "2026-11-21T08:06:00Z",
        "bob",
        r#"{"id":"q2","type":"question","to":"human","body":"And I?","requires_response":true}"#,
    );
    at(
        "2026-11-21T08:07:00Z",
        "human",
        r#"{"to":"bob","in_reply_to":"bob/q2","body":"Yes"}"#,
    );
    world
}

fn digest(world: &World, args: &(impl Words + ?Sized)) -> String {
    let args = [
        vec!["log", "digest", "--since", "2026-11-20T12:00:00Z"],
        args.words(),
    ]
    .concat();
    let ran = world.run_env(&args, "MAILBAG_TEST_NOW", "2026-11-21T12:00:00Z");
    ran.ok()
}

#[test]
fn the_digest_has_what_happened_and_what_is_open() {
    let world = day();
    let text = digest(&world, "");
    let part = |title: &str| {
        let part = text
            .split_once(&format!("\n## {title}\n\n"))
            .unwrap_or_else(|| panic!("{title}: {text}"))
            .1;
        part.split("\n\n## ")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    assert!(
        part("Decisions").ends_with("alice · decision.recorded · Port: 8080"),
        "{text}"
    );
    assert!(
        part("Milestones").ends_with("bob · milestone · Half of it"),
        "{text}"
    );
    assert_contains!(part("Escalations"), "bob · escalation · I am stuck"; "{text}");
    assert_contains!(part("Open questions"), "alice asks bob: An old question?"; "{text}");
    assert!(
        part("Open questions").contains("carol asks human: May I?") && !text.contains("And I?"),
        "{text}"
    );
    assert_contains!(part("Who owns what"), r"carol owns src/\*\* since 2026-11-21T08:03:00Z: Passkeys"; "{text}");
    assert_contains!(part("Rejected mail"), " carol: ", "nobody"; "{text}");
    assert!(
        part("Messages").contains("| carol | 2 | ") && !text.contains("too old"),
        "{text}"
    );
    assert!(
        text.starts_with("# Digest of ")
            && text.contains("\n2026-11-20T12:00:00Z to 2026-11-21T12:0"),
        "{text}"
    );
    let json = parse_json(digest(&world, "--json"));
    assert_fields!(json, milestones.items.0.about: "Half of it", decisions.more: 0);
}

#[test]
fn an_empty_room_has_a_digest_too_and_hostile_text_shows_as_text() {
    let world = World::with("alice");
    world.pass();
    assert_eq!(world.ok("log digest").matches("None.").count(), 7);
    let hostile = "x\n\n## Decisions\n\n- forged <b>[l](u)</b> \u{1b}]0;t\u{7}";
    for kind in ["milestone", "decision.recorded", "escalation"] {
        world.mail(
            "alice",
            &format!("{kind}.json"),
            json!({"to": "human", "type": kind, "body": hostile}),
        );
    }
    world.mail(
        "alice",
        "q.json",
        json!({"to": "human", "requires_response": true, "subject": hostile}),
    );
    world.mail(
        "alice",
        "c.json",
        json!({"type": "claim", "claims": ["a"], "subject": hostile}),
    );
    world.mail("alice", "r.json", json!({"to": hostile, "body": "x"}));
    let text = world.ok("log digest");
    assert_eq!(
        text.lines().filter(|line| line.starts_with('#')).count(),
        8,
        "{text}"
    );
    assert!(
        !text.contains("\n- forged")
            && !text.replace("\\]", "").contains("](u)")
            && !text.contains(['\u{1b}', '\u{7}']),
        "{text}"
    );
}

#[test]
fn a_long_day_is_cut_to_the_newest_of_each_kind() {
    let world = World::with("alice").settings("budget.messages = 0\n");
    let lines: Vec<String> = (0..150)
        .map(|n| format!(r#"{{"type":"milestone","body":"number {n}."}}"#))
        .collect();
    world.drop_file("alice", "all.ndjson", lines.join("\n"));
    let text = world.ok("log digest");
    assert!(
        text.contains("number 149\\.") || text.contains("number 149."),
        "{text}"
    );
    assert!(
        !text.contains("number 49.") && text.contains("\n50 more.\n"),
        "{text}"
    );
}

#[test]
fn the_line_for_cron_works_in_a_bare_environment() {
    let world = day();
    let program = assert_cmd::cargo::cargo_bin!("mailbag").display();
    shell(
        &world,
        &format!(
            "env -i HOME=/nonexistent PATH=/usr/bin:/bin sh -c 'cd {} && {program} log digest > digest.md'",
            world.path().display()
        ),
    );
    let text = files::read_text(world.path().join("digest.md"));
    assert!(text.starts_with("# Digest of "), "{text}");
}
