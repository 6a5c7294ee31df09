//! Files in outboxes that the router will never pick up: their agent is told of each once.

use crate::base::limits;
use crate::disk::{failpoint, layout};
use crate::log::state::State;
use crate::room::outbox::stray;
use crate::router::parts::{Config, Intake, Notices};
use std::sync::Arc;

/// Tells agents of files in their outboxes that are no mail, once such a file has been there for a while.
pub(in crate::router) fn tell_of_strays(
    config: &Config,
    intake: &mut Intake,
    state: &State,
    notices: &mut Notices,
) {
    let outboxes = intake.outboxes();
    let agents: Vec<Arc<str>> = outboxes.with_strays().cloned().collect();
    for agent in agents {
        if config
            .registry()
            .agent(&agent)
            .is_none_or(|known| known.is_retired())
        {
            continue;
        }
        let outbox = format!("stray:{}/", layout::outbox(&agent).display());
        // Bounded, because the state remembers each name that was told.
        let mut told = state
            .notices
            .range(outbox.clone()..)
            .take_while(|about| about.starts_with(&outbox))
            .count();
        for name in outboxes.strays(&agent) {
            let Some(stray) = stray(config.dir(), &agent, &name, failpoint::stray()) else {
                continue;
            };
            let about = format!("stray:{}", stray.place);
            if told >= limits::STRAYS || state.notices.contains(&about) {
                continue;
            }
            told += 1;
            let subject = format!("{} is not sent", stray.place);
            let body = format!(
                "It is in your outbox, and the router does not pick it up: {}.\n\nTo send it, run in the room:\n\n    \
                 {}\n\nOne JSON object in a file is a message; a file of one message a line ends in .ndjson.",
                stray.why, stray.cure
            );
            notices.tell(state, agent.clone(), about, subject, body);
        }
    }
}
