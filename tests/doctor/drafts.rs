//! Drafts of killed commands in outboxes.

use super::{codes, examined, finding, says};
use crate::sim::CallName;
use crate::world::World;
use mailbag::commands::send::{self, MessageDraft};
use mailbag::query::identity::{AgentIdentity, IdentitySource};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// A draft of this age.
fn draft(world: &World, name: &str, minutes: u64) -> File {
    let path = world.drop_file("alice", name, r#"{"to": "bo"#);
    let file = File::options().write(true).open(path).expect("the draft");
    file.set_modified(SystemTime::now() - Duration::from_secs(minutes * 60))
        .expect("an age");
    file
}

#[test]
fn an_old_unlocked_draft_is_reported_and_removed() {
    let world = World::with("alice");
    draft(&world, ".old.json.4711.tmp", 30);
    draft(&world, ".young.json.4711.tmp", 5);
    let held = draft(&world, ".held.json.4711.tmp", 30);
    held.lock().expect("a lock");
    draft(&world, ".alices-own.json", 30);
    let report = examined(&world, "");
    says(
        &finding(&report, "draft"),
        "note",
        &["outbox/alice has 1 draft", "mailbag doctor --fix"],
    );
    assert_eq!(report["healthy"], true);
    let after = examined(&world, "--fix");
    assert!(!codes(&after).contains(&"draft".to_owned()), "{after:#}");
    let left = |name: &str| world.room("outbox/alice").join(name).exists();
    assert!(!left(".old.json.4711.tmp"));
    assert!(
        left(".young.json.4711.tmp") && left(".held.json.4711.tmp") && left(".alices-own.json")
    );
}

#[test]
fn a_killed_send_leaves_such_a_draft() {
    let world = World::with("alice");
    // The first call that changes an outbox makes the draft, and is the last call that is made.
    let mut is_killed = false;
    let hook = move |call, paths: &[PathBuf]| {
        if is_killed {
            return Err(io::Error::other("killed"));
        }
        is_killed = call == CallName::Make && paths[0].to_string_lossy().contains("outbox/alice");
        Ok(())
    };
    let draft = MessageDraft {
        to: vec!["human".into()],
        body: Some("hello".into()),
        ..MessageDraft::default()
    };
    let alice = AgentIdentity {
        name: "alice".into(),
        source: IdentitySource::Claimed("--as"),
    };
    let sent = world.watched(hook, |room| send::send(room, &alice, draft));
    assert!(sent.is_err(), "{sent:?}");
    let names: Vec<_> = std::fs::read_dir(world.room("outbox/alice"))
        .expect("an outbox")
        .flatten()
        .collect();
    let [left] = &names[..] else {
        panic!("{names:?}")
    };
    let file = File::options()
        .write(true)
        .open(left.path())
        .expect("the draft");
    file.set_modified(SystemTime::now() - Duration::from_secs(1800))
        .expect("an age");
    says(
        &finding(&examined(&world, ""), "draft"),
        "note",
        &["outbox/alice has 1 draft"],
    );
}
