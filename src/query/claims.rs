//! Lists of claims and offers, and the owners of given paths.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::{listed, quoted, to_the_second};
use crate::disk::{Dir, layout};
use crate::features::claims::{self, ActivitySigns, ClaimLifetime, Claims, life};
pub use crate::features::claims::{ClaimOffer, OwnedClaim};
use crate::log::state::{self, RoomState};
use crate::message::subject::{ClaimSubject, ComparisonBudget};
use crate::room::Room;
use crate::room::registry::Registry;
use crate::room::repository::{RepositoryBase, RepositoryPath, subject_of};
use crate::room::sessions::SessionCalls;
use memchr::memmem;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// All claims of a room, or the claims of one agent.
#[derive(Debug, Serialize)]
pub struct ClaimList {
    /// The time of this list.
    pub at: String,
    /// The owned subjects, in the order of the grants.
    pub claims: Vec<ListedClaim>,
    /// The open offers.
    pub offers: Vec<ClaimOffer>,
}

/// An owned subject with the end of its lease.
#[derive(Debug, Serialize)]
pub struct ListedClaim {
    /// The claim.
    #[serde(flatten)]
    pub claim: OwnedClaim,
    /// When it expires if its owner stays inactive. Missing while the owner's session runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Whether the owner's session is known to run.
    pub running: bool,
}

/// The owners of the work that a word on the command line means.
#[derive(Debug, Serialize)]
pub struct Ownership {
    /// The word.
    pub path: String,
    /// The subject.
    pub subject: String,
    /// Whether the asking agent can own it.
    pub status: WorkStatus,
    /// Claims that cover it or a part of it.
    pub claims: Vec<OwnedClaim>,
}

impl Ownership {
    /// The claims that a text lists.
    pub fn listed_claims(&self) -> &[OwnedClaim] {
        &self.claims[..self.claims.len().min(limits::CLAIM_LINES)]
    }

    /// The number of the other claims, with their owners: `990 more of alice, bob`. `None` if all are listed.
    pub fn more_claims(&self) -> Option<String> {
        let more = &self.claims[self.listed_claims().len()..];
        let owners: BTreeSet<&str> = more.iter().map(|claim| &*claim.owner).collect();
        (!more.is_empty()).then(|| format!("{} more of {}", more.len(), listed(owners)))
    }
}

/// Whether an agent can change work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkStatus {
    /// No agent owns any of it.
    Free,
    /// The asking agent owns it, or a part of it, and no other agent owns any of it.
    Mine,
    /// Another agent owns it, or a part of it.
    Owned,
}

/// Numbers of claims and open offers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ClaimCounts {
    /// Owned subjects, without lapsed claims.
    pub owned: usize,
    /// Open offers.
    pub offers: usize,
}

/// The claims of a room, as of the last committed record. The claims of a retired or removed agent have lapsed, even if no
/// router has recorded that yet.
pub fn owners(room: &Room) -> Result<Claims> {
    let (mut claims, registry) = (claims::owners(&room.dir)?, room.registry()?);
    claims.retain_agents(|agent| is_active(&registry, agent));
    Ok(claims)
}

/// Removes the claims of retired and removed agents.
pub(super) fn drop_retired(state: &mut RoomState, registry: &Registry) {
    claims::retain_agents(state, |agent| is_active(registry, agent));
}

fn is_active(registry: &Registry, agent: &str) -> bool {
    let now = registry.now(agent);
    now.is_some_and(|agent| !agent.is_retired())
}

/// Lists the claims; with `mine`, the claims of this agent and the offers that name it.
pub fn list(room: &Room, mine: Option<&str>) -> Result<ClaimList> {
    let mut state = state::committed(&room.dir)?;
    drop_retired(&mut state, &room.registry()?);
    Ok(of_state(&state, &SessionCalls::of(&room.dir), mine))
}

/// As [`list`], from a state without the claims of retired agents.
pub(super) fn of_state(state: &RoomState, calls: &SessionCalls, mine: Option<&str>) -> ClaimList {
    let is_mine = |agent: &str| mine.is_none_or(|mine| mine == agent);
    let claims = claims::of(state);
    let signs = ActivitySigns {
        last_seen: &|agent| state.last_seen(agent),
        calls,
    };
    let mut lives = BTreeMap::new();
    let owned = claims.held().iter().filter(|one| is_mine(&one.owner));
    let offers = claims.offered().iter();
    ClaimList {
        at: Stamp::now().to_string(),
        claims: owned
            .map(|claim| {
                // Checks each owner's session once.
                let life = *lives
                    .entry((&claim.owner, claim.renewed, claim.lease))
                    .or_insert_with(|| life(claim, &signs));
                ListedClaim {
                    claim: claim.clone(),
                    expires_at: match life {
                        ClaimLifetime::Session => None,
                        ClaimLifetime::Until(at) => Some(at.to_string()),
                    },
                    running: life == ClaimLifetime::Session,
                }
            })
            .collect(),
        offers: offers
            .filter(|one| is_mine(&one.from) || is_mine(&one.to))
            .cloned()
            .collect(),
    }
}

impl ListedClaim {
    /// The time until it lapses, in microseconds. `None` while the owner's session runs.
    pub fn left(&self, now: Stamp) -> Option<i64> {
        let end = Stamp::parse(self.expires_at.as_deref()?)?;
        Some(end.micros() - now.micros())
    }
}

impl ClaimList {
    /// The claims that have not lapsed.
    pub fn valid(&self) -> impl Iterator<Item = &ListedClaim> {
        let now = Stamp::parse(&self.at).unwrap_or_default();
        self.claims
            .iter()
            .filter(move |one| one.left(now).is_none_or(|left| left > 0))
    }

    /// Returns true if a claim has lapsed that no router has released yet.
    pub fn has_lapsed(&self) -> bool {
        self.valid().count() < self.claims.len()
    }

    /// Counts the claims.
    pub fn count(&self) -> ClaimCounts {
        ClaimCounts {
            owned: self.valid().count(),
            offers: self.offers.len(),
        }
    }
}

/// The owners of the work that these words mean at a directory. If this fails for any reason except a wrong word, the owners are
/// unknown.
pub fn paths(
    room: &Room,
    agent: Option<&str>,
    from: &Path,
    words: &[String],
) -> Result<Vec<Ownership>> {
    let claims = owners(room).map_err(|e| unknown(&e))?;
    let ground = RepositoryBase::of(room);
    words
        .iter()
        .map(|word| {
            let subject = subject_of_word(room, from, word)?;
            // A file can have further names, such as the name of a link.
            let file = layout::below(from, word.as_ref());
            let places = if crate::disk::git::exists(&file) {
                ground.places(&file)
            } else {
                Vec::new()
            };
            Ok(ownership(&claims, &subject, &places, agent, word))
        })
        .collect()
}

/// The error if it is unknown who owns work.
pub fn unknown(e: &Error) -> Error {
    let fix = "correct this first, or ask the other agents before you change the files";
    Error::busy(format!("it is unknown who owns the work: {e}"), fix)
}

/// The subject of a word, as [`subject_of`], with an error about the word.
fn subject_of_word(room: &Room, from: &Path, word: &str) -> Result<ClaimSubject> {
    subject_of(room, from, word).map_err(|e| match e {
        Error::Rejected(problems) => {
            let what = problems
                .iter()
                .map(|one| one.what.as_str())
                .collect::<Vec<_>>()
                .join("; ");
            let fix = problems
                .into_iter()
                .next()
                .map(|one| one.fix)
                .unwrap_or_default();
            Error::usage(format!("{} is not a subject: {what}", quoted(word)), fix)
        }
        e => e,
    })
}

fn ownership(
    claims: &Claims,
    subject: &ClaimSubject,
    places: &[RepositoryPath],
    agent: Option<&str>,
    word: &str,
) -> Ownership {
    let concerns = |held: &&OwnedClaim| {
        held.subject.conflicts(subject)
            || places.iter().any(|place| {
                held.subject
                    .covers(place.repository.as_deref(), &place.path)
            })
    };
    let claims: Vec<OwnedClaim> = claims.held().iter().filter(concerns).cloned().collect();
    let status = if claims.is_empty() {
        WorkStatus::Free
    } else if claims.iter().all(|held| Some(&*held.owner) == agent) {
        WorkStatus::Mine
    } else {
        WorkStatus::Owned
    };
    Ownership {
        path: word.to_owned(),
        subject: subject.to_string(),
        status,
        claims,
    }
}

/// The first claims of other agents that conflict with an agent's subjects, in one line. `None` if all are free.
pub fn blockers(room: &Room, agent: &str, subjects: &[ClaimSubject]) -> Result<Option<String>> {
    let claims = owners(room)?;
    let steps = ComparisonBudget::of_message();
    let conflicts: Vec<String> = claims
        .of_others(agent, subjects, &steps)
        .take(limits::IN_SENTENCE)
        .map(|held| {
            let since = to_the_second(&Stamp::from_micros(held.since).to_string());
            format!("{} owns {} since {since}", held.owner, held.subject)
        })
        .collect();
    Ok((!conflicts.is_empty()).then(|| conflicts.join(", ")))
}

/// Returns true if an agent owns something by `claims.json`, which may be older than the log.
pub fn may_own(room: &Dir, agent: &str) -> bool {
    let Ok(Some(bytes)) = room.read(layout::CLAIMS, limits::CLAIMS_BYTES) else {
        return false;
    };
    let has = |field: &str| {
        memmem::find(&bytes, format!("\"{field}\": \"{agent}\"").as_bytes()).is_some()
    };
    has("owner")
}
