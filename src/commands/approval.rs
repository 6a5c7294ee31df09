//! Asks for a decision, and decides: writes the message to the outbox, and follows the log until the router has the outcome.

use super::ack::{self, AckRequest};
use super::follow::{self, TrackedMessage, mark_copy_seen};
pub use super::outcome::ApprovalOutcome;
use super::send::{self, MessageDraft};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::hash::hex;
use crate::base::text::{listed, quoted, shell_path};
use crate::features::approvals::decision::{self, ApprovalChange};
use crate::features::approvals::signature::{self, DecisionKey};
use crate::features::approvals::{self, OpenApproval};
use crate::log::state;
use crate::message::record::Record;
use crate::message::status::CopyStatus;
use crate::message::{APPROVAL, DECISION, Message, id};
use crate::query::displayed::{self, DisplayedApproval};
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use crate::room::actor::{DECIDE, require_person};
use serde_json::{Map, Value};
use std::time::Duration;

/// The advice for a message about an approval that is not recorded yet.
const STILL_OPEN: &str = "`mailbag pending` shows whether the approval is still open";

/// The terms of a question that needs a decision, as a person writes them.
#[derive(Debug, Clone, Default)]
pub struct ApprovalRequest {
    /// The options; empty for yes and no.
    pub options: Vec<String>,
    /// The deadline: a duration or a time.
    pub deadline: Option<String>,
    /// The outcome at the deadline.
    pub on_deadline: Option<String>,
    /// Whether the decision needs a signature.
    pub signed: bool,
}

/// A message about an approval that was written to the outbox.
pub struct SentApprovalMessage {
    /// The message.
    pub message: TrackedMessage,
    /// The options.
    pub options: Vec<String>,
    /// The approval, as `<sender>/<id>`.
    pub approval: String,
    room: Room,
    agent: String,
    /// The subject that was sent.
    subject: Option<String>,
    /// The body that was sent.
    body: Option<String>,
    /// The message in its record.
    recorded: Value,
    /// The message that decided.
    decision: Value,
}

/// A decision that the person signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvedDecision {
    /// The option.
    pub option: String,
    /// The reason.
    pub note: Option<String>,
    /// The record of the decision.
    pub seq: u64,
}

/// Asks for a decision. The message is durable when this returns; [`SentApprovalMessage::look`] finds the decision.
pub fn ask(
    room: &Room,
    who: &AgentIdentity,
    draft: MessageDraft,
    terms: ApprovalRequest,
) -> Result<SentApprovalMessage> {
    let mut fields = Map::new();
    if !terms.options.is_empty() {
        fields.insert("options".into(), terms.options.clone().into());
    }
    let texts = [
        ("deadline", terms.deadline),
        ("on_deadline", terms.on_deadline),
    ];
    fields.extend(
        texts
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), text?.into()))),
    );
    if terms.signed {
        fields.insert("signature".into(), "required".into());
    }
    let options = decision::options(&fields);
    let draft = MessageDraft {
        kind: Some(APPROVAL.into()),
        fields,
        ..draft
    };
    write(room, who, draft, options, None)
}

/// A decision as a person gives it.
#[derive(Debug, Clone)]
pub struct DecisionRequest {
    /// The approval: `12`, `#12`, `<id>` or `<sender>/<id>`.
    pub approval: String,
    /// An option, its beginning, or its number from 1.
    pub option: String,
    /// The reason.
    pub note: Option<String>,
    /// The digest of the text that was displayed, from [`DisplayedApproval`].
    pub digest: String,
}

/// Fails if the caller of this process cannot decide as this agent: only a person decides as the human.
pub fn require_decider(agent: &str) -> Result<()> {
    if agent == id::HUMAN {
        require_person(DECIDE)?;
    }
    Ok(())
}

/// Decides an approval, and waits until the router has recorded the decision.
pub fn decide(
    room: &Room,
    who: &AgentIdentity,
    choice: DecisionRequest,
    within: Duration,
) -> Result<ApprovalOutcome> {
    let open = displayed::open(room, &choice.approval)?;
    if let Some(problem) = open.check_digest(&choice.digest) {
        return Err(Error::NotGranted(vec![problem]));
    }
    let option = option_of(&open.approval, &open.terms.options, &choice.option)?;
    let mut fields = Map::from_iter([
        ("option".to_owned(), Value::from(option)),
        ("digest".to_owned(), choice.digest.into()),
    ]);
    let mut pinned = None;
    if open.terms.signed {
        let signer = DecisionSigner::new(room, who, &open.approval)?;
        fields.insert("signature".into(), signer.sign(&open, option).into());
        pinned = signer.pinned;
    }
    let in_reply_to = Some(open.approval.clone());
    // The rules of decisions determine the recipients.
    let draft = MessageDraft {
        kind: Some(DECISION.into()),
        in_reply_to,
        body: choice.note,
        fields,
        answers: Some(Stamp::from_micros(open.since)),
        ..MessageDraft::default()
    };
    let written = write(
        room,
        who,
        draft,
        open.terms.options.clone(),
        Some(open.approval.clone()),
    )?;
    let outcome = written.decided(within)?;
    Ok(ApprovalOutcome { pinned, ..outcome })
}

fn write(
    room: &Room,
    who: &AgentIdentity,
    draft: MessageDraft,
    options: Vec<String>,
    approval: Option<String>,
) -> Result<SentApprovalMessage> {
    let agent = send::sender_id(&room.registry()?, &room.settings()?, who)?;
    let (subject, body) = (draft.subject.clone(), draft.body.clone());
    let sent = send::send(room, who, draft)?;
    let approval = approval.unwrap_or_else(|| id::full_name(&agent, &sent.id));
    Ok(SentApprovalMessage {
        message: TrackedMessage::new(room, sent, Error::NotGranted),
        options,
        approval,
        room: room.clone(),
        agent,
        subject,
        body,
        recorded: Value::Null,
        decision: Value::Null,
    })
}

/// The option that a word means: itself, its number from 1, or the only one that begins so.
pub fn chosen<'o>(options: &'o [String], word: &str) -> Option<&'o str> {
    let number = word.trim().parse::<usize>().ok();
    let beginning = word.trim().to_lowercase();
    let mut begun = options
        .iter()
        .filter(|option| !beginning.is_empty() && option.to_lowercase().starts_with(&beginning));
    decision::option(options, word)
        .or_else(|| options.get(number?.checked_sub(1)?))
        .or_else(|| match (begun.next(), begun.next()) {
            (option, None) => option,
            _ => None,
        })
        .map(String::as_str)
}

/// The option of an approval that a word means.
pub fn option<'a>(displayed: &'a DisplayedApproval, word: &str) -> Result<&'a str> {
    option_of(&displayed.approval, &displayed.options, word)
}

fn option_of<'a>(approval: &str, options: &'a [String], word: &str) -> Result<&'a str> {
    chosen(options, word).ok_or_else(|| {
        Error::usage(
            format!("{} is not an option of {approval}", quoted(word)),
            format!("write one of {}", options.join(", ")),
        )
    })
}

/// The person's key, pinned in the room.
struct DecisionSigner {
    key: DecisionKey,
    place: String,
    /// The public key, if this decision pins it.
    pinned: Option<String>,
}

impl DecisionSigner {
    /// Checks that a person decides, and makes the key if the room has no pinned key.
    fn new(room: &Room, who: &AgentIdentity, approval: &str) -> Result<DecisionSigner> {
        if !who.in_registry(&room.registry()?)?.is_human() {
            return Err(Error::usage(
                format!("a decision on {approval} needs the signature of the person"),
                "run `mailbag decide` as the human in a terminal",
            ));
        }
        require_person(DECIDE)?;
        let place = signing_place(room)?;
        let state = state::committed(&room.dir)?;
        let Some(pin) = approvals::of(&state).pin(Some(&place)).cloned() else {
            let key = DecisionKey::make()?;
            return Ok(DecisionSigner {
                pinned: Some(key.public()),
                key,
                place,
            });
        };
        match DecisionKey::own()?.filter(|key| key.public() == pin.key) {
            Some(key) => Ok(DecisionSigner {
                key,
                place,
                pinned: None,
            }),
            None => Err(Error::usage(
                format!(
                    "the decision key {} that is pinned in this room is not in {}",
                    signature::short(&pin.key),
                    signature::path()?.display()
                ),
                format!(
                    "restore that file; if it is lost, run `mailbag init --adopt {}` and decide again",
                    shell_path(room.dir.path())
                ),
            )),
        }
    }

    fn sign(&self, open: &OpenApproval, option: &str) -> String {
        let OpenApproval {
            approval,
            seq,
            digest,
            ..
        } = open;
        self.key.sign(signature::SignedDecision {
            place: &self.place,
            approval,
            seq: *seq,
            digest,
            option,
        })
    }
}

fn signing_place(room: &Room) -> Result<String> {
    signature::place(room)?.ok_or_else(|| {
        Error::usage(
            "this room is a copy, so no signature counts in it",
            format!(
                "run `mailbag init --adopt {}` first",
                shell_path(room.dir.path())
            ),
        )
    })
}

impl SentApprovalMessage {
    /// Delivers the message, and waits for the outcome.
    fn decided(mut self, within: Duration) -> Result<ApprovalOutcome> {
        let room = self.room.clone();
        let found = follow::follow(&room, within, &mut || self.look());
        self.message.decided(found, STILL_OPEN)
    }

    /// The agent that sent the message.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The sentence for a person or a model while the approval is open.
    pub fn sentence(&self) -> String {
        let to = listed(
            self.message
                .sent
                .recipients
                .iter()
                .map(|recipient| &recipient.agent),
        );
        format!("asked {to}: {}", self.message.sent.id)
    }

    /// The decision, if the person signed it with the pinned key, and if the log has the question as it was sent.
    /// A log that another program wrote does not prove a decision, so the pinned key must be the key in the
    /// person's home directory.
    pub fn proved(&self, outcome: &ApprovalOutcome) -> Result<Option<ProvedDecision>> {
        let is_as_sent = text_of(&self.recorded, "subject") == self.subject.as_deref()
            && text_of(&self.recorded, "body") == self.body.as_deref();
        let message = self
            .recorded
            .as_object()
            .cloned()
            .and_then(Message::from_fields);
        let (Some(seq), Some(option), Some(message)) = (self.message.seq, &outcome.option, message)
        else {
            return Ok(None);
        };
        if !is_as_sent {
            return Ok(None);
        }
        let Some(place) = signature::place(&self.room)? else {
            return Ok(None);
        };
        let state = state::committed(&self.room.dir)?;
        let Some(pin) = approvals::of(&state).pin(Some(&place)) else {
            return Ok(None);
        };
        let own = DecisionKey::own().ok().flatten();
        let is_own = own.is_some_and(|own| own.public() == pin.key);
        let (approval, digest) = (&self.approval, &hex(&message.digest()));
        let signed = signature::SignedDecision {
            place: &place,
            approval,
            seq,
            digest,
            option,
        };
        let signature = text_of(&self.decision, "signature").unwrap_or_default();
        let is_by_human = outcome.by.as_deref() == Some(id::HUMAN);
        if !is_own || !is_by_human || !signed.is_signed_by(&pin.key, signature) {
            return Ok(None);
        }
        Ok(Some(ProvedDecision {
            option: option.clone(),
            note: text_of(&self.decision, "body").map(str::to_owned),
            seq: outcome.seq,
        }))
    }

    /// Withdraws the question.
    pub fn withdraw(&self, who: &AgentIdentity) -> Result<()> {
        let withdrawal = AckRequest {
            refs: vec![self.approval.clone()],
            status: CopyStatus::Withdrawn,
            note: None,
            superseded_by: None,
        };
        ack::ack(&self.room, who, withdrawal).map(drop)
    }

    /// Reads the new records of the log, and returns the outcome, if there is one. A rejection of the message is an error.
    pub fn look(&mut self) -> Result<Option<ApprovalOutcome>> {
        let mut found = None;
        for record in self.message.read()? {
            let is_own = self.message.is_own(&record);
            if is_own {
                self.recorded = content(&record);
            }
            let outcome = match record.facts.approvals.as_ref() {
                Some(ApprovalChange::Decide {
                    approval, option, ..
                }) if *approval == self.approval => {
                    ApprovalOutcome::new(approval, Some(option), Some(record.sender()), &record)
                }
                Some(ApprovalChange::Expire { approval, option }) if *approval == self.approval => {
                    ApprovalOutcome::new(approval, option.as_ref(), None, &record)
                }
                Some(ApprovalChange::Withdraw { approvals })
                    if approvals.contains(&self.approval) =>
                {
                    ApprovalOutcome::new(&self.approval, None, Some(record.sender()), &record)
                }
                _ => continue,
            };
            if !is_own {
                mark_copy_seen(&self.room, &self.agent, &record);
            }
            if found.is_none() {
                (self.decision, found) = (content(&record), Some(outcome));
            }
        }
        Ok(found)
    }
}

fn text_of<'v>(message: &'v Value, field: &str) -> Option<&'v str> {
    message.get(field)?.as_str()
}

fn content(record: &Record) -> Value {
    record.message_as().unwrap_or_default()
}
