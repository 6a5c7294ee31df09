//! Facts about GitHub Copilot CLI: `docs/hooks.md`.

use super::{
    AGENTS, AbilitySupport, AllowRules, ClientFacts, ClientPackage, FileFormat, HookForm,
    InstallPart, JsonDialect, McpServerForm, NamingMoment, PLAIN_HOOKS, PluginListing,
    QuestionSubject, RESTART, SKILL, SessionWakeMethod, SettingsDirectory, TrustRecord, TurnRecord,
    ask, file, guard, hook,
};

const JSON: FileFormat = FileFormat::Json(JsonDialect::Comments);

pub(super) static FACTS: ClientFacts = ClientFacts {
    word: "copilot",
    name: "GitHub Copilot CLI",
    program: "copilot",
    home: SettingsDirectory {
        variable: Some("COPILOT_HOME"),
        below_variable: "",
        own: ".copilot",
    },
    directories: &[
        ".agents", "skills", "mailbag", ".github", "hooks", ".copilot",
    ],
    // Copilot CLI reads AGENTS.md itself.
    project: &[
        file(".github/hooks/mailbag.json", JSON, &[InstallPart::Hooks]),
        file(".github/mcp.json", JSON, &[InstallPart::Mcp]),
        AGENTS,
        SKILL,
    ],
    plugin: None,
    package: Some(ClientPackage {
        listing: PluginListing::Claude(".github/plugin/marketplace.json"),
        manifest: "plugin.json",
        record: "settings.json",
        entry: "\"mailbag@mailbag\": true",
        removal: "copilot plugin uninstall mailbag@mailbag",
    }),
    user: &[
        file("hooks/mailbag.json", JSON, &[InstallPart::Hooks]),
        file("mcp-config.json", JSON, &[InstallPart::Mcp]),
        file(
            "copilot-instructions.md",
            FileFormat::Markdown,
            &[InstallPart::Section],
        ),
    ],
    form: HookForm {
        failure_blocks: true,
        ..PLAIN_HOOKS
    },
    servers: McpServerForm::Plain,
    // Names in this form give inputs in the form of Claude Code, with its names of tools.
    events: &[
        hook("SessionStart"),
        hook("UserPromptSubmit"),
        guard("PreToolUse", "Edit|Write"),
        hook("PostToolUse"),
        hook("Stop"),
        hook("SessionEnd"),
    ],
    approval: None,
    named: NamingMoment::AtFirstPrompt,
    wake: SessionWakeMethod::Nothing,
    turns: TurnRecord::Unknown,
    trust: TrustRecord::CopilotFolders,
    // It remembers only whole programs, not single commands.
    allow: AllowRules::None,
    questions: &[ask(
        QuestionSubject::Folder,
        "Do you trust the files in this folder?",
        "Yes, and remember this folder for future sessions; `copilot -p` does not ask, and needs it too",
    )],
    notes: &[RESTART],
    abilities: [
        AbilitySupport::Partly("with the first prompt; before it, Copilot CLI runs no hook"),
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::No(
            "its hook also runs for tools that need no permission, so each of them would become an approval",
        ),
        AbilitySupport::No(
            "only an extension can give an idle session a turn, Copilot CLI loads extensions only with its experimental features \
             on, and mailbag installs none",
        ),
        AbilitySupport::Yes,
        AbilitySupport::No(
            "what Copilot CLI remembers names a whole program, and no single command of it",
        ),
    ],
};
