//! A pass that releases, grants, hands over and lets lapse, killed at every step: in the end each of that has happened once.

use super::ledger::Figures;
use super::one_pass::{came_once, done, drop_file, new_room, pass};
use super::sweeps::{Done, kill_each};
use super::tracer::{Outcome, Plan, Tracer};
use crate::claims::ledger::Ledger;
use serde_json::json;
use std::io;
use std::path::Path;
use tempfile::TempDir;

const AGENTS: [&str; 6] = ["alice", "bob", "carol", "dave", "erin", "frank"];
/// The mail in each inbox in the end, besides bounces.
const COPIES: [&str; 12] = [
        "alice: a1", "bob: b1", "bob: granted: src/b", "carol: c1", "carol: d2", "dave: c1", "dave: d1", "erin: e1",
        "erin: lapsed: lane:web", "frank: f1", "frank: rejected: claimed", "human: lapsed: lane:web",
    ];
/// The time of the first pass, and the time of the killed pass.
const TIMES: [&str; 2] = ["2026-11-21T10:00:00Z", "2026-11-21T10:05:00Z"];

/// A room where alice owns src and bob waits for it; carol has an offer of dave; and the lease of erin is over.
fn room(room: &Path) -> io::Result<()> {
    new_room(room, &AGENTS)?;
    drop_file(room, "alice", "a1", json!({"type": "claim", "claims": ["src"]}))?;
    drop_file(room, "dave", "d1", json!({"type": "claim", "claims": ["docs", "task:x"]}))?;
    drop_file(room, "erin", "e1", json!({"type": "claim", "claims": ["lane:web"], "lease": "1m"}))?;
    done(pass(room, TIMES[0]))?;
    drop_file(room, "bob", "b1", json!({"type": "claim", "claims": ["src/b"], "wait": true}))?;
    drop_file(room, "dave", "d2", json!({"type": "handoff", "to": "carol", "claims": ["docs"], "body": "yours"}))?;
    done(pass(room, TIMES[0]))?;
    drop_file(room, "alice", "a2", json!({"type": "release", "claims": "all"}))?;
    drop_file(room, "carol", "c1", json!({"type": "accept", "in_reply_to": "d2"}))?;
    drop_file(room, "frank", "f1", json!({"type": "claim", "claims": ["lane:web"]}))?;
    drop_file(room, "frank", "f2", json!({"type": "claim", "claims": ["task:x"]}))
}

/// The killed pass, the pass after it, and everything that is wrong then.
pub(super) fn play(plan: Plan) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let place = home.path().join("room");
    room(&place)?;
    let outcome = Tracer::new(&place)?.run(pass(&place, TIMES[1]), plan)?;
    let mut figures = Figures::of(&outcome);
    for _ in 0..2 {
        done(pass(&place, TIMES[1]))?;
    }
    let ledger = Ledger::of(&place);
    ledger.is_settled();
    let mut owned: Vec<(String, String)> =
        ledger.held.iter().map(|(owner, subject)| (subject.to_string(), owner.clone())).collect();
    owned.sort();
    let wanted = [("docs", "carol"), ("lane:web", "frank"), ("src/b", "bob"), ("task:x", "dave")];
    if owned != wanted.map(|(subject, owner)| (subject.to_owned(), owner.to_owned())) {
        figures.damaged(format!("{owned:?}"));
    }
    came_once(&place, &AGENTS, &COPIES, &mut figures)?;
    Ok((figures, outcome))
}

#[test]
fn a_pass_that_changes_owners_killed_at_any_call() -> Done {
    // P118, P119
    kill_each("kills of a pass that changes owners", 13, 118, play)
}
