//! Open questions: the only definition of them, for the digest, the status and the worklog.

use super::RoomState;
use super::items::OpenItemKind;
use crate::base::clock::Stamp;
use crate::message::id;
use serde::Serialize;

/// A question without an answer, or an approval without a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenQuestion {
    /// The number of its record.
    pub seq: u64,
    /// `question` or `approval`.
    pub kind: &'static str,
    /// When it was asked.
    pub at: String,
    /// The agent that asks.
    pub from: String,
    /// The agents that have not answered, or that can decide.
    pub waiting_for: Vec<String>,
    /// Its message, as `<sender>/<id>`.
    pub message: String,
    /// Its subject, or the first line of its body.
    pub text: String,
}

impl RoomState {
    /// All open questions, in the order of the log.
    pub fn questions(&self) -> Vec<OpenQuestion> {
        let asked = self
            .items
            .iter()
            .filter(|item| item.kind == OpenItemKind::Question)
            .map(|item| OpenQuestion {
                seq: item.seq,
                kind: "question",
                at: item.since().to_string(),
                from: self.holder(&item.from, item.seq).to_string(),
                waiting_for: item.of.iter().map(ToString::to_string).collect(),
                message: id::full_name(&item.from, &item.id),
                text: item.title.clone(),
            });
        let approvals = self.approvals.open().iter().map(|open| OpenQuestion {
            seq: open.seq,
            kind: "approval",
            at: Stamp::from_micros(open.since).to_string(),
            from: open.from.to_string(),
            waiting_for: open.to.iter().map(ToString::to_string).collect(),
            message: open.approval.clone(),
            text: open.terms.title.clone(),
        });
        let mut all: Vec<OpenQuestion> = asked.chain(approvals).collect();
        all.sort_by_key(|question| question.seq);
        all
    }
}
