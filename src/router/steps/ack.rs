//! Acks: who may say how far a copy has come, and what follows from a message that was taken back.

use crate::base::error::{Problem, Result};
use crate::base::limits;
use crate::disk::Dir;
use crate::log::lookup::{self, Eyes, Pace, Past};
use crate::log::state::State;
use crate::message::Message;
use crate::message::status::{Receipt, Status};
use crate::room::inbox;
use crate::router::Router;
use std::collections::HashMap;
use std::sync::Arc;

/// What acks of the batch that is being made have claimed already.
pub type Claimed = HashMap<(Arc<str>, u64), Status>;

/// Judges an ack: the copies that it takes up the ladder, or everything that is wrong with it. A failure to look it up
/// is an error, and says nothing of the ack. `claimed` is what others of the same batch have claimed.
pub fn judge(
    room: &Dir,
    state: &State,
    agent: &Arc<str>,
    ack: &Message,
    claimed: &mut Claimed,
    pace: &mut Pace,
) -> Result<std::result::Result<Vec<Receipt>, Vec<Problem>>> {
    let status = ack.text("status").and_then(Status::of_ack).unwrap_or(Status::Acknowledged);
    let (mut receipts, mut problems): (Vec<Receipt>, Vec<Problem>) = (Vec::new(), Vec::new());
    let references: Vec<String> = ack.references().map(str::to_owned).collect();
    let eyes = Eyes::only(agent);
    let found = lookup::find(room, Some(state), &eyes, &references, pace)?;
    for (n, (reference, meant)) in references.iter().zip(found).enumerate() {
        let advanced = match meant {
            Ok((meant, _)) => may_advance(state, agent, &meant, status, claimed).map(|agents| (meant.seq, agents)),
            Err(unclear) => Err(unclear.problem(&eyes, reference).into()),
        };
        match advanced {
            Ok((seq, agents)) => agents.into_iter().for_each(|agent| add(&mut receipts, status, agent, seq)),
            Err(problem) => problems.push(problem.at(format!("/refs/{n}"))),
        }
    }
    problems.truncate(limits::PROBLEMS);
    Ok(if problems.is_empty() { Ok(receipts) } else { Err(problems) })
}

/// Whose copies of this message the ack may take to this status.
fn may_advance(
    state: &State,
    agent: &Arc<str>,
    meant: &Past,
    status: Status,
    claimed: &mut Claimed,
) -> std::result::Result<Vec<Arc<str>>, Box<Problem>> {
    let name = meant.name();
    let may_as_sender = meant.from == *agent && matches!(status, Status::Withdrawn | Status::Superseded);
    if !meant.recipients.contains(agent) && !may_as_sender {
        let what = format!("{agent} sent {name}, and only who got it can say {}", status.as_str());
        return Err(Problem::new("not_a_recipient", what).fix("a sender can say `withdrawn` or `superseded`").into());
    }
    let stands = |of: &Arc<str>| {
        let now = claimed.get(&(of.clone(), meant.seq)).copied();
        now.or_else(|| state.mailboxes.status(of, meant.seq)).unwrap_or(Status::Delivered)
    };
    let of: Vec<Arc<str>> = if may_as_sender { meant.recipients.clone() } else { vec![agent.clone()] };
    let (may, not): (Vec<Arc<str>>, Vec<Arc<str>>) = of.into_iter().partition(|of| status.may_follow(stands(of)));
    // A sender takes back what is still open, whoever is done already.
    if let Some(of) = not.first().filter(|_| may.is_empty()) {
        let what = format!("{name} is {} already, and {} is a step back", stands(of).as_str(), status.as_str());
        return Err(Problem::new("step_back", what).fix("send a new message about it").into());
    }
    claimed.extend(may.iter().map(|of| ((of.clone(), meant.seq), status)));
    Ok(may)
}

impl Router {
    /// What was taken back goes out of the inboxes in which it is unread.
    pub(crate) fn withdraw(&mut self, receipts: &[Receipt]) -> Result<()> {
        for Receipt { agent, seqs, .. } in receipts.iter().filter(|receipt| receipt.status == Status::Withdrawn) {
            let unread: Vec<_> = self.state.mailboxes.unread(agent).filter(|(_, seq)| seqs.contains(seq)).collect();
            for (at, seq) in unread {
                if let Some(name) = inbox::find(&self.room.dir, agent, at)? {
                    self.set_aside(agent, seq, &name)?;
                }
            }
        }
        Ok(())
    }

    /// Moves an unread copy to `expired/`, and notes that it left. One that its reader took meanwhile is theirs.
    pub(crate) fn set_aside(&mut self, agent: &Arc<str>, seq: u64, name: &std::ffi::OsStr) -> Result<()> {
        inbox::expire(&self.room.dir, agent, name, &mut self.barrier)?;
        self.classify(agent, seq, name);
        Ok(())
    }

    /// As [`Router::withdraw`], where a failure waits and is tried again.
    pub(crate) fn withdraw_or_wait(&mut self, receipts: &[Receipt]) -> Result<bool> {
        const WITHDRAWN: &str = "inbox";
        match self.withdraw(receipts) {
            Ok(()) => {
                self.waiting.over(WITHDRAWN);
                Ok(true)
            }
            Err(e) => {
                self.waiting.failed(WITHDRAWN, e.to_string());
                Ok(false)
            }
        }
    }
}

fn add(receipts: &mut Vec<Receipt>, status: Status, agent: Arc<str>, seq: u64) {
    match receipts.iter_mut().find(|receipt| receipt.agent == agent) {
        Some(receipt) if receipt.seqs.contains(&seq) => {}
        Some(receipt) => receipt.seqs.push(seq),
        None => receipts.push(Receipt { status, agent, seqs: vec![seq] }),
    }
}
