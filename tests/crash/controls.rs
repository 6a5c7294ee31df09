//! The checks notice a missing sync. Each row of the table leaves out one sync, or lets one rename count later, and the
//! exploration of a story must then find a wrong ending.

use super::explore::{Exploration, Size, holds_under};
use super::story::{Act, ROOM, Story, drops};
use crate::sim::{Call, CallName, Control, ControlKind, Fate};
use mailbag::base::clock::Stamp;
use mailbag::base::error::Error;
use mailbag::commands::archive::archive;
use mailbag::commands::backup::backup;
use mailbag::commands::send::{MessageDraft, send};
use mailbag::commands::share::{ShareRequest, share_opened};
use mailbag::disk::layout;
use mailbag::disk::{Barrier, Dir};
use mailbag::query::identity::AgentIdentity;
use mailbag::query::verify::verify;
use mailbag::room::consent::{self, KnownRooms};
use mailbag::room::spool::Spool;
use mailbag::{Result, Room, agent};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// A message without an id, so that nothing shows that it comes a second time.
fn drops_without_id(name: &str) -> Act {
    let message = json!({"to": "bob", "subject": name, "body": name});
    Act::Write(
        format!("room/outbox/alice/{name}.json"),
        message.to_string().into_bytes(),
    )
}

/// One message, and then a pass that has nothing to do.
fn one_message() -> Story {
    Story::new("one message", &["alice", "bob"]).then([
        drops_without_id("hello"),
        Act::pass(ROOM),
        Act::pass(ROOM),
    ])
}

/// Two messages in two batches of one pass.
fn two_batches() -> Story {
    Story::new("two batches", &["alice", "bob"])
        .with("MAILBAG_TEST_BATCH_COPIES", "1")
        .then([
            drops_without_id("one"),
            drops_without_id("two"),
            Act::pass(ROOM),
            Act::pass(ROOM),
        ])
}

/// A pass after a router that was killed when it had picked up a message.
fn killed_at_the_pickup() -> Story {
    Story::new("killed at the pickup", &["alice", "bob"])
        .before([drops_without_id("first"), Act::pass(ROOM)])
        .then([
            drops_without_id("hello"),
            Act::Do(ROOM, pick_up),
            Act::pass(ROOM),
            Act::pass(ROOM),
        ])
}

fn pick_up(room: &Room) -> Result<()> {
    let outbox = room.dir.sub("outbox/alice")?;
    if outbox.stat("hello.json")?.is_some() {
        let mut barrier = Barrier::new(room.dir.clone());
        let name = "hello.json".as_ref();
        Spool::open(&room.dir)?.claim(&outbox, name, "1~alice~hello.json", &mut barrier)?;
    }
    Ok(())
}

/// A message in a new segment of the log.
fn next_segment() -> Story {
    Story::new("next segment", &["alice", "bob"])
        .with("MAILBAG_TEST_SEGMENT_BYTES", "1")
        .before([drops_without_id("one"), Act::pass(ROOM)])
        .then([drops_without_id("two"), Act::pass(ROOM), Act::pass(ROOM)])
}

/// A message in a room with a segment.
fn another_message() -> Story {
    Story::new("another message", &["alice", "bob"])
        .before([drops_without_id("one"), Act::pass(ROOM)])
        .then([drops_without_id("two"), Act::pass(ROOM), Act::pass(ROOM)])
}

/// The last router did not end cleanly, so the next one does not trust the system's cache.
fn distrusts() -> Story {
    Story::new("unclean end", &["alice", "bob"])
        .before([drops_without_id("one"), Act::pass(ROOM)])
        .then([
            Act::Outside(|machine| machine.remove("/home/room/spool/boot")),
            drops_without_id("two"),
            Act::pass(ROOM),
            Act::pass(ROOM),
        ])
}

/// A command sends a message, and the router comes later.
fn sends() -> Story {
    Story::new("send", &["alice", "bob"]).then([
        Act::Do(ROOM, send_once),
        Act::pass(ROOM),
        Act::pass(ROOM),
    ])
}

fn send_once(room: &Room) -> Result<()> {
    let is_sent = room.dir.sub("sent")?.sub_if_exists("alice")?.is_some();
    let waiting = room.dir.sub("outbox/alice")?.names()?;
    if !is_sent && !waiting.iter().any(|name| !name.starts_with('.')) {
        let draft = MessageDraft {
            to: vec!["bob".to_owned()],
            subject: Some("hello".to_owned()),
            ..MessageDraft::default()
        };
        send(room, &AgentIdentity::verified("alice", "the test"), draft)?;
    }
    Ok(())
}

/// An agent gets a role, and then mail for the role.
fn changes_the_registry() -> Story {
    let to_role = json!({"to": "all_leads", "subject": "hello", "body": "hello"});
    Story::new("role", &["alice", "bob"]).then([
        Act::Do(ROOM, |room| {
            let fields = agent::AgentFields {
                role: Some("lead".to_owned()),
                ..agent::AgentFields::default()
            };
            agent::set(room, "bob", &fields).map(drop)
        }),
        Act::pass(ROOM),
        drops("alice", "hello", to_role),
        Act::pass(ROOM),
    ])
}

/// Whether a program would take the copy for a room.
fn is_whole(copy: &Path) -> Result<bool> {
    let copy = Dir::open(copy)?;
    Ok(copy.stat("spool/room")?.is_some() && copy.stat(layout::INCOMPLETE)?.is_none())
}

/// A backup, and a look at every backup that is complete.
fn backs_up() -> Story {
    let look = |_: &Room| {
        for name in Dir::open(Path::new("/home"))?.names()? {
            let copy = Path::new("/home").join(&name);
            if name.starts_with("copy-") && is_whole(&copy)? {
                let copy = Room::open(&copy)?;
                let mail = copy.dir.sub("inbox/bob")?.names()?;
                expect(
                    mail.iter().any(|name| name.ends_with(".json")),
                    "the copy lacks mail",
                )?;
                verify(&copy)?;
            }
        }
        Ok(())
    };
    Story::new("backup", &["alice", "bob"])
        .before([drops_without_id("hello"), Act::pass(ROOM), Act::pass(ROOM)])
        .then([
            Act::Do(ROOM, |room| {
                let name = format!("/home/copy-{}", mailbag::base::process::id());
                backup(room, Path::new(&name), &mut |_| {}).map(drop)
            }),
            Act::Do(ROOM, look),
        ])
}

/// The archiver packs three messages, and the packs are read.
fn archives() -> Story {
    let look = |room: &Room| {
        verify(room)?;
        let Some(archive) = room.dir.sub_if_exists("archive")? else {
            return Ok(());
        };
        for name in archive
            .names()?
            .iter()
            .filter(|name| !layout::is_draft(name))
        {
            let bytes = archive.read(name, u64::MAX)?.unwrap_or_default();
            let content = zstd::decode_all(&*bytes).unwrap_or_default();
            expect(!content.is_empty(), "a pack cannot be unpacked")?;
        }
        Ok(())
    };
    let sent = ["one", "two", "three"];
    let routed = sent
        .into_iter()
        .flat_map(|name| [drops_without_id(name), Act::pass(ROOM)]);
    Story::new("archive", &["alice", "bob"])
        .with("MAILBAG_TEST_SEGMENT_BYTES", "1")
        .before(routed)
        .before([Act::Move("room/inbox/bob"), Act::pass(ROOM)])
        .then([
            Act::Do(ROOM, |room| {
                archive(room, Stamp::now(), false, &mut |_| {}).1
            }),
            Act::Do(ROOM, look),
            Act::pass(ROOM),
        ])
}

/// A person shares a file, and reads it.
fn shares() -> Story {
    let share: fn(&Room) -> Result<()> = |room| {
        let waiting = room.dir.sub("outbox/alice")?.names()?;
        if waiting.iter().any(|name| !name.starts_with('.')) {
            return Ok(());
        }
        let source = Dir::open(Path::new("/home"))?.look("notes.txt")?;
        let request = ShareRequest {
            category: "notes".to_owned(),
            note: Some("hello".to_owned()),
            ..ShareRequest::default()
        };
        let who = AgentIdentity::verified("alice", "the test");
        share_opened(room, &who, request, "notes.txt".to_owned(), source).map(drop)
    };
    let look: fn(&Room) -> Result<()> = |room| {
        let context = room.dir.sub("context/notes")?;
        let shared = context.read("notes.txt", 100)?.unwrap_or_default();
        expect(shared == b"notes", "the shared file is lost")
    };
    let write = Act::Write("notes.txt".to_owned(), b"notes".to_vec());
    Story::new("share", &["alice", "bob"]).then([write, Act::Do(ROOM, share), Act::Do(ROOM, look)])
}

/// A person agrees to a room a second time, and is asked whether it did.
fn agrees() -> Story {
    let agree: fn(&Room) -> Result<()> = |room| consent::agree(&room.identity()?, "abc");
    let look: fn(&Room) -> Result<()> = |room| {
        let known = KnownRooms::read()?;
        let known = known.of(&room.identity()?);
        let is_known = known.is_some_and(|known| known.agreed.as_deref() == Some("abc"));
        expect(is_known, "the consent is lost")
    };
    Story::new("consent", &["alice"]).then([Act::Do(ROOM, agree), Act::Do(ROOM, look)])
}

fn expect(is_so: bool, otherwise: &str) -> Result<()> {
    if is_so {
        Ok(())
    } else {
        Err(Error::usage(otherwise, "nothing"))
    }
}

/// Without a control, these stories end well.
#[test]
fn every_story_holds_without_a_control() {
    let stories = [
        one_message(),
        two_batches(),
        killed_at_the_pickup(),
        next_segment(),
        distrusts(),
        sends(),
        changes_the_registry(),
        backs_up(),
        archives(),
        shares(),
        agrees(),
    ];
    for story in stories {
        holds_under(&CUTS, &story);
    }
}

/// The story has a wrong ending when these calls have no effect. Prints a row of the table.
fn misses(sync: &str, story: &Story, fates: &[Fate], matches: fn(&Call) -> bool) {
    controls(sync, story, fates, ControlKind::Swallow, matches);
}

/// The most samples of disks for one control.
const SAMPLES: usize = 4;

fn controls(
    what: &str,
    story: &Story,
    fates: &[Fate],
    kind: ControlKind,
    matches: fn(&Call) -> bool,
) {
    let mut exploration = Exploration::new(story);
    exploration.control = Some(Control {
        kind,
        matches: Arc::new(matches),
    });
    // A sample of the disks can leave out the few that show the fault.
    for _ in 0..SAMPLES {
        exploration.explore(fates);
        if !exploration.wrong.is_empty() {
            break;
        }
    }
    let Some(first) = exploration.wrong.first() else {
        panic!(
            "nothing misses {what} in {}: {:?}",
            story.name, exploration.figures
        );
    };
    let (place, ending) = first.split_once('\n').unwrap_or((first, ""));
    let place: String = place.chars().take(160).collect();
    println!("{what} | {place}… | {}", ending.trim());
}

/// Returns true for such a call on a directory with this end of its path, or on a file with this part in its path.
fn is(call: &Call, name: CallName, path: &str) -> bool {
    let last = call.paths.last().map(|last| last.to_string_lossy());
    call.name == name
        && last.is_some_and(|last| match name {
            CallName::SyncDirectory => last.ends_with(path),
            _ => last.contains(path),
        })
}

/// A kill cannot show a missing sync.
const CUTS: [Fate; 3] = [Fate::Journal, Fate::PerDirectory, Fate::Unordered];

#[test]
fn the_staged_copy() {
    misses("the sync of a staged copy", &one_message(), &CUTS, |call| {
        is(call, CallName::SyncFile, "/spool/stage/")
    });
}

/// The story has a wrong ending when these renames become durable after the next batch of the log.
fn misses_order(rename: &str, story: &Story, matches: fn(&Call) -> bool) {
    controls(rename, story, &CUTS, ControlKind::Late, matches);
}

#[test]
fn the_pickup_before_its_record() {
    misses_order("the pickup before its record", &one_message(), |call| {
        is(call, CallName::Rename, "/spool/claim/")
    });
}

#[test]
fn the_delivery_before_the_next_batch() {
    misses_order(
        "the delivery before the next batch",
        &two_batches(),
        |call| is(call, CallName::Rename, "/inbox/bob/"),
    );
}

#[test]
fn the_original_before_the_next_batch() {
    misses_order(
        "the original before the next batch",
        &two_batches(),
        |call| is(call, CallName::Rename, "/sent/alice/"),
    );
}

#[test]
fn the_name_of_the_staged_copy() {
    misses("the sync of spool/stage", &one_message(), &CUTS, |call| {
        is(call, CallName::SyncDirectory, "/spool/stage")
    });
}

#[test]
fn the_pickup() {
    misses("the sync of spool/claim", &one_message(), &CUTS, |call| {
        is(call, CallName::SyncDirectory, "/spool/claim")
    });
}

#[test]
fn the_outbox() {
    misses("the sync of outbox/alice", &one_message(), &CUTS, |call| {
        is(call, CallName::SyncDirectory, "/outbox/alice")
    });
}

#[test]
fn the_log() {
    misses("the sync of the log", &one_message(), &CUTS, |call| {
        is(call, CallName::SyncData, "/log/")
    });
}

#[test]
fn the_log_directory() {
    misses("the sync of log/", &one_message(), &CUTS, |call| {
        is(call, CallName::SyncDirectory, "/log")
    });
}

#[test]
fn the_inbox() {
    misses("the sync of inbox/bob", &two_batches(), &CUTS, |call| {
        is(call, CallName::SyncDirectory, "/inbox/bob")
    });
}

#[test]
fn the_sent() {
    misses("the sync of sent/alice", &two_batches(), &CUTS, |call| {
        is(call, CallName::SyncDirectory, "/sent/alice")
    });
}

#[test]
fn the_recovery() {
    misses(
        "the sync of everything at the start",
        &killed_at_the_pickup(),
        &CUTS,
        |call| call.name == CallName::SyncAll,
    );
}

#[test]
fn the_next_segment() {
    misses(
        "the sync of log/ for a new segment",
        &next_segment(),
        &CUTS,
        |call| is(call, CallName::SyncDirectory, "/log"),
    );
}

#[test]
fn the_new_file_of_a_segment() {
    misses(
        "the sync of a new file for the newest segment",
        &distrusts(),
        &CUTS,
        |call| is(call, CallName::SyncFile, "/log/.tmp-segment"),
    );
}

/// The story has a wrong ending when a sync of the log fails, the router recovers, and these calls have no effect.
fn misses_after_a_failed_sync(what: &str, matches: fn(&Call) -> bool) {
    let story = another_message();
    let mut exploration = Exploration::new(&story);
    exploration.control = Some(Control {
        kind: ControlKind::Swallow,
        matches: Arc::new(matches),
    });
    exploration.size = Size::Full;
    exploration.fail_each(|call| is(call, CallName::SyncData, "/log/"));
    let wrong = exploration.wrong.first();
    let wrong = wrong.unwrap_or_else(|| panic!("nothing misses {what}: {:?}", exploration.figures));
    println!("{what} | {wrong}");
}

#[test]
fn the_new_file_after_a_failed_sync() {
    misses_after_a_failed_sync("the new file after a failed sync", |call| {
        is(call, CallName::SyncFile, "/log/.tmp-segment")
    });
}

#[test]
fn the_name_of_the_new_file_after_a_failed_sync() {
    misses_after_a_failed_sync("the name of the new file after a failed sync", |call| {
        is(call, CallName::SyncDirectory, "/log")
    });
}

#[test]
fn a_failed_sync_is_harmless_without_a_control() {
    let story = another_message();
    let mut exploration = Exploration::new(&story);
    exploration.size = Size::Full;
    exploration.fail_each(|call| is(call, CallName::SyncData, "/log/"));
    exploration.judge();
}

#[test]
fn the_sent_file() {
    misses("the sync of a sent file", &sends(), &CUTS, |call| {
        is(call, CallName::SyncFile, "/outbox/alice/")
    });
}

#[test]
fn the_name_of_the_sent_file() {
    misses("the sync of the sender's outbox", &sends(), &CUTS, |call| {
        is(call, CallName::SyncDirectory, "/outbox/alice")
    });
}

#[test]
fn the_registry() {
    misses(
        "the sync of the new registry",
        &changes_the_registry(),
        &CUTS,
        |call| is(call, CallName::SyncFile, "/.registry.json"),
    );
}

#[test]
fn the_name_of_the_registry() {
    misses(
        "the sync of the registry's name",
        &changes_the_registry(),
        &CUTS,
        |call| is(call, CallName::SyncDirectory, "/home/room"),
    );
}

#[test]
fn the_backup() {
    misses("the sync of a backup", &backs_up(), &CUTS, |call| {
        call.name == CallName::SyncAll
    });
}

#[test]
fn the_mark_of_a_backup() {
    let mark = "the sync of the mark of an incomplete copy";
    misses(mark, &backs_up(), &CUTS, |call| {
        let of_copy = call
            .paths
            .last()
            .and_then(|last| last.strip_prefix("/home/").ok());
        let is_copy = of_copy.is_some_and(|copy| {
            copy.to_string_lossy().starts_with("copy-") && copy.components().count() == 1
        });
        call.name == CallName::SyncDirectory && is_copy
    });
}

#[test]
fn the_name_of_a_backup() {
    let name = "the sync of the name of a copy";
    misses(name, &backs_up(), &CUTS, |call| {
        is(call, CallName::SyncDirectory, "/home")
    });
}

#[test]
fn the_pack() {
    misses("the sync of a pack", &archives(), &CUTS, |call| {
        is(call, CallName::SyncFile, "/archive/")
    });
}

#[test]
fn the_name_of_the_pack() {
    misses("the sync of archive/", &archives(), &CUTS, |call| {
        is(call, CallName::SyncDirectory, "/archive")
    });
}

#[test]
fn the_consent() {
    misses("the sync of the consent", &agrees(), &CUTS, |call| {
        is(call, CallName::SyncFile, "/.rooms.json")
    });
}

#[test]
fn the_name_of_the_consent() {
    misses("the sync of the consent's name", &agrees(), &CUTS, |call| {
        is(call, CallName::SyncDirectory, "/mailbag")
    });
}

#[test]
fn the_shared_file() {
    misses("the sync of a shared file", &shares(), &CUTS, |call| {
        is(call, CallName::SyncFile, "/context/notes/")
    });
}

#[test]
fn the_name_of_the_shared_file() {
    misses(
        "the sync of the name of a shared file",
        &shares(),
        &CUTS,
        |call| is(call, CallName::SyncDirectory, "/context/notes"),
    );
}
