//! OpenCode: our plugin passes on its events in the names of Claude Code, and does what the answer says. `docs/hooks.md`
//! describes the observed behaviour.

use super::{HookAdapter, HookInput, end, patch, start, stop};
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

/// The files that a tool changes.
fn files(input: &HookInput) -> Vec<PathBuf> {
    match input.tool_name.as_deref() {
        Some("edit" | "write" | "multiedit") => input.path("filePath"),
        Some("patch" | "apply_patch") => input
            .tool_input
            .get("patchText")
            .and_then(Value::as_str)
            .map(patch::files)
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// No output means no text.
fn answer(_: &HookEvent, text: Option<&str>) -> Option<Value> {
    text.map(|text| json!({"text": text}))
}

/// The plugin stops the tool.
fn denial(_: &HookEvent, reason: &str) -> Value {
    json!({"text": reason, "deny": true})
}
