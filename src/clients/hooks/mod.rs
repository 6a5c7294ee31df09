//! Hooks: parses a client's event from standard input, and formats the answer for the client. Each client has one adapter,
//! in a file of its name.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod kimi;
mod opencode;
mod patch;
mod qwen;

use crate::clients::briefing::SessionMoment;
use crate::clients::hook_events::{HookAction, HookEvent, PermissionRequest, ToolVerdict};
use crate::clients::kind::Client;
use crate::disk::layout;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The fields that clients send.
#[derive(Debug, Deserialize)]
struct HookInput {
    hook_event_name: String,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    transcript_path: Option<PathBuf>,
    /// Why the session starts.
    #[serde(default)]
    source: Option<String>,
    /// Why the session ends.
    #[serde(default)]
    reason: Option<String>,
    /// Whether the turn continues because of a hook.
    #[serde(default)]
    stop_hook_active: bool,
    /// Id of a sub-agent.
    #[serde(default)]
    agent_id: Option<Value>,
    /// Id of the session of the sub-agent, if `session_id` is its own.
    #[serde(default)]
    parent_agent_id: Option<String>,
    /// Kind of the sub-agent.
    #[serde(default)]
    agent_type: Option<String>,
    /// The tool, if the event is about one.
    #[serde(default)]
    tool_name: Option<String>,
    /// The arguments of the tool.
    #[serde(default)]
    tool_input: Value,
}

impl HookInput {
    /// The path in an argument of the tool.
    fn path(&self, argument: &str) -> Vec<PathBuf> {
        self.tool_input
            .get(argument)
            .and_then(Value::as_str)
            .map(PathBuf::from)
            .into_iter()
            .collect()
    }
}

/// How one client speaks.
struct HookAdapter {
    /// The meaning of an event.
    kind: fn(&HookInput) -> HookAction,
    /// The files that a tool changes.
    files: fn(&HookInput) -> Vec<PathBuf>,
    /// The answer that gives the agent a text, or none.
    answer: fn(&HookEvent, Option<&str>) -> Option<Value>,
    /// The answer that stops a tool.
    denial: fn(&HookEvent, &str) -> Value,
}

fn adapter(client: Client) -> &'static HookAdapter {
    match client {
        Client::Claude => &claude::ADAPTER,
        Client::Codex => &codex::ADAPTER,
        Client::Gemini => &gemini::ADAPTER,
        Client::Qwen => &qwen::ADAPTER,
        Client::OpenCode => &opencode::ADAPTER,
        Client::Copilot => &copilot::ADAPTER,
        Client::Kimi => &kimi::ADAPTER,
    }
}

impl Client {
    /// Parses a hook's input.
    pub fn read(self, input: &[u8]) -> Result<HookEvent, String> {
        let input: HookInput =
            serde_json::from_slice(input).map_err(|e| format!("invalid hook input: {e}"))?;
        let adapter = adapter(self);
        let kind = (adapter.kind)(&input);
        // A sub-agent uses tools for its session.
        let is_main = matches!(input.agent_id, None | Some(Value::Null));
        let kind = if is_main || matches!(kind, HookAction::Edit | HookAction::Permission) {
            kind
        } else {
            HookAction::Ignore
        };
        let files = if kind == HookAction::Edit {
            (adapter.files)(&input)
        } else {
            Vec::new()
        };
        let below = |file: PathBuf| {
            input
                .cwd
                .as_ref()
                .map_or(file.clone(), |cwd| layout::below(cwd, file.as_os_str()))
        };
        let files = files.into_iter().map(below).collect();
        let follows = input.source.as_deref() == Some(CLEAR);
        let forgot = follows || input.source.as_deref() == Some("compact");
        let helper = (!is_main).then(|| input.agent_type.unwrap_or_default());
        let tool = match input.tool_name {
            Some(name) if kind == HookAction::Permission => Some(PermissionRequest {
                name,
                input: input.tool_input,
                helper,
            }),
            _ => None,
        };
        let session = match input.parent_agent_id {
            Some(parent) if !is_main => Some(parent),
            _ => input.session_id,
        };
        let (name, directory, transcript) =
            (input.hook_event_name, input.cwd, input.transcript_path);
        Ok(HookEvent {
            name,
            kind,
            session,
            directory,
            transcript,
            follows,
            forgot,
            files,
            tool,
        })
    }

    /// The output that gives the agent this text: one line, or nothing. The verdict is about the tool of the event.
    pub fn answer(self, event: &HookEvent, text: Option<&str>, verdict: ToolVerdict) -> String {
        let stops = verdict == ToolVerdict::Stop;
        let adapter = adapter(self);
        let answer = match verdict {
            ToolVerdict::Allow | ToolVerdict::Stop if event.kind == HookAction::Permission => {
                Some(permission(event, text, stops))
            }
            ToolVerdict::Stop => text.map(|text| (adapter.denial)(event, text)),
            ToolVerdict::Allow | ToolVerdict::None => (adapter.answer)(event, text),
        };
        answer
            .map(|answer| format!("{answer}\n"))
            .unwrap_or_default()
    }
}

/// The source or reason of a session change in the same process, with an empty context.
const CLEAR: &str = "clear";

/// Handles a session's start. A resumed session still knows earlier announcements.
fn start(input: &HookInput) -> HookAction {
    HookAction::Announce(if input.source.as_deref() == Some("resume") {
        SessionMoment::Resume
    } else {
        SessionMoment::Start
    })
}

/// Handles a session's end.
fn end(input: &HookInput) -> HookAction {
    if input.reason.as_deref() == Some(CLEAR) {
        HookAction::Ignore
    } else {
        HookAction::End
    }
}

/// Handles a stop. A turn that already continued because of a hook is not continued again.
fn stop(input: &HookInput) -> HookAction {
    if input.stop_hook_active {
        HookAction::Renew
    } else {
        HookAction::Announce(SessionMoment::Stop)
    }
}

/// The answer that stops a tool, in Claude Code and Codex.
fn denial(event: &HookEvent, reason: &str) -> Value {
    let decision = json!({
        "hookEventName": event.name, "permissionDecision": "deny", "permissionDecisionReason": reason
    });
    json!({"hookSpecificOutput": decision})
}

/// The answer at a stop that makes Codex and Qwen Code continue.
fn block(reason: &str) -> Value {
    json!({"decision": "block", "reason": reason})
}

/// The answer that stops a tool, and at a stop makes the client continue, in Gemini CLI.
fn refusal(_: &HookEvent, reason: &str) -> Value {
    json!({"decision": "deny", "reason": reason})
}

/// The answer to a request for permission, in Claude Code and Codex.
fn permission(event: &HookEvent, reason: Option<&str>, denies: bool) -> Value {
    let mut decision = json!({"behavior": if denies { "deny" } else { "allow" }});
    if denies && let Some(reason) = reason {
        decision["message"] = reason.into();
    }
    json!({"hookSpecificOutput": {"hookEventName": event.name, "decision": decision}})
}

/// The answer that adds text to the agent's context, in all clients.
fn context(event: &HookEvent, text: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})
}
