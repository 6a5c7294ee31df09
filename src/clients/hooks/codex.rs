//! Codex. It rejects unknown fields. `docs/hooks.md` describes the observed behaviour.

use super::{Input, context, end, start, stop};
use crate::clients::briefing::Moment;
use crate::clients::hook_events::{Event, Kind};
use serde_json::{Value, json};

pub(super) fn kind(input: &Input) -> Kind {
    match input.hook_event_name.as_str() {
        "SessionStart" => start(input),
        "UserPromptSubmit" => Kind::Announce(Moment::Prompt),
        "PostToolUse" => Kind::Announce(Moment::Tool),
        "Stop" => stop(input),
        "SessionEnd" => end(input),
        _ => Kind::Ignore,
    }
}

/// An empty object means no text.
pub(super) fn answer(event: &Event, text: Option<&str>) -> Option<Value> {
    Some(match text {
        None => json!({}),
        Some(text) if event.kind == Kind::Announce(Moment::Stop) => json!({"decision": "block", "reason": text}),
        Some(text) => context(event, text),
    })
}
