//! The client's facts applied to this machine: its files, and the hook and the server in its settings.

use super::json::ListEnd;
use crate::base::text::posix_shell_word;
use crate::clients::kind::Client;
pub use crate::clients::kind::InstallScope;
use crate::clients::kind::{ClientFile, ClientHook, TimeUnit};
pub(super) use crate::clients::kind::{FileFormat, InstallPart};
use crate::disk::{layout, machine};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The timeout of the hook for permission requests in a client's settings, in seconds.
const PERMISSION_HOOK_SECONDS: u64 = 11 * 60;

/// Timeout of the background hook that wakes an idle session of Claude Code, in seconds: a day.
const WAKE_SECONDS: u64 = 86_400;

/// Timeout of a hook of an event that is not in the facts, in seconds.
const DEFAULT_SECONDS: u64 = 5;

/// The option of the hooks of a plugin.
pub(super) const PLUGIN: &str = "--plugin";

/// Follows `command -v PROGRAM`: a hook does nothing on a machine without the program.
pub(super) const SILENT: &str = " >/dev/null 2>&1 || exit 0; ";

/// Follows the command in clients where a failing hook would block prompts and tools.
const HARMLESS: &str = " || exit 0";

/// A file of a client, and the parts that belong in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TargetFile {
    pub(super) path: PathBuf,
    pub(super) format: FileFormat,
    pub(super) parts: Vec<InstallPart>,
    /// Rules of ours that the person had already.
    pub(super) kept: Vec<String>,
    /// The parts that belong in it only if mailbag is installed in the settings.
    pub(super) of_settings: Vec<InstallPart>,
    /// The parts that belong in it only if mailbag is installed as a plugin.
    pub(super) of_plugin: Vec<InstallPart>,
    /// The parts of the other form, which an installation takes out.
    pub(super) obsolete: Vec<InstallPart>,
}

/// The directories with client files.
#[derive(Debug, Clone)]
pub struct ClientDirectories {
    /// The project directory.
    pub project: PathBuf,
    /// The home directory.
    pub home: PathBuf,
}

/// The command that a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookJob {
    /// `mailbag hook CLIENT`
    Tell,
    /// `mailbag wait --rewake`
    Wake,
}

/// The command of the hooks, and the switch for permission requests to the human.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HookConfiguration {
    pub(super) program: String,
    pub(super) agent: Option<String>,
    pub(super) approvals: bool,
    /// Whether the hooks are of a plugin. They do nothing if the settings have the same hooks.
    pub(super) is_plugin: bool,
}

/// The parts of a file in a list.
fn parts_in(files: &'static [ClientFile], file: &ClientFile) -> &'static [InstallPart] {
    let found = files.iter().find(|one| one.name == file.name);
    found.map_or(&[], |file| file.parts)
}

fn parts_without(parts: &[InstallPart], others: &[InstallPart]) -> Vec<InstallPart> {
    let mut rest = parts.to_vec();
    rest.retain(|part| !others.contains(part));
    rest
}

impl Client {
    /// The event with a permission request, if a hook can answer it.
    pub fn approval_event(self) -> Option<&'static str> {
        self.facts().approval
    }

    /// Every event that can have a hook.
    pub(super) fn all_events(self) -> impl DoubleEndedIterator<Item = &'static str> {
        self.approval_event().into_iter().chain(self.events())
    }

    /// The events with a hook.
    pub(super) fn events(self) -> impl DoubleEndedIterator<Item = &'static str> {
        self.facts().events.iter().map(|hook| hook.event)
    }

    /// The tools with a hook at an event; `None` for all.
    pub(super) fn matcher(self, event: &str) -> Option<&'static str> {
        self.facts().hook(event)?.matcher
    }

    /// The event at a session's start.
    pub(super) fn first_event(self) -> &'static str {
        self.facts().events[0].event
    }

    /// The commands for an event.
    pub(super) fn jobs(self, event: &str) -> &'static [HookJob] {
        match self.facts().hook(event) {
            Some(ClientHook { wakes: true, .. }) => &[HookJob::Tell, HookJob::Wake],
            _ => &[HookJob::Tell],
        }
    }

    /// Where to add our hooks in an event's list. A client that trusts a hook by its index must find other hooks unchanged.
    pub(super) fn end(self) -> ListEnd {
        if self.facts().form.trusted_by_index {
            ListEnd::Back
        } else {
            ListEnd::Front
        }
    }

    /// The client's user directory.
    pub(in crate::clients) fn directory(self, homes: &ClientDirectories) -> PathBuf {
        let home = &self.facts().home;
        match self.other_directory() {
            Some(other) if home.below_variable.is_empty() => other,
            Some(other) => layout::of_client(&other, home.below_variable),
            None => layout::of_client(&homes.home, home.own),
        }
    }

    /// The directory from a variable. It replaces the directory in the user's home.
    fn other_directory(self) -> Option<PathBuf> {
        machine::variable(self.facts().home.variable?).map(PathBuf::from)
    }

    /// The files of both forms of an installation. Files with hooks are first.
    pub(super) fn targets(self, scope: InstallScope, homes: &ClientDirectories) -> Vec<TargetFile> {
        let own = match scope {
            InstallScope::Project => homes.project.clone(),
            InstallScope::User => self.directory(homes),
        };
        let beside = if self.other_directory().is_some() {
            &own
        } else {
            &homes.home
        };
        let settings = self.facts().files(scope);
        let plugin = match &self.facts().plugin {
            Some(plugin) if scope == InstallScope::Project => plugin.files,
            _ => settings,
        };
        let mut all: Vec<TargetFile> = Vec::new();
        for file in plugin.iter().chain(settings) {
            let path = layout::of_client(if file.beside { beside } else { &own }, file.name);
            if all.iter().any(|target| target.path == path) {
                continue;
            }
            let (in_settings, in_plugin) = (parts_in(settings, file), parts_in(plugin, file));
            let of_settings = parts_without(in_settings, in_plugin);
            all.push(TargetFile {
                path,
                format: file.format,
                parts: [&of_settings, in_plugin].concat(),
                kept: Vec::new(),
                of_settings,
                of_plugin: parts_without(in_plugin, in_settings),
                obsolete: Vec::new(),
            });
        }
        all.sort_by_key(|target| !target.parts.contains(&InstallPart::Hooks));
        all
    }

    /// A hook in the format of the settings.
    pub(super) fn handler(self, job: HookJob, event: &str, wanted: &HookConfiguration) -> Value {
        let (facts, line) = (self.facts(), self.line(job, wanted));
        let seconds = match facts.hook(event) {
            _ if job == HookJob::Wake => WAKE_SECONDS,
            _ if facts.approval == Some(event) => PERMISSION_HOOK_SECONDS,
            hook => hook.map_or(DEFAULT_SECONDS, |hook| hook.seconds),
        };
        let mut handler = Map::new();
        if facts.form.named {
            handler.insert("name".into(), "mailbag".into());
        }
        handler.insert("type".into(), "command".into());
        handler.insert("command".into(), line.into());
        if job == HookJob::Wake {
            handler.insert("asyncRewake".into(), true.into());
        }
        let limit = if facts.form.unit == TimeUnit::Milliseconds {
            seconds * 1000
        } else {
            seconds
        };
        handler.insert("timeout".into(), limit.into());
        Value::Object(handler)
    }

    /// The program's arguments.
    pub(super) fn words(self, job: HookJob, wanted: &HookConfiguration) -> Vec<String> {
        let words = match job {
            HookJob::Tell if wanted.is_plugin => vec!["hook", self.as_str(), PLUGIN],
            HookJob::Tell => vec!["hook", self.as_str()],
            HookJob::Wake => vec!["wait", "--rewake"],
        };
        let agent = wanted.agent.iter().flat_map(|agent| ["--as", agent]);
        words.into_iter().chain(agent).map(str::to_owned).collect()
    }

    /// The whole shell command. It does nothing if the program is missing.
    pub(super) fn line(self, job: HookJob, wanted: &HookConfiguration) -> String {
        // A fallback after the call needs the shell, so no `exec`.
        let exec = if self.behind().is_empty() {
            "exec "
        } else {
            ""
        };
        format!(
            "command -v {}{SILENT}{exec}{}{}",
            posix_shell_word(&wanted.program),
            self.call(job, wanted),
            self.behind()
        )
    }

    /// The suffix of the call.
    pub(super) fn behind(self) -> &'static str {
        if self.facts().form.failure_blocks {
            HARMLESS
        } else {
            ""
        }
    }

    /// The call alone, as shell text.
    pub(super) fn call(self, job: HookJob, wanted: &HookConfiguration) -> String {
        let words = self.words(job, wanted);
        [vec![posix_shell_word(&wanted.program)], words]
            .concat()
            .join(" ")
    }
}
