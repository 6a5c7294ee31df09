//! Two rooms between which carriers bring mail over a pipe, and one carrier, or both, killed at every call on the disk and on
//! the pipe: in the end each message has crossed once.

use super::ledger::Figures;
use super::one_pass::{came_once, done, drop_file, new_room, no_item_is_left};
use super::scenario::PROGRAM;
use super::sweeps::{Done, Points, green, side_by_side};
use super::tracer::{End, Outcome, Plan, Tracer};
use serde_json::json;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// Stands in for the SSH client: the far end is its own process.
const SSH: &str = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nexec \"$@\"\n";
const IN_FIT: [&str; 4] = ["alice: back", "alice: both", "anna: both", "alice: rejected: unknown recipient"];
const IN_PO: [&str; 4] = ["sintra: one", "sintra: two", "bob: two", "bob: three"];

/// The number of points that are played at a time: carriers mostly wait for each other.
const WAITING: usize = 6;

struct Rooms {
    home: TempDir,
    fit: PathBuf,
    po: PathBuf,
}

impl Rooms {
    /// Mail waits in both rooms for a carrier.
    fn new() -> io::Result<Rooms> {
        let home = TempDir::new()?;
        let rooms = Rooms { fit: home.path().join("fit"), po: home.path().join("po"), home };
        new_room(&rooms.fit, &["alice", "anna"])?;
        new_room(&rooms.po, &["sintra", "bob"])?;
        let link = format!("tag = \"fit\"\n[links.po]\ncarrier = \"ssh\"\naddress = \"po.example:{}\"\n", rooms.po.display());
        fs::write(rooms.fit.join("settings.toml"), link)?;
        fs::write(rooms.po.join("settings.toml"), "[links.fit]\ncarrier = \"none\"\n")?;
        let bin = rooms.home.path().join("bin");
        fs::create_dir_all(&bin)?;
        symlink(PROGRAM, bin.join("mailbag"))?;
        fs::write(bin.join("ssh"), SSH)?;
        fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755))?;
        done(rooms.mailbag(&rooms.fit, &["trust", "--yes"]))?;
        drop_file(&rooms.fit, "alice", "one", json!({"to": "po:sintra", "body": "x"}))?;
        drop_file(&rooms.fit, "anna", "two", json!({"to": ["po:sintra", "po:bob"], "body": "x"}))?;
        drop_file(&rooms.fit, "alice", "nobody", json!({"to": "po:nobody", "body": "x"}))?;
        drop_file(&rooms.fit, "anna", "three", json!({"to": "po:bob", "body": "x".repeat(5000)}))?;
        drop_file(&rooms.po, "sintra", "back", json!({"to": "fit:alice", "body": "x"}))?;
        drop_file(&rooms.po, "bob", "both", json!({"to": ["fit:alice", "fit:anna"], "body": "x"}))?;
        for room in [&rooms.fit, &rooms.po] {
            done(rooms.mailbag(room, &["run", "--once", "--quiet"]))?;
        }
        Ok(rooms)
    }

    fn mailbag(&self, room: &PathBuf, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        let path = format!("{}:{}", self.home.path().join("bin").display(), std::env::var("PATH").unwrap_or_default());
        command.args(args).arg("--room").arg(room).env("PATH", path);
        command.env("MAILBAG_TRUST_DIR", self.home.path().join("trust")).env("MAILBAG_TEST_ANCESTRY", "person").env_remove("CLAUDE_CODE_SESSION_ID");
        command
    }

    fn carry(&self) -> Command {
        self.mailbag(&self.fit, &["link", "run", "--once"])
    }

    /// Checks the rooms after the carriers have run twice without disturbance.
    fn judge(&self, figures: &mut Figures) -> io::Result<()> {
        for _ in 0..2 {
            done(self.carry())?;
        }
        came_once(&self.fit, &["alice", "anna"], &IN_FIT, figures)?;
        came_once(&self.po, &["sintra", "bob"], &IN_PO, figures)?;
        for (room, tag) in [(&self.fit, "po"), (&self.po, "fit")] {
            no_item_is_left(room, tag, figures)?;
            done(self.mailbag(room, &["log", "verify"]))?;
        }
        Ok(())
    }
}

/// The carriers, disturbed by the plan. `alone` kills only the process that makes the call.
fn play(plan: Plan, alone: bool) -> io::Result<(Figures, Outcome)> {
    let rooms = Rooms::new()?;
    let outcome = Tracer::new(rooms.home.path())?.with_pipes().alone(alone).run(rooms.carry(), plan)?;
    let mut figures = Figures::of(&outcome);
    if outcome.end == End::Hung {
        figures.damaged(format!("{plan:?}: it did not end"));
    }
    rooms.judge(&mut figures)?;
    Ok((figures, outcome))
}

fn sweep(name: &str, alone: bool, seed: u64) -> Done {
    let (whole, outcome) = play(Plan::Count, alone)?;
    assert!(whole.is_green() && outcome.end == End::Exited(0), "{whole} {}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.changes().any(|call| call.paths.iter().any(|path| path.to_string_lossy().starts_with("pipe:"))), "the pipe counts");
    let points = Points::of(outcome).choose(8, seed);
    green(name, &side_by_side(WAITING, points, usize::MAX, |_, (call, moment)| Ok(play(Plan::Kill { call, moment }, alone)?.0))?)
}

#[test]
fn both_carriers_killed_at_any_call_on_the_disk_or_the_pipe() -> Done {
    // P222, P225
    sweep("kills of both carriers", false, 220)
}

#[test]
fn the_carrier_that_makes_a_call_killed_there_while_the_other_one_lives() -> Done {
    // P222, P225
    sweep("kills of one carrier", true, 221)
}
