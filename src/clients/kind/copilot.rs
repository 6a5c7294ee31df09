//! Facts about GitHub Copilot CLI: `docs/hooks.md`.

use super::{
    About, Allow, Can, Dialect, Facts, Format, Home, HookForm, Named, Package, Part, PluginListing,
    RESTART, SKILL, Servers, TrustRecord, Turns, Unit, WakeBy, abilities, ask, file, guard, hook,
};

const JSON: Format = Format::Json(Dialect::Comments);

pub(super) static FACTS: Facts = Facts {
    word: "copilot",
    name: "GitHub Copilot CLI",
    program: "copilot",
    home: Home {
        variable: Some("COPILOT_HOME"),
        below_variable: "",
        own: ".copilot",
    },
    directories: &[
        ".agents", "skills", "mailbag", ".github", "hooks", ".copilot",
    ],
    // Copilot CLI reads AGENTS.md itself.
    project: &[
        file(".github/hooks/mailbag.json", JSON, &[Part::Hooks]),
        file(".github/mcp.json", JSON, &[Part::Mcp]),
        file("AGENTS.md", Format::Markdown, &[Part::Section]),
        SKILL,
    ],
    plugin: None,
    package: Some(Package {
        listing: PluginListing::Claude(".github/plugin/marketplace.json"),
        manifest: "plugin.json",
        record: "settings.json",
        entry: "\"mailbag@mailbag\": true",
        removal: "copilot plugin uninstall mailbag@mailbag",
    }),
    user: &[
        file("hooks/mailbag.json", JSON, &[Part::Hooks]),
        file("mcp-config.json", JSON, &[Part::Mcp]),
        file(
            "copilot-instructions.md",
            Format::Markdown,
            &[Part::Section],
        ),
    ],
    form: HookForm {
        named: false,
        unit: Unit::Seconds,
        failure_blocks: true,
        trusted_by_index: false,
    },
    servers: Servers::Plain,
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
    named: Named::AtFirstPrompt,
    wake: WakeBy::Nothing,
    turns: Turns::Unknown,
    trust: TrustRecord::CopilotFolders,
    // It remembers only whole programs, not single commands.
    allow: Allow::None,
    asks: &[ask(
        About::Folder,
        "Do you trust the files in this folder?",
        "Yes, and remember this folder for future sessions; `copilot -p` does not ask, and needs it too",
    )],
    notes: &[RESTART],
    abilities: abilities([
        Can::Partly("with the first prompt; before it, Copilot CLI runs no hook"),
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::No(
            "its hook also runs for tools that need no permission, so each of them would become an approval",
        ),
        Can::No(
            "only an extension can give an idle session a turn, Copilot CLI loads extensions only with its experimental features \
             on, and mailbag installs none",
        ),
        Can::Yes,
        Can::No("what Copilot CLI remembers names a whole program, and no single command of it"),
    ]),
};
