//! The tools: each reads its arguments, calls an action, and shows what came of it.

mod finding;
mod reading;
mod sending;

use super::arguments::Arguments;
use super::receipts::{Instant, Receipts};
use super::session::Session;
use crate::base::error::{Error, Result};
use crate::commands::send;
use crate::room::Room;
use rmcp::model::RequestId;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// What a tool shows: the same as text and as data.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) data: Value,
}

/// A call of a tool.
pub(super) struct Call<'a> {
    pub(super) session: &'a Session,
    pub(super) receipts: &'a Receipts,
    /// The request that its response goes with, and when that came.
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
        "wait_for_message" => reading::wait(call),
        "search_messages" => finding::search(call),
        "get_thread" => finding::thread(call),
        _ => Err(Error::NotFound { what: format!("there is no tool {tool}"), cure: "report it".into() }),
    }
}

type Waker = Box<dyn Fn() + Send>;

/// Asks a call that waits to end.
#[derive(Default)]
pub(super) struct Stop {
    state: Mutex<(bool, Option<Waker>)>,
}

impl Stop {
    /// Asks.
    pub(super) fn ask(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = true;
        state.1.iter().for_each(|wake| wake());
    }

    /// What is to be called when it is asked.
    fn wakes(&self, wake: impl Fn() + Send + 'static) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(Box::new(wake));
    }

    fn is_asked(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Routes what waits. That it fails hinders nobody from reading, and is told.
fn route(room: &Room) -> Option<String> {
    let failed = send::route(room).err()?;
    Some(format!("what waits was not routed: {failed}"))
}
