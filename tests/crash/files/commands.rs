//! Commands that write: `send`, `agent`, `init`, `backup`, `trust`; and edits of the registry and the settings by hand.

use super::super::explore::holds;
use super::super::kept::{COPIES, MOST_COPIES};
use super::super::story::{Act, ROOM, Story, drops};
use crate::sim::{CallName, watched};
use mailbag::agent::{self, AgentFields};
use mailbag::base::error::Error;
use mailbag::commands::send::{MessageDraft, send};
use mailbag::commands::{backup, trust};
use mailbag::query::identity::AgentIdentity;
use mailbag::router::daemon::pass;
use mailbag::{Result, Room};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

fn letter(id: &str, to: &str) -> Act {
    drops("alice", id, json!({"to": to, "body": "x"}))
}

fn send_to_bob(room: &Room, subject: &str) -> Result<()> {
    let draft = MessageDraft {
        to: vec!["bob".into()],
        subject: Some(subject.into()),
        ..MessageDraft::default()
    };
    send(room, &AgentIdentity::verified("alice", "a story"), draft).map(drop)
}

/// A message arrives once if its command has returned. After a crash or an error it is not sent again, and it arrives once
/// or not at all.
#[test]
fn a_message_is_sent() {
    holds(&Story::new("a message is sent", &["alice", "bob"]).then([
        Act::Once(ROOM, |room| send_to_bob(room, "one")),
        Act::pass(ROOM),
        Act::Once(ROOM, |room| {
            send_to_bob(room, "two")?;
            pass(room).map(drop)
        }),
        Act::pass(ROOM),
    ]));
}

/// Two processes take turns: another one sends before the first rename of a pass. It cannot make a pass itself. If the pass
/// renames nothing, because its calls fail, the other one sends after it.
#[test]
fn a_message_is_sent_between_the_steps_of_a_pass() {
    let takes_turns: fn(&Room) -> Result<()> = |room| {
        let (sender, sent) = (room.clone(), Arc::new(Mutex::new(None)));
        let (result, mut has_begun) = (Arc::clone(&sent), false);
        let send_before_rename = move |call, _: &[PathBuf]| {
            if call == CallName::Rename && !std::mem::replace(&mut has_begun, true) {
                *result.lock().expect("no panic") = Some(send_to_bob(&sender, "during the pass"));
            }
            Ok(())
        };
        watched(send_before_rename, || pass(&Room::open(room.dir.path())?))?;
        let sent = Arc::into_inner(sent).expect("the pass has ended");
        let sent = sent.into_inner().expect("no panic");
        sent.unwrap_or_else(|| send_to_bob(room, "during the pass"))
    };
    holds(
        &Story::new("a message is sent during a pass", &["alice", "bob"]).then([
            letter("one", "bob"),
            Act::Once(ROOM, takes_turns),
            Act::pass(ROOM),
        ]),
    );
}

/// Adds an agent, unless a call before a crash has done it.
fn add(room: &Room, id: &str) -> Result<()> {
    match agent::add(room, &[id.to_owned()], &AgentFields::default()) {
        Err(Error::Rejected(_)) if room.registry()?.agent(id).is_some() => Ok(()),
        added => added.map(drop),
    }
}

fn remove(room: &Room, id: &str) -> Result<()> {
    match agent::remove(room, id, true) {
        Err(_) if room.registry()?.agent(id).is_none() => Ok(()),
        removed => removed.map(drop),
    }
}

#[test]
fn agents_come_change_and_go() {
    holds(
        &Story::new("agents come, change and go", &["alice", "bob"]).then([
            Act::Do(ROOM, |room| add(room, "carol")),
            letter("a1", "carol"),
            Act::pass(ROOM),
            Act::Do(ROOM, |room| {
                let role = Some("engineer".to_owned());
                agent::set(
                    room,
                    "bob",
                    &AgentFields {
                        role,
                        ..AgentFields::default()
                    },
                )
                .map(drop)
            }),
            letter("a2", "all_engineer"),
            Act::pass(ROOM),
            Act::Do(ROOM, |room| remove(room, "carol")),
            letter("a3", "all"),
            Act::pass(ROOM),
        ]),
    );
}

/// A file that was just changed is read again and again.
const NO_MORE_SAVING: Act = Act::Wait(1);

/// Another editor writes a half of the file first.
#[test]
fn the_registry_is_edited_by_hand() {
    let registry = |agents: &[&str]| -> Vec<u8> {
        let agents: Vec<_> = agents.iter().map(|id| json!({"id": id})).collect();
        json!({"agents": agents}).to_string().into_bytes()
    };
    let path = || "room/registry.json".to_owned();
    let third = registry(&["alice", "bob", "carol", "dave"]);
    holds(
        &Story::new("the registry is edited by hand", &["alice", "bob"]).then([
            Act::Write(path(), registry(&["alice", "bob", "carol"])),
            letter("a1", "carol"),
            Act::pass(ROOM),
            Act::Write(path(), third[..third.len() / 2].to_vec()),
            NO_MORE_SAVING,
            // It waits until the registry can be read.
            letter("a2", "dave"),
            Act::Do(ROOM, |room| {
                pass(room).ok();
                Ok(())
            }),
            Act::Write(path(), third.clone()),
            Act::pass(ROOM),
        ]),
    );
}

#[test]
fn the_settings_are_edited() {
    let settings = |text: &str| Act::Write("room/settings.toml".into(), text.into());
    holds(
        &Story::new("the settings are edited", &["alice", "bob"]).then([
            letter("a1", "bob"),
            settings("mailbox = true\nworklog = true\n"),
            Act::pass(ROOM),
            settings("mailbox = "),
            NO_MORE_SAVING,
            letter("a2", "bob"),
            Act::Do(ROOM, |room| {
                pass(room).ok();
                Ok(())
            }),
            settings("worklog = true\n"),
            Act::pass(ROOM),
        ]),
    );
}

/// A room from nothing, with agents, and its first message.
#[test]
fn a_room_is_made() {
    const NEW: &str = "/home/new";
    let story = Story::of_rooms("a room is made", &[(ROOM, &["alice"]), (NEW, &[])]);
    holds(
        &story.then([
            Act::Do(ROOM, |_| {
                let (room, _) = Room::init(Path::new(NEW))?;
                add(&room, "carol")?;
                add(&room, "dave")
            }),
            Act::Write(
                "new/outbox/carol/c1.json".into(),
                json!({"id": "c1", "to": "dave", "body": "x"})
                    .to_string()
                    .into(),
            ),
            Act::pass(NEW),
        ]),
    );
}

/// A person makes a copy until there is a whole one, each time in a new directory.
fn back_up(room: &Room) -> Result<()> {
    for n in 1..=MOST_COPIES {
        let copy = PathBuf::from(format!("{COPIES}{n}"));
        let directory = mailbag::disk::Dir::open(&copy);
        let names = directory.as_ref().map(mailbag::disk::Dir::names);
        let has = |file: &str| {
            directory
                .as_ref()
                .is_ok_and(|copy| matches!(copy.stat(file), Ok(Some(_))))
        };
        let count = names.map_or(0, |names| names.map_or(0, |names| names.len()));
        if count == 0 {
            return backup::backup(room, &copy, &mut |_| {}).map(drop);
        }
        if has("spool/room") && !has("INCOMPLETE") {
            return Ok(());
        }
    }
    panic!("no copy is whole");
}

#[test]
fn a_room_is_copied() {
    holds(
        &Story::new("a room is copied", &["alice", "bob"])
            .before([
                letter("a1", "bob"),
                Act::pass(ROOM),
                Act::Move("room/inbox/bob"),
                letter("a2", "bob"),
                Act::Write("room/context/note.md".into(), b"text".into()),
                Act::pass(ROOM),
            ])
            .then([Act::Do(ROOM, back_up), letter("a3", "bob"), Act::pass(ROOM)]),
    );
}

/// A second consent is recorded in place of the first one.
#[test]
fn consent_is_recorded() {
    let agree = || {
        Act::Do(ROOM, |room| {
            let place = room.dir.path();
            trust::agree(&trust::look(Some(place), place)?)
        })
    };
    let link = |tag: &str| {
        format!("[links.{tag}]\ncarrier = \"ssh\"\naddress = \"{tag}.example:/srv/po/.mailbag\"\n")
    };
    let write = |text: String| Act::Write("room/settings.toml".into(), text.into());
    holds(
        &Story::new("consent is recorded", &["alice", "bob"])
            .with("MAILBAG_TEST_ANCESTRY", "person")
            .before([write(link("first")), agree()])
            .then([
                write(link("first") + &link("second")),
                agree(),
                Act::pass(ROOM),
            ]),
    );
}
