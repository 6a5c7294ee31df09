//! Facts about Qwen Code: `docs/hooks.md`.

use super::{
    AGENTS, AbilitySupport, AllowRules, ClientFacts, ClientPackage, FileFormat, HookForm,
    InstallPart, JsonDialect, McpServerForm, NamingMoment, PLAIN_HOOKS, PluginListing,
    QuestionSubject, RESTART, SKILL, SessionWakeMethod, SettingsDirectory, TrustRecord, TurnRecord,
    ask, file, guard, hook,
};

const JSON: FileFormat = FileFormat::Json(JsonDialect::Comments);

pub(super) static FACTS: ClientFacts = ClientFacts {
    word: "qwen",
    name: "Qwen Code",
    program: "qwen",
    home: SettingsDirectory {
        variable: Some("QWEN_HOME"),
        below_variable: "",
        own: ".qwen",
    },
    directories: &[".agents", "skills", "mailbag", ".qwen"],
    // Qwen Code reads AGENTS.md beside QWEN.md.
    project: &[
        file(
            ".qwen/settings.json",
            JSON,
            &[InstallPart::Hooks, InstallPart::Mcp, InstallPart::Allow],
        ),
        AGENTS,
        SKILL,
    ],
    plugin: None,
    package: Some(ClientPackage {
        listing: PluginListing::Nothing,
        manifest: "qwen-extension.json",
        record: "extensions/mailbag/qwen-extension.json",
        entry: "",
        removal: "qwen extensions uninstall mailbag",
    }),
    user: &[
        file(
            "settings.json",
            JSON,
            &[InstallPart::Hooks, InstallPart::Mcp, InstallPart::Allow],
        ),
        file("QWEN.md", FileFormat::Markdown, &[InstallPart::Section]),
    ],
    form: HookForm {
        named: true,
        ..PLAIN_HOOKS
    },
    servers: McpServerForm::Plain,
    events: &[
        hook("SessionStart"),
        hook("UserPromptSubmit"),
        guard("PreToolUse", "write_file|edit|notebook_edit"),
        hook("PostToolUse"),
        hook("Stop"),
        hook("StopFailure"),
        hook("SessionEnd"),
    ],
    approval: None,
    named: NamingMoment::AtStart,
    wake: SessionWakeMethod::Socket {
        path: "QWEN_CODE_MESSAGING_SOCKET",
        token: "QWEN_CODE_MESSAGING_TOKEN",
    },
    turns: TurnRecord::Unknown,
    trust: TrustRecord::FoldersIfEnabled,
    allow: AllowRules::List {
        at: &["permissions", "allow"],
        command: None,
        tools: &["mcp__mailbag__*"],
        replaces: false,
        exclusive: None,
    },
    questions: &[ask(
        QuestionSubject::Server,
        "Untrusted MCP server in .qwen/settings.json: mailbag",
        "Approve this server; it asks again after each change of it",
    )],
    notes: &[RESTART],
    abilities: [
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::No(
            "mailbag does not answer permission requests of Qwen Code yet; it asks in its own dialog",
        ),
        AbilitySupport::Partly(
            "needs version 0.24 or later, and no other setting of `agents.crossSessionInbound` than `accept`",
        ),
        AbilitySupport::Yes,
        AbilitySupport::Partly(
            "the tools; it asks for commands, because a rule for `mailbag read` would also let `mailbag read > FILE` and \
             `mailbag read $(COMMAND)` pass",
        ),
    ],
};
