//! Client programs in which agents run, and how mail reaches them: those in [`kind`], and any command.
//!
//! In: calls of a client (hooks on standard input, MCP requests, a command's output). Out: answers in exactly the client's
//! format, built from the data that `query` and `commands` return.
//!
//! [`up`] sets up a project, [`install`] edits a client's settings and [`git_hooks`] the hooks of a repository, [`hooks`],
//! [`hook_events`] and [`mcp`] answer a client's calls, [`briefing`] announces mail, [`rewake`] and [`idle`] wake idle
//! agents, by `queue` and with what `activity` knows of their turns, [`session_watch`] notices the end of a client, `background` starts these
//! processes, and [`exec`] runs any command as an agent.
//!
//! The meaning and the delivery of mail does not belong here. A client's format must not leak into other floors.

mod activity;
mod background;
pub mod briefing;
pub mod hook_events;
pub mod exec;
pub mod git_hooks;
pub mod hooks;
pub mod idle;
pub mod install;
pub mod kind;
pub mod mcp;
mod queue;
pub mod rewake;
pub mod session_watch;
pub mod up;
