//! The other room is away for a month, or exists twice.

use super::{Rooms, state};
use crate::files;
use crate::world::{Words, World};
use serde_json::json;

/// A day far in the future, so that no real clock is after the log.
fn day(day: u32) -> String {
    format!("2099-01-{day:02}T10:00:00Z")
}

fn run_on(world: &World, today: u32, args: &(impl Words + ?Sized)) -> String {
    let ran = world.run_with(args, |command| {
        command
            .env("MAILBAG_TEST_NOW", day(today))
            .env("MAILBAG_TEST_SEGMENT_BYTES", "2000");
    });
    ran.ok()
}

fn settle_on(rooms: &Rooms, today: u32) {
    for _ in 0..4 {
        run_on(&rooms.fit, today, "run --once");
        run_on(&rooms.po, today, "run --once");
    }
}

#[test]
fn while_the_other_room_is_away_for_a_month_its_mail_is_kept_through_every_archive() {
    // P202 P204 P205
    let rooms = Rooms::new();
    let drop = |id: &str, more: serde_json::Value| {
        let mut message = json!({"id": id, "to": "po:sintra", "body": id});
        for (key, value) in more.as_object().into_iter().flatten() {
            message[key] = value.clone();
        }
        rooms.fit.mail("alice", &format!("{id}.json"), &message);
    };
    drop("before", json!({}));
    settle_on(&rooms, 1);
    let away = rooms.po.path().with_extension("away");
    files::rename(rooms.po.path(), &away);
    drop("plain", json!({}));
    drop(
        "question",
        json!({"type": "question", "requires_response": true}),
    );
    drop("for-a-week", json!({"expires_at": day(8)}));
    drop("urgent", json!({"priority": "urgent"}));
    for today in 1..=31 {
        rooms.fit.mail(
            "alice",
            "local.json",
            json!({"to": "anna", "body": "a day's work"}),
        );
        run_on(&rooms.fit, today, "run --once");
        run_on(&rooms.fit, today, "read --as anna");
        if today % 10 == 0 {
            run_on(&rooms.fit, today, "archive --older-than 2d");
        }
    }
    let archive = walkdir::WalkDir::new(rooms.fit.room("archive"));
    let packs = archive.into_iter().flatten();
    let logs = packs.filter(|entry| entry.file_name().to_string_lossy().starts_with("log-"));
    assert!(
        logs.count() > 2,
        "the records of what waits are in the archive"
    );
    let waiting = rooms.fit.names("links/po/out");
    assert_eq!(waiting.len(), 5, "{waiting:?}");
    // Delivered items can be made again from the archive.
    files::remove_dir(rooms.fit.room("links/po/out"));
    assert_contains!(rooms.fit.run("link status").out, "waiting 4");
    files::rename(&away, rooms.po.path());
    settle_on(&rooms, 31);
    assert_eq!(
        rooms.po.bodies("sintra"),
        ["before", "plain", "question", "urgent"]
    );
    let sent = &state(&rooms.fit, "po")["out"];
    assert_eq!(sent["n"], sent["acked"], "{sent}");
    let told = rooms.fit.inbox("alice");
    assert_eq!(told.len(), 1, "the one that expired came back: {told:?}");
    settle_on(&rooms, 31);
    assert_eq!(rooms.po.bodies("sintra").len(), 4);
    for world in [&rooms.fit, &rooms.po] {
        run_on(world, 31, "log verify");
    }
}

#[test]
fn a_copy_of_the_other_room_beside_it_brings_nothing_and_says_so() {
    // P205
    let rooms = Rooms::new();
    rooms.alice_writes("one");
    rooms.po.send("sintra", "fit:alice", "two");
    rooms.settle();
    let copy = World::empty();
    super::copy_all(&rooms.po.room(""), &copy.room(""));
    copy.ok("trust --yes");
    for (world, body) in [(&copy, "from the copy"), (&rooms.po, "from the original")] {
        world.mail("sintra", "b.json", json!({"to": "fit:alice", "body": body}));
    }
    for _ in 0..3 {
        assert_contains!(copy.run("run --once").err, "this room is a copy of");
        rooms.settle();
    }
    assert_eq!(rooms.fit.bodies("alice"), ["two", "from the original"]);
    for room in [&rooms.fit, &rooms.po] {
        assert!(room.inbox("human").is_empty(), "nothing stops");
    }
    assert_contains!(
        copy.run("link status").out,
        "has no link to this room, so its mail waits",
        "waiting 1"
    );
}
