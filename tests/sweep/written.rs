//! A pass that finds text of others in the files of the mail, killed at every step: each message is delivered once, each
//! acknowledgement counts, and other text is kept and reported once.

use super::ledger::Figures;
use super::one_pass::{done, new_room, pass_now};
use super::sweeps::{Done, kill_each};
use super::tracer::{Outcome, Plan, Tracer};
use serde_json::Value;
use std::fs;
use std::io;
use std::path::Path;
use tempfile::TempDir;

const BLOCK: &str = "\n## 2026-11-21T10:30:00Z · from:alice · to:carol · type:msg\nin a block\n";

/// A room with a queue of bob. Alice has written a block, bob a status, and a person a remark.
fn prepare(room: &Path) -> io::Result<()> {
    new_room(room, &["alice", "bob", "carol"])?;
    fs::write(room.join("settings.toml"), "mailbox = true\n")?;
    fs::write(room.join("outbox/alice/m1.json"), r#"{"id": "m1", "to": "bob", "body": "first"}"#)?;
    done(pass_now(room))?;
    let queue = room.join("queue/to-bob.md");
    let text = fs::read_to_string(&queue)?.replace("→ status:unread", "→ status:acked");
    fs::write(queue, text + BLOCK)?;
    let mailbox = room.join("MAILBOX.md");
    let text = fs::read_to_string(&mailbox)?;
    fs::write(mailbox, text + "by hand\n")
}

/// The mail in an inbox.
fn inbox(room: &Path, agent: &str) -> Vec<Value> {
    let files = fs::read_dir(room.join("inbox").join(agent)).into_iter().flatten().flatten();
    files.filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()).collect()
}

fn play(plan: Plan) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let room = home.path().join("room");
    prepare(&room)?;
    let outcome = Tracer::new(&room)?.run(pass_now(&room), plan)?;
    let mut figures = Figures::of(&outcome);
    for _ in 0..2 {
        done(pass_now(&room))?;
    }
    let log = fs::read_to_string(room.join("log/00000001.ndjson"))?;
    let is_acked = log.contains(r#""status":"acknowledged","agent":"bob""#);
    let notices = inbox(&room, "human").iter().filter(|mail| mail.to_string().contains("another program or person wrote")).count();
    let names = fs::read_dir(&room)?.flatten().map(|entry| entry.path());
    let kept = names.filter(|path| path.to_string_lossy().contains("MAILBOX.md.kept-"));
    let kept = kept.filter(|path| fs::read_to_string(path).is_ok_and(|text| text.ends_with("by hand\n"))).count();
    for (what, count) in [("the block", inbox(&room, "carol").len()), ("the notice", notices), ("the kept file", kept)] {
        match count {
            0 => figures.lost(what.to_owned()),
            1 => {}
            n => figures.duplicated(format!("{what}, {n} times")),
        }
    }
    if !is_acked {
        figures.lost("the acknowledgement".to_owned());
    }
    let texts = [fs::read_to_string(room.join("MAILBOX.md"))?, fs::read_to_string(room.join("queue/to-bob.md"))?];
    if texts.iter().any(|text| text.contains("by hand") || text.contains("## 2026")) {
        figures.damaged(format!("{texts:?}"));
    }
    Ok((figures, outcome))
}

#[test]
fn a_pass_that_finds_text_of_others_killed_at_any_call() -> Done {
    // P342
    kill_each("kills of a pass that finds text of others", 20, 342, play)
}
