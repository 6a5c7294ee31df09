//! Answers an item of `pending` in the way that its kind needs.

use super::ack::{self, Ack};
use super::approval::{self, Choice};
use super::claim::{self, Ask};
use super::post::{delivery, post};
use super::rejected::{self, Which};
use super::reply::{Reply, reply};
use super::send::Draft;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::count_of;
use crate::message::record::EventKind;
use crate::message::status::Status;
use crate::query::identity::Who;
use crate::query::pending::{self, Item};
use crate::room::Room;

/// An action that settles an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
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
    /// Send a rejected message again.
    SendAgain,
    /// Release the claim that an agent waits for, with this reason.
    Release(Option<String>),
    /// Remove the item from the list.
    Dismiss,
}

/// Answers an item as a person at a terminal, and returns a sentence about it. If the item is already settled,
/// nothing is sent.
pub fn answer(room: &Room, who: &Who, item: &Item, action: Action) -> Result<String> {
    let number = format!("#{}", item.seq);
    // The router judges a decision, and its error names the outcome.
    if !matches!(action, Action::Decide { .. }) {
        is_open(room, who, item)?;
    }
    match action {
        Action::Decide { option, digest } => {
            let choice = Choice {
                approval: number.clone(),
                option,
                note: None,
                digest,
            };
            let outcome = approval::decide(room, who, choice, limits::WRITER_WAIT)?;
            Ok(outcome.sentence(&format!("{number} of {}", item.from)))
        }
        Action::Reply(text) => {
            let Reply { draft, .. } = reply(
                room,
                who,
                &number,
                false,
                Draft {
                    body: Some(text),
                    ..Draft::default()
                },
            )?;
            post(room, who, draft, limits::WRITER_WAIT, |_| Ok(()))?;
            Ok(format!("replied to {number} of {}", item.from))
        }
        Action::Accept => Ok(claim::ask(room, who, Ask::Accept(Some(number)), None)?
            .decided(limits::WRITER_WAIT)?
            .sentence()),
        Action::Decline => Ok(claim::ask(room, who, Ask::Decline(Some(number)), None)?
            .decided(limits::WRITER_WAIT)?
            .sentence()),
        Action::SendAgain => send_again(room, who, number),
        Action::Release(note) => release(room, who, item, note),
        Action::Dismiss => {
            dismiss(room, who, &number)?;
            Ok(format!("dismissed {number}"))
        }
    }
}

fn release(room: &Room, who: &Who, item: &Item, note: Option<String>) -> Result<String> {
    let Some(owned) = item.owned.clone() else {
        return Err(Error::Usage {
            what: format!("the {} has nothing to release", item.kind),
            cure: item.command.clone(),
        });
    };
    let of = (*owned.owner != *who.name).then(|| owned.owner.to_string());
    Ok(claim::ask(
        room,
        who,
        Ask::Release {
            subjects: vec![owned.subject],
            of,
        },
        note,
    )?
    .decided(limits::WRITER_WAIT)?
    .sentence())
}

fn is_open(room: &Room, who: &Who, item: &Item) -> Result<()> {
    let agent = who.in_registry(&room.registry()?)?.id.to_string();
    let open = pending::pending(room, &agent)?.items;
    if open.iter().any(|one| one.key() == item.key()) {
        return Ok(());
    }
    Err(Error::NotFound {
        what: format!(
            "the {} #{} of {} is no longer open",
            item.kind, item.seq, item.from
        ),
        cure: "nothing was sent".into(),
    })
}

fn send_again(room: &Room, who: &Who, number: String) -> Result<String> {
    let retried = rejected::retry(
        room,
        &Which::Named(vec![number.clone()]),
        None,
        limits::WRITER_WAIT,
    )?;
    // The item is the notice of the rejection, which has been acted on.
    let acted = dismiss(room, who, &number);
    if let Some(again) = retried
        .iter()
        .find(|one| one.became == Some(EventKind::Rejected))
    {
        return Err(Error::NotGranted(again.problems.clone()));
    }
    acted?;
    let accepted: Vec<String> = retried
        .iter()
        .filter_map(|one| one.record)
        .map(|seq| format!("#{seq}"))
        .collect();
    Ok(if accepted.is_empty() {
        format!("{number} is in the outbox again")
    } else {
        format!("sent {number} again as {}", accepted.join(", "))
    })
}

/// Removes these items from the list, and returns a sentence about it.
pub fn dismiss_all(room: &Room, who: &Who, items: &[Item]) -> Result<String> {
    if items.is_empty() {
        return Err(Error::NotFound {
            what: "these items are no longer open".into(),
            cure: "nothing was sent".into(),
        });
    }
    let refs = items.iter().map(|item| format!("#{}", item.seq)).collect();
    acknowledge(room, who, refs)?;
    Ok(format!("dismissed {}", count_of(items.len(), "item")))
}

fn dismiss(room: &Room, who: &Who, number: &str) -> Result<()> {
    acknowledge(room, who, vec![number.to_owned()])
}

fn acknowledge(room: &Room, who: &Who, refs: Vec<String>) -> Result<()> {
    let acked = ack::ack(
        room,
        who,
        Ack {
            refs,
            status: Status::Abandoned,
            note: None,
            superseded_by: None,
        },
    )?;
    delivery(room, acked.sent, limits::WRITER_WAIT).map(drop)
}
