//! Facts about Qwen Code: `docs/hooks.md`.

use super::{
    About, Allow, Can, Dialect, Facts, Format, Home, HookForm, Named, Package, Part, PluginListing,
    RESTART, SKILL, Servers, TrustRecord, Turns, Unit, WakeBy, abilities, ask, file, guard, hook,
};

const JSON: Format = Format::Json(Dialect::Comments);

pub(super) static FACTS: Facts = Facts {
    word: "qwen",
    name: "Qwen Code",
    program: "qwen",
    home: Home {
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
            &[Part::Hooks, Part::Mcp, Part::Allow],
        ),
        file("AGENTS.md", Format::Markdown, &[Part::Section]),
        SKILL,
    ],
    plugin: None,
    package: Some(Package {
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
            &[Part::Hooks, Part::Mcp, Part::Allow],
        ),
        file("QWEN.md", Format::Markdown, &[Part::Section]),
    ],
    form: HookForm {
        named: true,
        unit: Unit::Seconds,
        failure_blocks: false,
        trusted_by_index: false,
    },
    servers: Servers::Plain,
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
    named: Named::AtStart,
    wake: WakeBy::Socket {
        path: "QWEN_CODE_MESSAGING_SOCKET",
        token: "QWEN_CODE_MESSAGING_TOKEN",
    },
    turns: Turns::Unknown,
    trust: TrustRecord::FoldersIfEnabled,
    allow: Allow::List {
        at: &["permissions", "allow"],
        command: None,
        tools: &["mcp__mailbag__*"],
        replaces: false,
        exclusive: None,
    },
    asks: &[ask(
        About::Server,
        "Untrusted MCP server in .qwen/settings.json: mailbag",
        "Approve this server; it asks again after each change of it",
    )],
    notes: &[RESTART],
    abilities: abilities([
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::No(
            "mailbag does not answer permission requests of Qwen Code yet; it asks in its own dialog",
        ),
        Can::Partly(
            "needs version 0.24 or later, and no other setting of `agents.crossSessionInbound` than `accept`",
        ),
        Can::Yes,
        Can::Partly(
            "the tools; it asks for commands, because a rule for `mailbag read` would also let `mailbag read > FILE` and \
             `mailbag read $(COMMAND)` pass",
        ),
    ]),
};
