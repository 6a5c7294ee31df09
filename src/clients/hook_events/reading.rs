//! How the mail that is announced can be read: once a session, in the words of its client.

use crate::base::limits;
use crate::clients::briefing::{BriefedSession, Briefing};
use crate::clients::install::has_tools::has_tools;
use crate::clients::kind::Client;
use crate::room::Room;
use crate::room::sessions::{CallingSession, first_time};

/// The name of the record in a session.
const TOPIC: &str = "how to read";

/// The end of an announcement: the command or the tool that reads the newest message. `None` if the announcement has no
/// mail, or the session knows it. A session that has lost its context does not know it.
pub(in crate::clients) fn hint(
    room: &Room,
    hearer: BriefedSession<'_>,
    briefing: &Briefing,
) -> Option<String> {
    let caller = hearer.caller;
    let newest = briefing.newest.as_deref()?;
    let is_new = first_time(room, &caller.key(), TOPIC) != Some(false);
    if !is_new && !hearer.forgot {
        return None;
    }
    let (read, reply) = tools(caller);
    let answered = if briefing.is_notice { "ID" } else { newest };
    let text = format!(
        "{read}`mailbag read {newest}` shows it, {reply}`mailbag reply {answered} TEXT` answers"
    );
    (text.chars().count() <= limits::BRIEFING_HINT).then_some(text)
}

/// The commands or the tools that read and answer mail, for a session without mail.
pub(super) fn commands(caller: &CallingSession) -> String {
    let (read, reply) = tools(caller);
    format!("{read}`mailbag read` shows mail, {reply}`mailbag reply ID TEXT` answers")
}

/// The tools that read and answer, as a prefix of the commands. Empty if the client does not have them.
fn tools(caller: &CallingSession) -> (&'static str, &'static str) {
    let client = Client::parse(&caller.client).ok();
    let has_tools = client
        .zip(caller.directory.as_deref())
        .is_some_and(|(client, at)| has_tools(client, at));
    if has_tools {
        ("`fetch_inbox` or ", "`reply_message` or ")
    } else {
        ("", "")
    }
}
