//! Kimi CLI. `docs/hooks.md` describes the observed behaviour.

use super::{HookAdapter, HookInput, denial, end, stop};
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
        "UserPromptSubmit" => HookAction::Announce(SessionMoment::Prompt),
        "Stop" => stop(input),
        // The client drops the output of these hooks.
        "SessionStart" | "StopFailure" => HookAction::Renew,
        "PreToolUse" => HookAction::Edit,
        "SessionEnd" => end(input),
        _ => HookAction::Ignore,
    }
}

/// The file that a tool changes.
fn files(input: &HookInput) -> Vec<PathBuf> {
    match input.tool_name.as_deref() {
        Some("Edit" | "Write") => input.path("path"),
        _ => Vec::new(),
    }
}

/// No output means no text; an empty object would reach the model.
fn answer(event: &HookEvent, text: Option<&str>) -> Option<Value> {
    let is_stop = event.kind == HookAction::Announce(SessionMoment::Stop);
    text.map(|text| {
        if is_stop {
            denial(event, text)
        } else {
            json!({"message": text})
        }
    })
}
