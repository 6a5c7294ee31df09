//! Facts about each client: its files, its events, and the format of a hook in its settings.

use super::json::{Dialect, End};
use crate::base::limits;
use crate::clients::kind::Client;
use crate::disk::layout::{self, AGENTS};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Timeout of the background hook that wakes an idle session of Claude Code, in seconds: a day.
const WAKE_SECONDS: u64 = 86_400;

/// The event at which Claude Code and Codex ask for permission.
const APPROVAL_EVENT: &str = "PermissionRequest";

/// Follows `command -v PROGRAM`: a hook does nothing on a machine without the program.
pub(super) const SILENT: &str = " >/dev/null 2>&1 || exit 0; ";

/// Follows the command in clients where a failing hook would block prompts and tools.
const HARMLESS: &str = " || exit 0";

/// Where mailbag is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// For everyone who works in this project.
    Project,
    /// For this user, in every project.
    User,
}

/// A part of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The hooks.
    Hooks,
    /// The MCP server.
    Mcp,
    /// The instructions.
    Section,
    /// A line that includes AGENTS.md.
    Include,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json(Dialect),
    Toml,
    Markdown,
}

/// A file of a client, and the parts that belong in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    pub(super) parts: Vec<Part>,
}

/// The directories with client files.
#[derive(Debug, Clone)]
pub struct Homes {
    /// The project directory.
    pub project: PathBuf,
    /// The home directory.
    pub home: PathBuf,
}

/// The command that a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// `mailbag hook CLIENT`
    Tell,
    /// `mailbag wait --rewake`
    Wake,
}

/// The program to call, the fixed agent, if any, and whether permission requests go to the human.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) program: String,
    pub(super) agent: Option<String>,
    pub(super) approvals: bool,
}

impl Client {
    /// The event at which the client asks for permission, if a hook can answer it.
    pub fn approval_event(self) -> Option<&'static str> {
        match self {
            Client::Claude | Client::Codex => Some(APPROVAL_EVENT),
            Client::Gemini => None,
        }
    }

    /// Every event that can have a hook.
    pub(super) fn all_events(self) -> impl DoubleEndedIterator<Item = &'static str> {
        self.approval_event().into_iter().chain(self.events().iter().copied())
    }

    /// The events with a hook.
    pub fn events(self) -> &'static [&'static str] {
        match self {
            Client::Claude => &[
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolBatch",
                "Stop",
                "StopFailure",
                "SessionEnd",
            ],
            Client::Codex => &["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"],
            Client::Gemini => &["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"],
        }
    }

    /// The tools for which the client runs the hook of an event; `None` for all.
    pub(super) fn matcher(self, event: &str) -> Option<&'static str> {
        match (self, event) {
            (Client::Claude, "PreToolUse") => Some("Edit|Write|MultiEdit|NotebookEdit"),
            (Client::Codex, "PreToolUse") => Some("apply_patch"),
            (Client::Gemini, "BeforeTool") => Some("write_file|replace"),
            _ => None,
        }
    }

    /// The event at a session's start.
    pub(super) fn first_event(self) -> &'static str {
        self.events()[0]
    }

    /// The commands for an event.
    pub(super) fn jobs(self, event: &str) -> &'static [Job] {
        match (self, event) {
            // Esc fires no event, so the waiter already starts with the session and with each prompt.
            (Client::Claude, "SessionStart" | "UserPromptSubmit" | "Stop" | "StopFailure") => &[Job::Tell, Job::Wake],
            _ => &[Job::Tell],
        }
    }

    /// Where to add our hooks in an event's list. Codex trusts a hook by its index, so the index of other hooks must not change.
    pub(super) fn end(self) -> End {
        if self == Client::Codex { End::Back } else { End::Front }
    }

    /// The client's user directory.
    pub(super) fn directory(self, homes: &Homes) -> PathBuf {
        let named = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let (other, own) = match self {
            Client::Claude => (named(layout::CLAUDE_HOME), ".claude"),
            Client::Codex => (named(layout::CODEX_HOME), ".codex"),
            Client::Gemini => {
                let other = named(layout::GEMINI_HOME).map(|home| layout::of_client(&home, ".gemini"));
                (other, ".gemini")
            }
        };
        other.unwrap_or_else(|| layout::of_client(&homes.home, own))
    }

    /// The files to edit.
    pub(super) fn targets(self, scope: Scope, homes: &Homes) -> Vec<Target> {
        match scope {
            Scope::Project => self.project_targets(&homes.project),
            Scope::User => self.user_targets(homes),
        }
    }

    fn project_targets(self, project: &Path) -> Vec<Target> {
        use Part::*;
        let at = |name, format, parts: &[Part]| target(project, name, format, parts);
        let mut all = match self {
            Client::Claude => vec![
                at(".claude/settings.json", Format::Json(Dialect::Strict), &[Hooks]),
                at(".mcp.json", Format::Json(Dialect::Strict), &[Mcp]),
            ],
            Client::Codex => vec![
                at(".codex/hooks.json", Format::Json(Dialect::Strict), &[Hooks]),
                at(".codex/config.toml", Format::Toml, &[Mcp]),
            ],
            Client::Gemini => vec![at(".gemini/settings.json", Format::Json(Dialect::Comments), &[Hooks, Mcp])],
        };
        all.push(at(AGENTS, Format::Markdown, &[Section]));
        match self {
            Client::Claude => all.push(at("CLAUDE.md", Format::Markdown, &[Include])),
            Client::Gemini => all.push(at("GEMINI.md", Format::Markdown, &[Include])),
            // Codex reads AGENTS.md itself.
            Client::Codex => {}
        }
        all
    }

    fn user_targets(self, homes: &Homes) -> Vec<Target> {
        use Part::*;
        let own = self.directory(homes);
        let at = |name, format, parts: &[Part]| target(&own, name, format, parts);
        match self {
            Client::Claude => {
                // The one file outside its directory, unless CLAUDE_CONFIG_DIR is set.
                let other = std::env::var_os(layout::CLAUDE_HOME).is_some_and(|value| !value.is_empty());
                let beside = if other { &own } else { &homes.home };
                vec![
                    at("settings.json", Format::Json(Dialect::Strict), &[Hooks]),
                    target(beside, ".claude.json", Format::Json(Dialect::Strict), &[Mcp]),
                    at("CLAUDE.md", Format::Markdown, &[Section]),
                ]
            }
            Client::Codex => vec![
                at("hooks.json", Format::Json(Dialect::Strict), &[Hooks]),
                at("config.toml", Format::Toml, &[Mcp]),
                at(AGENTS, Format::Markdown, &[Section]),
            ],
            Client::Gemini => vec![
                at("settings.json", Format::Json(Dialect::Comments), &[Hooks, Mcp]),
                at("GEMINI.md", Format::Markdown, &[Section]),
            ],
        }
    }

    /// A hook in the format of the settings.
    pub(super) fn handler(self, job: Job, event: &str, wanted: &Wanted) -> Value {
        let line = self.line(job, wanted);
        match (self, job) {
            (Client::Claude | Client::Codex, Job::Tell) if event == APPROVAL_EVENT => {
                json!({"type": "command", "command": line, "timeout": limits::PERMISSION_HOOK_SECONDS})
            }
            (Client::Claude, Job::Tell) => {
                json!({"type": "command", "command": line, "timeout": 5})
            }
            (Client::Claude, Job::Wake) => json!({
                "type": "command", "command": line, "asyncRewake": true, "timeout": WAKE_SECONDS
            }),
            (Client::Codex, _) => {
                // Codex shortens a longer timeout, and its trust covers the shortened one.
                let seconds = if event == "SessionEnd" { 3 } else { 5 };
                json!({"type": "command", "command": line, "timeout": seconds})
            }
            (Client::Gemini, _) => {
                json!({"name": "mailbag", "type": "command", "command": line, "timeout": 5000})
            }
        }
    }

    /// The program's arguments.
    pub(super) fn words(self, job: Job, wanted: &Wanted) -> Vec<String> {
        let words = match job {
            Job::Tell => vec!["hook", self.as_str()],
            Job::Wake => vec!["wait", "--rewake"],
        };
        let agent = wanted.agent.iter().flat_map(|agent| ["--as", agent]);
        words.into_iter().chain(agent).map(str::to_owned).collect()
    }

    /// The command in the format of earlier releases.
    pub(super) fn earlier(self, job: Job, wanted: &Wanted) -> Value {
        match self {
            Client::Claude => json!({"command": wanted.program, "args": self.words(job, wanted)}),
            Client::Codex | Client::Gemini => {
                json!({"command": format!("{}{}", self.call(job, wanted), self.behind())})
            }
        }
    }

    /// The whole shell command. It does nothing if the program is missing.
    pub(super) fn line(self, job: Job, wanted: &Wanted) -> String {
        // A fallback after the call needs the shell, so no `exec`.
        let exec = if self.behind().is_empty() { "exec " } else { "" };
        format!("command -v {}{SILENT}{exec}{}{}", shell_word(&wanted.program), self.call(job, wanted), self.behind())
    }

    /// The suffix of the call.
    pub(super) fn behind(self) -> &'static str {
        if self == Client::Gemini { HARMLESS } else { "" }
    }

    /// The call alone, as shell text.
    pub(super) fn call(self, job: Job, wanted: &Wanted) -> String {
        let words = self.words(job, wanted);
        [vec![shell_word(&wanted.program)], words].concat().join(" ")
    }

    /// The MCP server entry as JSON.
    pub(super) fn server(self, wanted: &Wanted) -> Value {
        let mut server = json!({"command": wanted.program, "args": ["mcp"]});
        if let Some(agent) = &wanted.agent {
            server["env"] = json!({"MAILBAG_AGENT": agent});
        }
        server
    }
}

fn target(directory: &Path, name: &str, format: Format, parts: &[Part]) -> Target {
    Target { path: layout::of_client(directory, name), format, parts: parts.to_vec() }
}

/// Quotes a word for a shell.
pub(in crate::clients) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
