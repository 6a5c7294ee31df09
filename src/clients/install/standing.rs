//! How a client stands: which of our hooks, server and section are in its files, and whether they can run.

use super::clients::{Format, Homes, Part, Scope, Target, Wanted};
use super::json::{Dialect, Json, Wrong};
use super::trust::{self, Trust};
use super::{hooks, kind, refused, sections, targets, text, toml};
use crate::base::error::Result;
use crate::base::limits;
use crate::clients::kind::Client;
use crate::disk::{Outside, layout, machine};
use serde::Serialize;
use std::path::PathBuf;

/// How many of the hooks are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hooks {
    /// All of them.
    Installed,
    /// Some of them.
    Partly,
    /// None.
    Absent,
}

/// What of ours is in a client's files.
#[derive(Debug, Clone, Serialize)]
pub struct Standing {
    /// Which client.
    pub client: Client,
    /// For whom.
    pub scope: Scope,
    /// How many of its hooks are there.
    pub hooks: Hooks,
    /// The events at which it doesn't call, where it calls at others.
    pub missing: Vec<&'static str>,
    /// Does our MCP server stand there?
    pub mcp: bool,
    /// Do the instructions stand where it reads them?
    pub section: bool,
    /// The agent that its sessions are, if that is fixed.
    pub agent: Option<String>,
    /// The program that is called.
    pub command: Option<String>,
    /// Where that program is, if it is found and may be run.
    pub executable: Option<PathBuf>,
    /// Does the client run what stands there?
    pub trusted: Trust,
    /// The files that were looked at.
    pub files: Vec<PathBuf>,
    /// What could not be read.
    pub problems: Vec<String>,
}

impl Standing {
    /// Does the client call us? A server alone may be a person's own.
    pub fn is_plugged_in(&self) -> bool {
        self.hooks != Hooks::Absent
    }
}

/// Looks how a client stands. What can't be read is said, and counts as nothing.
pub fn standing(client: Client, scope: Scope, homes: &Homes) -> Standing {
    let mut stands = Standing {
        client,
        scope,
        hooks: Hooks::Absent,
        missing: Vec::new(),
        mcp: false,
        section: true,
        agent: None,
        command: None,
        executable: None,
        trusted: Trust::Unknown,
        files: Vec::new(),
        problems: Vec::new(),
    };
    match targets(client, scope, homes) {
        Ok(targets) => targets.iter().for_each(|target| stands.look(target)),
        Err(e) => {
            stands.section = false;
            stands.problems.push(e.to_string());
        }
    }
    stands.executable = stands.command.as_deref().and_then(machine::program);
    if stands.hooks != Hooks::Absent {
        stands.trusted = trust::look(client, scope, homes);
    }
    stands
}

/// For whom ours stands in a file.
pub(super) fn wanted(target: &Target, text: &str, client: Client) -> Option<Wanted> {
    let anybody = || Some(Wanted { program: String::new(), agent: None });
    match target.format {
        Format::Json(dialect) => {
            let json = Json::read(text, dialect).ok()?;
            let server = || hooks::server(&json);
            target.parts.contains(&Part::Hooks).then(|| hooks::find(&json, client).wanted).flatten().or_else(server)
        }
        Format::Toml => toml::server(text).ok()?,
        Format::Markdown => anybody(),
    }
}

/// Is Gemini CLI told to read AGENTS.md?
pub(super) fn reads_agents(targets: &[Target]) -> bool {
    let settings = targets.iter().find(|target| target.parts.contains(&Part::Hooks));
    let names = settings.and_then(|target| {
        let file = Outside::read(&target.path, limits::CLIENT_FILE_BYTES).ok()?;
        let value = Json::read(text(&file).ok()??, Dialect::Comments).ok()?.value();
        value.pointer("/context/fileName").or(value.get("contextFileName")).cloned()
    });
    names.is_some_and(|names| {
        names == layout::AGENTS || names.as_array().is_some_and(|all| all.contains(&layout::AGENTS.into()))
    })
}

impl Standing {
    fn look(&mut self, target: &Target) {
        self.files.push(target.path.clone());
        if let Err(e) = self.read(target) {
            self.problems.push(e.to_string());
        }
    }

    fn read(&mut self, target: &Target) -> Result<()> {
        let file = Outside::read(&target.path, limits::CLIENT_FILE_BYTES)?;
        let Some(text) = text(&file)? else {
            self.section &= target.format != Format::Markdown;
            return Ok(());
        };
        self.fill(target, text).map_err(|wrong| refused(&file, wrong))
    }

    fn fill(&mut self, target: &Target, text: &str) -> Result<(), Wrong> {
        match target.format {
            Format::Markdown => self.section &= sections::stands(text, kind(target)),
            Format::Toml => {
                let server = toml::server(text)?;
                self.mcp = server.is_some();
                self.called_for(server);
            }
            Format::Json(dialect) => {
                let json = Json::read(text, dialect)?;
                if target.parts.contains(&Part::Hooks) {
                    let found = hooks::find(&json, self.client);
                    self.hooks = match (found.any, found.missing.is_empty()) {
                        (false, _) => Hooks::Absent,
                        (true, true) => Hooks::Installed,
                        (true, false) => Hooks::Partly,
                    };
                    self.missing = if found.any { found.missing } else { Vec::new() };
                    self.called_for(found.wanted);
                }
                if target.parts.contains(&Part::Mcp) {
                    let server = hooks::server(&json);
                    self.mcp = server.is_some();
                    self.called_for(server);
                }
            }
        }
        Ok(())
    }

    fn called_for(&mut self, wanted: Option<Wanted>) {
        if let (Some(wanted), None) = (wanted, &self.command) {
            self.command = Some(wanted.program);
            self.agent = wanted.agent;
        }
    }
}
