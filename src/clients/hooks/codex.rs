//! Codex. It rejects unknown fields. `docs/hooks.md` describes the observed behaviour.

use super::{Adapter, Input, block, context, denial, end, patch, start, stop};
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
        "Interrupt" => Kind::Renew,
        "PreToolUse" => Kind::Edit,
        "PermissionRequest" => Kind::Permission,
        "SessionEnd" => end(input),
        _ => Kind::Ignore,
    }
}

/// The files that a patch changes.
fn files(input: &Input) -> Vec<PathBuf> {
    if input.tool_name.as_deref() != Some("apply_patch") {
        return Vec::new();
    }
    let patch = input.tool_input.get("command").and_then(Value::as_str);
    patch.map(patch::files).unwrap_or_default()
}

/// An empty object means no text.
fn answer(event: &Event, text: Option<&str>) -> Option<Value> {
    Some(match text {
        None => json!({}),
        Some(text) if event.kind == Kind::Announce(Moment::Stop) => block(text),
        Some(text) => context(event, text),
    })
}
