//! The agents that wait for another one, as they reported in `metadata.waiting_for`.

use super::WorkReport;
use crate::room::resolve::RecipientRule;
use crate::router::seam::{Cx, Draft};
use std::sync::Arc;

/// Adds the agents that wait for the sender of a report of completion without `to`.
pub(super) fn add_waiting(cx: Cx<'_>, draft: &mut Draft) {
    let Some(report) = WorkReport::of_message(&draft.message, cx.now) else {
        return;
    };
    let agents = cx.registry().agents();
    let Some(sender) = agents.iter().find(|agent| *agent.id == *draft.from) else {
        return;
    };
    if !report.is_completed() || draft.message.has_recipients() {
        return;
    }
    let others = agents.iter().filter(|agent| agent.id != sender.id);
    let waiting: Vec<Arc<str>> = others
        .filter(|agent| {
            let report = super::of(cx.state()).report_of(&agent.id);
            let names = report.into_iter().flat_map(|report| &report.waiting_for);
            let mut named = names.filter_map(|name| cx.registry().find(name));
            named.any(|one| one.id == sender.id)
        })
        .map(|agent| agent.id.clone())
        .collect();
    for agent in &waiting {
        draft.add_recipient(cx, RecipientRule::Waiting, agent);
    }
}
