//! Facts about Claude Code: <https://code.claude.com/docs/en/hooks>, and `docs/hooks.md`.

use super::{
    About, Allow, Can, Dialect, Facts, File, Format, Home, Hook, HookForm, Named, Package, Part,
    PluginForm, PluginListing, RESTART, Servers, TrustRecord, Turns, Unit, WakeBy, abilities, ask,
    file, guard, hook, note_in_project,
};

const JSON: Format = Format::Json(Dialect::Strict);

pub(super) static FACTS: Facts = Facts {
    word: "claude",
    name: "Claude Code",
    program: "claude",
    home: Home {
        variable: Some("CLAUDE_CONFIG_DIR"),
        below_variable: "",
        own: ".claude",
    },
    directories: &[".claude", "skills", "mailbag", "hooks", ".claude-plugin"],
    project: &[
        file(".claude/settings.json", JSON, &[Part::Hooks, Part::Allow]),
        file(".mcp.json", JSON, &[Part::Mcp]),
        file(
            ".claude/skills/mailbag/SKILL.md",
            Format::Whole,
            &[Part::Skill],
        ),
        file("AGENTS.md", Format::Markdown, &[Part::Section]),
        file("CLAUDE.md", Format::Markdown, &[Part::Include]),
    ],
    // The server of a plugin asks the same question as one of .mcp.json.
    plugin: Some(PluginForm {
        since: [2, 1, 331],
        files: &[
            file(
                ".claude/skills/mailbag/hooks/hooks.json",
                JSON,
                &[Part::Hooks],
            ),
            file(".claude/skills/mailbag/.mcp.json", JSON, &[Part::Mcp]),
            file(
                ".claude/skills/mailbag/.claude-plugin/plugin.json",
                Format::Whole,
                &[Part::Manifest],
            ),
            file(
                ".claude/skills/mailbag/skills/mailbag/SKILL.md",
                Format::Whole,
                &[Part::Skill],
            ),
            file(".claude/settings.json", JSON, &[Part::Allow]),
            file("AGENTS.md", Format::Markdown, &[Part::Section]),
            file("CLAUDE.md", Format::Markdown, &[Part::Include]),
        ],
    }),
    package: Some(Package {
        listing: PluginListing::Claude(".claude-plugin/marketplace.json"),
        manifest: ".claude-plugin/plugin.json",
        record: "settings.json",
        entry: "\"mailbag@mailbag\": true",
        removal: "claude plugin uninstall mailbag@mailbag",
    }),
    user: &[
        file("settings.json", JSON, &[Part::Hooks, Part::Allow]),
        File {
            beside: true,
            ..file(".claude.json", JSON, &[Part::Mcp])
        },
        file("CLAUDE.md", Format::Markdown, &[Part::Section]),
    ],
    form: HookForm {
        named: false,
        unit: Unit::Seconds,
        failure_blocks: false,
        trusted_by_index: false,
    },
    servers: Servers::Plain,
    // Esc fires no event, so the waiter already starts with the session and with each prompt.
    events: &[
        Hook {
            wakes: true,
            ..hook("SessionStart")
        },
        Hook {
            wakes: true,
            ..hook("UserPromptSubmit")
        },
        guard("PreToolUse", "Edit|Write|MultiEdit|NotebookEdit"),
        hook("PostToolBatch"),
        Hook {
            wakes: true,
            ..hook("Stop")
        },
        Hook {
            wakes: true,
            ..hook("StopFailure")
        },
        hook("SessionEnd"),
    ],
    approval: Some("PermissionRequest"),
    named: Named::AtStart,
    wake: WakeBy::Hook,
    turns: Turns::SessionFile,
    trust: TrustRecord::ClaudeProjects,
    allow: Allow::List {
        at: &["permissions", "allow"],
        command: Some("Bash(mailbag *:*)"),
        tools: &["mcp__mailbag__*", "mcp__plugin_mailbag_mailbag__*"],
        replaces: false,
        exclusive: None,
    },
    asks: &[
        ask(
            About::Folder,
            "Is this a project you created or one you trust?",
            "Yes, I trust this folder (the highlighted answer is no)",
        ),
        ask(
            About::Server,
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
    abilities: abilities([
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::Partly("`claude -p` runs one prompt and ends, so nothing wakes it"),
        Can::Yes,
        Can::Yes,
    ]),
};
