//! Gemini CLI. What was seen of it stands in `docs/hooks.md`.

use super::{CLEAR, Input, context, end, start, stop};
use crate::clients::briefing::Moment;
use crate::clients::events::{Event, Kind};
use serde_json::{Value, json};

pub(super) fn kind(input: &Input) -> Kind {
    match input.hook_event_name.as_str() {
        // It fires then, too, but drops what the hook says.
        "SessionStart" if input.source.as_deref() == Some(CLEAR) => Kind::Hear,
        "SessionStart" => start(input),
        "BeforeAgent" => Kind::Tell(Moment::Prompt),
        "AfterTool" => Kind::Tell(Moment::Tool),
        "AfterAgent" => stop(input),
        "SessionEnd" => end(input),
        _ => Kind::Nothing,
    }
}

/// It wants an object, also for nothing.
pub(super) fn answer(event: &Event, text: Option<&str>) -> Option<Value> {
    Some(match text {
        None => json!({}),
        Some(text) if event.kind == Kind::Tell(Moment::Stop) => json!({"decision": "deny", "reason": text}),
        Some(text) => context(event, text),
    })
}
