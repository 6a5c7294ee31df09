//! The programs in which agents run, and how mail reaches them: Claude Code, Codex, Gemini CLI, and any command.
//!
//! In: the calls of a client (hooks on standard input, MCP requests, a command's output). Out: the answers in exactly
//! the form that the client wants, made of what `query` and `commands` return.
//!
//! [`install`] plugs mailbag into a client's settings, [`hooks`] and [`mcp`] answer it, [`briefing`] says what an agent
//! is told, [`wake`] and [`rewake`] start one that idles, [`exec`] runs any command as an agent, and [`bindings`] are
//! the helper files for other languages.
//!
//! What does not belong here: what mail is and how it is delivered. A client's form must not leak into other floors.

pub mod bindings;
pub mod briefing;
pub mod events;
pub mod exec;
pub mod hooks;
pub mod install;
pub mod kind;
pub mod mcp;
pub mod rewake;
pub mod wake;
