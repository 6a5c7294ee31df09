//! Acks: the statuses that an agent may set, and their copies.

use crate::base::error::{Problem, Result};
use crate::base::limits;
use crate::log::lookup::{self, LoggedMessage, ResolvedReference, Viewer};
use crate::log::state::IndexedLog;
use crate::log::state::RoomState;
use crate::message::DECISION;
use crate::message::Message;
use crate::message::status::{CopyStatus, Receipt};
use crate::room::registry::Registry;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The entry of an ack's `metadata` with the message that supersedes the messages in `refs`.
pub const SUPERSEDED_BY: &str = "superseded_by";

/// A room with its acks.
pub struct AckRoom<'a> {
    /// The log with its messages.
    pub log: &'a IndexedLog<'a>,
    /// The state after them.
    pub state: &'a RoomState,
    /// Its agents.
    pub registry: &'a Registry,
}

/// Judges an ack. Returns its status changes or all its problems. An error means that a reference could not be looked
/// up.
pub fn judge(
    room: &AckRoom<'_>,
    agent: &Arc<str>,
    ack: &Message,
) -> Result<std::result::Result<Vec<Receipt>, Vec<Problem>>> {
    let &AckRoom {
        state, registry, ..
    } = room;
    let status = ack
        .text("status")
        .and_then(CopyStatus::of_ack)
        .unwrap_or(CopyStatus::Acknowledged);
    let (mut receipts, mut problems): (Vec<Receipt>, Vec<Problem>) = (Vec::new(), Vec::new());
    let references: Vec<String> = ack.references().map(str::to_owned).collect();
    let viewer = Viewer::only(agent, registry.former(agent), state.renames.clone());
    let found = lookup::find(room.log, &viewer, &references)?;
    let by = match replacement(ack, status) {
        Some(by) => {
            let found = lookup::find(room.log, &viewer, &[by.to_owned()])?.pop();
            replaced_by(found, &viewer, ack, &mut problems)
        }
        None => None,
    };
    let sender = AckSender {
        agent,
        viewer: &viewer,
        status,
    };
    for (n, (reference, meant)) in references.iter().zip(found).enumerate() {
        let advanced = match meant {
            Ok((meant, _)) => may_advance(room, &sender, &meant).map(|agents| (meant.seq, agents)),
            Err(unclear) => Err(unclear.problem(&viewer, reference).into()),
        };
        match advanced {
            Ok((seq, agents)) => {
                for agent in agents {
                    add(&mut receipts, status, by, agent, seq);
                }
            }
            Err(problem) => problems.push(problem.at(format!("/refs/{n}"))),
        }
    }
    problems.truncate(limits::PROBLEMS);
    Ok(if problems.is_empty() {
        Ok(receipts)
    } else {
        Err(problems)
    })
}

/// The sender of an ack, and its status.
struct AckSender<'a> {
    agent: &'a Arc<str>,
    viewer: &'a Viewer,
    status: CopyStatus,
}

/// The owners of the copies that the ack may set to this status.
fn may_advance(
    room: &AckRoom<'_>,
    sender: &AckSender<'_>,
    meant: &LoggedMessage,
) -> std::result::Result<Vec<Arc<str>>, Box<Problem>> {
    let &AckSender {
        agent,
        viewer,
        status,
    } = sender;
    let name = meant.name();
    let may_as_sender = viewer.sent(meant) && status.is_set_by_sender();
    if !viewer.received(meant) && !may_as_sender {
        let what = format!(
            "{agent} sent {name}, and only its recipients can say {}",
            status.as_str()
        );
        return Err(Problem::new("not_a_recipient", what)
            .fix("a sender can say `withdrawn` or `superseded`")
            .into());
    }
    if may_as_sender && meant.kind == DECISION {
        let what = format!(
            "{name} is a decision, and a decision cannot be {}",
            status.as_str()
        );
        return Err(Problem::new("decided_already", what)
            .fix("send a new message about it; the decision counts")
            .into());
    }
    let mut owners = BTreeSet::new();
    if may_as_sender {
        // A renamed recipient has its copy under its present name.
        owners.extend(meant.recipients.iter().map(|agent| {
            let now = room.registry.now(agent);
            now.map_or_else(|| agent.clone(), |agent| agent.id.clone())
        }));
    } else {
        owners.insert(agent.clone());
    }
    if status == CopyStatus::Seen {
        // A copy can be acknowledged before it is seen: `seen` only moves the copy.
        return Ok(owners.into_iter().collect());
    }
    let (mut may, mut current) = (Vec::new(), None);
    for owner in owners {
        let now = room.state.mailboxes.status(&owner, meant.seq);
        let now = now.unwrap_or(CopyStatus::Delivered);
        if status.may_follow(now) {
            may.push(owner);
        } else {
            current = current.or(Some(now));
        }
    }
    // A sender can withdraw a message after all its copies are closed. Then only its record names the message.
    if may.is_empty() && may_as_sender {
        may.push(agent.clone());
    }
    if let Some(current) = current
        && may.is_empty()
    {
        let what = format!(
            "{name} is {} already, and {} is a step back",
            current.as_str(),
            status.as_str()
        );
        return Err(Problem::new("step_back", what)
            .fix("send a new message about it")
            .into());
    }
    Ok(may)
}

/// The reference to the message that supersedes the messages of an ack with this status.
fn replacement(ack: &Message, status: CopyStatus) -> Option<&str> {
    if status != CopyStatus::Superseded {
        return None;
    }
    superseded_by(ack)
}

/// The reference in the entry of an ack's `metadata`.
pub(super) fn superseded_by(ack: &Message) -> Option<&str> {
    ack.fields().get("metadata")?.get(SUPERSEDED_BY)?.as_str()
}

/// The number of that message. A reference that cannot be resolved is a problem.
fn replaced_by(
    found: Option<ResolvedReference>,
    viewer: &Viewer,
    ack: &Message,
    problems: &mut Vec<Problem>,
) -> Option<u64> {
    match found? {
        Ok((meant, _)) => Some(meant.seq),
        Err(unclear) => {
            let reference = replacement(ack, CopyStatus::Superseded).unwrap_or_default();
            problems.push(
                unclear
                    .problem(viewer, reference)
                    .at(format!("/metadata/{SUPERSEDED_BY}")),
            );
            None
        }
    }
}

fn add(
    receipts: &mut Vec<Receipt>,
    status: CopyStatus,
    by: Option<u64>,
    agent: Arc<str>,
    seq: u64,
) {
    match receipts.iter_mut().find(|receipt| receipt.agent == agent) {
        Some(receipt) if receipt.seqs.contains(&seq) => {}
        Some(receipt) => receipt.seqs.push(seq),
        None => receipts.push(Receipt {
            status,
            agent,
            seqs: vec![seq],
            times: Vec::new(),
            by,
        }),
    }
}
