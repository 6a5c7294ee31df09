//! A conversation that was deleted, cut or torn is made again: no line lost, none twice.

use super::{bytes, said};
use crate::files;
use crate::world::{World, skip};
use std::fs;
use std::io::Write;
use std::process::Command;

const FILE: &str = "channels/main/messages.ndjson";

/// A room where this much was said, in two channels.
fn talked(messages: usize) -> World {
    let world = World::alice_and_bob();
    for n in 0..messages {
        let channel = if n % 3 == 2 { "other" } else { "main" };
        let text = format!(
            r#"{{"to":"bob","channel":"{channel}","body":"{n} {}"}}"#,
            "x".repeat(n * 37 % 500)
        );
        world.drop_file("alice", &format!("{n:04}.json"), text);
    }
    world.pass();
    world
}

#[test]
fn the_next_pass_makes_a_deleted_conversation_again() {
    // P53
    let world = talked(30);
    let (main, other) = (bytes(&world, "main"), bytes(&world, "other"));
    files::remove_dir(world.room("channels"));
    world.pass();
    assert_eq!(
        (bytes(&world, "main"), bytes(&world, "other")),
        (main, other)
    );
}

#[test]
fn a_running_router_makes_a_deleted_conversation_again_with_the_next_message() {
    // P53
    let world = talked(12);
    let before = bytes(&world, "main");
    let _router = world.router("");
    files::remove_dir(world.room("channels/main"));
    world.send("alice", "bob", "after");
    world.wait("all of it and the new line", || {
        fs::read(world.room(FILE))
            .is_ok_and(|now| now.starts_with(&before) && now.len() > before.len())
    });
    assert_eq!(said(&world, "main").len(), 9);
}

#[test]
fn a_conversation_truncated_at_any_byte_is_completed() {
    // P53: a kill between the commit and the line, or in the middle of the line, has no other
    // effect.
    let world = talked(9);
    let whole = bytes(&world, "main");
    let step = (whole.len() / 60).max(1);
    for cut in (0..whole.len()).step_by(step).chain([whole.len() - 1]) {
        files::write(world.room(FILE), &whole[..cut]);
        world.ok("inbox bob");
        assert!(
            bytes(&world, "main") == whole,
            "cut at {cut} of {}",
            whole.len()
        );
    }
    assert!(
        world.inbox("human").is_empty() && !world.room("rejected/human").exists(),
        "a torn line is nobody's"
    );
}

#[test]
fn blanks_that_a_power_cut_left_are_no_lines() {
    let world = talked(9);
    let whole = bytes(&world, "main");
    for (kept, blanks) in [(whole.len(), 4096), (whole.len() / 2, 700), (0, 5000)] {
        let torn = [&whole[..kept], &vec![0; blanks]].concat();
        files::write(world.room(FILE), torn);
        world.pass();
        assert!(bytes(&world, "main") == whole, "kept {kept}");
    }
    assert!(world.inbox("human").is_empty());
}

#[test]
fn a_hole_that_a_power_cut_left_far_back_is_filled_after_the_boot() {
    // P53
    let world = talked(600);
    let whole = bytes(&world, "main");
    for (from, to) in [(0, 10), (3_000, 7_096), (50_000, 50_001)] {
        let mut torn = whole.clone();
        torn[from..to].fill(0);
        files::write(world.room(FILE), &torn);
        files::write(world.room("spool/boot"), "an earlier boot");
        world.pass();
        assert!(bytes(&world, "main") == whole, "from {from} to {to}");
    }
    assert!(
        world.inbox("human").is_empty() && !world.room("rejected/human").exists(),
        "a hole is nobody's line"
    );
}

#[test]
fn an_obstacle_in_place_of_a_conversation_is_reported_and_delays_no_mail() {
    let world = talked(3);
    for make in [
        |path: &std::path::Path| files::make_dir(path),
        |path: &std::path::Path| std::os::unix::fs::symlink("/etc/hostname", path).expect("a link"),
        |path: &std::path::Path| files::make_fifo(path),
    ] {
        let path = world.room(FILE);
        files::remove_file(&path);
        make(&path);
        let sent = world.send("alice", "bob", "nevertheless");
        assert!(world.inbox("bob").iter().any(|mail| mail["id"] == *sent));
        let status = world.json("status");
        assert!(status["blocked"].to_string().contains(FILE), "{status}");
        fs::remove_file(&path)
            .or_else(|_| fs::remove_dir(&path))
            .expect("it can be removed");
        world.pass();
        assert_eq!(
            said(&world, "main").last().map(String::as_str),
            Some("nevertheless")
        );
    }
}

#[test]
fn a_conversation_that_cannot_be_opened_after_a_boot_delays_no_mail() {
    let world = talked(3);
    let change = |how: &str| {
        Command::new("chattr")
            .arg(how)
            .arg(world.room(FILE))
            .output()
    };
    if !change("+i").is_ok_and(|done| done.status.success()) {
        return skip("an immutable conversation: chattr fails on this file system");
    }
    files::write(world.room("spool/boot"), "an earlier boot");
    let sent = world.send("alice", "bob", "nevertheless");
    assert!(world.inbox("bob").iter().any(|mail| mail["id"] == *sent));
    let status = world.json("status");
    assert!(status["blocked"].to_string().contains(FILE), "{status}");
    assert!(change("-i").is_ok_and(|done| done.status.success()));
    world.pass();
    assert_eq!(
        said(&world, "main").last().map(String::as_str),
        Some("nevertheless")
    );
}

#[test]
fn a_large_one_is_compared_at_its_end_only() {
    let world = talked(600);
    let whole = bytes(&world, "main");
    let mut torn = whole.clone();
    // The router does not search for a changed line far back: a person can delete the file to have
    // it made again.
    torn[20] = b'#';
    torn.truncate(whole.len() - 100);
    files::write(world.room(FILE), &torn);
    world.pass();
    let now = bytes(&world, "main");
    assert!(now.len() == whole.len() && now[200..] == whole[200..]);
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(world.room(FILE))
        .expect("a file");
    file.write_all(b"{\"id\":").expect("a torn line");
    world.pass();
    assert!(bytes(&world, "main").len() == whole.len());
}
