//! The MCP server: mail as tools, over standard input and output, for clients that speak the Model Context Protocol.
//!
//! The only module with an async runtime. Each tool call runs in a thread of its own, so that a call that waits for mail
//! does not block others. All code below stays synchronous.

mod arguments;
mod calls;
mod keeper;
mod lines;
mod tool_message;
mod receipts;
mod server;
mod session;
mod wire;
mod words;

use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use crate::base::worker::WorkerThread;
use crate::disk::machine;
use crate::room::sessions::CallingSession;
use receipts::UnconfirmedMail;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use server::McpServer;
pub(super) use server::tool_names;
use session::McpSession;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

/// The options of the server.
#[derive(Debug, Clone)]
pub struct McpOptions {
    /// The room of `--room`. Without it each call searches for a room, which may be created later.
    pub room: Option<PathBuf>,
    /// Where to search for a room.
    pub from: PathBuf,
    /// Results as text only.
    pub text: bool,
}

/// Serves until standard input ends or a signal arrives. Delivers mail while no router runs.
pub fn serve(options: McpOptions) -> Result<()> {
    let session = Arc::new(McpSession::new(
        options.room,
        options.from,
        CallingSession::of_server()?,
    ));
    let (ending, ended) = watch::channel(false);
    let asked = ending.clone();
    machine::at_signals(&machine::END_SIGNALS, move |_| asked.send_replace(true))?;
    let receipts = Arc::new(UnconfirmedMail::default());
    session.begin();
    let kept = session.clone();
    let keeper: WorkerThread =
        WorkerThread::start("keeper", move |ended| keeper::keep(&kept, ended))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(limits::TOOL_THREADS)
        .build();
    let runtime = runtime.doing("start", "the runtime of the MCP server")?;
    let served = runtime.block_on(async {
        let wire = wire::StdioTransport::new(receipts.clone(), ending);
        let server = McpServer::new(session.clone(), receipts, ended, options.text);
        match server.serve(wire).await {
            Ok(running) => running
                .waiting()
                .await
                .map(drop)
                .map_err(|e| broken(&e.to_string())),
            // A client that ends before its first request is not an error.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(e) => Err(broken(&e.to_string())),
        }
    });
    // A thread may block forever in a read of standard input.
    runtime.shutdown_background();
    drop(keeper);
    session.ended();
    served
}

fn broken(what: &str) -> Error {
    Error::usage(
        format!("the client does not speak MCP: {what}"),
        "start `mailbag mcp` from an MCP client, as `mailbag mcp --help` shows",
    )
}
