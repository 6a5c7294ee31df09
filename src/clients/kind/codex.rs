//! Facts about Codex: `docs/hooks.md`.

use super::{
    AGENTS, AbilitySupport, AllowRules, ClientFacts, ClientHook, ClientPackage, FileFormat,
    HookForm, InstallPart, JsonDialect, McpServerForm, NamingMoment, PLAIN_HOOKS, PluginListing,
    QuestionSubject, SKILL, SessionWakeMethod, SettingsDirectory, TrustRecord, TurnRecord, ask,
    file, guard, hook, note,
};

const JSON: FileFormat = FileFormat::Json(JsonDialect::Strict);

pub(super) static FACTS: ClientFacts = ClientFacts {
    word: "codex",
    name: "Codex",
    program: "codex",
    home: SettingsDirectory {
        variable: Some("CODEX_HOME"),
        below_variable: "",
        own: ".codex",
    },
    directories: &[".agents", "skills", "mailbag", ".codex"],
    // Codex reads AGENTS.md itself.
    project: &[
        file(".codex/hooks.json", JSON, &[InstallPart::Hooks]),
        file(".codex/config.toml", FileFormat::Toml, &[InstallPart::Mcp]),
        AGENTS,
        SKILL,
    ],
    plugin: None,
    package: Some(ClientPackage {
        listing: PluginListing::Codex(".agents/plugins/marketplace.json"),
        manifest: ".codex-plugin/plugin.json",
        record: "config.toml",
        entry: "[plugins.\"mailbag@mailbag\"]\nenabled = true",
        removal: "codex plugin remove mailbag@mailbag",
    }),
    user: &[
        file("hooks.json", JSON, &[InstallPart::Hooks]),
        file("config.toml", FileFormat::Toml, &[InstallPart::Mcp]),
        AGENTS,
    ],
    form: HookForm {
        trusted_by_index: true,
        ..PLAIN_HOOKS
    },
    servers: McpServerForm::Plain,
    events: &[
        hook("SessionStart"),
        hook("UserPromptSubmit"),
        guard("PreToolUse", "apply_patch"),
        hook("PostToolUse"),
        hook("Stop"),
        // Codex shortens a longer limit, and its trust covers the shortened one.
        ClientHook {
            seconds: 3,
            ..hook("SessionEnd")
        },
        ClientHook {
            seconds: 3,
            ..hook("Interrupt")
        },
    ],
    approval: Some("PermissionRequest"),
    named: NamingMoment::AtFirstPrompt,
    wake: SessionWakeMethod::Queue,
    turns: TurnRecord::Transcript {
        ends: &["task_complete", "turn_aborted"],
        begins: &["task_started"],
    },
    trust: TrustRecord::CodexDigests,
    allow: AllowRules::None,
    questions: &[
        ask(
            QuestionSubject::Folder,
            "Trust this folder?",
            "Trust and continue",
        ),
        ask(
            QuestionSubject::Hooks,
            "Hooks need review",
            "Trust all and continue; otherwise Codex silently skips them",
        ),
    ],
    notes: &[note(
        "Codex asks about its hooks again after each change of them; `/hooks` shows them, and `codex exec` does not ask",
    )],
    abilities: [
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Partly(
            "only models that Codex knows have the tool `apply_patch`; other models edit with the shell, where no hook sees the file",
        ),
        AbilitySupport::Partly("in the terminal; `codex exec` never asks"),
        AbilitySupport::Partly(
            "not before the first prompt, and only a session that is loaded: open in a terminal, or for about a minute after that in Codex's daemon. After Esc, \
             Codex holds messages until the person types; the next prompt announces the mail",
        ),
        AbilitySupport::Yes,
        AbilitySupport::Partly(
            "in its default mode, where commands run in the sandbox; mailbag adds no rule, because a command with a rule runs outside \
             of the sandbox",
        ),
    ],
};
