//! Qwen Code. `docs/hooks.md` describes the observed behaviour.

use super::{Adapter, Input, block, context, denial, end, start, stop};
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
        "PostToolUse" | "PostToolBatch" => Kind::Announce(Moment::Tool),
        "Stop" => stop(input),
        // The client drops the output of this hook.
        "StopFailure" => Kind::Renew,
        "PreToolUse" => Kind::Edit,
        "SessionEnd" => end(input),
        _ => Kind::Ignore,
    }
}

/// The file that a tool changes.
fn files(input: &Input) -> Vec<PathBuf> {
    match input.tool_name.as_deref() {
        Some("write_file" | "edit") => input.path("file_path"),
        Some("notebook_edit") => input.path("notebook_path"),
        _ => Vec::new(),
    }
}

/// No output means no text.
fn answer(event: &Event, text: Option<&str>) -> Option<Value> {
    text.map(|text| {
        if event.kind == Kind::Announce(Moment::Stop) {
            block(text)
        } else {
            context(event, text)
        }
    })
}
