//! Agents that run as users of their own. The router belongs to root, and they can see neither it nor the log.

use crate::files;
use crate::town::{Town, copy_program, is_root};
use crate::world::{Ran, Words, parse_json};
use mailbag::base::limits::WRITER_WAIT;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;
use std::time::Instant;

const AGENTS: [(&str, u32); 2] = [("alice", 65_501), ("bob", 65_502)];

/// A room of root. Each agent has a user. Without root it is `None`, and the test is skipped.
fn room_of_root() -> Option<Town> {
    if !is_root("agents with users of their own") {
        return None;
    }
    let town = Town::with(&AGENTS.map(|(id, uid)| json!({"id": id, "uid": uid})));
    fs::set_permissions(town.path(), fs::Permissions::from_mode(0o755)).expect("its own directory");
    // The program is run from a place that these users can reach.
    copy_program(town.bare("").get_program(), &town.path().join("program"));
    town.pass();
    for (agent, uid) in AGENTS {
        let home = town.path().join(agent);
        files::make_dir(&home);
        chown(&home, Some(uid), Some(uid)).expect("root may");
        command_of(&town, agent, "trust --yes").ok();
    }
    Some(town)
}

/// The result of a command of an agent, as the agent's user.
fn command_of(town: &Town, agent: &str, words: &(impl Words + ?Sized)) -> Ran {
    let words = words.words();
    let uid = AGENTS.iter().find(|(id, _)| *id == agent).expect("one").1;
    let output = Command::new("setpriv")
        .args([format!("--reuid={uid}"), format!("--regid={uid}")])
        .arg("--clear-groups")
        .arg(town.path().join("program"))
        .args(&words)
        .current_dir(town.path())
        .env("MAILBAG_TEST_ANCESTRY", "person")
        .env("MAILBAG_AGENT", agent)
        .env("MAILBAG_TRUST_DIR", town.path().join(agent))
        .output()
        .expect("setpriv");
    Ran::new(words, &output)
}

/// As [`command_of`], for a command that succeeds without a warning.
#[track_caller]
fn said_to(town: &Town, agent: &str, words: &(impl Words + ?Sized)) -> String {
    let ran = command_of(town, agent, words);
    assert!(
        ran.code == 0 && !ran.err.contains("warning"),
        "{agent}: {ran:?}"
    );
    ran.out
}

#[test]
fn agents_with_users_of_their_own_see_what_the_command_before_wrote() {
    // P590
    let Some(mut town) = room_of_root() else {
        return;
    };
    town.start(&[]);
    for n in 0..super::TRIES {
        let body = format!("wordy {n}");
        let sent = said_to(&town, "alice", &["send", "bob", &body]);
        assert!(
            sent.starts_with("sent ") && sent.contains(" to bob"),
            "{sent}"
        );
        assert!(said_to(&town, "bob", "inbox").contains(&body));
        assert!(said_to(&town, "bob", "read").contains(&body));
        assert!(!said_to(&town, "bob", "inbox").contains(&body));

        let answer = format!("answer {n}");
        let sent = said_to(&town, "bob", &["send", "alice", &answer, "--json"]);
        let sent = parse_json(&sent);
        assert_fields!(sent, pending: Value::Null, seq: Value::Null);
        assert!(said_to(&town, "alice", "wait --timeout 1s").contains(&answer));
        assert!(said_to(&town, "alice", "read --all").contains(&answer));
    }
}

#[test]
fn an_agent_with_a_user_of_its_own_sees_a_file_that_was_dropped_before() {
    // P590
    let Some(mut town) = room_of_root() else {
        return;
    };
    town.start(&[]);
    for n in 0..super::TRIES {
        let draft = town.mail(
            "alice",
            ".draft",
            json!({"to": "bob", "body": format!("dropped {n}")}),
        );
        chown(&draft, Some(AGENTS[0].1), None).expect("root may");
        files::rename(&draft, draft.with_file_name(format!("{n}.json")));
        assert_contains!(said_to(&town, "bob", "inbox"), &format!("dropped {n}"));
    }
}

#[test]
fn an_agent_with_a_user_of_its_own_does_not_wait_for_a_router_that_does_not_answer() {
    // P590
    let Some(mut town) = room_of_root() else {
        return;
    };
    let is_pending = |town: &Town, body: &str| {
        let begun = Instant::now();
        let sent = said_to(town, "alice", &["send", "bob", body]);
        assert!(
            sent.starts_with("pending to bob") && sent.contains("no router answers"),
            "{sent}"
        );
        assert!(begun.elapsed() < WRITER_WAIT, "{:?}", begun.elapsed());
    };
    is_pending(&town, "before");
    town.start(&[]);
    town.wait_for_bodies("bob", &["before"]);
    town.router().signal(Signal::STOP);
    is_pending(&town, "later");
    town.router().signal(Signal::CONT);
    town.wait_for_bodies("bob", &["before", "later"]);
    let left = || {
        fs::read_dir(town.room("outbox/alice"))
            .expect("an outbox")
            .count()
    };
    town.wait("no request stays", || left() == 0);
}
