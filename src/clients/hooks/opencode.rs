//! OpenCode: our plugin passes on its events in the names of Claude Code, and does what the answer says. `docs/hooks.md`
//! describes the observed behaviour.

use super::{Adapter, Input, end, patch, start, stop};
use crate::clients::briefing::Moment;
use crate::clients::hook_events::{Event, Kind};
use serde_json::{Value, json};
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
        "PostToolUse" => Kind::Announce(Moment::Tool),
        "Stop" => stop(input),
        "PreToolUse" => Kind::Edit,
        "SessionEnd" => end(input),
        _ => Kind::Ignore,
    }
}

/// The files that a tool changes.
fn files(input: &Input) -> Vec<PathBuf> {
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
fn answer(_: &Event, text: Option<&str>) -> Option<Value> {
    text.map(|text| json!({"text": text}))
}

/// The plugin stops the tool.
fn denial(_: &Event, reason: &str) -> Value {
    json!({"text": reason, "deny": true})
}
