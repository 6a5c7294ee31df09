//! Claude Code: <https://code.claude.com/docs/en/hooks>. `docs/hooks.md` describes the observed behaviour.

use super::{Adapter, Input, context, denial, end, start, stop};
use crate::clients::briefing::Moment;
use crate::clients::hook_events::{Event, Kind};
use serde_json::Value;
use std::path::PathBuf;

pub(super) const ADAPTER: Adapter = Adapter {
    kind,
    files,
    answer,
    denial,
};

fn kind(input: &Input) -> Kind {
    match input.hook_event_name.as_str() {
        "SessionStart" => start(input),
        "UserPromptSubmit" => Kind::Announce(Moment::Prompt),
        "PostToolBatch" | "PostToolUse" => Kind::Announce(Moment::Tool),
        "Stop" => stop(input),
        // The client drops the output of this hook.
        "StopFailure" => Kind::Renew,
        "PreToolUse" => Kind::Edit,
        "PermissionRequest" => permission(input),
        "SessionEnd" => end(input),
        _ => Kind::Ignore,
    }
}

/// A request that only the client's own dialog can answer is not asked elsewhere: the person chooses among the tool's answers.
fn permission(input: &Input) -> Kind {
    match input.tool_name.as_deref() {
        Some("AskUserQuestion" | "ExitPlanMode") => Kind::Ignore,
        _ => Kind::Permission,
    }
}

/// The file that a tool changes.
fn files(input: &Input) -> Vec<PathBuf> {
    match input.tool_name.as_deref() {
        Some("Edit" | "Write" | "MultiEdit") => input.path("file_path"),
        Some("NotebookEdit") => input.path("notebook_path"),
        _ => Vec::new(),
    }
}

/// No output means no text. At a stop, `additionalContext` alone makes Claude continue; a block reason would be sent twice.
fn answer(event: &Event, text: Option<&str>) -> Option<Value> {
    text.map(|text| context(event, text))
}
