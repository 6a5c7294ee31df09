//! The tools: each reads its arguments, calls a command or a query, and returns the result.

mod claiming;
mod finding;
mod reading;
mod sending;

use super::arguments::ToolArguments;
use super::receipts::{LogicalTime, UnconfirmedMail};
use super::session::McpSession;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::commands::follow;
use crate::room::Room;
use rmcp::model::RequestId;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// The result of a tool, as text and as structured content.
pub(super) struct ToolResult {
    pub(super) text: String,
    pub(super) data: Value,
}

/// A call of a tool.
pub(super) struct ToolCall<'a> {
    pub(super) session: &'a McpSession,
    pub(super) receipts: &'a UnconfirmedMail,
    /// The request, and its time of arrival.
    pub(super) request: RequestId,
    pub(super) came: LogicalTime,
    pub(super) stop: &'a CallCancellation,
    pub(super) arguments: ToolArguments,
}

impl ToolCall<'_> {
    /// The argument with the number of messages.
    fn limit(&mut self, default: usize) -> Result<usize> {
        let most = limits::TOOL_MESSAGES as f64;
        let limit = self.arguments.number("limit", 1.0..=most)?;
        Ok(limit.map_or(default, |limit| limit as usize))
    }
}

/// Calls a tool by its name.
pub(super) fn call(tool: &str, call: ToolCall<'_>) -> Result<ToolResult> {
    match tool {
        "register_agent" => finding::register(call),
        "list_agents" => finding::agents(call),
        "send_message" => sending::send(call),
        "reply_message" => sending::reply(call),
        "acknowledge_message" => sending::acknowledge(call),
        "fetch_inbox" => reading::fetch(call),
        "wait_for_message" => reading::wait_for(call),
        "search_messages" => finding::search(call),
        "claim_work" => claiming::claim(call),
        "list_claims" => claiming::list(call),
        "get_thread" => finding::thread(call),
        _ => Err(Error::not_found(
            format!("unknown tool {tool}"),
            "report this error",
        )),
    }
}

/// Cancels a call that waits.
#[derive(Default)]
pub(super) struct CallCancellation(Mutex<CancellationState>);

#[derive(Default)]
struct CancellationState {
    is_cancelled: bool,
    /// Wakes the call.
    wake: Option<Box<dyn Fn() + Send>>,
}

impl CallCancellation {
    /// Cancels the call.
    pub(super) fn ask(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_cancelled = true;
        if let Some(wake) = &state.wake {
            wake();
        }
    }

    /// Sets what to call on cancellation.
    fn wakes(&self, wake: impl Fn() + Send + 'static) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_cancelled {
            wake();
        }
        state.wake = Some(Box::new(wake));
    }
}

/// Cuts a list of the data to this length, and adds the number of the other items.
fn cut_list(mut data: Value, name: &str, most: usize) -> Value {
    if let Some(list) = data.get_mut(name).and_then(Value::as_array_mut)
        && list.len() > most
    {
        let more = list.len() - most;
        list.truncate(most);
        data[format!("more_{name}")] = more.into();
    }
    data
}

/// Delivers pending messages, and logs a failure.
fn deliver_pending(room: &Room) {
    follow::route_pending(room, limits::READER_WAIT).unwrap_or_else(|e| tracing::warn!("{e}"));
}

/// Delivers pending messages. A failure is part of the result, and reading continues.
fn route(room: &Room) -> Option<String> {
    let failed = follow::refresh(room, limits::READER_WAIT).err()?;
    Some(format!("cannot deliver pending messages: {failed}"))
}
