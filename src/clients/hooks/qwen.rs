//! Qwen Code. `docs/hooks.md` describes the observed behaviour.

use super::{HookAdapter, HookInput, block, context, denial, end, start, stop};
use crate::clients::briefing::SessionMoment;
use crate::clients::hook_events::{HookAction, HookEvent};
use serde_json::Value;
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
        "PostToolUse" | "PostToolBatch" => HookAction::Announce(SessionMoment::Tool),
        "Stop" => stop(input),
        // The client drops the output of this hook.
        "StopFailure" => HookAction::Renew,
        "PreToolUse" => HookAction::Edit,
        "SessionEnd" => end(input),
        _ => HookAction::Ignore,
    }
}

/// The file that a tool changes.
fn files(input: &HookInput) -> Vec<PathBuf> {
    match input.tool_name.as_deref() {
        Some("write_file" | "edit") => input.path("file_path"),
        Some("notebook_edit") => input.path("notebook_path"),
        _ => Vec::new(),
    }
}

/// No output means no text.
fn answer(event: &HookEvent, text: Option<&str>) -> Option<Value> {
    text.map(|text| {
        if event.kind == HookAction::Announce(SessionMoment::Stop) {
            block(text)
        } else {
            context(event, text)
        }
    })
}
