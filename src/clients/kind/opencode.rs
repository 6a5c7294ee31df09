//! Facts about OpenCode: <https://opencode.ai/docs/plugins>, and `docs/hooks.md`.

use super::{
    AGENTS, AbilitySupport, AllowRules, ClientFacts, FileFormat, InstallPart, JsonDialect,
    McpServerForm, NamingMoment, PLAIN_HOOKS, PluginForm, RESTART, SKILL, SessionWakeMethod,
    SettingsDirectory, TrustRecord, TurnRecord, file, guard, hook,
};

const JSON: FileFormat = FileFormat::Json(JsonDialect::Commas);

pub(super) static FACTS: ClientFacts = ClientFacts {
    word: "opencode",
    name: "OpenCode",
    program: "opencode",
    home: SettingsDirectory {
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
            FileFormat::Script,
            &[InstallPart::Hooks],
        ),
        file("opencode.json", JSON, &[InstallPart::Mcp]),
        AGENTS,
        SKILL,
    ],
    // The plugin adds the MCP server, so opencode.json stays unchanged.
    plugin: Some(PluginForm {
        since: [1, 18, 33],
        files: &[
            file(
                ".opencode/plugins/mailbag.js",
                FileFormat::Script,
                &[InstallPart::Hooks],
            ),
            AGENTS,
            SKILL,
        ],
    }),
    package: None,
    user: &[
        file(
            "plugins/mailbag.js",
            FileFormat::Script,
            &[InstallPart::Hooks],
        ),
        file("opencode.json", JSON, &[InstallPart::Mcp]),
        AGENTS,
    ],
    form: PLAIN_HOOKS,
    servers: McpServerForm::Words,
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
    allow: AllowRules::None,
    named: NamingMoment::AtFirstPrompt,
    wake: SessionWakeMethod::Plugin,
    turns: TurnRecord::Unknown,
    trust: TrustRecord::None,
    questions: &[],
    notes: &[RESTART],
    abilities: [
        AbilitySupport::Partly("with the first prompt; before it, the session is not known"),
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::Yes,
        AbilitySupport::No(
            "mailbag does not answer permission requests of OpenCode yet; it asks in its own dialog",
        ),
        AbilitySupport::Partly(
            "not before the first prompt, and not in `opencode run`, which ends after one prompt",
        ),
        AbilitySupport::Partly(
            "one server serves all sessions of a process; the tools act for the session that was active last",
        ),
        AbilitySupport::Partly(
            "it asks only where your `permission` says so; mailbag adds no rule, because one for `mailbag read` would also let \
             `mailbag read > FILE` pass",
        ),
    ],
};
