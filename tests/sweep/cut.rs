//! A pass that cuts foreign lines out of a conversation, killed at every step: in the end the lines are kept and cut
//! out, and each notice about them came once.

use super::ledger::Figures;
use super::one_pass::{came_once, done, drop_file, new_room, pass};
use super::sweeps::{Done, kill_each};
use super::tracer::{Outcome, Plan, Tracer};
use serde_json::json;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use tempfile::TempDir;

const AGENTS: [&str; 2] = ["alice", "bob"];
const CONVERSATION: &str = "channels/main/messages.ndjson";
const FOREIGN: &str = "{\"sender\":\"bob\",\"content\":\"hello?\",\"addressed\":[\"alice\"]}\n";
const TIME: &str = "2030-01-01T10:00:00Z";
const COPIES: [&str; 3] = [
    "bob: one",
    "bob: a line written into channels/main/messages.ndjson was not sent",
    "human: a line written into channels/main/messages.ndjson was not sent",
];

fn play(plan: Plan) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let room = home.path().join("room");
    new_room(&room, &AGENTS)?;
    drop_file(&room, "alice", "one", json!({"to": "bob", "body": "one"}))?;
    done(pass(&room, TIME))?;
    let written = fs::read(room.join(CONVERSATION))?;
    fs::OpenOptions::new().append(true).open(room.join(CONVERSATION))?.write_all(FOREIGN.as_bytes())?;
    let outcome = Tracer::new(&room)?.run(pass(&room, TIME), plan)?;
    let mut figures = Figures::of(&outcome);
    for _ in 0..2 {
        done(pass(&room, TIME))?;
    }
    came_once(&room, &AGENTS, &COPIES, &mut figures)?;
    if fs::read(room.join(CONVERSATION))? != written {
        figures.damaged("the foreign line is still in the conversation".to_owned());
    }
    count_kept(&room, &mut figures)?;
    if fs::read_dir(room.join("spool/cut")).is_ok_and(|mut notes| notes.next().is_some()) {
        figures.damaged("a note about the cut is left".to_owned());
    }
    Ok((figures, outcome))
}

fn count_kept(room: &Path, figures: &mut Figures) -> io::Result<()> {
    let mut kept = 0;
    for entry in fs::read_dir(room.join("rejected/bob"))? {
        let entry = entry?;
        let is_temporary = entry.file_name().as_encoded_bytes().starts_with(b".");
        kept += usize::from(!is_temporary && fs::read_to_string(entry.path())? == FOREIGN);
    }
    match kept {
        0 => figures.lost("the foreign line".to_owned()),
        1 => {}
        n => figures.duplicated(format!("the foreign line is kept {n} times")),
    }
    Ok(())
}

#[test]
fn a_pass_that_cuts_foreign_lines_killed_at_any_call() -> Done {
    // P54, P291
    kill_each("kills of a pass that cuts foreign lines", 20, 54, play)
}
