//! Loops: agents that repeat themselves or answer each other without content.

use crate::base::clock::span_text;
use crate::base::limits;
use crate::base::text::listed;
use crate::log::state::{LOOP, RoomState};
use crate::router::parts::NoticeQueue;

/// Notifies the human of each loop once.
pub(in crate::router) fn report(state: &RoomState, notices: &mut NoticeQueue) {
    for (seq, agents) in state.loops.found() {
        let who = listed(agents);
        let subject = format!("{who} repeat themselves or answer each other without content");
        let [first, most] = [limits::LOOP_DELAY, limits::LOOP_DELAY_MOST].map(span_text);
        let body = format!(
            "Their mail is delivered as before. From #{seq} on, their short or repeated messages are announced later: the first \
             after {first}, and each further one after twice that time, up to {most}. Mail with more content, a question or a \
             message of yours to one of them ends this. `mailbag thread '#{seq}'` shows the messages."
        );
        notices.notify_human(state, format!("{LOOP} {seq}"), subject, body);
    }
}
