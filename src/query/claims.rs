//! Who owns which work: a list of claims, waiting claims and offers, and the owners of given paths.

use crate::base::clock::{Stamp, span_text};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::{quoted, to_the_second};
use crate::disk::{Dir, layout};
use crate::log;
use crate::log::state::claims::{Claims, Held, InTheWay, Offered, Waiting};
use crate::log::state::{self, State};
use crate::message::subject::Subject;
use crate::room::Room;
use crate::room::leases::{Life, Signs, life};
use crate::room::repository::{Ground, Place, subject_of};
use crate::room::sessions::Calls;
use memchr::memmem;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// All claims of a room, or those of one agent.
#[derive(Debug, Serialize)]
pub struct List {
    /// The time of this state.
    pub at: String,
    /// What is owned, in the order of the grants.
    pub claims: Vec<Owned>,
    /// The waiting claims, first come first served.
    pub waiting: Vec<Queued>,
    /// Open offers.
    pub offers: Vec<Offer>,
}

/// An owned subject.
#[derive(Debug, Clone, Serialize)]
pub struct Owned {
    /// The subject.
    pub subject: String,
    /// The owner.
    pub owner: String,
    /// The time of the grant.
    pub since: String,
    /// The record of the grant.
    pub seq: u64,
    /// The lease, as `4h`.
    pub lease: String,
    /// When it lapses if its owner stays inactive. `None` while the owner's session is known to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lapses_at: Option<String>,
    /// Is the owner's session known to run?
    pub running: bool,
    /// The purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A waiting claim.
#[derive(Debug, Serialize)]
pub struct Queued {
    /// Its message, as `<sender>/<id>`.
    pub claim: String,
    /// The record of its message.
    pub seq: u64,
    /// The agent that waits.
    pub agent: String,
    /// The subjects. It gets all of them at once.
    pub subjects: Vec<String>,
    /// Since when it waits.
    pub since: String,
    /// The purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// An open offer.
#[derive(Debug, Serialize)]
pub struct Offer {
    /// Its message, as `<sender>/<id>`.
    pub offer: String,
    /// The record of its message.
    pub seq: u64,
    /// The owner.
    pub from: String,
    /// The agent that can accept it.
    pub to: String,
    /// The subjects.
    pub subjects: Vec<String>,
    /// The time of the offer.
    pub since: String,
}

/// Who owns the work that a word on the command line means.
#[derive(Debug, Serialize)]
pub struct Ownership {
    /// The word.
    pub path: String,
    /// The subject.
    pub subject: String,
    /// Can the asking agent own it?
    pub status: Free,
    /// Claims that cover it or a part of it.
    pub claims: Vec<Owner>,
}

/// Whether work is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Free {
    /// No agent owns any of it.
    Free,
    /// The asking agent owns it, or a part of it, and no other agent owns any of it.
    Mine,
    /// Another agent owns it, or a part of it.
    Owned,
}

/// An owner of work.
#[derive(Debug, Serialize)]
pub struct Owner {
    /// The owner.
    pub owner: String,
    /// Its subject.
    pub subject: String,
    /// The time of the grant.
    pub since: String,
    /// The purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Numbers of claims, waiting claims and open offers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Owned subjects.
    pub owned: usize,
    /// Waiting claims.
    pub waiting: usize,
    /// Open offers.
    pub offers: usize,
}

impl From<&Claims> for Counts {
    fn from(claims: &Claims) -> Counts {
        let (owned, waiting, offers) = (
            claims.held().len(),
            claims.waiting().len(),
            claims.offered().len(),
        );
        Counts {
            owned,
            waiting,
            offers,
        }
    }
}

/// The claims of a room, as of the last committed record.
pub fn owners(room: &Room) -> Result<Claims> {
    log::owners::owners(&room.dir)
}

/// Lists the claims; with `mine`, those of this agent, and offers to it and of it.
pub fn list(room: &Room, mine: Option<&str>) -> Result<List> {
    let state = state::committed(&room.dir)?;
    let calls = Calls::of(&room.dir);
    let is_mine = |agent: &str| mine.is_none_or(|mine| mine == agent);
    let claims = &state.claims;
    let mut lives = Lives {
        state: &state,
        calls: &calls,
        known: BTreeMap::new(),
    };
    Ok(List {
        at: Stamp::now().to_string(),
        claims: claims
            .held()
            .iter()
            .filter(|held| is_mine(&held.owner))
            .map(|held| lives.owned(held))
            .collect(),
        waiting: claims
            .waiting()
            .iter()
            .filter(|one| is_mine(&one.agent))
            .map(queued)
            .collect(),
        offers: claims
            .offered()
            .iter()
            .filter(|one| is_mine(&one.from) || is_mine(&one.to))
            .map(offer)
            .collect(),
    })
}

impl List {
    /// Has a claim lapsed that no router has released yet?
    pub fn has_lapsed(&self) -> bool {
        let now = Stamp::now();
        let lapses = |one: &Owned| Stamp::parse(one.lapses_at.as_deref()?);
        self.claims.iter().filter_map(lapses).any(|at| at <= now)
    }
}

/// How long claims live, each owner's session looked at once.
struct Lives<'a> {
    state: &'a State,
    calls: &'a Calls,
    known: BTreeMap<(String, i64, u64), Life>,
}

impl Lives<'_> {
    fn owned(&mut self, held: &Held) -> Owned {
        let last_seen = |agent: &str| self.state.last_seen(agent);
        let signs = Signs {
            last_seen: &last_seen,
            calls: self.calls,
            active: &|_| false,
        };
        let key = (held.owner.to_string(), held.renewed, held.lease);
        let life = *self
            .known
            .entry(key)
            .or_insert_with(|| life(&self.state.claims, held, &signs));
        Owned {
            subject: held.subject.to_string(),
            owner: held.owner.to_string(),
            since: time(held.since),
            seq: held.seq,
            lease: span_text(Duration::from_secs(held.lease)),
            lapses_at: match life {
                Life::Session => None,
                Life::Until(at) => Some(at.to_string()),
            },
            running: life == Life::Session,
            why: held.why.clone(),
        }
    }
}

fn queued(one: &Waiting) -> Queued {
    Queued {
        claim: one.claim.clone(),
        seq: one.seq,
        agent: one.agent.to_string(),
        subjects: one.subjects.iter().map(Subject::to_string).collect(),
        since: time(one.since),
        why: one.why.clone(),
    }
}

fn offer(one: &Offered) -> Offer {
    Offer {
        offer: one.offer.clone(),
        seq: one.seq,
        from: one.from.to_string(),
        to: one.to.to_string(),
        subjects: one.subjects.iter().map(Subject::to_string).collect(),
        since: time(one.since),
    }
}

fn time(micros: i64) -> String {
    Stamp::from_micros(micros).to_string()
}

/// Who owns what these words mean at a directory, for an agent. Any failure but a wrong word means that it is unknown.
pub fn paths(
    room: &Room,
    agent: Option<&str>,
    from: &Path,
    words: &[String],
) -> Result<Vec<Ownership>> {
    let claims = owners(room).map_err(|e| unknown(&e))?;
    let ground = Ground::of(room);
    words
        .iter()
        .map(|word| ownership(&claims, (room, &ground, from), agent, word))
        .collect()
}

/// The error if it is unknown who owns work.
pub fn unknown(e: &Error) -> Error {
    let cure = "correct this first, or ask the other agents before you change the files".into();
    Error::Busy {
        what: format!("it is unknown who owns the work: {e}"),
        cure,
    }
}

fn ownership(
    claims: &Claims,
    (room, ground, from): (&Room, &Ground, &Path),
    agent: Option<&str>,
    word: &str,
) -> Result<Ownership> {
    let subject = subject_of(room, from, word).map_err(|e| match e {
        Error::Rejected(problems) => {
            let what = problems
                .iter()
                .map(|one| one.what.as_str())
                .collect::<Vec<_>>()
                .join("; ");
            let cure = problems
                .into_iter()
                .next()
                .map(|one| one.fix)
                .unwrap_or_default();
            Error::Usage {
                what: format!("{} is not a subject: {what}", quoted(word)),
                cure,
            }
        }
        e => e,
    })?;
    // A file can have further names, for example that of a link.
    let file = crate::disk::layout::below(from, word.as_ref());
    let places = if crate::disk::git::exists(&file) {
        ground.places(&file)
    } else {
        Vec::new()
    };
    let covers = |held: &Held, Place { repository, path }: &Place| {
        held.subject.covers(repository.as_deref(), path)
    };
    let concerns = |held: &&Held| {
        held.subject.conflicts(&subject) || places.iter().any(|place| covers(held, place))
    };
    let found: Vec<&Held> = claims.held().iter().filter(concerns).collect();
    let is_mine = |held: &&Held| Some(&*held.owner) == agent;
    let status = match () {
        () if found.is_empty() => Free::Free,
        () if found.iter().all(is_mine) => Free::Mine,
        () => Free::Owned,
    };
    let owner = |held: &Held| Owner {
        owner: held.owner.to_string(),
        subject: held.subject.to_string(),
        since: time(held.since),
        why: held.why.clone(),
    };
    let claims = found.into_iter().map(owner).collect();
    Ok(Ownership {
        path: word.to_owned(),
        subject: subject.to_string(),
        status,
        claims,
    })
}

/// What an agent waits for, in one line: the first claims of others that conflict with these subjects.
pub fn blockers(room: &Room, agent: &str, subjects: &[Subject]) -> Result<String> {
    let claims = owners(room)?;
    Ok(blocked_by(&claims, agent, subjects))
}

/// As [`blockers`], from these claims.
pub fn blocked_by(claims: &Claims, agent: &str, subjects: &[Subject]) -> String {
    let before = claims
        .waiting()
        .iter()
        .position(|one| *one.agent == *agent && one.subjects == *subjects);
    let in_the_way = claims.in_the_way(agent, subjects, before.unwrap_or(claims.waiting().len()));
    let told: Vec<String> = in_the_way
        .take(limits::IN_SENTENCE)
        .map(|one| told(&one))
        .collect();
    if told.is_empty() {
        "nothing blocks it any more".into()
    } else {
        told.join(", ")
    }
}

fn told(one: &InTheWay<'_>) -> String {
    let verb = if one.waiting { "waits for" } else { "owns" };
    format!(
        "{} {verb} {} since {}",
        one.agent,
        one.claim,
        to_the_second(&time(one.since))
    )
}

/// Does this agent own or want something? A quick look into `claims.json`, which may be a moment behind.
pub fn may_own(room: &Dir, agent: &str) -> bool {
    let Ok(Some(bytes)) = room.read(layout::CLAIMS, limits::CLAIMS_BYTES) else {
        return false;
    };
    let has = |field: &str| {
        memmem::find(&bytes, format!("\"{field}\": \"{agent}\"").as_bytes()).is_some()
    };
    has("owner") || has("agent")
}
