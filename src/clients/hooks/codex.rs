//! Codex. It rejects unknown fields. `docs/hooks.md` describes the observed behaviour.

use super::{HookAdapter, HookInput, block, context, denial, end, patch, start, stop};
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
        "Interrupt" => HookAction::Renew,
        "PreToolUse" => HookAction::Edit,
        "PermissionRequest" => HookAction::Permission,
        "SessionEnd" => end(input),
        _ => HookAction::Ignore,
    }
}

/// The files that a patch changes.
fn files(input: &HookInput) -> Vec<PathBuf> {
    if input.tool_name.as_deref() != Some("apply_patch") {
        return Vec::new();
    }
    let patch = input.tool_input.get("command").and_then(Value::as_str);
    patch.map(patch::files).unwrap_or_default()
}

/// An empty object means no text.
fn answer(event: &HookEvent, text: Option<&str>) -> Option<Value> {
    Some(match text {
        None => json!({}),
        Some(text) if event.kind == HookAction::Announce(SessionMoment::Stop) => block(text),
        Some(text) => context(event, text),
    })
}
