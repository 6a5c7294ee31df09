//! Facts about Kimi CLI: `docs/hooks.md`.

use super::{
    About, Allow, Can, Dialect, Facts, Format, Home, HookForm, Named, Part, RESTART, Servers,
    TrustRecord, Turns, Unit, WakeBy, abilities, ask, file, guard, hook,
};

const JSON: Format = Format::Json(Dialect::Strict);

pub(super) static FACTS: Facts = Facts {
    word: "kimi",
    name: "Kimi CLI",
    program: "kimi",
    home: Home {
        variable: Some("KIMI_CODE_HOME"),
        below_variable: "",
        own: ".kimi-code",
    },
    directories: &[".kimi-code"],
    // Kimi CLI reads hooks of the user only, and AGENTS.md itself.
    project: &[
        file(".kimi-code/mcp.json", JSON, &[Part::Mcp]),
        file("AGENTS.md", Format::Markdown, &[Part::Section]),
    ],
    plugin: None,
    package: None,
    user: &[
        file("config.toml", Format::Toml, &[Part::Hooks]),
        file("mcp.json", JSON, &[Part::Mcp]),
        file("AGENTS.md", Format::Markdown, &[Part::Section]),
    ],
    form: HookForm {
        named: false,
        unit: Unit::Seconds,
        failure_blocks: false,
        trusted_by_index: false,
    },
    servers: Servers::Plain,
    events: &[
        hook("SessionStart"),
        hook("UserPromptSubmit"),
        guard("PreToolUse", "^(Edit|Write)$"),
        hook("Stop"),
        hook("StopFailure"),
        hook("SessionEnd"),
    ],
    approval: None,
    named: Named::AtFirstPrompt,
    wake: WakeBy::Nothing,
    turns: Turns::Unknown,
    trust: TrustRecord::Elsewhere,
    allow: Allow::None,
    asks: &[ask(
        About::Folder,
        "Trust this folder?",
        "Trust this folder; it lists the server mailbag",
    )],
    notes: &[RESTART],
    abilities: abilities([
        Can::No("Kimi CLI drops the output of its hook; the first prompt announces the mail"),
        Can::Partly("its hooks are installed for the user, with `--user`, and not for a project"),
        Can::No("Kimi CLI does not wait for its hook after a tool"),
        Can::Partly(
            "as at a prompt; a stop of a sub-agent looks like one of its session, so the sub-agent may get the mail",
        ),
        Can::Partly("as at a prompt"),
        Can::No("its hook only observes a permission request"),
        Can::No(
            "a session in a terminal listens nowhere; one of `kimi web` takes prompts over HTTP, which mailbag does not send",
        ),
        Can::Yes,
        Can::No("a rule in the `config.toml` of Kimi CLI had no effect"),
    ]),
};
