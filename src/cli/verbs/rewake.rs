//! `mailbag wait --rewake`: the background hook of Claude Code that wakes an idle session.

use super::hook;
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::CommandContext;
use crate::clients::kind::Client;
use crate::clients::rewake::{IdleWait, IdleWaitEnd};
use crate::query::identity;
use crate::room::sessions::CallingSession;

/// Set by Claude Code to `0` where it runs without a terminal, and waits for this hook to end.
const ATTENDED: &str = "CLAUDE_CODE_SESSION_ATTENDED";
/// How Claude Code was started: `cli` in a terminal, `sdk-cli` and so on for programs. Older versions set nothing else.
const ENTRYPOINT: &str = "CLAUDE_CODE_ENTRYPOINT";

/// Waits until there is mail for the session whose event is on standard input. In all other cases the session is not
/// woken, and the status is 0.
pub(crate) fn run(asked: Option<&str>, cx: &mut CommandContext) -> Result<Exit> {
    let outcome = watch(asked, cx);
    outcome.or_else(|e| {
        cx.out.warn(&e.to_string());
        Ok(Exit::Ok)
    })
}

fn watch(asked: Option<&str>, cx: &mut CommandContext) -> Result<Exit> {
    let is_for_a_program =
        || std::env::var(ENTRYPOINT).is_ok_and(|entrypoint| entrypoint.starts_with("sdk"));
    if std::env::var(ATTENDED).map_or_else(|_| is_for_a_program(), |attended| attended == "0") {
        return Ok(Exit::Ok);
    }
    let Some(event) = hook::read(Client::Claude, cx)? else {
        return Ok(Exit::Ok);
    };
    let Some(room) = hook::room(cx, &event)? else {
        return Ok(Exit::Ok);
    };
    let caller = CallingSession::here(Client::Claude.as_str(), event.session.clone())?;
    let named = identity::named(asked);
    let Some(mut wait) = IdleWait::begin(&room, &event, caller, named.as_ref())? else {
        return Ok(Exit::Ok);
    };
    match wait.wait(&|e| cx.warn_undelivered(e))? {
        IdleWaitEnd::Over => Ok(Exit::Ok),
        IdleWaitEnd::Signal(signal) => wait.end_by(signal).map(|()| Exit::Ok),
        IdleWaitEnd::Mail(briefing) => {
            cx.out
                .tell(&briefing.text)
                .inspect_err(|_| wait.not_shown(&briefing))?;
            wait.shown(&briefing)?;
            // Claude Code wakes the session at this status.
            Ok(Exit::Usage)
        }
    }
}
