//! Facts about Gemini CLI: `docs/hooks.md`.

use super::{
    About, Allow, Can, Dialect, Facts, Format, Home, HookForm, Named, Package, Part, PluginListing,
    RESTART, SKILL, Servers, TrustRecord, Turns, Unit, WakeBy, abilities, ask, file, guard, hook,
};

const JSON: Format = Format::Json(Dialect::Comments);

pub(super) static FACTS: Facts = Facts {
    word: "gemini",
    name: "Gemini CLI",
    program: "gemini",
    home: Home {
        variable: Some("GEMINI_CLI_HOME"),
        below_variable: ".gemini",
        own: ".gemini",
    },
    directories: &[".agents", "skills", "mailbag", ".gemini"],
    project: &[
        file(
            ".gemini/settings.json",
            JSON,
            &[Part::Hooks, Part::Mcp, Part::Allow],
        ),
        file("AGENTS.md", Format::Markdown, &[Part::Section]),
        SKILL,
        file("GEMINI.md", Format::Markdown, &[Part::Include]),
    ],
    plugin: None,
    package: Some(Package {
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
            &[Part::Hooks, Part::Mcp, Part::Allow],
        ),
        file("GEMINI.md", Format::Markdown, &[Part::Section]),
    ],
    form: HookForm {
        named: true,
        unit: Unit::Milliseconds,
        failure_blocks: true,
        trusted_by_index: false,
    },
    servers: Servers::Plain,
    events: &[
        hook("SessionStart"),
        hook("BeforeAgent"),
        guard("BeforeTool", "write_file|replace"),
        hook("AfterTool"),
        hook("AfterAgent"),
        hook("SessionEnd"),
    ],
    approval: None,
    named: Named::AtStart,
    wake: WakeBy::Nothing,
    turns: Turns::Unknown,
    trust: TrustRecord::Folders,
    allow: Allow::List {
        at: &["tools", "allowed"],
        // One entry for a shell command makes Gemini CLI reject all other shell commands.
        command: None,
        tools: &["mcp_mailbag_*"],
        replaces: true,
        exclusive: Some("run_shell_command("),
    },
    asks: &[ask(
        About::Folder,
        "Do you trust the files in this folder?",
        "Trust folder",
    )],
    notes: &[RESTART],
    abilities: abilities([
        Can::Partly("not after `/clear`, where Gemini CLI drops the output of the hook"),
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::Yes,
        Can::No("no hook can answer a permission request"),
        Can::No("Gemini CLI has no way to give an idle session a turn"),
        Can::Yes,
        Can::Partly(
            "the tools; it asks for `mailbag` commands, because a rule for one command makes it reject all other shell commands. In a project, mailbag adds no rule if your own settings have `tools.allowed`, which would then not count there",
        ),
    ]),
};
