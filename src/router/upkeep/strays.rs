//! Files in outboxes that the router will never pick up. Their agent is notified once about each.

use crate::base::limits;
use crate::base::test_sizes;
use crate::disk::layout;
use crate::room::outbox::stray;
use crate::router::Router;
use crate::router::parts::NoticeText;
use std::sync::Arc;

impl Router {
    /// Notifies agents about files in their outboxes that have not been mail for a while.
    pub(in crate::router) fn report_strays(&mut self) {
        if self.is_held() {
            return;
        }
        let state = self.journal.state();
        let outboxes = self.intake.outboxes();
        let agents: Vec<Arc<str>> = outboxes.with_strays().cloned().collect();
        for agent in agents {
            if !self.config.registry().has_active(&agent) {
                continue;
            }
            let outbox = format!("stray:{}/", layout::outbox(&agent).display());
            // Bounded, because the state keeps the name of each reported file.
            let mut reported = state
                .notices
                .range(outbox.clone()..)
                .take_while(|about| about.starts_with(&outbox))
                .count();
            for name in outboxes.strays(&agent) {
                let Some(stray) = stray(self.config.dir(), &agent, &name, test_sizes::stray())
                else {
                    continue;
                };
                let about = format!("stray:{}", stray.place);
                if reported >= limits::STRAYS || state.notices.contains(&about) {
                    continue;
                }
                reported += 1;
                let subject = format!("{} is not sent", stray.place);
                let body = format!(
                    "It is in your outbox, and the router does not pick it up: {}. Run:\n\n    \
                 {}\n\nOne JSON object in a file is a message; a file of one message a line ends in .ndjson.",
                    stray.reason, stray.fix
                );
                self.notices.add(
                    state,
                    NoticeText::alert(agent.clone(), about, subject, body),
                );
            }
        }
    }
}
