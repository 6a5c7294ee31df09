//! Claims work, releases it and hands it over: writes the message to the outbox, and follows the log until the router has
//! decided.

use super::follow::{TrackedMessage, follow, refresh};
use super::send::{self, MessageDraft};
use crate::base::clock::{Stamp, span_text};
use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::base::text::listed;
use crate::features::claims::change::ClaimChange;
use crate::features::claims::{Claims, OfferAnswer, owners};
use crate::log::lookup;
use crate::message::id;
use crate::message::record::Record;
use crate::message::subject::ClaimSubject;
use crate::message::{ALL_CLAIMS, object};
use crate::query::claims;
use crate::query::identity::{self, AgentIdentity};
use crate::room::Room;
use crate::room::repository::subject_of;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// A request about claims.
#[derive(Debug, Clone)]
pub enum ClaimAction {
    /// To own work.
    Claim {
        /// Paths, globs, tasks and lanes.
        subjects: Vec<ClaimSubject>,
        /// The lease, as text. `None` for the room's default.
        lease: Option<String>,
    },
    /// To own it no longer.
    Release {
        /// The work; empty for everything that the owner owns.
        subjects: Vec<ClaimSubject>,
        /// The owner. `None` for the sender.
        of: Option<String>,
    },
    /// To offer it to another agent.
    Offer {
        /// The other agent.
        to: String,
        /// The work; empty for everything that the sender owns.
        subjects: Vec<ClaimSubject>,
    },
    /// To accept an offer. `None` for the only one.
    Accept(Option<String>),
    /// To decline an offer, or to withdraw one. `None` for the only one.
    Decline(Option<String>),
}

/// The decision of the router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClaimDecision {
    /// Message id.
    pub id: String,
    /// The number of the record that decided.
    pub seq: u64,
    /// The result.
    pub status: ClaimOutcome,
    /// The subjects.
    pub claims: Vec<String>,
    /// The lease of a granted claim, as `4h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// The owner of the subjects before this change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_before: Option<String>,
    /// The agent that can accept the offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The message of the offer, as `<sender>/<id>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offer: Option<String>,
}

impl ClaimDecision {
    /// The decision in one line.
    pub fn sentence(&self) -> String {
        let ClaimDecision {
            status,
            claims,
            lease,
            owner_before,
            to,
            seq,
            ..
        } = self;
        let what = if claims.is_empty() {
            String::new()
        } else {
            format!(": {}", listed(claims))
        };
        match status {
            ClaimOutcome::Granted => match owner_before {
                Some(owner) => format!("granted{what} from {owner}"),
                None => format!(
                    "granted{what} (lease {})",
                    lease.as_deref().unwrap_or_default()
                ),
            },
            ClaimOutcome::Offered => format!(
                "offered to {}{what} (#{seq})",
                to.as_deref().unwrap_or_default()
            ),
            ClaimOutcome::Declined => match owner_before {
                Some(owner) => format!("declined{what} of {owner}"),
                None => format!("declined{what}"),
            },
            ClaimOutcome::Released => format!("released{what}"),
        }
    }
}

/// The result of a message about claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimOutcome {
    /// The sender owns the subjects.
    Granted,
    /// The owner owns the subjects no longer.
    Released,
    /// The subjects are offered.
    Offered,
    /// The offer was declined or withdrawn.
    Declined,
}

/// A message about claims that was written to the outbox.
pub struct SentClaimMessage {
    /// The message.
    pub message: TrackedMessage,
    room: Room,
    agent: String,
    /// The claims before the message.
    before: Claims,
}

/// Writes the message. The file is durable when this returns; [`SentClaimMessage::decided`] delivers it.
pub fn ask(
    room: &Room,
    who: &AgentIdentity,
    ask: ClaimAction,
    note: Option<String>,
) -> Result<SentClaimMessage> {
    let before = owners(&room.dir)?;
    let agent = send::sender_id(&room.registry()?, &room.settings()?, who)?;
    if let ClaimAction::Accept(Some(offer)) | ClaimAction::Decline(Some(offer)) = &ask {
        // A wrong reference is an error of the command line, and no message is sent.
        lookup::one_of(&room.dir, &identity::own_viewer(room, &agent)?, offer)?;
    }
    let ask = match ask {
        ClaimAction::Accept(None) => {
            ClaimAction::Accept(Some(only_offer(&before, &agent, OfferAnswer::Accept)?))
        }
        ClaimAction::Decline(None) => {
            ClaimAction::Decline(Some(only_offer(&before, &agent, OfferAnswer::Decline)?))
        }
        ask => ask,
    };
    let offer = match &ask {
        ClaimAction::Accept(offer) | ClaimAction::Decline(offer) => offer.as_deref(),
        _ => None,
    };
    let offer = offer.and_then(|name| before.offered().iter().find(|one| one.offer == name));
    let answers = offer.map(|offer| Stamp::from_micros(offer.since));
    let draft = MessageDraft {
        answers,
        ..draft(ask, note)
    };
    let sent = send::send(room, who, draft)?;
    Ok(SentClaimMessage {
        message: TrackedMessage::new(room, sent, Error::NotGranted),
        room: room.clone(),
        agent,
        before,
    })
}

/// The only offer that the agent can answer in this way.
fn only_offer(claims: &Claims, agent: &str, answer: OfferAnswer) -> Result<String> {
    claims
        .find_offer(agent, answer, None)
        .map_err(Error::NotGranted)
}

/// Lets a router or a pass release claims that have lapsed by their time. Returns false if there are none, or if this fails.
pub fn release_lapsed(room: &Room) -> bool {
    let released = claims::list(room, None).and_then(|list| {
        let has_lapsed = list.has_lapsed();
        if has_lapsed {
            refresh(room, limits::READER_WAIT)?;
        }
        Ok(has_lapsed)
    });
    released.unwrap_or_else(|e| {
        tracing::debug!("{e}");
        false
    })
}

/// The message that asks for it.
pub(crate) fn draft(ask: ClaimAction, note: Option<String>) -> MessageDraft {
    let (mut fields, mut to) = (Value::Null, Vec::new());
    let (mut in_reply_to, mut priority) = (None, None);
    let kind = match ask {
        ClaimAction::Claim { subjects, lease } => {
            let claims: Value = subjects.iter().map(ClaimSubject::to_claim).collect();
            fields = json!({"claims": claims, "lease": lease});
            // The command shows the answer itself.
            priority = Some("low".to_owned());
            "claim"
        }
        ClaimAction::Release { subjects, of } => {
            fields = json!({"claims": explicit(&subjects), "of": of});
            "release"
        }
        ClaimAction::Offer {
            to: other,
            subjects,
        } => {
            to.push(other);
            fields = json!({"claims": explicit(&subjects)});
            "handoff"
        }
        ClaimAction::Accept(offer) => {
            in_reply_to = offer;
            "accept"
        }
        ClaimAction::Decline(offer) => {
            in_reply_to = offer;
            "decline"
        }
    };
    MessageDraft {
        kind: Some(kind.into()),
        to,
        body: note,
        in_reply_to,
        priority,
        fields: object(fields),
        ..MessageDraft::default()
    }
}

/// Subjects as the value of `claims`: everything has a word of its own.
fn explicit(subjects: &[ClaimSubject]) -> Value {
    if subjects.is_empty() {
        ALL_CLAIMS.into()
    } else {
        json!(subjects)
    }
}

impl SentClaimMessage {
    /// Delivers the message and waits for a decision. A rejection is an error. The agent's own copy of it counts as read,
    /// so that nothing notifies the agent again.
    pub fn decided(&mut self, within: Duration) -> Result<ClaimDecision> {
        let room = self.room.clone();
        let found = follow(&room, within, &mut || self.look());
        let fix = "`mailbag claims --mine` shows the result later";
        self.message.decided(found, fix)
    }

    /// Reads the new records of the log. A rejection is an error.
    fn look(&mut self) -> Result<Option<ClaimDecision>> {
        let mut decided = None;
        for record in self.message.read()? {
            if self.message.is_own(&record) {
                decided = self.decision(&record);
            }
        }
        Ok(decided)
    }

    fn decision(&self, record: &Record) -> Option<ClaimDecision> {
        Some(match record.facts.claims.as_ref()? {
            ClaimChange::Grant(terms) => ClaimDecision {
                lease: Some(span_text(Duration::from_secs(terms.lease))),
                ..self.plain(record, ClaimOutcome::Granted, terms.claims.clone())
            },
            ClaimChange::Release { of, claims } => ClaimDecision {
                owner_before: Some(of.to_string()),
                ..self.plain(record, ClaimOutcome::Released, claims.clone())
            },
            ClaimChange::Offer { to, claims } => ClaimDecision {
                to: Some(to.to_string()),
                offer: Some(id::full_name(&self.agent, &self.message.sent.id)),
                ..self.plain(record, ClaimOutcome::Offered, claims.clone())
            },
            ClaimChange::Accept { offer } => self.answered(record, ClaimOutcome::Granted, offer),
            ClaimChange::Decline { offer } => self.answered(record, ClaimOutcome::Declined, offer),
            ClaimChange::Rename { .. } => return None,
        })
    }

    /// A decision with the fields that all decisions have.
    fn plain(&self, record: &Record, status: ClaimOutcome, claims: Vec<String>) -> ClaimDecision {
        ClaimDecision {
            id: self.message.sent.id.clone(),
            seq: record.seq,
            status,
            claims,
            lease: None,
            owner_before: None,
            to: None,
            offer: None,
        }
    }

    fn answered(&self, record: &Record, status: ClaimOutcome, offer: &str) -> ClaimDecision {
        let one = self.before.offered().iter().find(|one| one.offer == offer);
        let claims = one.map(|one| one.subjects.iter().map(ClaimSubject::to_string).collect());
        ClaimDecision {
            owner_before: one.map(|one| one.from.to_string()),
            offer: Some(offer.to_owned()),
            ..self.plain(record, status, claims.unwrap_or_default())
        }
    }
}

/// The subjects that a person at `from` means. All that are wrong are reported together.
pub fn subjects(room: &Room, from: &Path, words: &[String]) -> Result<Vec<ClaimSubject>> {
    let (mut subjects, mut problems) = (Vec::new(), Vec::<Problem>::new());
    for (n, word) in words.iter().enumerate() {
        match subject_of(room, from, word) {
            Ok(subject) if subjects.contains(&subject) => {}
            Ok(subject) => subjects.push(subject),
            Err(Error::Rejected(wrong)) => {
                problems.extend(wrong.into_iter().map(|one| one.at(format!("/claims/{n}"))))
            }
            Err(e) => return Err(e),
        }
    }
    if problems.is_empty() {
        Ok(subjects)
    } else {
        Err(Error::Rejected(problems))
    }
}

/// As [`subjects`], for a claim: all files of a repository need their explicit form.
pub fn subjects_to_claim(room: &Room, from: &Path, words: &[String]) -> Result<Vec<ClaimSubject>> {
    for (n, word) in words.iter().enumerate() {
        if let Some(problem) = subject_of(room, from, word)?.check_explicit(word) {
            return Err(Error::Rejected(vec![problem.at(format!("/claims/{n}"))]));
        }
    }
    subjects(room, from, words)
}

/// As [`subjects`], for work that an agent owns: a word may also be the subject as `mailbag claims` shows it.
/// The word `all` alone means everything, unless the agent owns a file of this name: then no subjects are returned.
pub fn owned_subjects(
    room: &Room,
    from: &Path,
    agent: &str,
    words: &[String],
) -> Result<Vec<ClaimSubject>> {
    let claims = owners(&room.dir)?;
    if words == [ALL_CLAIMS] && !are_owned(&claims, agent, &subjects(room, from, words)?) {
        return Ok(Vec::new());
    }
    let mut meant = Vec::new();
    for word in words {
        let here = subjects(room, from, std::slice::from_ref(word));
        let is_here = here
            .as_ref()
            .is_ok_and(|here| are_owned(&claims, agent, here));
        match ClaimSubject::parse(word) {
            Ok(shown) if !is_here && are_owned(&claims, agent, std::slice::from_ref(&shown)) => {
                meant.push(shown)
            }
            _ => meant.extend(here?),
        }
    }
    Ok(meant)
}

/// Returns true if the agent owns all of these subjects.
fn are_owned(claims: &Claims, agent: &str, subjects: &[ClaimSubject]) -> bool {
    let is_owned = |subject: &ClaimSubject| claims.of(agent).any(|held| held.subject == *subject);
    subjects.iter().all(is_owned)
}
