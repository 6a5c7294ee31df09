//! The guard at an edit: whether an agent may change the files that its client is about to change, and whether another agent
//! changes them at the same time.

use super::{HookAnswer, HookEvent, ToolVerdict, agent, bind, deliver};
use crate::base::error::{Error, Result};
use crate::base::text::shell_word;
use crate::base::{limits, sanitize};
use crate::commands::claim::release_lapsed;
use crate::commands::follow::let_router_process;
use crate::commands::send::{self, MessageDraft};
use crate::commands::switch;
use crate::query::claims;
use crate::query::guard::{self, OwnedFile};
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use crate::room::repository::{RepositoryBase, RepositoryPath};
use crate::room::sessions::{self, CallingSession};
use crate::room::settings::GuardMode;

/// Judges an edit. A registered agent is stopped; an unidentified session is warned. An edit that cannot be judged passes, and
/// the session is notified each time: nothing says that the file is free.
pub(super) fn judge(
    room: &Room,
    caller: &CallingSession,
    event: &HookEvent,
    named: Option<&AgentIdentity>,
) -> HookAnswer {
    answer(room, caller, event, named).unwrap_or_else(|e| unjudged(&e))
}

/// The answer to an edit that cannot be judged.
pub(super) fn unjudged(e: &Error) -> HookAnswer {
    let text = format!(
        "mailbag: cannot check who owns the files of this edit: the edit passes, but they may belong to other agents: {e}"
    );
    HookAnswer {
        text: Some(sanitize::line(&text).into_owned()),
        problem: Some(e.to_string()),
        ..HookAnswer::default()
    }
}

fn answer(
    room: &Room,
    caller: &CallingSession,
    event: &HookEvent,
    named: Option<&AgentIdentity>,
) -> Result<HookAnswer> {
    if event.files.is_empty() || switch::is_off() {
        return Ok(HookAnswer::default());
    }
    let guard = room.settings()?.guard;
    if guard == GuardMode::Off {
        return Ok(HookAnswer::default());
    }
    let agent = editor(room, caller, event, named)?;
    let_router_process(room, limits::READER_WAIT);
    let (mut claims, ground) = (claims::owners(room)?, RepositoryBase::of(room));
    let files: Vec<Vec<RepositoryPath>> =
        event.files.iter().map(|file| ground.places(file)).collect();
    let mut owned = guard::owned(&claims, agent.as_deref(), files.iter().map(Vec::as_slice));
    // Without a router, nothing has released claims that lapsed.
    if !owned.is_empty() && release_lapsed(room) {
        claims = claims::owners(room)?;
        owned = guard::owned(&claims, agent.as_deref(), files.iter().map(Vec::as_slice));
    }
    if !owned.is_empty() {
        return Ok(reply(
            room,
            caller,
            &owned,
            agent.is_some() && guard == GuardMode::Deny,
        ));
    }
    let free = files
        .iter()
        .filter(|names| {
            names.iter().all(|place| {
                claims
                    .owner(place.repository.as_deref(), &place.path)
                    .is_none()
            })
        })
        .filter_map(|names| Some(names.first()?.to_string()))
        .collect::<Vec<_>>();
    let text = agent.and_then(|agent| same_file(room, &agent, &free));
    Ok(HookAnswer {
        text,
        ..HookAnswer::default()
    })
}

/// The agent that edits. `None` for an unidentified session.
fn editor(
    room: &Room,
    caller: &CallingSession,
    event: &HookEvent,
    named: Option<&AgentIdentity>,
) -> Result<Option<String>> {
    match bind(room, caller, event, named) {
        Ok(lease) => Ok(lease.map(|lease| lease.agent)),
        // Another session is that agent.
        Err(Error::Busy { .. }) => Ok(None),
        // A lease that cannot be renewed still names the agent.
        Err(_) => agent(room, caller, event, named),
    }
}

fn reply(room: &Room, caller: &CallingSession, owned: &[OwnedFile], stops: bool) -> HookAnswer {
    let (lines, ask) = (guard::lines(owned).join("; "), guard::ask_for(owned));
    if stops {
        let text = format!("mailbag: {lines}. Do not change it; {ask}.");
        return HookAnswer {
            text: Some(text),
            verdict: ToolVerdict::Stop,
            ..HookAnswer::default()
        };
    }
    // A warning at each edit would fill the context.
    let claims: Vec<&str> = owned.iter().map(|one| one.claim.subject.as_str()).collect();
    let is_first = sessions::first_time(room, &caller.key(), &claims.join(" ")) != Some(false);
    let text = format!("mailbag: {lines}. You are not stopped; before further changes, {ask}.");
    HookAnswer {
        text: is_first.then_some(text),
        ..HookAnswer::default()
    }
}

/// Notifies two agents that edit a file at the same time: this one by the returned text, the other one by a message.
fn same_file(room: &Room, agent: &str, files: &[String]) -> Option<String> {
    let met = sessions::note_edits(room, agent, files)?;
    let mut texts = Vec::new();
    for (file, other) in met {
        let pair = if *agent < *other {
            [agent, &other]
        } else {
            [&other, agent]
        };
        let what = format!("edits with {}", pair[1]);
        if sessions::first_time_within(room, pair[0], &what, limits::SAME_FILE_AGAIN) != Some(true)
        {
            continue;
        }
        tell(room, agent, &other, &file, &same_file_text(agent, &file));
        texts.push(format!("mailbag: {}.", same_file_text(&other, &file)));
    }
    (!texts.is_empty()).then(|| texts.join(" "))
}

fn same_file_text(other: &str, file: &str) -> String {
    format!(
        "you and {other} edited {} within {} seconds, and no agent has claimed it. Agree with {other}, or run \
         `mailbag claim {}`",
        sanitize::line(file),
        limits::SAME_FILE.as_secs(),
        shell_word(file)
    )
}

/// Sends the message to the other agent. Ignores a failure, so that the edit happens.
fn tell(room: &Room, agent: &str, other: &str, file: &str, body: &str) {
    let draft = MessageDraft {
        to: vec![other.to_owned()],
        kind: Some("notification".into()),
        subject: Some(sanitize::brief(
            &format!("{agent} edits {file}, too"),
            limits::SUBJECT,
        )),
        body: Some(body.to_owned()),
        ..MessageDraft::default()
    };
    let who = AgentIdentity::verified(agent, "the edit");
    if let Err(e) = send::send(room, &who, draft).and_then(|_| deliver(room)) {
        tracing::debug!("{e}");
    }
}
