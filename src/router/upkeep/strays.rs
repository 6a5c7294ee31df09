//! Files that will never be taken, told to the agent in whose outbox they stand, once each.

use crate::base::limits;
use crate::disk::{failpoint, layout};
use crate::room::outbox::stray;
use crate::router::Router;
use std::sync::Arc;

impl Router {
    /// Tells agents of what stands in their outboxes and is no mail, once it has stood there for a while.
    pub fn tell_of_strays(&mut self) {
        let room = self.room.dir.clone();
        let agents: Vec<Arc<str>> = self.outboxes.with_strays().cloned().collect();
        for agent in agents {
            if self.registry.agent(&agent).is_none_or(|known| known.is_retired()) {
                continue;
            }
            let outbox = format!("stray:{}/", layout::outbox(&agent).display());
            // However many names somebody tries: the state remembers each that was told.
            let mut told =
                self.state.heard.range(outbox.clone()..).take_while(|about| about.starts_with(&outbox)).count();
            for name in self.outboxes.strays(&agent) {
                let Some(stray) = stray(&room, &agent, &name, failpoint::stray()) else { continue };
                let about = format!("stray:{}", stray.place);
                if told >= limits::STRAYS || self.state.heard.contains(&about) {
                    continue;
                }
                told += 1;
                let subject = format!("{} is not sent", stray.place);
                let body = format!(
                    "It stands in your outbox, and the router does not take it: {}.\n\nTo send it, run in the room:\n\n    \
                     {}\n\nOne JSON object in a file is a message; a file of one message a line ends in .ndjson.",
                    stray.why, stray.cure
                );
                self.notify_agent(agent.clone(), about, subject, body);
            }
        }
    }
}
