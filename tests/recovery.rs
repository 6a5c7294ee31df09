//! The limits of recovery: it never cuts a committed batch off, and an error that reports no
//! change has changed nothing.

use crate::files;
use crate::world::World;
use std::fs;

/// A room with three messages, routed one after the other.
fn used() -> World {
    let world = World::alice_and_bob();
    for n in 0..3 {
        world.send("alice", "bob", &format!("number {n}"));
    }
    world
}

/// Zeros in place of the last line, as if the disk had never written it.
fn lose_the_end(world: &World) {
    let path = world.room("log/00000001.ndjson");
    let mut bytes = files::read(&path);
    let text = String::from_utf8(bytes.clone()).expect("text");
    let last = text
        .rmatch_indices("\"count\":")
        .next()
        .map(|(at, _)| at)
        .expect("a batch");
    let begin = text[..last].rfind('\n').map_or(0, |at| at + 1);
    bytes[begin..].fill(0);
    files::write(path, bytes);
    let _ = fs::remove_file(world.room("spool/snapshot"));
}

/// Runs a command as the person does.
fn as_person(command: &mut assert_cmd::Command) {
    command.env("MAILBAG_TEST_ANCESTRY", "person");
}

/// The room's files, except for the router's status files.
fn all_that_counts(world: &World) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = world.everything();
    all.retain(|(path, _)| !path.ends_with("spool/lock") && !path.is_dir());
    all
}

#[test]
fn an_end_of_the_log_that_a_routed_original_follows_from_is_not_cut_off() {
    // P89
    let world = used();
    lose_the_end(&world);
    let before = all_that_counts(&world);
    assert_contains!(
        world.fails(1, "run --once"),
        "sent/alice/",
        "committed",
        "nothing was changed"
    );
    assert_eq!(all_that_counts(&world), before);
    // The tip is evidence as well.
    files::remove_dir(world.room("sent/alice"));
    files::remove_dir(world.room("inbox/bob"));
    assert_contains!(
        world.fails(1, "run --once"),
        "spool/tip",
        "mailbag log accept-gap"
    );
    // A person can give the batch up.
    world.run_with("log accept-gap --yes", as_person).ok();
    world.pass();
    assert!(world.inbox("bob").is_empty());
    let kept = fs::read_dir(world.room("log")).expect("a directory");
    let kept = kept.filter_map(Result::ok).find(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with("given-up-00000001-")
    });
    let kept = files::read(kept.expect("the damaged end is kept").path());
    assert!(!kept.is_empty() && kept.iter().all(|byte| *byte == 0));
}

#[test]
fn an_end_of_the_log_that_nothing_follows_from_is_cut_off() {
    let world = used();
    world.drop_file("alice", "x.json", r#"{"to":"bob","body":"last"}"#);
    let log = world.room("log/00000001.ndjson");
    let mut bytes = files::read(&log);
    bytes.extend([0; 500]);
    files::write(&log, bytes);
    world.pass();
    assert_eq!(
        world.bodies("bob"),
        ["number 0", "number 1", "number 2", "last"]
    );
    world.verify();
}

/// The original of a dropped file, in `sent/` or `rejected/`, and the claim that its record names.
fn retired(world: &World, name: &str) -> (Vec<u8>, String) {
    let places = ["sent/alice", "rejected/alice"].into_iter();
    let mut all = places.flat_map(|place| {
        let entries = fs::read_dir(world.room(place)).expect("a directory");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names.map(move |name| format!("{place}/{}", name.display()))
    });
    let kept = all.find(|kept| kept.ends_with(name)).expect("an original");
    let log = world.text("log/00000001.ndjson");
    let ending = format!("~alice~{name}\"");
    let end = log.find(&ending).expect("a record names the claim") + ending.len() - 1;
    let begin = log[..end].rfind('"').expect("a string") + 1;
    (files::read(world.room(&kept)), log[begin..end].to_owned())
}

#[test]
fn a_picked_up_file_that_a_record_already_names_is_set_aside_and_reported() {
    // P601
    let world = World::alice_and_bob();
    let drops = [
        ("one.json", r#"{"to":"bob","body":"one"}"#),
        (
            "many.ndjson",
            "{\"to\":\"bob\",\"body\":\"two\"}\n{\"to\":\"bob\",\"body\":\"three\"}\n",
        ),
        ("bad.json", r#"{"to":"bob","body":7}"#),
    ];
    for (name, text) in drops {
        world.drop_file("alice", name, text);
    }
    world.pass();
    let originals = drops.map(|(name, _)| retired(&world, name));
    // The first time the records are still open, and the second time they are settled. While it is open, each further line
    // of a file moves the file that was put back to `sent/` itself.
    for round in 0..2 {
        let put_back = originals.iter();
        let put_back = put_back.filter(|(_, claim)| round > 0 || !claim.ends_with(".ndjson"));
        for (bytes, claim) in put_back.clone() {
            world.place(&format!("spool/claim/{claim}"), bytes);
        }
        for _ in 0..3 {
            world.pass();
        }
        let mut bodies = world.bodies("bob");
        bodies.sort();
        assert_eq!(bodies, ["one", "three", "two"], "{round}");
        for (bytes, claim) in put_back {
            let aside = world.room(&format!("spool/aside/{claim}"));
            assert_eq!(files::read(&aside), *bytes, "{claim}");
            files::remove_file(aside);
        }
        world.send("alice", "human", "and on");
    }
    let told = world.bodies("human").concat();
    assert_eq!(told.matches("was made from it before").count(), 3, "{told}");
    world.verify();
}

#[test]
fn a_room_that_is_refused_keeps_its_damaged_log_where_it_stands() {
    let world = used();
    files::write(world.room("log/00000001.ndjson"), "{\"seq\":1");
    let _ = fs::remove_file(world.room("spool/snapshot"));
    let before = all_that_counts(&world);
    assert_contains!(world.fails(1, "run --once"), "nothing was changed");
    assert_eq!(all_that_counts(&world), before);
}

/// Checks that verifying fails and names both ends.
#[track_caller]
fn is_rolled_back(world: &World, args: &[&str], names: &str) {
    let said = world.fails(65, &[&["log", "verify"], args].concat());
    assert!(
        said.contains("the log ends at record") && said.contains(names),
        "{said}"
    );
}

#[test]
fn a_log_that_was_emptied_removed_or_rolled_back_is_not_whole() {
    // P90
    let log = |world: &World| world.room("log/00000001.ndjson");
    let world = used();
    world.verify();
    let whole = files::read_text(log(&world));
    files::write(log(&world), "");
    is_rolled_back(&world, &[], "sent/alice/");
    files::remove_dir(world.room("log"));
    is_rolled_back(&world, &[], "sent/alice/");
    // The first batch alone is a valid log, so only the effects of later batches reveal the loss.
    files::make_dir(world.room("log"));
    let second = whole
        .match_indices("\"count\":")
        .nth(1)
        .map(|(at, _)| at)
        .expect("two batches");
    let rolled = &whole[..whole[..second].rfind('\n').expect("a line") + 1];
    files::write(log(&world), rolled);
    is_rolled_back(&world, &[], "sent/alice/");
    let json = world.run("log verify --json");
    assert_contains!(json.err, "\"rolled_back\""; "{json:?}");
    files::write(log(&world), &whole);
    world.verify();
}

#[test]
fn a_head_that_was_kept_tells_a_log_that_was_replaced_as_a_whole() {
    // P90
    let world = used();
    let early = world.ok("log head");
    let words: Vec<&str> = early.split_whitespace().collect();
    let json = world.json("log head");
    assert_eq!(
        (words[0], words[1]),
        (
            &*json["seq"].to_string(),
            json["hash"].as_str().expect("a hash")
        )
    );
    assert_eq!(words[2], world.text("spool/room").trim());
    world.send("alice", "bob", "more");
    let head = world.ok("log head");
    for kept in [&early, &head, &json.to_string()] {
        world.ok(&["log", "verify", "--head", kept]);
    }
    let path = world.room("log/00000001.ndjson");
    let text = files::read_text(&path);
    let seq: usize = words[0].parse().expect("a number");
    let rolled: String = text.split_inclusive('\n').take(seq).collect();
    files::write(&path, rolled);
    for evidence in ["sent", "inbox", "spool/tip"] {
        let path = world.room(evidence);
        fs::remove_dir_all(&path)
            .or_else(|_| fs::remove_file(&path))
            .expect("removed");
    }
    world.verify();
    world.ok(&["log", "verify", "--head", &early]);
    is_rolled_back(&world, &["--head", &head], "the given head");
    let other = format!("{} {} {}", words[0], "0".repeat(64), words[2]);
    assert_contains!(
        world.fails(65, &["log", "verify", "--head", &other]),
        "differs from the hash"
    );
    assert_contains!(
        used().fails(65, &["log", "verify", "--head", &head]),
        "the head is of room"
    );
    assert_contains!(world.fails(65, "log verify --head x"), "mailbag log head");
}

#[test]
fn a_command_that_makes_the_pass_reads_the_end_of_the_log_alone() {
    let world = World::alice_and_bob();
    for n in 0..100 {
        world.drop_file(
            "alice",
            &format!("{n}.json"),
            r#"{"to":"bob","body":"hello"}"#,
        );
    }
    world.pass();
    let snapshot = world.room("spool/snapshot");
    assert!(!snapshot.exists());
    let written = || {
        fs::metadata(&snapshot)
            .expect("a snapshot")
            .modified()
            .expect("a time")
    };
    world.send("alice", "bob", "the first that reads all of it");
    let first = written();
    world.send("alice", "bob", "the next one reads what came since");
    assert_eq!(written(), first);
    world.verify();
}
