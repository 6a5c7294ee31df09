//! Facts about OpenCode: <https://opencode.ai/docs/plugins>, and `docs/hooks.md`.

use super::{
    Allow, Can, Dialect, Facts, Format, Home, HookForm, Named, Part, PluginForm, RESTART, SKILL,
    Servers, TrustRecord, Turns, Unit, WakeBy, abilities, file, guard, hook,
};

const JSON: Format = Format::Json(Dialect::Commas);

pub(super) static FACTS: Facts = Facts {
    word: "opencode",
    name: "OpenCode",
    program: "opencode",
    home: Home {
        variable: Some("XDG_CONFIG_HOME"),
        below_variable: "opencode",
        own: ".config/opencode",
    },
    directories: &[
        ".agents",
        "skills",
        "mailbag",
        ".opencode",
        "plugins",
        "opencode",
        ".config",
    ],
    // OpenCode reads AGENTS.md itself.
    project: &[
        file(
            ".opencode/plugins/mailbag.js",
            Format::Script,
            &[Part::Hooks],
        ),
        file("opencode.json", JSON, &[Part::Mcp]),
        file("AGENTS.md", Format::Markdown, &[Part::Section]),
        SKILL,
    ],
    // The plugin adds the MCP server, so opencode.json stays unchanged.
    plugin: Some(PluginForm {
        since: [1, 18, 33],
        files: &[
            file(
                ".opencode/plugins/mailbag.js",
                Format::Script,
                &[Part::Hooks],
            ),
            file("AGENTS.md", Format::Markdown, &[Part::Section]),
            SKILL,
        ],
    }),
    package: None,
    user: &[
        file("plugins/mailbag.js", Format::Script, &[Part::Hooks]),
        file("opencode.json", JSON, &[Part::Mcp]),
        file("AGENTS.md", Format::Markdown, &[Part::Section]),
    ],
    form: HookForm {
        named: false,
        unit: Unit::Seconds,
        failure_blocks: false,
        trusted_by_index: false,
    },
    servers: Servers::Words,
    // The plugin's names of events.
    events: &[
        hook("SessionStart"),
        hook("UserPromptSubmit"),
        guard("PreToolUse", "edit|write|patch|apply_patch|multiedit"),
        hook("PostToolUse"),
        hook("Stop"),
        hook("SessionEnd"),
    ],
    approval: None,
    allow: Allow::None,
    named: Named::AtFirstPrompt,
    wake: WakeBy::Plugin,
    turns: Turns::Unknown,
    trust: TrustRecord::None,
    asks: &[],
    notes: &[RESTART],
    abilities: abilities([
        Can::Partly("with the first prompt; before it, the session is not known"),
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::No(
            "mailbag does not answer permission requests of OpenCode yet; it asks in its own dialog",
        ),
        Can::Partly(
            "not before the first prompt, and not in `opencode run`, which ends after one prompt",
        ),
        Can::Partly(
            "one server serves all sessions of a process; the tools act for the session that was active last",
        ),
        Can::Partly(
            "it asks only where your `permission` says so; mailbag adds no rule, because one for `mailbag read` would also let \
             `mailbag read > FILE` pass",
        ),
    ]),
};
