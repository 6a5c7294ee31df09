//! Hooks: parses a client's event from standard input, and formats the answer for the client. `docs/hooks.md` describes the
//! observed behaviour.

mod patch;

use crate::base::json_text;
use crate::clients::briefing::SessionMoment;
use crate::clients::hook_events::{HookAction, HookEvent, PermissionRequest, ToolVerdict};
use crate::clients::kind::Client;
use crate::disk::layout;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The fields that clients send.
#[derive(Debug, Deserialize)]
struct HookInput<'a> {
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
    agent_id: Option<IgnoredAny>,
    /// Id of the session of the sub-agent, if `session_id` is its own.
    #[serde(default)]
    parent_agent_id: Option<String>,
    /// Kind of the sub-agent.
    #[serde(default)]
    agent_type: Option<String>,
    /// The tool, if the event is about one.
    #[serde(default)]
    tool_name: Option<String>,
    /// The arguments of the tool. Most of them are not parsed: one that mailbag does not need must not make the event invalid.
    #[serde(default, borrow)]
    tool_input: Option<&'a RawValue>,
}

impl HookInput<'_> {
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
        let input = self.tool_input.map_or("null", RawValue::get);
        if let Ok(patch) = serde_json::from_str::<String>(input) {
            return patch::files(&patch);
        }
        let arguments: BTreeMap<String, &RawValue> =
            serde_json::from_str(input).unwrap_or_default();
        let path = first_text(
            &arguments,
            &["file_path", "notebook_path", "path", "filePath"],
        );
        if let Some(path) = path {
            return vec![path.into()];
        }
        first_text(&arguments, &["command", "patchText"])
            .map(|patch| patch::files(&patch))
            .unwrap_or_default()
    }
}

/// The first of these arguments that is a text.
fn first_text(arguments: &BTreeMap<String, &RawValue>, names: &[&str]) -> Option<String> {
    names
        .iter()
        .filter_map(|name| arguments.get(*name))
        .find_map(|argument| serde_json::from_str(argument.get()).ok())
}

/// The characters between the names of tools in a matcher.
const TOOL_ENDS: [char; 5] = ['|', '^', '$', '(', ')'];

impl Client {
    /// Parses a hook's input.
    pub fn read(self, input: &[u8]) -> Result<HookEvent, String> {
        let text = json_text::decode(input);
        let input: HookInput<'_> = serde_json::from_str(&text).map_err(invalid)?;
        let kind = input.action(self);
        // A sub-agent uses tools for its session.
        let is_main = input.agent_id.is_none();
        let kind = if is_main || matches!(kind, HookAction::Edit | HookAction::Permission) {
            kind
        } else {
            HookAction::Ignore
        };
        let mut files = if kind == HookAction::Edit {
            input.files(self)
        } else {
            Vec::new()
        };
        if let Some(cwd) = &input.cwd {
            for file in &mut files {
                *file = layout::below(cwd, file.as_os_str());
            }
        }
        let follows = input.source.as_deref() == Some(CLEAR);
        let forgot = follows || input.source.as_deref() == Some("compact");
        let helper = (!is_main).then(|| input.agent_type.unwrap_or_default());
        let tool = match input.tool_name {
            Some(name) if kind == HookAction::Permission => Some(PermissionRequest {
                name,
                input: input
                    .tool_input
                    .map(|input| serde_json::from_str(input.get()))
                    .transpose()
                    .map_err(invalid)?
                    .unwrap_or_default(),
                helper,
            }),
            _ => None,
        };
        let session = match input.parent_agent_id {
            Some(parent) if !is_main => Some(parent),
            _ => input.session_id,
        };
        Ok(HookEvent {
            name: input.hook_event_name,
            kind,
            session,
            directory: input.cwd,
            transcript: input.transcript_path,
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

fn invalid(e: serde_json::Error) -> String {
    format!("invalid hook input: {e}")
}

/// The source or reason of a session change in the same process, with an empty context.
const CLEAR: &str = "clear";

/// Handles a session's start. A resumed session still knows earlier announcements.
fn start(input: &HookInput<'_>) -> HookAction {
    HookAction::Announce(if input.source.as_deref() == Some("resume") {
        SessionMoment::Resume
    } else {
        SessionMoment::Start
    })
}

/// Handles a session's end.
fn end(input: &HookInput<'_>) -> HookAction {
    if input.reason.as_deref() == Some(CLEAR) {
        HookAction::Ignore
    } else {
        HookAction::End
    }
}

/// Handles a stop. A turn that already continued because of a hook is not continued again.
fn stop(input: &HookInput<'_>) -> HookAction {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An argument that a parser of JSON values rejects.
    fn unusual_arguments() -> [String; 3] {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        [r#""cut \ud83d""#.to_owned(), deep, "7e99999".to_owned()]
    }

    #[test]
    fn no_argument_of_a_tool_hides_the_file_that_it_changes() {
        for argument in unusual_arguments() {
            let input = format!(
                r#"{{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Write","tool_input":{{"content":{argument},"file_path":"a.rs"}},"agent_id":null}}"#
            );
            let event = Client::Claude.read(input.as_bytes()).expect(&input);
            assert_eq!(event.files, [PathBuf::from("/w/a.rs")], "{input}");
        }
        let input = br#"{"hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":{"command":"*** Add File: a.rs\n+\udc00"}}"#;
        let event = Client::Codex.read(input).expect("a patch");
        assert_eq!(event.files, [PathBuf::from("a.rs")]);
    }

    #[test]
    fn no_argument_or_result_of_a_tool_prevents_an_announcement() {
        for argument in unusual_arguments() {
            let input = format!(
                r#"{{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{argument},"tool_response":{argument}}}"#
            );
            let event = Client::Claude.read(input.as_bytes()).expect(&input);
            assert_eq!(event.kind, HookAction::Announce(SessionMoment::Tool));
        }
    }
}
