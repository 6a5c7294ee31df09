//! Facts about Codex: `docs/hooks.md`.

use super::{
    About, Allow, Can, Dialect, Facts, Format, Home, Hook, HookForm, Named, Package, Part,
    PluginListing, SKILL, Servers, TrustRecord, Turns, Unit, WakeBy, abilities, ask, file, guard,
    hook, note,
};

const JSON: Format = Format::Json(Dialect::Strict);

pub(super) static FACTS: Facts = Facts {
    word: "codex",
    name: "Codex",
    program: "codex",
    home: Home {
        variable: Some("CODEX_HOME"),
        below_variable: "",
        own: ".codex",
    },
    directories: &[".agents", "skills", "mailbag", ".codex"],
    // Codex reads AGENTS.md itself.
    project: &[
        file(".codex/hooks.json", JSON, &[Part::Hooks]),
        file(".codex/config.toml", Format::Toml, &[Part::Mcp]),
        file("AGENTS.md", Format::Markdown, &[Part::Section]),
        SKILL,
    ],
    plugin: None,
    package: Some(Package {
        listing: PluginListing::Codex(".agents/plugins/marketplace.json"),
        manifest: ".codex-plugin/plugin.json",
        record: "config.toml",
        entry: "[plugins.\"mailbag@mailbag\"]\nenabled = true",
        removal: "codex plugin remove mailbag@mailbag",
    }),
    user: &[
        file("hooks.json", JSON, &[Part::Hooks]),
        file("config.toml", Format::Toml, &[Part::Mcp]),
        file("AGENTS.md", Format::Markdown, &[Part::Section]),
    ],
    form: HookForm {
        named: false,
        unit: Unit::Seconds,
        failure_blocks: false,
        trusted_by_index: true,
    },
    servers: Servers::Plain,
    events: &[
        hook("SessionStart"),
        hook("UserPromptSubmit"),
        guard("PreToolUse", "apply_patch"),
        hook("PostToolUse"),
        hook("Stop"),
        // Codex shortens a longer limit, and its trust covers the shortened one.
        Hook {
            seconds: 3,
            ..hook("SessionEnd")
        },
        Hook {
            seconds: 3,
            ..hook("Interrupt")
        },
    ],
    approval: Some("PermissionRequest"),
    named: Named::AtFirstPrompt,
    wake: WakeBy::Queue,
    turns: Turns::Transcript {
        ends: &["task_complete", "turn_aborted"],
        begins: &["task_started"],
    },
    trust: TrustRecord::CodexDigests,
    allow: Allow::None,
    asks: &[
        ask(About::Folder, "Trust this folder?", "Trust and continue"),
        ask(
            About::Hooks,
            "Hooks need review",
            "Trust all and continue; otherwise Codex silently skips them",
        ),
    ],
    notes: &[note(
        "Codex asks about its hooks again after each change of them; `/hooks` shows them, and `codex exec` does not ask",
    )],
    abilities: abilities([
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::Partly(
            "only models that Codex knows have the tool `apply_patch`; other models edit with the shell, where no hook sees the file",
        ),
        Can::Partly("in the terminal; `codex exec` never asks"),
        Can::Partly(
            "not before the first prompt, and only a session that is loaded: open in a terminal, or for about a minute after that in Codex's daemon. After Esc, \
             Codex holds messages until the person types; the next prompt announces the mail",
        ),
        Can::Yes,
        Can::Partly(
            "in its default mode, where commands run in the sandbox; mailbag adds no rule, because a command with a rule runs outside \
             of the sandbox",
        ),
    ]),
};
