//! `mailbag mcp`: serves mail as tools to an MCP client.

use super::run::log_to_stderr;
use crate::base::error::Result;
use crate::cli::context::{CommandContext, here};
use crate::clients::mcp::{self, McpOptions};

const EXAMPLES: &str = "\
Examples:
  claude mcp add mailbag -- mailbag mcp   # Claude Code
  codex mcp add mailbag -- mailbag mcp    # Codex
  gemini mcp add mailbag mailbag mcp      # Gemini CLI
  MAILBAG_AGENT=alice mailbag --room ~/work/.mailbag mcp

An MCP client starts this command and talks to it over standard input and output.
Tools: register_agent, list_agents, send_message, reply_message, fetch_inbox,
acknowledge_message, search_messages, get_thread, wait_for_message. If no router
runs, the server delivers messages. It ends when its input ends.";

/// Serve mail as tools to an MCP client
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Results as text only, for clients that give their model text and structured content
    #[arg(long)]
    text: bool,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    if cx.verbose == 0 {
        log_to_stderr(cx);
    }
    mcp::serve(McpOptions {
        room: cx.asked(),
        from: here()?,
        text: args.text,
    })?;
    Ok(())
}
