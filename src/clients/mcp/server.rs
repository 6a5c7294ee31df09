//! The server for the SDK: lists the tools and calls them.

use super::arguments::ToolArguments;
use super::calls::{self, CallCancellation, ToolCall, ToolResult};
use super::receipts::UnconfirmedMail;
use super::session::McpSession;
use super::wire::ArrivalTime;
use super::words;
use crate::base::error::{Error, did_you_mean};
use crate::base::text::joined;
use crate::base::{limits, sanitize};
use crate::room::sessions::CallingSession;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams,
    RequestMetaObject, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use std::sync::{Arc, LazyLock};
use tokio::sync::{Semaphore, watch};

/// The tool with calls that wait.
const WAITING: &str = "wait_for_message";

const INSTRUCTIONS: &str = "Mail between agents and with the human. Name messages by #seq. Use wait_for_message instead of polling.";

/// The model reads this list in every conversation, so a test limits its size.
static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("tools.json")).expect("a file of this crate")
});

/// The names of the tools.
pub(in crate::clients) fn tool_names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|tool| tool.name.as_ref())
}

/// The server.
pub(super) struct McpServer {
    session: Arc<McpSession>,
    receipts: Arc<UnconfirmedMail>,
    ended: watch::Receiver<bool>,
    text: bool,
    /// Free places for calls that wait for mail.
    waits: Arc<Semaphore>,
}

impl McpServer {
    pub(super) fn new(
        session: Arc<McpSession>,
        receipts: Arc<UnconfirmedMail>,
        ended: watch::Receiver<bool>,
        text: bool,
    ) -> McpServer {
        McpServer {
            session,
            receipts,
            ended,
            text,
            waits: Arc::new(Semaphore::new(limits::TOOL_WAITS)),
        }
    }

    /// A session that has a name is not asked to register.
    fn instructions(&self) -> String {
        let known = self
            .session
            .room()
            .ok()
            .and_then(|room| self.session.known(&room));
        match known {
            Some(name) => format!("{INSTRUCTIONS} You are {name}."),
            None => format!("{INSTRUCTIONS} Call register_agent first."),
        }
    }

    /// Claude Code and Codex give their model the structured content, many other clients the text, and few give both. So
    /// each form is complete. For clients that give both, `--text` leaves out the structured content.
    fn result(&self, shown: ToolResult) -> CallToolResult {
        let mut result = CallToolResult::success(vec![ContentBlock::text(shown.text)]);
        if !self.text {
            result.structured_content = Some(shown.data);
        }
        result
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("mailbag", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.instructions())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.clone()))
    }

    /// Requests that the SDK cannot read. If the method is known, its parameters are invalid.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let wanted = match request.method.as_str() {
            "tools/call" => {
                "an object with `name`, and with `arguments`, an object, where the tool takes any"
            }
            "tools/list" | "ping" => "an object",
            _ => {
                return Err(ErrorData::new(
                    ErrorCode::METHOD_NOT_FOUND,
                    request.method,
                    None,
                ));
            }
        };
        let what = format!(
            "the params of {} are invalid; give {wanted}",
            request.method
        );
        Err(ErrorData::invalid_params(what, None))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            return Err(unknown(&request.name));
        };
        let came = context
            .extensions
            .get::<ArrivalTime>()
            .copied()
            .unwrap_or_default()
            .0;
        // Each waiting call occupies a thread, so their number is limited.
        let place = if tool.name == WAITING {
            match self.waits.clone().try_acquire_owned() {
                Ok(place) => Some(place),
                Err(_) => return Ok(error(&too_many().to_string()).into()),
            }
        } else {
            None
        };
        let stop = Arc::new(CallCancellation::default());
        let session = of_codex(&context.meta)
            .map_or_else(|| self.session.clone(), |of| Arc::new(self.session.of(of)));
        let (receipts, asked, caller) = (self.receipts.clone(), stop.clone(), session.clone());
        let id = context.id.clone();
        let mut task = tokio::task::spawn_blocking(move || {
            let _place = place;
            let arguments = ToolArguments::new(tool, request.arguments.unwrap_or_default())?;
            let call = ToolCall {
                session: &session,
                receipts: &receipts,
                request: id,
                came,
                stop: &asked,
                arguments,
            };
            calls::call(&tool.name, call)
        });
        let done = tokio::select! {
            done = &mut task => done,
            () = context.ct.cancelled() => { stop.ask(); task.await }
            () = end(self.ended.clone()) => { stop.ask(); task.await }
        };
        if context.ct.is_cancelled() {
            // The client no longer gets a response.
            self.receipts.lost(&context.id);
        }
        let result = match done {
            Ok(Ok(shown)) => self.result(with_name(shown, caller.take_news())),
            Ok(Err(e)) => error(&e.to_string()),
            Err(e) => error(&format!("the tool failed: {e}; report this error")),
        };
        Ok(result.into())
    }
}

/// The session of a call from Codex, where all sessions share one process.
fn of_codex(meta: &RequestMetaObject) -> Option<CallingSession> {
    if !meta.contains_key("x-codex-turn-metadata") {
        return None;
    }
    let session = meta.get("sessionId")?.as_str()?;
    CallingSession::codex(session).ok()
}

/// The result, with the name that the session was given for the call.
fn with_name(mut shown: ToolResult, name: Option<String>) -> ToolResult {
    if let Some(name) = name {
        shown.text = format!(
            "you are {name}; register_agent changes it\n\n{}",
            shown.text
        );
        if let Some(data) = shown.data.as_object_mut() {
            data.insert("you".into(), name.clone().into());
        }
    }
    shown
}

async fn end(mut ended: watch::Receiver<bool>) {
    let _ = ended.wait_for(|ended| *ended).await;
}

/// The model gets errors that it can fix. Errors of the protocol may stay with the client.
fn error(what: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(words::of_tools(&sanitize::block(
        what,
    )))])
}

fn too_many() -> Error {
    Error::busy(
        format!("{} calls of {WAITING} wait already", limits::TOOL_WAITS),
        "one call can wait for several senders and types; call again once others have ended",
    )
}

fn unknown(name: &str) -> ErrorData {
    let names = TOOLS.iter().map(|tool| &*tool.name);
    let fix = did_you_mean(name, names.clone())
        .unwrap_or_else(|| format!("the tools are {}", joined(names)));
    let what = Error::not_found(
        format!("unknown tool {}", crate::message::address::quoted(name)),
        fix,
    );
    ErrorData::invalid_params(words::of_tools(&what.to_string()), None)
}
