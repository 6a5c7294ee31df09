//! Hooks: parses a client's event from standard input, and formats the answer for the client. `docs/hooks.md` describes the
//! observed behaviour.

mod patch;

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
    /// The meaning of the event. Gemini CLI has names of its own.
    fn action(&self, client: Client) -> HookAction {
        let is_clear = self.source.as_deref() == Some(CLEAR);
        match (client, self.hook_event_name.as_str()) {
            // The clients drop the output of these hooks.
            (Client::Kimi, "SessionStart") | (_, "StopFailure" | "Interrupt") => HookAction::Renew,
            (Client::Gemini, "SessionStart") if is_clear => HookAction::Renew,
            (_, "SessionStart") => start(self),
            (_, "UserPromptSubmit" | "BeforeAgent") => HookAction::Announce(SessionMoment::Prompt),
            (_, "PostToolUse" | "PostToolBatch" | "AfterTool") => {
                HookAction::Announce(SessionMoment::Tool)
            }
            (_, "Stop" | "AfterAgent") => stop(self),
            (_, "PreToolUse" | "BeforeTool") => HookAction::Edit,
            (_, event) if client.facts().approval == Some(event) => match self.tool_name.as_deref()
            {
                // The person chooses among answers that only the client's own dialog shows.
                Some("AskUserQuestion" | "ExitPlanMode") => HookAction::Ignore,
                _ => HookAction::Permission,
            },
            (_, "SessionEnd") => end(self),
            _ => HookAction::Ignore,
        }
    }

    /// The files that the tool changes, if it is one that the client's hook is for.
    fn files(&self, client: Client) -> Vec<PathBuf> {
        let hook = client.facts().hook(&self.hook_event_name);
        let mut tools = hook
            .and_then(|hook| hook.matcher)
            .unwrap_or_default()
            .split(TOOL_ENDS);
        if !tools.any(|tool| Some(tool) == self.tool_name.as_deref()) {
            return Vec::new();
        }
        let argument = |name: &&str| self.tool_input.get(name)?.as_str();
        if let Some(path) = ["file_path", "notebook_path", "path", "filePath"]
            .iter()
            .find_map(argument)
        {
            return vec![path.into()];
        }
        let patch = ["command", "patchText"].iter().find_map(argument);
        patch
            .or(self.tool_input.as_str())
            .map(patch::files)
            .unwrap_or_default()
    }
}

/// The characters between the names of tools in a matcher.
const TOOL_ENDS: [char; 5] = ['|', '^', '$', '(', ')'];

impl Client {
    /// Parses a hook's input.
    pub fn read(self, input: &[u8]) -> Result<HookEvent, String> {
        let input: HookInput =
            serde_json::from_slice(input).map_err(|e| format!("invalid hook input: {e}"))?;
        let kind = input.action(self);
        // A sub-agent uses tools for its session.
        let is_main = matches!(input.agent_id, None | Some(Value::Null));
        let kind = if is_main || matches!(kind, HookAction::Edit | HookAction::Permission) {
            kind
        } else {
            HookAction::Ignore
        };
        let files = if kind == HookAction::Edit {
            input.files(self)
        } else {
            Vec::new()
        };
        let files = files
            .into_iter()
            .map(|file| {
                input
                    .cwd
                    .as_ref()
                    .map_or(file.clone(), |cwd| layout::below(cwd, file.as_os_str()))
            })
            .collect();
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
        let answer = match verdict {
            ToolVerdict::Allow | ToolVerdict::Stop if event.kind == HookAction::Permission => {
                Some(permission(event, text, stops))
            }
            ToolVerdict::Stop => text.map(|text| denial(self, event, text)),
            ToolVerdict::Allow | ToolVerdict::None => match text {
                Some(text) => Some(announcement(self, event, text)),
                // The others expect no output, and Kimi CLI would pass an empty object to the model.
                None => matches!(self, Client::Codex | Client::Gemini).then(|| json!({})),
            },
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

/// The answer that gives the agent a text. At a stop, it makes the client continue.
fn announcement(client: Client, event: &HookEvent, text: &str) -> Value {
    let is_stop = event.kind == HookAction::Announce(SessionMoment::Stop);
    match client {
        Client::OpenCode => json!({"text": text}),
        Client::Codex | Client::Qwen | Client::Copilot if is_stop => {
            json!({"decision": "block", "reason": text})
        }
        Client::Gemini | Client::Kimi if is_stop => denial(client, event, text),
        Client::Copilot => json!({"additionalContext": text}),
        Client::Kimi => json!({"message": text}),
        // Claude Code would send the reason of a block twice.
        Client::Claude | Client::Codex | Client::Gemini | Client::Qwen => {
            json!({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})
        }
    }
}

/// The answer that stops a tool.
fn denial(client: Client, event: &HookEvent, reason: &str) -> Value {
    match client {
        Client::Gemini => json!({"decision": "deny", "reason": reason}),
        Client::OpenCode => json!({"text": reason, "deny": true}),
        Client::Copilot => {
            json!({"permissionDecision": "deny", "permissionDecisionReason": reason})
        }
        Client::Claude | Client::Codex | Client::Qwen | Client::Kimi => {
            let decision = json!({
                "hookEventName": event.name, "permissionDecision": "deny", "permissionDecisionReason": reason
            });
            json!({"hookSpecificOutput": decision})
        }
    }
}

/// The answer to a request for permission, in Claude Code and Codex.
fn permission(event: &HookEvent, reason: Option<&str>, denies: bool) -> Value {
    let mut decision = json!({"behavior": if denies { "deny" } else { "allow" }});
    if denies && let Some(reason) = reason {
        decision["message"] = reason.into();
    }
    json!({"hookSpecificOutput": {"hookEventName": event.name, "decision": decision}})
}
