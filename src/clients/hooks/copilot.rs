//! GitHub Copilot CLI. `docs/hooks.md` describes the observed behaviour.

use super::{Adapter, Input, block, end, patch, start, stop};
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

/// The files that a tool changes. The input of `apply_patch` is the patch itself.
fn files(input: &Input) -> Vec<PathBuf> {
    match (input.tool_name.as_deref(), &input.tool_input) {
        (Some("Edit"), Value::String(text)) => patch::files(text),
        (Some("Edit" | "Write"), _) => input.path("path"),
        _ => Vec::new(),
    }
}

/// No output means no text.
fn answer(event: &Event, text: Option<&str>) -> Option<Value> {
    let is_stop = event.kind == Kind::Announce(Moment::Stop);
    text.map(|text| {
        if is_stop {
            block(text)
        } else {
            json!({"additionalContext": text})
        }
    })
}

/// The answer that stops a tool.
fn denial(_: &Event, reason: &str) -> Value {
    json!({"permissionDecision": "deny", "permissionDecisionReason": reason})
}
