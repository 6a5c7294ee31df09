//! The log across the archive: whole segments go, the chain stays, and every reader reads on.

use super::packs::{self, all};
use super::{archive, letter, log, room_with_segments, route, with_segments};
use crate::files;
use crate::world::{World, lossy};
use std::fs;
use std::path::PathBuf;

/// The archived segments' file names.
fn archived(world: &World) -> Vec<String> {
    let names = all(&world.room("")).into_iter();
    let names = names.filter_map(|path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
    });
    names.filter(|name| name.starts_with("log-")).collect()
}

fn segment_in_archive(world: &World, number: u32) -> PathBuf {
    let name = format!("log-{number:08}.ndjson.zst");
    all(&world.room(""))
        .into_iter()
        .find(|path| path.ends_with(&name))
        .expect("it is archived")
}

/// The segments in `log/`, without the index.
fn segments(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.room("log")).expect("a log").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "ndjson"));
    paths
}

#[test]
fn the_chain_and_every_reader_go_on_across_the_archive() {
    // P68, P71
    let world = room_with_segments();
    let (before, bytes) = (log(&world), packs::log(&world.room("")));
    let live = segments(&world).len();
    archive(&world);
    let verified = world.json("log verify");
    assert_fields!(verified, segments: live, archived: live - 1);
    assert_contains!(
        world.verify(),
        &format!("{live} segments ({} archived)", live - 1)
    );
    assert_eq!(
        (archived(&world).len(), segments(&world).len()),
        (live - 1, 1)
    );
    assert_eq!((log(&world), packs::log(&world.room(""))), (before, bytes));
    // A reference is sought in it, and the router starts from it without a snapshot.
    world.ok("send bob 'as I said' --as alice --reply-to m-0");
    assert_eq!(world.json("status")["counts"]["accepted"], 9);
    (8..12).for_each(|n| letter(&world, n));
    archive(&world);
    world.verify();
    assert_eq!(world.inbox("bob").len(), 13);
}

#[test]
fn a_segment_with_an_open_record_stays_until_it_is_settled() {
    // P68
    let world = World::with("alice bob carol");
    letter(&world, 0);
    world.drop_file("alice", "x.json", r#"{"to":"carol","body":"waits"}"#);
    files::rename(world.room("inbox/carol"), world.room("elsewhere"));
    world.write("inbox/carol", "in the way");
    route(&world);
    (1..8).for_each(|n| letter(&world, n));
    let ran = world.run("archive --older-than 0s");
    assert!(
        ran.code == 0 && ran.err.contains("is not settled"),
        "{ran:?}"
    );
    let mut open = segments(&world).into_iter();
    assert!(
        open.any(|path| files::read_text(path).contains("waits")),
        "the segment is in log/"
    );
    assert!(!archived(&world).is_empty(), "others are not");
    let _ = fs::remove_file(world.room("spool/snapshot"));
    world.verify();
    files::remove_file(world.room("inbox/carol"));
    route(&world);
    assert_eq!(world.bodies("carol"), ["waits"]);
    // A message's record is settled by the next one's, so the newest segment needs two of them.
    letter(&world, 8);
    letter(&world, 9);
    archive(&world);
    assert_eq!(segments(&world).len(), 1);
    world.verify();
}

#[test]
fn a_missing_or_damaged_part_is_an_error_that_names_the_file() {
    // P71
    let world = room_with_segments();
    archive(&world);
    let part = segment_in_archive(&world, 2);
    let whole = files::read(&part);
    let complaint = |why: &str| {
        let ran = world.run("log verify");
        assert!(
            ran.code != 0 && ran.err.contains("00000002.ndjson"),
            "{why}: {ran:?}"
        );
        // With a snapshot the archive is not needed.
        let routed = world.run("run --once");
        assert_eq!(routed.code, 0, "{why}: {routed:?}");
        files::rename(world.room("spool/snapshot"), world.room("spool/aside"));
        let routed = world.run("run --once");
        files::rename(world.room("spool/aside"), world.room("spool/snapshot"));
        assert!(
            routed.code != 0 && routed.err.contains("00000002.ndjson"),
            "{why}: {routed:?}"
        );
    };
    for (why, bytes) in [
        (
            "one bit",
            whole
                .iter()
                .enumerate()
                .map(|(n, b)| if n == whole.len() / 2 { b ^ 4 } else { *b })
                .collect(),
        ),
        ("cut short", whole[..whole.len() - 3].to_vec()),
        ("empty", Vec::new()),
        ("no pack", b"{}\n".to_vec()),
        (
            "another",
            zstd::encode_all(&b"{\"seq\":3}\n"[..], 1).expect("packed"),
        ),
    ] {
        files::write(&part, bytes);
        complaint(why);
    }
    files::remove_file(&part);
    complaint("missing");
    files::write(&part, whole);
    world.verify();
    route(&world);
}

#[test]
fn a_room_without_its_archive_continues_from_its_snapshot() {
    let world = World::alice_and_bob();
    let large = "x".repeat(700_000);
    for n in 0..4 {
        world.drop_file(
            "alice",
            "x.json",
            format!(r#"{{"to":"bob","body":"{n} {large}"}}"#),
        );
        route(&world);
    }
    archive(&world);
    files::rename(world.room("archive"), world.path().join("away"));
    assert!(world.room("spool/snapshot").exists());
    letter(&world, 0);
    assert_eq!(world.inbox("bob").len(), 5);
    assert!(log(&world).lines().count() > 1, "what is there is shown");
    assert_contains!(
        world.fails(1, "log verify"),
        "log/00000001.ndjson: is missing"
    );
    // Without a snapshot the end of the log is unknown, and the router does not guess.
    files::remove_file(world.room("spool/snapshot"));
    world.drop_file("alice", "y.json", r#"{"to":"bob","body":"later"}"#);
    assert_contains!(
        world.fails(1, "run --once"),
        "restore it, or the part of archive/ that contains it"
    );
    files::rename(world.path().join("away"), world.room("archive"));
    route(&world);
    assert_eq!(world.inbox("bob").len(), 6);
    world.verify();
}

#[test]
fn an_archive_without_the_rest_of_its_log_is_not_routed() {
    let world = room_with_segments();
    archive(&world);
    files::remove_dir(world.room("log"));
    files::make_dir(world.room("log"));
    assert_contains!(world.fails(1, "run --once"), "the log's newest segment");
    assert!(
        fs::read_dir(world.room("log"))
            .expect("a log")
            .next()
            .is_none()
    );
}

#[test]
fn ids_are_forgotten_with_the_log_that_holds_them() {
    // P71
    let world = room_with_segments();
    letter(&world, 0);
    assert_eq!(world.inbox("bob").len(), 8, "it is known");
    archive(&world);
    letter(&world, 0);
    assert_eq!(world.inbox("bob").len(), 8, "the archive has it");
    files::remove_file(world.room("log/index"));
    letter(&world, 0);
    assert_eq!(world.inbox("bob").len(), 8, "the index is made again");
    files::rename(world.room("archive"), world.path().join("away"));
    letter(&world, 0);
    assert_eq!(world.inbox("bob").len(), 9, "it is new again");
    letter(&world, 0);
    assert_eq!(world.inbox("bob").len(), 9, "and known again");
    files::rename(world.path().join("away"), world.room("archive"));
    world.verify();
}

#[test]
fn a_duplicate_segment_is_removed_only_if_it_equals_the_archived_one() {
    let world = room_with_segments();
    let live = files::read(world.room("log/00000001.ndjson"));
    archive(&world);
    // As a run leaves it that is killed between the rename and the removal.
    files::write(world.room("log/00000001.ndjson"), &live);
    world.verify();
    archive(&world);
    assert!(!world.room("log/00000001.ndjson").exists());
    // An edited segment: neither copy is changed.
    let edited = lossy(&live).replace("alice", "alicf");
    files::write(world.room("log/00000001.ndjson"), &edited);
    let _ = fs::remove_file(world.room("spool/snapshot"));
    let ran = with_segments(&world, 1500, "archive --older-than 0s")
        .output()
        .expect("it runs");
    let complaint = lossy(&ran.stderr);
    assert!(
        !ran.status.success() && complaint.contains("00000001.ndjson"),
        "{complaint}"
    );
    assert_eq!(world.text("log/00000001.ndjson"), edited);
    assert_eq!(packs::unpacked(&segment_in_archive(&world, 1)), live);
}

#[test]
fn archiving_all_messages_of_a_conversation_does_not_change_the_conversation() {
    let world = room_with_segments();
    world.drop_file(
        "alice",
        "x.json",
        r#"{"to":"bob","channel":"old","body":"said long ago"}"#,
    );
    (8..12).for_each(|n| letter(&world, n));
    let conversations =
        ["main", "old"].map(|name| world.room(&format!("channels/{name}/messages.ndjson")));
    let before = conversations.each_ref().map(|path| files::read_text(path));
    archive(&world);
    world.pass();
    assert_eq!(
        conversations.each_ref().map(|path| files::read_text(path)),
        before
    );
    assert!(!world.room("rejected/alice").exists() && !world.room("rejected/human").exists());
    // A removed conversation is made again, including archived messages, and another program's line
    // is still noticed.
    files::remove_file(&conversations[1]);
    world.pass();
    assert_eq!(files::read_text(&conversations[1]), before[1]);
    files::write(&conversations[1], before[1].clone() + &before[1]);
    world.pass();
    assert_eq!(files::read_text(&conversations[1]), before[1]);
}
