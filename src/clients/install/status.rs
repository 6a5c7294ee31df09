//! The installation status of a client: which of our hooks, server and section its files contain, and whether they can run.

use super::clients::{
    ClientDirectories, FileFormat, HookConfiguration, InstallPart, InstallScope, TargetFile,
};
use super::json::{EditError, JsonDialect, JsonFile};
use super::trust::{self, HookTrust};
use super::{
    allow, hooks, plugin, read_file, refused, sections, servers, targets, text, toml, toml_hooks,
};
use crate::base::error::Result;
use crate::base::written_path::write_path;
use crate::clients::kind::{AllowRules, Client};
use crate::disk::{layout, machine};
use serde::Serialize;
use std::path::PathBuf;

/// The installed hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HookPresence {
    /// All of them.
    Installed,
    /// Some of them.
    Partly,
    /// None.
    Absent,
}

/// The installation status of a client.
#[derive(Debug, Clone, Serialize)]
pub struct ClientStatus {
    /// The client.
    pub client: Client,
    /// Project or user.
    pub scope: InstallScope,
    /// The installed hooks.
    pub hooks: HookPresence,
    /// Events without a hook, if other events have one.
    pub missing: Vec<&'static str>,
    /// Whether hooks send the client's permission requests to the human.
    pub approvals: bool,
    /// Whether our MCP server is installed.
    pub mcp: bool,
    /// Whether the client lets agents use mail without a question. `None` if it has no rules for that.
    pub allow: Option<bool>,
    /// Whether the instructions are installed.
    pub section: bool,
    /// The fixed agent of its sessions, if any.
    pub agent: Option<String>,
    /// The program that the hooks call.
    pub command: Option<String>,
    /// The path of that program, if it exists and is executable.
    #[serde(serialize_with = "write_path")]
    pub executable: Option<PathBuf>,
    /// Whether the client runs the hooks.
    pub trusted: HookTrust,
    /// The settings and plugins with our hooks.
    #[serde(skip)]
    pub hook_files: Vec<PathBuf>,
    /// The files that were examined.
    #[serde(serialize_with = "write_path")]
    pub files: Vec<PathBuf>,
    /// Files that could not be read.
    pub problems: Vec<String>,
}

impl ClientStatus {
    /// Whether the client has our hooks, or where it reads none, the rest. An MCP server alone may be the user's own.
    fn is_installed(&self) -> bool {
        let mut files = self.client.facts().files(self.scope).iter();
        if files.any(|file| file.parts.contains(&InstallPart::Hooks)) {
            self.hooks != HookPresence::Absent
        } else {
            self.mcp && self.section
        }
    }
}

/// Returns true if mailbag is installed in a client.
pub fn is_installed(client: Client, scope: InstallScope, homes: &ClientDirectories) -> bool {
    status(client, scope, homes).is_installed()
}

/// Examines a client. Unreadable files are reported and count as empty.
pub fn status(client: Client, scope: InstallScope, homes: &ClientDirectories) -> ClientStatus {
    let mut status = ClientStatus {
        client,
        scope,
        hooks: HookPresence::Absent,
        missing: Vec::new(),
        approvals: false,
        mcp: false,
        allow: (client.facts().allow != AllowRules::None).then_some(false),
        section: true,
        agent: None,
        command: None,
        executable: None,
        trusted: HookTrust::Unknown,
        hook_files: Vec::new(),
        files: Vec::new(),
        problems: Vec::new(),
    };
    match targets(client, scope, homes) {
        Ok(targets) => {
            for target in &targets {
                status.look(target);
            }
        }
        Err(e) => {
            status.section = false;
            status.problems.push(e.to_string());
        }
    }
    status.executable = status.command.as_deref().and_then(machine::program);
    if status.hooks != HookPresence::Absent {
        status.trusted = trust::look(client, scope, homes);
    }
    status
}

/// The program and agent of our entries in a file.
pub(super) fn wanted(target: &TargetFile, text: &str, client: Client) -> Option<HookConfiguration> {
    match target.format {
        // Rules contain neither a program nor an agent.
        FileFormat::Json(_) if target.parts == [InstallPart::Allow] => {
            Some(HookConfiguration::default())
        }
        FileFormat::Json(dialect) => {
            let json = JsonFile::read(text, dialect).ok()?;
            let of_hooks = if target.parts.contains(&InstallPart::Hooks) {
                hooks::find(&json, client).wanted
            } else {
                None
            };
            of_hooks.or_else(|| servers::find(&json))
        }
        FileFormat::Toml if target.parts.contains(&InstallPart::Hooks) => {
            toml_hooks::find(text, client).ok()?.wanted
        }
        FileFormat::Toml => toml::server(text).ok()?,
        FileFormat::Markdown | FileFormat::Whole => Some(HookConfiguration::default()),
        FileFormat::Script => plugin::find(text).ok()?,
    }
}

/// Whether Gemini CLI is configured to read AGENTS.md.
pub(super) fn reads_agents(targets: &[TargetFile]) -> bool {
    let settings = targets
        .iter()
        .find(|target| target.parts.contains(&InstallPart::Hooks));
    let names = settings.and_then(|target| {
        let file = read_file(&target.path).ok()?;
        let value = JsonFile::read(text(&file).ok()??, JsonDialect::Comments)
            .ok()?
            .value();
        value
            .pointer("/context/fileName")
            .or(value.get("contextFileName"))
            .cloned()
    });
    names.is_some_and(|names| {
        names == layout::AGENTS
            || names
                .as_array()
                .is_some_and(|all| all.contains(&layout::AGENTS.into()))
    })
}

impl ClientStatus {
    fn look(&mut self, target: &TargetFile) {
        self.files.push(target.path.clone());
        if let Err(e) = self.read(target) {
            self.problems.push(e.to_string());
        }
    }

    fn read(&mut self, target: &TargetFile) -> Result<()> {
        let file = read_file(&target.path)?;
        let Some(text) = text(&file)? else {
            self.section &= target.format != FileFormat::Markdown;
            return Ok(());
        };
        self.fill(target, text)
            .map_err(|wrong| refused(&file, wrong))
    }

    fn fill(&mut self, target: &TargetFile, text: &str) -> Result<(), EditError> {
        match target.format {
            FileFormat::Markdown => {
                let has_section = sections::has_section(text, target.parts[0]);
                self.section &= *has_section.as_ref().unwrap_or(&false);
                has_section?;
            }
            FileFormat::Script => {
                let plugin = plugin::find(text)?;
                if plugin.is_some() {
                    self.hooks = HookPresence::Installed;
                    self.mcp = true;
                }
                self.called_for(plugin);
            }
            FileFormat::Whole => {}
            FileFormat::Toml if target.parts.contains(&InstallPart::Hooks) => {
                self.fill_hooks(toml_hooks::find(text, self.client)?)
            }
            FileFormat::Toml => {
                let server = toml::server(text)?;
                self.mcp = server.is_some();
                self.called_for(server);
            }
            FileFormat::Json(dialect) => {
                let json = JsonFile::read(text, dialect)?;
                if target.parts.contains(&InstallPart::Hooks) {
                    let found = hooks::find(&json, self.client);
                    if found.any {
                        self.hook_files.push(target.path.clone());
                    }
                    self.fill_hooks(found);
                }
                if target.parts.contains(&InstallPart::Allow) {
                    let rules = allow::rules(self.client);
                    self.allow = Some(allow::found(&json, self.client).len() == rules.len());
                }
                if target.parts.contains(&InstallPart::Mcp) {
                    let server = servers::find(&json);
                    self.mcp |= server.is_some();
                    self.called_for(server);
                }
            }
        }
        Ok(())
    }

    fn fill_hooks(&mut self, found: hooks::InstalledHooks) {
        if !found.any {
            return;
        }
        self.hooks = if found.missing.is_empty() {
            HookPresence::Installed
        } else {
            HookPresence::Partly
        };
        self.approvals |= found.approvals;
        self.missing = found.missing;
        self.called_for(found.wanted);
    }

    fn called_for(&mut self, wanted: Option<HookConfiguration>) {
        if let (Some(wanted), None) = (wanted, &self.command) {
            self.command = Some(wanted.program);
            self.agent = wanted.agent;
        }
    }
}
