//! Answers an item of `pending` in the way that its kind needs.

use super::ack::{self, AckRequest};
use super::approval::{self, DecisionRequest};
use super::claim::{self, ClaimAction};
use super::post::{delivery, post};
use super::reply::{ReplyDraft, reply};
use super::send::MessageDraft;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::count_of;
use crate::message::reference::Reference;
use crate::message::status::CopyStatus;
use crate::query::identity::AgentIdentity;
use crate::query::pending::{self, PendingItem};
use crate::room::Room;

/// An action that settles an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemAction {
    /// Decide an approval by this option. The digest identifies the text that was displayed in full.
    Decide {
        /// The option.
        option: String,
        /// The digest from [`crate::query::displayed::DisplayedApproval`].
        digest: String,
    },
    /// Reply with this text.
    Reply(String),
    /// Accept an offer of claims.
    Accept,
    /// Decline an offer of claims.
    Decline,
    /// Remove the item from the list.
    Dismiss,
}

/// Answers an item as a person at a terminal, and returns a sentence about it. If the item is already settled,
/// nothing is sent.
pub fn answer(
    room: &Room,
    who: &AgentIdentity,
    item: &PendingItem,
    action: ItemAction,
) -> Result<String> {
    let number = format!("#{}", item.seq);
    // The router judges a decision, and its error names the outcome.
    if !matches!(action, ItemAction::Decide { .. }) {
        is_open(room, who, item)?;
    }
    match action {
        ItemAction::Decide { option, digest } => {
            let choice = DecisionRequest {
                approval: number.clone(),
                option,
                note: None,
                digest,
            };
            let outcome = approval::decide(room, who, choice, limits::WRITER_WAIT)?;
            Ok(outcome.sentence(&format!("{number} of {}", item.from)))
        }
        ItemAction::Reply(text) => {
            let ReplyDraft { draft, .. } = reply(
                room,
                who,
                &number,
                false,
                MessageDraft {
                    body: Some(text),
                    ..MessageDraft::default()
                },
            )?;
            post(room, who, draft, limits::WRITER_WAIT, |_| Ok(()))?;
            Ok(format!("replied to {number} of {}", item.from))
        }
        ItemAction::Accept => change_claims(room, who, ClaimAction::Accept(Some(number))),
        ItemAction::Decline => change_claims(room, who, ClaimAction::Decline(Some(number))),
        ItemAction::Dismiss => {
            check_dismissals(room, who, std::slice::from_ref(&number))?;
            dismiss(room, who, &number)?;
            Ok(format!("dismissed {number}"))
        }
    }
}

fn change_claims(room: &Room, who: &AgentIdentity, action: ClaimAction) -> Result<String> {
    let decision = claim::ask(room, who, action, None)?.decided(limits::WRITER_WAIT)?;
    Ok(decision.sentence())
}

fn is_open(room: &Room, who: &AgentIdentity, item: &PendingItem) -> Result<()> {
    let agent = who.in_registry(&room.registry()?)?.id.to_string();
    let open = pending::pending(room, &agent)?.items;
    if open.iter().any(|one| one.key() == item.key()) {
        return Ok(());
    }
    Err(Error::not_found(
        format!(
            "the {} #{} of {} is no longer open",
            item.kind, item.seq, item.from
        ),
        "nothing was sent",
    ))
}

/// Removes these items from the list, and returns a sentence about it.
pub fn dismiss_all(room: &Room, who: &AgentIdentity, items: &[PendingItem]) -> Result<String> {
    if items.is_empty() {
        return Err(Error::not_found(
            "these items are no longer open",
            "nothing was sent",
        ));
    }
    let refs = items.iter().map(|item| format!("#{}", item.seq)).collect();
    acknowledge(room, who, refs)?;
    Ok(format!("dismissed {}", count_of(items.len(), "item")))
}

/// Fails if one of these references names only items that no ack removes from the list: an approval stays until it is decided,
/// and an offer until it is answered.
pub fn check_dismissals(room: &Room, who: &AgentIdentity, refs: &[String]) -> Result<()> {
    let agent = who.in_registry(&room.registry()?)?.id.to_string();
    let items = pending::pending(room, &agent)?.items;
    for text in refs {
        let meant = items.iter().filter(|item| is_named(item, text));
        let (lasting, others): (Vec<&PendingItem>, Vec<_>) =
            meant.partition(|item| matches!(item.kind, "approval" | "offer"));
        if let (Some(item), []) = (lasting.first(), others.as_slice()) {
            let decline = match item.kind {
                "offer" => format!(", or `mailbag handoff --decline {}`", item.seq),
                _ => String::new(),
            };
            return Err(Error::usage(
                format!(
                    "{text} is an open {}, which an ack does not close",
                    item.kind
                ),
                format!("use `{}`{decline}", item.command),
            ));
        }
    }
    Ok(())
}

fn is_named(item: &PendingItem, text: &str) -> bool {
    let reference = Reference::parse(text);
    let (from, id) = item.message.split_once('/').unwrap_or_default();
    reference.is_some_and(|one| one.is_of(from, id, Some(item.seq)))
}

fn dismiss(room: &Room, who: &AgentIdentity, number: &str) -> Result<()> {
    acknowledge(room, who, vec![number.to_owned()])
}

fn acknowledge(room: &Room, who: &AgentIdentity, refs: Vec<String>) -> Result<()> {
    let acked = ack::ack(
        room,
        who,
        AckRequest {
            refs,
            status: CopyStatus::Abandoned,
            note: None,
            superseded_by: None,
        },
    )?;
    delivery(room, acked.sent, limits::WRITER_WAIT).map(drop)
}
