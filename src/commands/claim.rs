//! Claims work, releases it and hands it over: writes the message to the outbox, and follows the log until the router has
//! decided.

use super::follow::{TrackedMessage, follow, mark_copy_seen, refresh};
use super::send::{self, MessageDraft};
use crate::base::clock::{Stamp, span_text};
use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::base::text::{count_of, listed, shell_word};
use crate::features::claims::change::{ClaimChange, ClaimTerms};
use crate::log::lookup;
use crate::log::state::claims::owners;
use crate::log::state::claims::{Claims, OfferAnswer};
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
        /// Whether the claim waits if it cannot be granted now.
        wait: bool,
    },
    /// To own it no longer.
    Release {
        /// The work; empty for everything that the owner owns or waits for.
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
    /// The lease of a granted or waiting claim, as `4h`.
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
    /// The messages of waiting claims that were withdrawn, as `<sender>/<id>`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<String>,
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
            withdrawn,
            ..
        } = self;
        let what = if claims.is_empty() {
            String::new()
        } else {
            format!(": {}", listed(claims))
        };
        let waiting = count_of(withdrawn.len(), "waiting claim");
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
            ClaimOutcome::Released if claims.is_empty() => format!("withdrawn: {waiting}"),
            ClaimOutcome::Released if withdrawn.is_empty() => format!("released{what}"),
            ClaimOutcome::Released => format!("released{what}; withdrawn: {waiting}"),
            ClaimOutcome::Waiting => format!("waiting{what}"),
            ClaimOutcome::Skipped | ClaimOutcome::Withdrawn => format!("no longer waiting{what}"),
        }
    }
}

/// The result of a message about claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimOutcome {
    /// The sender owns the subjects.
    Granted,
    /// The claim waits.
    Waiting,
    /// The claim no longer waits, because the agent was inactive.
    Skipped,
    /// The claim no longer waits, because it was withdrawn.
    Withdrawn,
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
    /// The names of the waiting claim: a repeated claim keeps the place and the name of its first message.
    names: Vec<String>,
    decided: Option<ClaimDecision>,
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
    let waiting = match &ask {
        ClaimAction::Claim { subjects, .. } => {
            let same = before
                .waiting()
                .iter()
                .filter(|one| *one.agent == *agent && one.subjects == *subjects);
            same.map(|one| one.claim.clone()).collect()
        }
        _ => Vec::new(),
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
    let names = [waiting, vec![id::full_name(&agent, &sent.id)]].concat();
    Ok(SentClaimMessage {
        message: TrackedMessage::new(room, sent, Error::NotGranted),
        room: room.clone(),
        agent,
        before,
        names,
        decided: None,
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
        ClaimAction::Claim {
            subjects,
            lease,
            wait,
        } => {
            let claims: Value = subjects.iter().map(ClaimSubject::to_claim).collect();
            fields = json!({"claims": claims, "lease": lease, "wait": wait.then_some(true)});
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
    /// Delivers the message and waits for a decision. The agent's own copy of it counts as read, so that nothing notifies
    /// the agent again.
    pub fn decided(&mut self, within: Duration) -> Result<ClaimDecision> {
        let found = self.deliver(within);
        self.checked(found)
    }

    /// Delivers the message, and looks for a decision. A rejection is an error.
    pub fn deliver(&mut self, within: Duration) -> Result<Option<ClaimDecision>> {
        let room = self.room.clone();
        follow(&room, within, &mut || Ok(self.look()?.cloned()))
    }

    /// The sender.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Reads the new records of the log: the last decision, if there is any. A rejection is an error.
    pub fn look(&mut self) -> Result<Option<&ClaimDecision>> {
        for record in self.message.read()? {
            if self.is_about_us(&record) {
                if !self.message.is_own(&record) {
                    mark_copy_seen(&self.room, &self.agent, &record);
                }
                self.decided = self.decision(&record);
            }
        }
        Ok(self.decided.as_ref())
    }

    /// The decision that was found, or the error that nothing was decided in time.
    pub fn checked<T>(&self, found: Result<Option<T>>) -> Result<T> {
        let fix = "`mailbag claims --mine` shows the result later";
        self.message.decided(found, fix)
    }

    /// Withdraws the claim: what of it waits or is not decided yet. The error says that the claim may still wait.
    pub fn withdraw(&self, who: &AgentIdentity, subjects: &[ClaimSubject]) -> Result<()> {
        let reason = if let Err(e) = self.send_release(who, subjects) {
            e.to_string()
        } else {
            let withdrawn = follow(&self.room, limits::WRITER_WAIT, &mut || {
                let waits = owners(&self.room.dir)?
                    .waiting()
                    .iter()
                    .any(|one| self.names.contains(&one.claim));
                Ok((!waits).then_some(()))
            });
            if withdrawn?.is_some() {
                return Ok(());
            }
            "the router has not withdrawn it yet".to_owned()
        };
        let names: Vec<_> = subjects
            .iter()
            .map(|subject| shell_word(subject.as_str()))
            .collect();
        let names = names.join(" ");
        Err(Error::Done {
            what: format!("the claim of {names} still waits, as {}", self.name()),
            reason,
            fix: format!("withdraw it with `mailbag release {names}`"),
        })
    }

    /// The message of the waiting claim, as `<sender>/<id>`.
    pub fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    fn send_release(&self, who: &AgentIdentity, subjects: &[ClaimSubject]) -> Result<()> {
        let now = owners(&self.room.dir)?;
        let mut subjects = subjects.to_vec();
        subjects.retain(|subject| !now.of(&self.agent).any(|held| held.subject == *subject));
        if !subjects.is_empty() {
            send::send(
                &self.room,
                who,
                draft(ClaimAction::Release { subjects, of: None }, None),
            )?;
        }
        Ok(())
    }

    fn is_about_us(&self, record: &Record) -> bool {
        if self.decided.is_some() {
            return match record.facts.claims.as_ref() {
                Some(ClaimChange::Dequeue { claim } | ClaimChange::Skip { claim }) => {
                    self.names.contains(claim)
                }
                Some(ClaimChange::Release { waiting, .. }) => {
                    waiting.iter().any(|claim| self.names.contains(claim))
                }
                _ => false,
            };
        }
        self.message.is_own(record)
    }

    fn decision(&self, record: &Record) -> Option<ClaimDecision> {
        Some(match record.facts.claims.as_ref()? {
            ClaimChange::Grant(terms) => self.on_terms(record, ClaimOutcome::Granted, terms),
            ClaimChange::Queue(terms) => self.on_terms(record, ClaimOutcome::Waiting, terms),
            ClaimChange::Dequeue { .. } => self.later(record, ClaimOutcome::Granted)?,
            ClaimChange::Skip { .. } => self.later(record, ClaimOutcome::Skipped)?,
            ClaimChange::Release { .. } if self.decided.is_some() => {
                self.later(record, ClaimOutcome::Withdrawn)?
            }
            ClaimChange::Release {
                of,
                claims,
                waiting,
            } => ClaimDecision {
                owner_before: Some(of.to_string()),
                withdrawn: waiting.clone(),
                ..self.plain(record, ClaimOutcome::Released, claims.clone())
            },
            ClaimChange::Offer { to, claims } => ClaimDecision {
                to: Some(to.to_string()),
                offer: Some(id::full_name(&self.agent, &self.message.sent.id)),
                ..self.plain(record, ClaimOutcome::Offered, claims.clone())
            },
            ClaimChange::Accept { offer } => self.answered(record, ClaimOutcome::Granted, offer),
            ClaimChange::Decline { offer } => self.answered(record, ClaimOutcome::Declined, offer),
            ClaimChange::Rename { .. } | ClaimChange::Cut { .. } => return None,
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
            withdrawn: Vec::new(),
        }
    }

    fn on_terms(&self, record: &Record, status: ClaimOutcome, terms: &ClaimTerms) -> ClaimDecision {
        ClaimDecision {
            lease: Some(span_text(Duration::from_secs(terms.lease))),
            ..self.plain(record, status, terms.claims.clone())
        }
    }

    /// The decision about a claim that waited.
    fn later(&self, record: &Record, status: ClaimOutcome) -> Option<ClaimDecision> {
        Some(ClaimDecision {
            seq: record.seq,
            status,
            ..self.decided.clone()?
        })
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

/// As [`subjects`], for work that an agent owns or waits for: a word may also be the subject as `mailbag claims` shows it.
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

/// Returns true if the agent owns or waits for all of these subjects.
fn are_owned(claims: &Claims, agent: &str, subjects: &[ClaimSubject]) -> bool {
    subjects.iter().all(|subject| {
        claims.of(agent).any(|held| held.subject == *subject)
            || claims
                .waiting()
                .iter()
                .any(|one| *one.agent == *agent && one.subjects.contains(subject))
    })
}
