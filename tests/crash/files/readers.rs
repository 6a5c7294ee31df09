//! Recipients that move, copy and remove their mail, with and without a sync, and between two steps of a pass.

use super::super::explore::{holds, holds_under};
use super::super::kept::READ;
use super::super::outcomes::receipts_are_true;
use super::super::story::{Act, ROOM, Story, at, drops, letter};
use crate::sim::{CallName, Fate, Machine, watched};
use mailbag::commands::read::{ReadSelection, find};
use mailbag::disk::Dir;
use mailbag::query::inbox::InboxMessage;
use mailbag::room::inbox::mark_all_seen;
use mailbag::router::daemon::pass;
use mailbag::{Result, Room};
use serde_json::json;
use std::path::{Path, PathBuf};

const INBOX: &str = "room/inbox/bob";

/// Mail has come, and more follows.
fn story(name: &'static str) -> Story {
    Story::new(name, &["alice", "bob"]).before([letter("a1"), letter("a2"), Act::pass(ROOM)])
}

fn mail(inbox: &Dir) -> Result<Vec<String>> {
    let mut names = inbox.names()?;
    names.retain(|name| name.ends_with(".json") && !name.starts_with('.'));
    Ok(names)
}

fn inbox(room: &Room) -> Result<Dir> {
    room.dir.sub("inbox/bob")
}

/// Writes a copy of all unread mail elsewhere, under the id of the message.
fn copy_elsewhere(room: &Room) -> Result<()> {
    let (inbox, read) = (inbox(room)?, Dir::open(Path::new("/home"))?.make("read")?);
    for name in mail(&inbox)? {
        let copy = inbox.read(&name, 1 << 20)?.unwrap_or_default();
        let message: serde_json::Value = serde_json::from_slice(&copy).unwrap_or_default();
        let id = message["id"].as_str().unwrap_or("damaged");
        read.replace(id, id.as_bytes())?;
    }
    assert!(read.path() == Path::new(READ));
    Ok(())
}

fn remove_all(room: &Room) -> Result<()> {
    let inbox = inbox(room)?;
    mail(&inbox)?
        .iter()
        .try_for_each(|name| inbox.remove(name))?;
    inbox.sync()
}

/// Moves shown mail to `seen/`. `read::mark_seen` would ask the router if the inbox was read-only.
fn moves(room: &Room, mails: &[InboxMessage]) -> Result<()> {
    mark_all_seen(&room.dir, "bob", mails.iter().map(|mail| &*mail.name))
}

/// `mailbag read`.
fn read(room: &Room) -> Result<()> {
    let shown = find(room, "bob", &ReadSelection::All)?;
    moves(room, &shown.mails)
}

#[test]
fn a_reader_that_moves_mail_without_a_sync() {
    holds(&story("a reader that moves without a sync").then([
        Act::MoveLoosely(INBOX),
        letter("a3"),
        Act::pass(ROOM),
        Act::MoveLoosely(INBOX),
        Act::pass(ROOM),
        // A power cut may have undone the moves.
        Act::Move(INBOX),
        Act::pass(ROOM),
    ]));
}

#[test]
fn a_reader_that_copies_mail_and_removes_it() {
    // On btrfs a copy can be delivered again if its inbox alone was synced: docs/reliability.md.
    let fates = [Fate::Kill, Fate::Journal];
    holds_under(
        &fates,
        &story("a reader that copies and removes").then([
            Act::Do(ROOM, |room| {
                copy_elsewhere(room)?;
                remove_all(room)
            }),
            letter("a3"),
            Act::pass(ROOM),
        ]),
    );
}

#[test]
fn a_reader_that_only_copies_mail() {
    holds(&story("a reader that only copies").then([
        Act::Do(ROOM, copy_elsewhere),
        letter("a3"),
        Act::Do(ROOM, |room| {
            pass(room)?;
            copy_elsewhere(room)
        }),
    ]));
}

#[test]
fn mail_is_read_by_a_command() {
    holds(&story("mail is read by a command").then([
        Act::Do(ROOM, read),
        letter("a3"),
        Act::pass(ROOM),
        Act::Do(ROOM, read),
        Act::pass(ROOM),
        // A power cut may have undone the moves.
        Act::Move(INBOX),
        Act::pass(ROOM),
    ]));
}

/// The reader takes the copies of an interrupted pass before the next pass.
#[test]
fn mail_is_taken_before_an_interrupted_pass_is_repaired() {
    holds(&story("mail is taken before the repair").then([
        letter("a3"),
        // Another text, because the last of several messages with one text is announced later.
        drops("alice", "a4", json!({"to": ["bob", "alice"], "body": "y"})),
        Act::pass_once(ROOM),
        Act::Take(INBOX),
        Act::pass(ROOM),
        Act::Take(INBOX),
    ]));
}

/// Two processes: a reader holds the mail that it shows while the router works.
#[test]
fn a_pass_while_mail_is_shown() {
    holds(&story("a pass while mail is shown").then([
        letter("a3"),
        Act::Do(ROOM, |room| {
            let shown = find(room, "bob", &ReadSelection::All)?;
            let other = find(room, "bob", &ReadSelection::Oldest)?;
            pass(room)?;
            moves(room, &shown.mails)?;
            moves(room, &other.mails)
        }),
        Act::Do(ROOM, read),
        Act::pass(ROOM),
        // A power cut may have undone the moves.
        Act::Move(INBOX),
        Act::pass(ROOM),
    ]));
}

/// Two processes take turns: after the recovery, a reader moves its mail before each list and each rename of a pass.
#[test]
fn a_reader_between_the_steps_of_a_pass() {
    let takes_turns: fn(&Room) -> Result<()> = |room| {
        let (reader, mut has_recovered) = (room.clone(), false);
        let read_between = move |call, _: &[PathBuf]| {
            if has_recovered && [CallName::List, CallName::Rename].contains(&call) {
                read(&reader).ok();
            }
            has_recovered |= call == CallName::SyncAll;
            Ok(())
        };
        watched(read_between, || {
            pass(&Room::open(room.dir.path())?).map(drop)
        })
    };
    let settles = drops("bob", "b1", json!({"to": "alice", "body": "x"}));
    let story = story("a reader between the steps").before([settles, Act::pass(ROOM)]);
    // With more mail, the pass would sync everything before its record.
    holds(&story.then([
        letter("a3"),
        Act::Once(ROOM, takes_turns),
        Act::pass(ROOM),
        Act::Do(ROOM, receipts_are_true),
        // A power cut may have undone the moves.
        Act::Move(INBOX),
        Act::pass(ROOM),
    ]));
}

/// One of several readers takes a message. It is not lost, and no other reader gets it.
#[test]
fn mail_is_taken_by_one_of_several_readers() {
    let to = |to: &'static str| -> fn(&Machine) {
        match to {
            "taken" => |machine| moves_first(machine, INBOX, "taken"),
            _ => |machine| moves_first(machine, "room/inbox/bob/taken", "seen"),
        }
    };
    holds(&story("one of several readers").then([
        Act::Outside(to("taken")),
        letter("a3"),
        Act::pass(ROOM),
        Act::Outside(to("seen")),
        Act::pass(ROOM),
    ]));
}

/// Moves the oldest message of a directory to another one below the inbox.
fn moves_first(machine: &Machine, from: &str, to: &str) {
    let from = at(from);
    let files = machine.tree(&from).into_keys();
    let mail =
        |path: &PathBuf| path.parent() == Some(&from) && path.extension() == Some("json".as_ref());
    if let Some(file) = files.into_iter().find(mail) {
        let to = at(INBOX).join(to);
        machine.make_directory(&to);
        machine.rename(&file, to.join(file.file_name().expect("it has a name")));
    }
}
