//! A client asks for permission to use a tool: asks the human by an approval, and waits for the signed decision.
//!
//! Without a decision the client asks by itself, so no failure here lets a tool run.

use super::{HookAnswer, HookEvent, PermissionRequest, ToolVerdict, bind, deliver};
use crate::base::clock::span_text;
use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::clients::kind::Client;
use crate::commands::approval::{
    self, ApprovalOutcome, ApprovalRequest, ProvedDecision, SentApprovalMessage,
};
use crate::commands::send::MessageDraft;
use crate::commands::wait::{InboxWaiter, WaitEnd};
use crate::features::approvals::decision;
use crate::message::id;
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use crate::room::sessions::{self, CallingSession, SessionLease};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

/// The time that the hook of a permission request waits for the record of the deadline.
const PERMISSION_GRACE: Duration = Duration::from_secs(5);
/// How often the hook checks whether the client still needs an answer.
const PERMISSION_CHECK: Duration = Duration::from_millis(500);
/// The longest text about a tool's arguments, in bytes. The human could not read more before the deadline.
const PERMISSION_TEXT: usize = 16 << 10;
/// The longest subject of a permission request, in characters.
const PERMISSION_SUBJECT: usize = 200;
/// The longest note of the human that the model reads, in characters.
const PERMISSION_NOTE: usize = 400;

/// The events of a session during which no request of it for permission is open.
const OVER: [&str; 3] = ["PostToolBatch", "Stop", "StopFailure"];

/// Arguments that describe a call in one line.
const TELLING: [&str; 6] = [
    "command",
    "file_path",
    "notebook_path",
    "path",
    "url",
    "query",
];

/// Asks the human, and waits. A session without an agent asks no one.
pub(super) fn ask(
    room: &Room,
    caller: &CallingSession,
    event: &HookEvent,
    named: Option<&AgentIdentity>,
) -> Result<HookAnswer> {
    let Some(tool) = &event.tool else {
        return Ok(HookAnswer::default());
    };
    let Some(lease) = bind(room, caller, event, named)? else {
        return Ok(HookAnswer::default());
    };
    // The human would decide on something that they did not see.
    let Some(body) = body(tool, caller, &lease.agent, event.directory.as_deref()) else {
        return Ok(HookAnswer::default());
    };
    let within = room.settings()?.permission_within;
    let until = Instant::now() + within + PERMISSION_GRACE;
    let mut waiter = InboxWaiter::new(room, &lease.agent)?;
    waiter.holds(&lease.agent, &lease.named());
    let who = AgentIdentity::of_session(lease.agent.clone());
    let draft = MessageDraft {
        to: vec![id::HUMAN.to_owned()],
        subject: Some(subject(tool)),
        body: Some(body),
        ..MessageDraft::default()
    };
    let terms = ApprovalRequest {
        deadline: Some(span_text(within)),
        signed: true,
        ..ApprovalRequest::default()
    };
    let mut asked = approval::ask(room, &who, draft, terms)?;
    let is_main = tool.helper.is_none();
    let ended = wait(&mut asked, &mut waiter, until, &|| {
        is_over(room, caller, &lease, is_main)
    });
    if !matches!(ended, Ok(Some(_)))
        && let Err(e) = asked.withdraw(&who)
    {
        tracing::debug!("{e}");
    }
    // The waiter no longer delivers mail, so a pass delivers the pending mail.
    drop(waiter);
    let agent = Some(lease.agent);
    match ended.inspect_err(|_| drop(deliver(room)))? {
        Some(outcome) if outcome.by.is_some() && outcome.option.is_some() => {
            match asked.proved(&outcome)? {
                Some(proved) => Ok(HookAnswer {
                    agent,
                    ..answer(&proved)
                }),
                None => Err(Error::usage(
                    format!(
                        "the decision on {} is not signed by the person, so it does not count",
                        asked.approval
                    ),
                    "answer in the client's own dialog",
                )),
            }
        }
        _ => Ok(HookAnswer {
            agent,
            ..HookAnswer::default()
        }),
    }
}

/// Waits for the outcome. `None` if the answer is no longer needed, or after the deadline.
fn wait(
    asked: &mut SentApprovalMessage,
    waiter: &mut InboxWaiter,
    until: Instant,
    is_over: &dyn Fn() -> Result<bool>,
) -> Result<Option<ApprovalOutcome>> {
    loop {
        if let Some(outcome) = asked.look()? {
            return Ok(Some(outcome));
        }
        let now = Instant::now();
        if now >= until || is_over()? {
            return Ok(None);
        }
        match waiter.wait(Some(until.min(now + PERMISSION_CHECK))) {
            WaitEnd::Changed | WaitEnd::TimedOut => {}
            WaitEnd::Signal(_) => return Ok(None),
            WaitEnd::Removed(e) => return Err(e),
            WaitEnd::Trouble(e) => tracing::debug!("{e}"),
        }
    }
}

/// Returns true if the client no longer needs the answer. The person may have answered in the client's dialog.
fn is_over(
    room: &Room,
    caller: &CallingSession,
    begun: &SessionLease,
    is_main: bool,
) -> Result<bool> {
    let Some(now) = sessions::of(room, &begun.agent)?.filter(|lease| lease.is_of(caller)) else {
        return Ok(true);
    };
    // Tools of a sub-agent run in parallel with tools of the session.
    let has_gone_on = is_main && now.last() > begun.last() && OVER.contains(&now.event.as_str());
    Ok(has_gone_on || now.is_gone(&room.dir))
}

fn answer(proved: &ProvedDecision) -> HookAnswer {
    if proved.option == decision::OPTIONS[0] {
        return HookAnswer {
            verdict: ToolVerdict::Allow,
            ..HookAnswer::default()
        };
    }
    let note = proved
        .note
        .as_deref()
        .map(|note| sanitize::brief(note, PERMISSION_NOTE));
    let note = note
        .filter(|note| !note.is_empty())
        .map(|note| format!(": {note}"))
        .unwrap_or_default();
    let text = format!(
        "mailbag: {} denied this call (#{}){note}",
        id::HUMAN,
        proved.seq
    );
    HookAnswer {
        text: Some(text),
        verdict: ToolVerdict::Stop,
        ..HookAnswer::default()
    }
}

/// The call in one line.
fn subject(tool: &PermissionRequest) -> String {
    let telling = TELLING
        .iter()
        .find_map(|name| tool.input.get(*name)?.as_str().map(str::to_owned));
    let text = format!(
        "{}: {}",
        tool.name,
        telling.unwrap_or_else(|| tool.input.to_string())
    );
    sanitize::brief(&text, PERMISSION_SUBJECT)
}

/// The call with all its arguments. Each of their lines has a mark, so that none looks like text of mailbag. `None` if it is
/// too long.
fn body(
    tool: &PermissionRequest,
    caller: &CallingSession,
    agent: &str,
    directory: Option<&Path>,
) -> Option<String> {
    let helper = match tool.helper.as_deref() {
        None => String::new(),
        Some("") => ", in a sub-agent".into(),
        Some(kind) => format!(", in a sub-agent ({})", sanitize::line(kind)),
    };
    let client =
        Client::parse(&caller.client).map_or(caller.client.clone(), |client| client.name().into());
    let mut body = format!(
        "{agent} needs permission to use a tool in {client}{helper}.\n`yes` allows this call, `no` denies it; without a decision \
         {client} asks by itself.\n\ntool: {}\n",
        sanitize::line(&tool.name)
    );
    if let Some(directory) = directory {
        body.push_str(&format!(
            "directory: {}\n",
            sanitize::line(&directory.to_string_lossy())
        ));
    }
    match &tool.input {
        Value::Object(arguments) => {
            for (name, value) in arguments {
                match value.as_str() {
                    Some(text) => add_argument(&mut body, name, text),
                    None => add_argument(&mut body, name, &value.to_string()),
                }
            }
        }
        other => add_argument(&mut body, "input", &other.to_string()),
    }
    let body = body.trim_end();
    (body.len() <= PERMISSION_TEXT).then(|| body.to_owned())
}

fn add_argument(body: &mut String, name: &str, text: &str) {
    body.push_str(&format!("{}:\n", sanitize::line(name)));
    for line in text.split('\n') {
        body.push_str(&format!("| {line}\n"));
    }
}
