//! Acks: which status an agent may set, and of which copies.

use crate::base::error::{Problem, Result};
use crate::base::limits;
use crate::disk::Dir;
use crate::log::lookup::{self, LocatedMessage, LoggedMessage, SearchLimiter, Unresolved, Viewer};
use crate::log::state::State;
use crate::message::reference::Reference;
use crate::message::status::{Receipt, Status};
use crate::message::{Message, id};
use crate::room::registry::Registry;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The entry of an ack's `metadata` with the message that supersedes the messages in `refs`.
pub const SUPERSEDED_BY: &str = "superseded_by";

/// The statuses that acks of the present batch have set.
pub type Claimed = HashMap<(Arc<str>, u64), Status>;

/// Judges an ack: the status changes that it makes, or every problem that it has. An error says that a reference could not
/// be looked up, and nothing of the ack. `claimed` has the status changes of the same batch.
pub fn judge(
    room: &Dir,
    (state, registry): (&State, &Registry),
    agent: &Arc<str>,
    ack: &Message,
    claimed: &mut Claimed,
    pace: &mut SearchLimiter,
) -> Result<std::result::Result<Vec<Receipt>, Vec<Problem>>> {
    let status = ack
        .text("status")
        .and_then(Status::of_ack)
        .unwrap_or(Status::Acknowledged);
    let (mut receipts, mut problems): (Vec<Receipt>, Vec<Problem>) = (Vec::new(), Vec::new());
    let references: Vec<String> = ack.references().map(str::to_owned).collect();
    let viewer = Viewer::only(agent).formerly(registry.former(agent));
    let found = lookup::find(room, Some(state), &viewer, &references, pace)?;
    let by = match replacement(ack, status)
        .map(|by| lookup::find(room, Some(state), &viewer, &[by.to_owned()], pace))
    {
        Some(found) => replaced_by(found?.pop(), &viewer, ack, &mut problems),
        None => None,
    };
    for (n, (reference, meant)) in references.iter().zip(found).enumerate() {
        let is_dismissed = failed_wakes(state, agent, status, reference)
            .next()
            .is_some();
        let advanced = match meant {
            Ok((meant, _)) => {
                let of = (agent, &viewer);
                may_advance((state, registry), of, &meant, status, claimed)
                    .map(|agents| (meant.seq, agents))
            }
            Err(unclear) => Err(unclear.problem(&viewer, reference).into()),
        };
        match advanced {
            Err(_) if is_dismissed => {}
            Ok((seq, agents)) => agents
                .into_iter()
                .for_each(|agent| add(&mut receipts, status, by, agent, seq)),
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

/// The agents whose failed wakes this message of an agent dismisses, if it is such an ack.
pub(super) fn dismissed(state: &State, agent: &str, message: &Message) -> Vec<Arc<str>> {
    let status = message
        .text("status")
        .and_then(Status::of_ack)
        .filter(|_| message.kind() == "ack");
    let of = |reference| {
        status
            .into_iter()
            .flat_map(move |status| failed_wakes(state, agent, status, reference))
    };
    let all: BTreeSet<Arc<str>> = message.references().flat_map(of).cloned().collect();
    all.into_iter().collect()
}

/// The agents whose failed wakes a reference of an ack dismisses: those for the message with this number, if the human abandons
/// it.
pub fn failed_wakes<'a>(
    state: &'a State,
    agent: &str,
    status: Status,
    reference: &str,
) -> impl Iterator<Item = &'a Arc<str>> + use<'a> {
    let is_theirs = agent == id::HUMAN && status == Status::Abandoned;
    let seq = Reference::parse(reference)
        .and_then(|reference| reference.seq())
        .filter(|_| is_theirs);
    seq.into_iter().flat_map(|seq| state.wakes.failed_for(seq))
}

/// Whose copies of this message the ack may set to this status.
fn may_advance(
    (state, registry): (&State, &Registry),
    (agent, viewer): (&Arc<str>, &Viewer),
    meant: &LoggedMessage,
    status: Status,
    claimed: &mut Claimed,
) -> std::result::Result<Vec<Arc<str>>, Box<Problem>> {
    let name = meant.name();
    let may_as_sender =
        viewer.sent(meant) && matches!(status, Status::Withdrawn | Status::Superseded);
    if !viewer.received(meant) && !may_as_sender {
        let what = format!(
            "{agent} sent {name}, and only who got it can say {}",
            status.as_str()
        );
        return Err(Problem::new("not_a_recipient", what)
            .fix("a sender can say `withdrawn` or `superseded`")
            .into());
    }
    let current = |of: &Arc<str>| {
        let now = claimed.get(&(of.clone(), meant.seq)).copied();
        now.or_else(|| state.mailboxes.status(of, meant.seq))
            .unwrap_or(Status::Delivered)
    };
    // A recipient that was renamed has its copy under its present name.
    let now = |agent: &Arc<str>| {
        registry
            .now(agent)
            .map_or_else(|| agent.clone(), |agent| agent.id.clone())
    };
    let all = || {
        meant
            .recipients
            .iter()
            .map(now)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    };
    let of: Vec<Arc<str>> = if may_as_sender {
        all()
    } else {
        vec![agent.clone()]
    };
    if status == Status::Seen {
        // It moves a copy and takes no status back: a copy can be acknowledged before it is seen.
        return Ok(of);
    }
    let (may, not): (Vec<Arc<str>>, Vec<Arc<str>>) = of
        .into_iter()
        .partition(|of| status.may_follow(current(of)));
    // A sender withdraws the copies that are still open, although others are closed already.
    if let Some(of) = not.first().filter(|_| may.is_empty()) {
        let what = format!(
            "{name} is {} already, and {} is a step back",
            current(of).as_str(),
            status.as_str()
        );
        return Err(Problem::new("step_back", what)
            .fix("send a new message about it")
            .into());
    }
    claimed.extend(may.iter().map(|of| ((of.clone(), meant.seq), status)));
    Ok(may)
}

/// The reference to the message that supersedes the messages of an ack.
fn replacement(ack: &Message, status: Status) -> Option<&str> {
    let by = ack.fields().get("metadata")?.get(SUPERSEDED_BY)?.as_str();
    by.filter(|_| status == Status::Superseded)
}

/// The record of that message. A reference that cannot be resolved is a problem.
fn replaced_by(
    found: Option<std::result::Result<LocatedMessage, Unresolved>>,
    viewer: &Viewer,
    ack: &Message,
    problems: &mut Vec<Problem>,
) -> Option<u64> {
    match found? {
        Ok((meant, _)) => Some(meant.seq),
        Err(unclear) => {
            let reference = replacement(ack, Status::Superseded).unwrap_or_default();
            problems.push(
                unclear
                    .problem(viewer, reference)
                    .at(format!("/metadata/{SUPERSEDED_BY}")),
            );
            None
        }
    }
}

fn add(receipts: &mut Vec<Receipt>, status: Status, by: Option<u64>, agent: Arc<str>, seq: u64) {
    match receipts.iter_mut().find(|receipt| receipt.agent == agent) {
        Some(receipt) if receipt.seqs.contains(&seq) => {}
        Some(receipt) => receipt.seqs.push(seq),
        None => receipts.push(Receipt {
            status,
            agent,
            seqs: vec![seq],
            by,
        }),
    }
}
