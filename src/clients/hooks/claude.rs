//! Claude Code: <https://code.claude.com/docs/en/hooks>. What was seen of it stands in `docs/hooks.md`.

use super::{Input, context, end, start, stop};
use crate::clients::briefing::Moment;
use crate::clients::events::{Event, Kind};
use serde_json::Value;

pub(super) fn kind(input: &Input) -> Kind {
    match input.hook_event_name.as_str() {
        "SessionStart" => start(input),
        "UserPromptSubmit" => Kind::Tell(Moment::Prompt),
        "PostToolBatch" | "PostToolUse" => Kind::Tell(Moment::Tool),
        "Stop" => stop(input),
        // What is printed then is dropped.
        "StopFailure" => Kind::Hear,
        "SessionEnd" => end(input),
        _ => Kind::Nothing,
    }
}

/// It takes silence for nothing. At a stop, context alone makes it go on; a reason to block would be sent twice.
pub(super) fn answer(event: &Event, text: Option<&str>) -> Option<Value> {
    text.map(|text| context(event, text))
}
