//! Loops: agents that repeat themselves or answer each other without content.

use crate::base::clock::span_text;
use crate::base::limits;
use crate::base::text::listed;
use crate::log::state::{LOOP, RoomState};
use crate::router::parts::NoticeQueue;

/// Notifies the human of each loop once.
pub(in crate::router) fn report(state: &RoomState, notices: &mut NoticeQueue) {
    for (seq, senders) in state.loops.found() {
        let Some(sender) = senders.first() else {
            continue;
        };
        let subject = format!(
            "{}: repeated messages or answers without content",
            listed(senders)
        );
        let [first, most] = [limits::LOOP_DELAY, limits::LOOP_DELAY_MOST].map(span_text);
        let body = format!(
            "This mail is delivered as before. From #{seq} on, short or repeated messages of this kind are announced later: the \
             first after {first}, and each further one after twice that time, up to {most}. Mail with more content, a question \
             or a message of yours to one of the agents ends this. `mailbag list --as {sender} --last 20` shows the messages."
        );
        notices.notify_human(state, format!("{LOOP} {seq}"), subject, body);
    }
}
