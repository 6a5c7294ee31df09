//! An independent reader of the log: no subject has two owners at any record, every grant was
//! reported to its owner, and no claim waits without an obstacle.

use crate::files;
use crate::records::flat_record;
use crate::world::World;
use mailbag::message::subject::ClaimSubject;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The ownership that follows from the log.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) held: Vec<(String, ClaimSubject)>,
    /// Message, agent and subjects.
    offers: Vec<(String, String, String, Vec<ClaimSubject>)>,
    /// The number of granted claims.
    pub(super) grants: usize,
    /// The number of records with a change.
    pub(super) changes: usize,
}

/// Reads the log of a room, and checks it at every record.
#[track_caller]
pub(super) fn check(world: &World) -> Ledger {
    Ledger::of(&world.room(""))
}

impl Ledger {
    /// Reads the log of a room, and checks it at every record. A line that a kill has torn ends it.
    #[track_caller]
    pub(crate) fn of(room: &Path) -> Ledger {
        let mut ledger = Ledger::default();
        let mut segments: Vec<_> = fs::read_dir(room.join("log"))
            .expect("a log")
            .flatten()
            .map(|e| e.path())
            .collect();
        segments.sort();
        let bytes: Vec<u8> = segments.iter().flat_map(|path| files::read(path)).collect();
        for line in String::from_utf8_lossy(&bytes).lines() {
            if serde_json::from_str::<Value>(line).is_err() {
                break;
            }
            let record = flat_record(line);
            if record["facts"]["claims"].is_object() {
                ledger.take(&record);
                ledger.is_sound(line);
            }
        }
        ledger
    }

    fn take(&mut self, record: &Value) {
        self.changes += 1;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let from = text(&record["from"]);
        let name = format!("{from}/{}", text(&record["id"]));
        let (what, change) = record["facts"]["claims"]
            .as_object()
            .expect("an object")
            .iter()
            .next()
            .expect("a change");
        let subjects = |list: &Value| -> Vec<ClaimSubject> {
            let texts = list
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            texts
                .map(|text| ClaimSubject::parse(text).expect("a subject"))
                .collect()
        };
        match what.as_str() {
            "grant" => self.grant(record, &from, subjects(&change["claims"])),
            "release" => {
                let of = text(&change["of"]);
                let freed = subjects(&change["claims"]);
                self.held
                    .retain(|(owner, subject)| *owner != of || !freed.contains(subject));
            }
            "offer" => {
                self.offers
                    .push((name, from, text(&change["to"]), subjects(&change["claims"])))
            }
            "accept" => {
                let offer = text(&change["offer"]);
                let at = self
                    .offers
                    .iter()
                    .position(|(name, ..)| *name == offer)
                    .expect("an open offer");
                let (_, giver, to, offered) = self.offers.remove(at);
                assert_eq!(to, from, "only its recipient accepts an offer");
                let before = self.held.len();
                self.held
                    .retain(|(owner, subject)| *owner != giver || !offered.contains(subject));
                assert_eq!(
                    before - self.held.len(),
                    offered.len(),
                    "the giver owned everything that it offered"
                );
                self.grant(record, &to, offered);
            }
            "decline" => self
                .offers
                .retain(|(name, ..)| *name != text(&change["offer"])),
            "rename" => self.rename(&text(&change["of"]), &text(&change["to"])),
            other => panic!("unknown change {other}"),
        }
    }

    fn rename(&mut self, of: &str, to: &str) {
        let agents = self.held.iter_mut().map(|(owner, _)| owner);
        let agents = agents.chain(
            self.offers
                .iter_mut()
                .flat_map(|(_, from, to, _)| [from, to]),
        );
        agents
            .filter(|agent| *agent == of)
            .for_each(|agent| *agent = to.to_owned());
        self.offers.retain(|(_, from, to, _)| from != to);
    }

    fn grant(&mut self, record: &Value, owner: &str, subjects: Vec<ClaimSubject>) {
        self.grants += 1;
        let told = record["to"].as_array().into_iter().flatten();
        let mut told = told.flat_map(|group| group["agents"].as_array().into_iter().flatten());
        assert!(
            told.any(|agent| agent == owner),
            "{owner} was not told of a grant: {record}"
        );
        for subject in subjects {
            if !self.held.contains(&(owner.to_owned(), subject.clone())) {
                self.held.push((owner.to_owned(), subject));
            }
        }
    }

    fn is_sound(&self, line: &str) {
        for (n, (owner, subject)) in self.held.iter().enumerate() {
            for (other, another) in &self.held[..n] {
                let two = owner != other && subject.conflicts(another);
                assert!(
                    !two,
                    "{owner} owns {subject}, and {other} owns {another}, at {line}"
                );
            }
        }
    }
}
