//! Gemini CLI. `docs/hooks.md` describes the observed behaviour.

use super::{Adapter, CLEAR, Input, context, end, refusal, start, stop};
use crate::clients::briefing::Moment;
use crate::clients::hook_events::{Event, Kind};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(super) const ADAPTER: Adapter = Adapter {
    kind,
    files,
    answer,
    denial: refusal,
};

fn kind(input: &Input) -> Kind {
    match input.hook_event_name.as_str() {
        // The client drops the output of this hook after `/clear`.
        "SessionStart" if input.source.as_deref() == Some(CLEAR) => Kind::Renew,
        "SessionStart" => start(input),
        "BeforeAgent" => Kind::Announce(Moment::Prompt),
        "AfterTool" => Kind::Announce(Moment::Tool),
        "AfterAgent" => stop(input),
        "BeforeTool" => Kind::Edit,
        "SessionEnd" => end(input),
        _ => Kind::Ignore,
    }
}

/// The file that a tool changes.
fn files(input: &Input) -> Vec<PathBuf> {
    match input.tool_name.as_deref() {
        Some("write_file" | "replace") => input.path("file_path"),
        _ => Vec::new(),
    }
}

/// An empty object means no text.
fn answer(event: &Event, text: Option<&str>) -> Option<Value> {
    Some(match text {
        None => json!({}),
        Some(text) if event.kind == Kind::Announce(Moment::Stop) => refusal(event, text),
        Some(text) => context(event, text),
    })
}
