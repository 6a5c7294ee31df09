//! Facts about Gemini CLI: `docs/hooks.md`.

use super::{
    AGENTS, AbilitySupport, AllowRules, ClientFacts, ClientPackage, FileFormat, HookForm,
    InstallPart, JsonDialect, McpServerForm, NamingMoment, PLAIN_HOOKS, PluginListing,
    QuestionSubject, RESTART, SKILL, SessionWakeMethod, SettingsDirectory, TimeUnit, TrustRecord,
    TurnRecord, ask, file, guard, hook,
};

const JSON: FileFormat = FileFormat::Json(JsonDialect::Comments);

pub(super) static FACTS: ClientFacts = ClientFacts {
    word: "gemini",
    name: "Gemini CLI",
    program: "gemini",
    home: SettingsDirectory {
        variable: Some("GEMINI_CLI_HOME"),
        below_variable: ".gemini",
        own: ".gemini",
    },
    directories: &[".agents", "skills", "mailbag", ".gemini"],
    project: &[
        file(
            ".gemini/settings.json",
            JSON,
            &[InstallPart::Hooks, InstallPart::Mcp, InstallPart::Allow],
        ),
        AGENTS,
        SKILL,
        file("GEMINI.md", FileFormat::Markdown, &[InstallPart::Include]),
    ],
    plugin: None,
    package: Some(ClientPackage {
        listing: PluginListing::Nothing,
        manifest: "gemini-extension.json",
        record: "extensions/mailbag/gemini-extension.json",
        entry: "",
        removal: "gemini extensions uninstall mailbag",
    }),
    user: &[
        file(
            "settings.json",
            JSON,
            &[InstallPart::Hooks, InstallPart::Mcp, InstallPart::Allow],
        ),
        file("GEMINI.md", FileFormat::Markdown, &[InstallPart::Section]),
    ],
    form: HookForm {
        named: true,
        unit: TimeUnit::Milliseconds,
        failure_blocks: true,
        ..PLAIN_HOOKS
    },
    servers: McpServerForm::Plain,
    events: &[
        hook("SessionStart"),
        hook("BeforeAgent"),
        guard("BeforeTool", "write_file|replace"),
        hook("AfterTool"),
        hook("AfterAgent"),
        hook("SessionEnd"),
    ],
    approval: None,
    named: NamingMoment::AtStart,
    wake: SessionWakeMethod::Nothing,
    turns: TurnRecord::Unknown,
    trust: TrustRecord::Folders,
    allow: AllowRules::List {
        at: &["tools", "allowed"],
        // One entry for a shell command makes Gemini CLI reject all other shell commands.
        command: None,
        tools: &["mcp_mailbag_*"],
        replaces: true,
        exclusive: Some("run_shell_command("),
    },
    questions: &[ask(
        QuestionSubject::Folder,
        "Do you trust the files in this folder?",
        "Trust folder",
    )],
    notes: &[RESTART],
    abilities: [
        AbilitySupport::Partly("not after `/clear`, where Gemini CLI drops the output of the hook"),
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::No("no hook can answer a permission request"),
        AbilitySupport::No("Gemini CLI has no way to give an idle session a turn"),
        AbilitySupport::Yes,
        AbilitySupport::Partly(
            "the tools; it asks for `mailbag` commands, because a rule for one command makes it reject all other shell commands. In a project, mailbag adds no rule if your own settings have `tools.allowed`, which would then not count there",
        ),
    ],
};
