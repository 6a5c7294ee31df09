//! The packed files, the kept files, and the report of the command.

use super::packs::{all, files};
use super::{LATER, archive, archive_at};
use crate::files;
use crate::world::{World, lossy, parse_json, skip};
use serde_json::json;
use std::fs;

/// alice wrote twice to bob, who read one message, and once to a topic without subscribers.
fn room() -> World {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "read before");
    world.ok("read --as bob");
    world.send("alice", "bob", "unread");
    world.route("alice", "wrong.json", r#"{"to":"bbo","body":"never"}"#);
    world
}

/// Every file of a directory of the room: its path and content.
fn contents(world: &World, below: &str) -> Vec<(Vec<u8>, Vec<Vec<u8>>)> {
    let read = |name: String| {
        let path = format!("{below}/{name}");
        (
            path.clone().into_bytes(),
            vec![files::read(world.room(&path))],
        )
    };
    world.names(below).into_iter().map(read).collect()
}

#[test]
fn old_files_are_packed_and_unpack_byte_for_byte() {
    // P67, P69, P70
    let world = room();
    let kinds = [
        ("sent", "sent/alice"),
        ("seen", "inbox/bob/seen"),
        ("rejected", "rejected/alice"),
    ];
    let before = kinds.map(|(_, below)| contents(&world, below));
    assert_eq!(before.each_ref().map(Vec::len), [2, 1, 2]);
    let report = archive(&world);
    for ((kind, below), before) in kinds.into_iter().zip(before) {
        assert_eq!(
            files(&world.room(""), kind).into_iter().collect::<Vec<_>>(),
            before
        );
        assert!(world.names(below).is_empty(), "{below}");
    }
    assert_fields!(report["packed"][0], kind: "mail", files: 5);
    let packs = report["packed"][0]["packs"].as_array().expect("a list");
    assert_eq!(packs.len(), 1, "one tar for the run");
    let pack = packs[0].as_str().expect("a path");
    assert_eq!(
        report["packed"][0]["packed_bytes"],
        fs::metadata(world.room(pack)).expect("it is there").len()
    );
    assert_eq!(world.bodies("bob"), ["unread"]);
    assert_eq!(archive(&world)["packed"], json!([]));
}

#[test]
fn younger_files_are_not_packed() {
    let world = room();
    let before = world.everything();
    let said = world.ok("archive --older-than 7d");
    assert_eq!(said, "nothing to archive older than 7d\n");
    let after: Vec<_> = world
        .everything()
        .into_iter()
        .filter(|(path, _)| !path.ends_with("archive.lock"))
        .collect();
    assert_eq!(after, before);
    let ran = archive_at(&world, LATER, "--older-than 7d");
    assert!(
        ran.code == 0 && ran.out.contains("packed mail: 5 files, "),
        "{ran:?}"
    );
}

#[test]
fn unread_mail_taken_mail_and_what_has_another_name_stays() {
    // P68
    let world = room();
    let stays = [
        "inbox/bob/taken/20260101T000000.000000Z-alice-m.json",
        "inbox/bob/20260101T000000.000000Z-alice-n.json",
        "inbox/bob/seen/notes.txt",
        "inbox/bob/seen/.hidden.json",
        "outbox/alice/.draft.json",
        "context/plan.json",
        "archive/notes.json",
    ];
    stays
        .iter()
        .for_each(|below| drop(world.write(below, "{}")));
    archive_at(&world, LATER, "--older-than 1m").ok();
    stays
        .iter()
        .for_each(|below| assert!(world.room(below).exists(), "{below}"));
    assert_eq!(world.inbox("bob").len(), 2);
}

#[test]
fn a_dry_run_says_the_same_and_changes_nothing() {
    let world = room();
    let before = world.everything();
    let would = world.ok("archive --older-than 0s --dry-run");
    assert_eq!(world.everything(), before);
    let did = world.ok("archive --older-than 0s");
    let shown = |text: &str, verb: &str| -> Vec<String> {
        text.lines()
            .map(|line| {
                line.replace(verb, "")
                    .split(" to ")
                    .next()
                    .unwrap_or_default()
                    .into()
            })
            .collect()
    };
    // No segment is complete here.
    assert_eq!(shown(&would, "would pack "), shown(&did, "packed "));
    assert_eq!(did.lines().count(), 1, "{did}");
}

#[test]
fn quiet_prints_nothing_and_a_wrong_age_is_an_error() {
    let world = room();
    assert_contains!(world.fails(2, "archive"), "--older-than");
    assert_contains!(world.fails(2, "archive --older-than week"), "90s, 2h, 7d");
    let ran = world.run("archive --older-than 0s --quiet");
    assert_eq!((ran.code, &*ran.out, &*ran.err), (0, "", ""));
    assert!(!all(&world.room("")).is_empty());
}

#[test]
fn a_second_archiver_is_rejected_while_one_runs() {
    // P72
    let world = room();
    let lock = fs::File::create(world.room("spool/archive.lock")).expect("a lock");
    lock.lock().expect("nobody holds it");
    assert_contains!(
        world.fails(75, "archive --older-than 0s"),
        "another `mailbag archive` is running"
    );
    drop(lock);
    assert_eq!(archive(&world)["packed"].as_array().map(Vec::len), Some(1));
}

#[test]
fn many_files_are_split_into_several_packs_without_loss() {
    let world = World::with("bob");
    let seen = world.room("inbox/bob/seen");
    for n in 0..250 {
        files::write(
            seen.join(format!("20260301T000000.{n:06}Z-alice-m.json")),
            format!("{{\"n\":{n}}}"),
        );
    }
    let mut program = world.program("archive --older-than 0s --json");
    let output = program
        .env("MAILBAG_TEST_PACK_FILES", "100")
        .output()
        .expect("it runs");
    let report = parse_json(&output.stdout);
    assert_eq!(report["packed"][0]["files"], 250);
    assert_eq!(
        report["packed"][0]["packs"].as_array().map(Vec::len),
        Some(3)
    );
    assert_eq!(files(&world.room(""), "seen").len(), 250);
    assert!(world.names("inbox/bob/seen").is_empty());
}

#[test]
fn the_commands_of_the_docs_give_files_back() {
    let world = room();
    let mut files = contents(&world, "sent/alice");
    let (path, content) = files.remove(0);
    let name = String::from_utf8(path).expect("a name of the router");
    archive(&world);
    let pack = all(&world.room(""))
        .into_iter()
        .find(|path| path.to_string_lossy().ends_with(".tar.zst"))
        .expect("a pack");
    let docs = files::read_text("docs/archive.md");
    let commands = |after: &str| -> String {
        let (_, section) = docs.split_once(after).expect("the section");
        let lines = section.lines().skip_while(|line| !line.starts_with("    "));
        lines
            .take_while(|line| line.starts_with("    "))
            .map(|line| format!("{}\n", line.trim()))
            .collect()
    };
    let run = |script: &str| {
        let script = script
            .replace("sent/alice/7~x.json", &name)
            .replace("PACK", &pack.to_string_lossy());
        let output = std::process::Command::new("sh")
            .args(["-ec", &script])
            .current_dir(world.path())
            .output()
            .expect("sh");
        assert!(output.status.success(), "{script}: {output:?}");
        lossy(&output.stdout)
    };
    let has = |tool| std::process::Command::new(tool).arg("--version").output();
    if ["tar", "zstd"].iter().any(|tool| has(tool).is_err()) {
        skip("tar or zstd is not installed");
        return;
    }
    let shown = run(&commands("How do I get a file back?"));
    let original = lossy(&content[0]);
    assert!(shown.contains(&*original), "{shown}");
    assert_eq!(files::read(world.room(&name)), content[0]);
}
