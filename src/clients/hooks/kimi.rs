//! Kimi CLI. `docs/hooks.md` describes the observed behaviour.

use super::{Adapter, Input, denial, end, stop};
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
        "UserPromptSubmit" => Kind::Announce(Moment::Prompt),
        "Stop" => stop(input),
        // The client drops the output of these hooks.
        "SessionStart" | "StopFailure" => Kind::Renew,
        "PreToolUse" => Kind::Edit,
        "SessionEnd" => end(input),
        _ => Kind::Ignore,
    }
}

/// The file that a tool changes.
fn files(input: &Input) -> Vec<PathBuf> {
    match input.tool_name.as_deref() {
        Some("Edit" | "Write") => input.path("path"),
        _ => Vec::new(),
    }
}

/// No output means no text; an empty object would reach the model.
fn answer(event: &Event, text: Option<&str>) -> Option<Value> {
    let is_stop = event.kind == Kind::Announce(Moment::Stop);
    text.map(|text| {
        if is_stop {
            denial(event, text)
        } else {
            json!({"message": text})
        }
    })
}
