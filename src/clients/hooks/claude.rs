//! Claude Code: <https://code.claude.com/docs/en/hooks>. `docs/hooks.md` describes the observed behaviour.

use super::{HookAdapter, HookInput, context, denial, end, start, stop};
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
        "PostToolBatch" | "PostToolUse" => HookAction::Announce(SessionMoment::Tool),
        "Stop" => stop(input),
        // The client drops the output of this hook.
        "StopFailure" => HookAction::Renew,
        "PreToolUse" => HookAction::Edit,
        "PermissionRequest" => permission(input),
        "SessionEnd" => end(input),
        _ => HookAction::Ignore,
    }
}

/// A request that only the client's own dialog can answer is not asked elsewhere: the person chooses among the tool's answers.
fn permission(input: &HookInput) -> HookAction {
    match input.tool_name.as_deref() {
        Some("AskUserQuestion" | "ExitPlanMode") => HookAction::Ignore,
        _ => HookAction::Permission,
    }
}

/// The file that a tool changes.
fn files(input: &HookInput) -> Vec<PathBuf> {
    match input.tool_name.as_deref() {
        Some("Edit" | "Write" | "MultiEdit") => input.path("file_path"),
        Some("NotebookEdit") => input.path("notebook_path"),
        _ => Vec::new(),
    }
}

/// No output means no text. At a stop, `additionalContext` alone makes Claude continue; a block reason would be sent twice.
fn answer(event: &HookEvent, text: Option<&str>) -> Option<Value> {
    text.map(|text| context(event, text))
}
