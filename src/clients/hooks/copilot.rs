//! GitHub Copilot CLI. `docs/hooks.md` describes the observed behaviour.

use super::{HookAdapter, HookInput, block, end, patch, start, stop};
use crate::clients::briefing::SessionMoment;
use crate::clients::hook_events::{HookAction, HookEvent};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(super) const ADAPTER: HookAdapter = HookAdapter {
    kind,
    files,
    answer,
    denial,
};

fn kind(input: &HookInput) -> HookAction {
    match input.hook_event_name.as_str() {
        "SessionStart" => start(input),
        "UserPromptSubmit" => HookAction::Announce(SessionMoment::Prompt),
        "PostToolUse" => HookAction::Announce(SessionMoment::Tool),
        "Stop" => stop(input),
        "PreToolUse" => HookAction::Edit,
        "SessionEnd" => end(input),
        _ => HookAction::Ignore,
    }
}

/// The files that a tool changes. The input of `apply_patch` is the patch itself.
fn files(input: &HookInput) -> Vec<PathBuf> {
    match (input.tool_name.as_deref(), &input.tool_input) {
        (Some("Edit"), Value::String(text)) => patch::files(text),
        (Some("Edit" | "Write"), _) => input.path("path"),
        _ => Vec::new(),
    }
}

/// No output means no text.
fn answer(event: &HookEvent, text: Option<&str>) -> Option<Value> {
    let is_stop = event.kind == HookAction::Announce(SessionMoment::Stop);
    text.map(|text| {
        if is_stop {
            block(text)
        } else {
            json!({"additionalContext": text})
        }
    })
}

/// The answer that stops a tool.
fn denial(_: &HookEvent, reason: &str) -> Value {
    json!({"permissionDecision": "deny", "permissionDecisionReason": reason})
}
