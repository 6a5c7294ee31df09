//! Facts about Claude Code: <https://code.claude.com/docs/en/hooks>, and `docs/hooks.md`.

use super::{
    AGENTS, AbilitySupport, AllowRules, ClientFacts, ClientFile, ClientPackage, FileFormat,
    InstallPart, JsonDialect, McpServerForm, NamingMoment, PLAIN_HOOKS, PluginForm, PluginListing,
    QuestionSubject, RESTART, SessionWakeMethod, SettingsDirectory, TrustRecord, TurnRecord, ask,
    file, guard, hook, note_in_project, waking_hook,
};

const JSON: FileFormat = FileFormat::Json(JsonDialect::Strict);

pub(super) static FACTS: ClientFacts = ClientFacts {
    word: "claude",
    name: "Claude Code",
    program: "claude",
    home: SettingsDirectory {
        variable: Some("CLAUDE_CONFIG_DIR"),
        below_variable: "",
        own: ".claude",
    },
    directories: &[".claude", "skills", "mailbag", "hooks", ".claude-plugin"],
    project: &[
        file(
            ".claude/settings.json",
            JSON,
            &[InstallPart::Hooks, InstallPart::Allow],
        ),
        file(".mcp.json", JSON, &[InstallPart::Mcp]),
        file(
            ".claude/skills/mailbag/SKILL.md",
            FileFormat::Whole,
            &[InstallPart::Skill],
        ),
        AGENTS,
        file("CLAUDE.md", FileFormat::Markdown, &[InstallPart::Include]),
    ],
    // The server of a plugin asks the same question as one of .mcp.json.
    plugin: Some(PluginForm {
        since: [2, 1, 331],
        files: &[
            file(
                ".claude/skills/mailbag/hooks/hooks.json",
                JSON,
                &[InstallPart::Hooks],
            ),
            file(
                ".claude/skills/mailbag/.mcp.json",
                JSON,
                &[InstallPart::Mcp],
            ),
            file(
                ".claude/skills/mailbag/.claude-plugin/plugin.json",
                FileFormat::Whole,
                &[InstallPart::Manifest],
            ),
            file(
                ".claude/skills/mailbag/skills/mailbag/SKILL.md",
                FileFormat::Whole,
                &[InstallPart::Skill],
            ),
            file(".claude/settings.json", JSON, &[InstallPart::Allow]),
            AGENTS,
            file("CLAUDE.md", FileFormat::Markdown, &[InstallPart::Include]),
        ],
    }),
    package: Some(ClientPackage {
        listing: PluginListing::Claude(".claude-plugin/marketplace.json"),
        manifest: ".claude-plugin/plugin.json",
        record: "settings.json",
        entry: "\"mailbag@mailbag\": true",
        removal: "claude plugin uninstall mailbag@mailbag",
    }),
    user: &[
        file(
            "settings.json",
            JSON,
            &[InstallPart::Hooks, InstallPart::Allow],
        ),
        ClientFile {
            beside: true,
            ..file(".claude.json", JSON, &[InstallPart::Mcp])
        },
        file("CLAUDE.md", FileFormat::Markdown, &[InstallPart::Section]),
    ],
    form: PLAIN_HOOKS,
    servers: McpServerForm::Plain,
    // Esc fires no event, so the waiter already starts with the session and with each prompt.
    events: &[
        waking_hook("SessionStart"),
        waking_hook("UserPromptSubmit"),
        guard("PreToolUse", "Edit|Write|MultiEdit|NotebookEdit"),
        hook("PostToolBatch"),
        waking_hook("Stop"),
        waking_hook("StopFailure"),
        hook("SessionEnd"),
    ],
    approval: Some("PermissionRequest"),
    named: NamingMoment::AtStart,
    wake: SessionWakeMethod::Hook,
    turns: TurnRecord::SessionFile,
    trust: TrustRecord::ClaudeProjects,
    allow: AllowRules::List {
        at: &["permissions", "allow"],
        command: Some("Bash(mailbag *:*)"),
        tools: &["mcp__mailbag__*", "mcp__plugin_mailbag_mailbag__*"],
        replaces: false,
        exclusive: None,
    },
    questions: &[
        ask(
            QuestionSubject::Folder,
            "Is this a project you created or one you trust?",
            "Yes, I trust this folder (the highlighted answer is no)",
        ),
        ask(
            QuestionSubject::Server,
            "New MCP server found in this project: mailbag",
            "Use this MCP server (the highlighted answer is to continue without it)",
        ),
    ],
    notes: &[
        note_in_project(
            "Claude Code reads .claude/settings.json only in the directory where it is started, so start it here",
        ),
        RESTART,
    ],
    abilities: [
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Partly("`claude -p` runs one prompt and ends, so nothing wakes it"),
        AbilitySupport::Yes,
        AbilitySupport::Yes,
    ],
};
