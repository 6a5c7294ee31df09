//! Facts about Kimi CLI: `docs/hooks.md`.

use super::{
    AGENTS, AbilitySupport, AllowRules, ClientFacts, FileFormat, InstallPart, JsonDialect,
    McpServerForm, NamingMoment, PLAIN_HOOKS, QuestionSubject, RESTART, SessionWakeMethod,
    SettingsDirectory, TrustRecord, TurnRecord, ask, file, guard, hook,
};

const JSON: FileFormat = FileFormat::Json(JsonDialect::Strict);

pub(super) static FACTS: ClientFacts = ClientFacts {
    word: "kimi",
    name: "Kimi CLI",
    program: "kimi",
    home: SettingsDirectory {
        variable: Some("KIMI_CODE_HOME"),
        below_variable: "",
        own: ".kimi-code",
    },
    directories: &[".kimi-code"],
    // Kimi CLI reads hooks of the user only, and AGENTS.md itself.
    project: &[
        file(".kimi-code/mcp.json", JSON, &[InstallPart::Mcp]),
        AGENTS,
    ],
    plugin: None,
    package: None,
    user: &[
        file("config.toml", FileFormat::Toml, &[InstallPart::Hooks]),
        file("mcp.json", JSON, &[InstallPart::Mcp]),
        AGENTS,
    ],
    form: PLAIN_HOOKS,
    servers: McpServerForm::Plain,
    events: &[
        hook("SessionStart"),
        hook("UserPromptSubmit"),
        guard("PreToolUse", "^(Edit|Write)$"),
        hook("Stop"),
        hook("StopFailure"),
        hook("SessionEnd"),
    ],
    approval: None,
    named: NamingMoment::AtFirstPrompt,
    wake: SessionWakeMethod::Nothing,
    turns: TurnRecord::Unknown,
    trust: TrustRecord::Elsewhere,
    allow: AllowRules::None,
    questions: &[ask(
        QuestionSubject::Folder,
        "Trust this folder?",
        "Trust this folder; it lists the server mailbag",
    )],
    notes: &[RESTART],
    abilities: [
        AbilitySupport::No(
            "Kimi CLI drops the output of its hook; the first prompt announces the mail",
        ),
        AbilitySupport::Partly(
            "its hooks are installed for the user, with `--user`, and not for a project",
        ),
        AbilitySupport::No("Kimi CLI does not wait for its hook after a tool"),
        AbilitySupport::Partly(
            "as at a prompt; a stop of a sub-agent looks like one of its session, so the sub-agent may get the mail",
        ),
        AbilitySupport::Partly("as at a prompt"),
        AbilitySupport::No("its hook only observes a permission request"),
        AbilitySupport::No(
            "a session in a terminal listens nowhere; one of `kimi web` takes prompts over HTTP, which mailbag does not send",
        ),
        AbilitySupport::Yes,
        AbilitySupport::No("a rule in the `config.toml` of Kimi CLI had no effect"),
    ],
};
