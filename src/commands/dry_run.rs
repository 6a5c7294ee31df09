//! A dry run of sending: whether messages would be accepted, who would get them, and why.

use super::check::{MessageCheck, MessageMentions};
use super::send::{self, MessageDraft};
use crate::base::error::{Error, Result};
use crate::query::explain::explain;
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use crate::room::resolve::{AddressExplanation, Recipient, RecipientExplanation};
use serde::Serialize;

/// The expected result of sending messages.
#[derive(Debug, Default, Serialize)]
pub struct DryRun {
    /// Whether all messages would be accepted.
    pub ok: bool,
    /// The messages that were checked; none if only addresses were resolved.
    pub messages: Vec<MessageCheck>,
    /// The addresses on the command line, each with the agents that it reaches, and why not the others.
    pub addresses: Vec<AddressExplanation>,
    /// The recipients of these addresses.
    pub recipients: Vec<Recipient>,
}

impl DryRun {
    /// The result for files. Their addresses are not explained one by one.
    pub fn of_files(messages: Vec<MessageCheck>) -> DryRun {
        DryRun {
            ok: messages.iter().all(|message| message.ok),
            messages,
            ..DryRun::default()
        }
    }

    /// The result for addresses alone.
    pub fn of_addresses(explanation: RecipientExplanation) -> DryRun {
        let addresses = explanation.addresses;
        DryRun {
            ok: addresses.iter().all(|one| one.problems.is_empty()),
            messages: Vec::new(),
            addresses,
            recipients: explanation.recipients,
        }
    }
}

/// Checks a message without sending it, and explains its addresses. A draft without content is not checked.
pub fn dry_run(room: &Room, who: Option<&AgentIdentity>, draft: MessageDraft) -> Result<DryRun> {
    let registry = room.registry()?;
    let from = who.and_then(|who| who.in_registry(&registry).ok());
    let from = from.map(|agent| &*agent.id);
    let addresses = send::addresses(room, &draft)?;
    let mut dry_run = DryRun::of_addresses(explain(room, &registry, from, &addresses)?);
    if let Some(who) = who
        && !draft.is_empty()
    {
        let message = check_draft(room, who, draft)?;
        dry_run.ok = message.ok;
        dry_run.recipients = message.recipients.clone().unwrap_or_default();
        dry_run.messages.push(message);
    }
    Ok(dry_run)
}

/// Checks a draft as `send` does.
fn check_draft(room: &Room, who: &AgentIdentity, draft: MessageDraft) -> Result<MessageCheck> {
    match send::prepare(room, who, draft) {
        Ok(prepared) => Ok(MessageCheck {
            ok: true,
            recipients: Some(prepared.sent.recipients),
            unreached: prepared.sent.unreached,
            said: Some(MessageMentions::of(&prepared.message)),
            ..MessageCheck::default()
        }),
        Err(Error::Rejected(problems)) => Ok(MessageCheck {
            problems,
            ..MessageCheck::default()
        }),
        Err(e) => Err(e),
    }
}
