//! Recipients that have another name now.

use super::{Step, Tracing};
use std::sync::Arc;

impl Tracing<'_> {
    /// Gives what one agent had to another. `twice` are the records of which that agent got a copy of its own: it is not shown
    /// the other copy, so what it did with its own counts for both.
    pub(super) fn rename(&mut self, of: &Arc<str>, to: &Arc<str>, twice: &[u64]) {
        if twice.contains(&self.meant.seq) {
            let own = self.called(to).into_iter().find_map(|recipient| self.steps.get(&recipient)).cloned();
            for recipient in self.called(of) {
                let steps = self.steps.entry(recipient).or_default();
                let new = own.iter().flatten().filter(|step| !steps.iter().any(|known| known.status == step.status));
                let new: Vec<Step> = new.cloned().collect();
                steps.extend(new);
            }
        }
        self.now.values_mut().filter(|now| *now == of).for_each(|now| *now = to.clone());
    }
}
