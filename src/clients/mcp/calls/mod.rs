//! The tools: each reads its arguments, calls a command or a query, and returns the result.

mod claiming;
mod finding;
mod reading;
mod sending;

use super::arguments::Arguments;
use super::receipts::{Instant, Receipts};
use super::session::Session;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::commands::follow;
use crate::room::Room;
use rmcp::model::RequestId;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// The result of a tool, as text and as structured content.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) data: Value,
}

/// A call of a tool.
pub(super) struct Call<'a> {
    pub(super) session: &'a Session,
    pub(super) receipts: &'a Receipts,
    /// The request, and its time of arrival.
    pub(super) request: RequestId,
    pub(super) came: Instant,
    pub(super) stop: &'a Stop,
    pub(super) arguments: Arguments,
}

/// Calls a tool by its name.
pub(super) fn call(tool: &str, call: Call<'_>) -> Result<Shown> {
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
        _ => Err(Error::NotFound {
            what: format!("there is no tool {tool}"),
            cure: "report this error".into(),
        }),
    }
}

type Waker = Box<dyn Fn() + Send>;

/// Cancels a call that waits.
#[derive(Default)]
pub(super) struct Stop {
    state: Mutex<(bool, Option<Waker>)>,
}

impl Stop {
    /// Cancels the call.
    pub(super) fn ask(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = true;
        if let Some(wake) = &state.1 {
            wake();
        }
    }

    /// Sets what to call on cancellation.
    fn wakes(&self, wake: impl Fn() + Send + 'static) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 {
            wake();
        }
        state.1 = Some(Box::new(wake));
    }
}

/// Delivers pending messages. A failure is part of the result, and reading continues.
fn route(room: &Room) -> Option<String> {
    let failed = follow::refresh(room, limits::READER_WAIT).err()?;
    Some(format!("cannot deliver pending messages: {failed}"))
}
