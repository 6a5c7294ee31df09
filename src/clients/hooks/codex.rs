//! Codex. It refuses fields that it does not know; what was seen of it stands in `docs/hooks.md`.

use super::{Input, context, end, start, stop};
use crate::clients::briefing::Moment;
use crate::clients::events::{Event, Kind};
use serde_json::{Value, json};

pub(super) fn kind(input: &Input) -> Kind {
    match input.hook_event_name.as_str() {
        "SessionStart" => start(input),
        "UserPromptSubmit" => Kind::Tell(Moment::Prompt),
        "PostToolUse" => Kind::Tell(Moment::Tool),
        "Stop" => stop(input),
        "SessionEnd" => end(input),
        _ => Kind::Nothing,
    }
}

/// It wants an object, also for nothing.
pub(super) fn answer(event: &Event, text: Option<&str>) -> Option<Value> {
    Some(match text {
        None => json!({}),
        Some(text) if event.kind == Kind::Tell(Moment::Stop) => json!({"decision": "block", "reason": text}),
        Some(text) => context(event, text),
    })
}
