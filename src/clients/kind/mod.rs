//! The supported clients, and one table of facts about them. `hooks` has the formats of their events and answers.

mod claude;
mod codex;
mod copilot;
mod facts;
mod gemini;
mod kimi;
mod opencode;
mod qwen;
#[cfg(test)]
mod tests;

pub use facts::{
    AbilityKind, AbilitySupport, AllowRules, ClientFacts, ClientFile, ClientHook, ClientPackage,
    ClientQuestion, FileFormat, HookForm, InstallNote, InstallPart, InstallScope, JsonDialect,
    McpServerForm, NamingMoment, PluginForm, PluginListing, QuestionSubject, SessionWakeMethod,
    SettingsDirectory, TimeUnit, TrustRecord, TurnRecord,
};
use serde::Serialize;

/// A client program for agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Client {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
    /// OpenCode.
    OpenCode,
    /// GitHub Copilot CLI.
    Copilot,
    /// Kimi CLI.
    Kimi,
}

impl Client {
    /// All clients.
    pub const ALL: [Client; 7] = [
        Client::Claude,
        Client::Codex,
        Client::Gemini,
        Client::Qwen,
        Client::OpenCode,
        Client::Copilot,
        Client::Kimi,
    ];

    /// The facts about it.
    pub fn facts(self) -> &'static ClientFacts {
        match self {
            Client::Claude => &claude::FACTS,
            Client::Codex => &codex::FACTS,
            Client::Gemini => &gemini::FACTS,
            Client::Qwen => &qwen::FACTS,
            Client::OpenCode => &opencode::FACTS,
            Client::Copilot => &copilot::FACTS,
            Client::Kimi => &kimi::FACTS,
        }
    }

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        self.facts().word
    }

    /// Parses a client's name.
    pub fn parse(word: &str) -> Result<Client, String> {
        let found = Client::ALL
            .into_iter()
            .find(|client| client.as_str() == word);
        found.ok_or_else(|| format!("use one of {}", Client::ALL.map(Client::as_str).join(", ")))
    }

    /// Its display name.
    pub fn name(self) -> &'static str {
        self.facts().name
    }
}

impl ClientFacts {
    /// An event with a hook.
    pub fn hook(&self, event: &str) -> Option<&'static ClientHook> {
        self.events.iter().find(|hook| hook.event == event)
    }

    /// The files of an installation.
    pub fn files(&self, scope: InstallScope) -> &'static [ClientFile] {
        match scope {
            InstallScope::Project => self.project,
            InstallScope::User => self.user,
        }
    }
}

/// A file in the client's directory or the project.
const fn file(name: &'static str, format: FileFormat, parts: &'static [InstallPart]) -> ClientFile {
    ClientFile {
        name,
        beside: false,
        format,
        parts,
    }
}

/// The instructions of a project, and of the user in some clients.
const AGENTS: ClientFile = file("AGENTS.md", FileFormat::Markdown, &[InstallPart::Section]);

/// The format of hooks in most clients.
const PLAIN_HOOKS: HookForm = HookForm {
    named: false,
    unit: TimeUnit::Seconds,
    failure_blocks: false,
    trusted_by_index: false,
};

/// The skill that Codex, Gemini CLI, Qwen Code, OpenCode and Copilot CLI read.
const SKILL: ClientFile = file(
    ".agents/skills/mailbag/SKILL.md",
    FileFormat::Whole,
    &[InstallPart::Skill],
);

/// An event with a hook for all tools.
const fn hook(event: &'static str) -> ClientHook {
    ClientHook {
        event,
        matcher: None,
        wakes: false,
        seconds: 5,
    }
}

/// An event that also starts the background hook.
const fn waking_hook(event: &'static str) -> ClientHook {
    ClientHook {
        wakes: true,
        ..hook(event)
    }
}

/// An event with a hook for the tools that change files.
const fn guard(event: &'static str, matcher: &'static str) -> ClientHook {
    ClientHook {
        matcher: Some(matcher),
        ..hook(event)
    }
}

/// A question, and the answer that is needed.
const fn ask(
    about: QuestionSubject,
    question: &'static str,
    answer: &'static str,
) -> ClientQuestion {
    ClientQuestion {
        about,
        question,
        answer,
    }
}

/// A note for each scope.
const fn note(text: &'static str) -> InstallNote {
    InstallNote { scope: None, text }
}

/// A note for a project.
const fn note_in_project(text: &'static str) -> InstallNote {
    InstallNote {
        scope: Some(InstallScope::Project),
        text,
    }
}

/// Said for clients that read their settings once.
const RESTART: InstallNote = note("restart running sessions to apply the change");
