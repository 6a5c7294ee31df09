//! Gemini CLI. `docs/hooks.md` describes the observed behaviour.

use super::{CLEAR, HookAdapter, HookInput, context, end, refusal, start, stop};
use crate::clients::briefing::SessionMoment;
use crate::clients::hook_events::{HookAction, HookEvent};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(super) const ADAPTER: HookAdapter = HookAdapter {
    kind,
    files,
    answer,
    denial: refusal,
};

fn kind(input: &HookInput) -> HookAction {
    match input.hook_event_name.as_str() {
        // The client drops the output of this hook after `/clear`.
        "SessionStart" if input.source.as_deref() == Some(CLEAR) => HookAction::Renew,
        "SessionStart" => start(input),
        "BeforeAgent" => HookAction::Announce(SessionMoment::Prompt),
        "AfterTool" => HookAction::Announce(SessionMoment::Tool),
        "AfterAgent" => stop(input),
        "BeforeTool" => HookAction::Edit,
        "SessionEnd" => end(input),
        _ => HookAction::Ignore,
    }
}

/// The file that a tool changes.
fn files(input: &HookInput) -> Vec<PathBuf> {
    match input.tool_name.as_deref() {
        Some("write_file" | "replace") => input.path("file_path"),
        _ => Vec::new(),
    }
}

/// An empty object means no text.
fn answer(event: &HookEvent, text: Option<&str>) -> Option<Value> {
    Some(match text {
        None => json!({}),
        Some(text) if event.kind == HookAction::Announce(SessionMoment::Stop) => {
            refusal(event, text)
        }
        Some(text) => context(event, text),
    })
}
