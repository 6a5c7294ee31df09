//! Recipients that have another name now.

use super::{MessageTracer, StatusChange};
use std::sync::Arc;

impl MessageTracer<'_> {
    /// Gives the copy of one agent to another. If the other agent got its own copy (`twice`), only its own copy is shown to it,
    /// so its steps count for both copies.
    pub(super) fn rename(&mut self, of: &Arc<str>, to: &Arc<str>, twice: &[u64]) {
        if twice.contains(&self.meant.seq) {
            let own = self
                .called(to)
                .into_iter()
                .find_map(|recipient| self.steps.get(&recipient))
                .cloned();
            for recipient in self.called(of) {
                let steps = self.steps.entry(recipient).or_default();
                let new = own
                    .iter()
                    .flatten()
                    .filter(|step| !steps.iter().any(|known| known.status == step.status));
                let new: Vec<StatusChange> = new.cloned().collect();
                steps.extend(new);
            }
        }
        for now in self.now.values_mut().filter(|now| *now == of) {
            *now = to.clone();
        }
    }
}
