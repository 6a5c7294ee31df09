//! The facts about a client: its program, its files, its hooks, and its abilities.

use serde::Serialize;

/// Everything that distinguishes a client from others, as data.
#[derive(Debug)]
pub struct ClientFacts {
    /// Its name on the command line and in records.
    pub word: &'static str,
    /// Its display name.
    pub name: &'static str,
    /// Its program on the PATH.
    pub program: &'static str,
    /// Where its user's files are.
    pub home: SettingsDirectory,
    /// The names of its directories, which an uninstallation removes if they are empty.
    pub directories: &'static [&'static str],
    /// The files of an installation for a project. The first has the hooks, if the client reads hooks there.
    pub project: &'static [ClientFile],
    /// The form as a plugin of the project, if the client loads one.
    pub plugin: Option<PluginForm>,
    /// The plugin or extension that its own commands install from a checkout of mailbag.
    pub package: Option<ClientPackage>,
    /// The files of an installation for a user. The first has the hooks.
    pub user: &'static [ClientFile],
    /// The format of a hook in its settings.
    pub form: HookForm,
    /// The form of an MCP server in its settings.
    pub servers: McpServerForm,
    /// The events with a hook. The first one is the session's start.
    pub events: &'static [ClientHook],
    /// The event with a permission request, if a hook can answer it.
    pub approval: Option<&'static str>,
    /// When a session gets its name.
    pub named: NamingMoment,
    /// How an idle session gets a turn when mail arrives.
    pub wake: SessionWakeMethod,
    /// Where it shows the end of a turn that no hook reports.
    pub turns: TurnRecord,
    /// Where it records that the person trusts the hooks.
    pub trust: TrustRecord,
    /// The form of its rules that let it use mail without a question.
    pub allow: AllowRules,
    /// The client's questions after an installation, with the needed answers. Only the person can answer.
    pub questions: &'static [ClientQuestion],
    /// Other notes for the person after an installation.
    pub notes: &'static [InstallNote],
    /// Its support of each ability, in the order of [`AbilityKind::ALL`].
    pub abilities: [AbilitySupport; AbilityKind::ALL.len()],
}

/// A plugin of the project. With it, the client's settings need fewer edits.
#[derive(Debug)]
pub struct PluginForm {
    /// The oldest version that was seen to work.
    pub since: [u32; 3],
    /// The files. The first has the hooks.
    pub files: &'static [ClientFile],
}

/// A plugin or extension that the client's own commands install from a checkout of mailbag.
#[derive(Debug)]
pub struct ClientPackage {
    /// Where the client finds it.
    pub listing: PluginListing,
    /// Its manifest, below its folder.
    pub manifest: &'static str,
    /// The file in the user's directory that shows that it is installed.
    pub record: &'static str,
    /// The text in that file that shows it.
    pub entry: &'static str,
    /// The command that removes it.
    pub removal: &'static str,
}

/// The file at the top of a repository that lists its plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PluginListing {
    /// A marketplace in the format of Claude Code.
    Claude(&'static str),
    /// A marketplace in the format of Codex.
    Codex(&'static str),
    /// None: an extension is installed from its folder, and its manifest has the MCP server.
    Nothing,
}

/// The directory of a user's settings of a client.
#[derive(Debug)]
pub struct SettingsDirectory {
    /// The variable that sets another directory.
    pub variable: Option<&'static str>,
    /// The directory below the variable's directory; empty for that directory.
    pub below_variable: &'static str,
    /// The directory below the user's home, without the variable.
    pub own: &'static str,
}

/// A file of a client, and the parts of an installation that belong in it.
#[derive(Debug, Clone, Copy)]
pub struct ClientFile {
    /// Its path below the project or the user's directory.
    pub name: &'static str,
    /// Whether it is in the user's home directory, unless a variable sets another directory.
    pub beside: bool,
    /// Its format.
    pub format: FileFormat,
    /// Its parts of the installation.
    pub parts: &'static [InstallPart],
}

/// A part of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallPart {
    /// The hooks.
    Hooks,
    /// The MCP server.
    Mcp,
    /// The rules that let it use mail without a question.
    Allow,
    /// The instructions.
    Section,
    /// A line that includes AGENTS.md.
    Include,
    /// The skill.
    Skill,
    /// The manifest of a plugin.
    Manifest,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// JSON settings.
    Json(JsonDialect),
    /// A TOML configuration.
    Toml,
    /// Instructions for agents.
    Markdown,
    /// A script that the client loads as a plugin.
    Script,
    /// A file that belongs to mailbag as a whole.
    Whole,
}

/// The JSON dialect of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonDialect {
    /// Plain JSON.
    Strict,
    /// JSON with comments.
    Comments,
    /// JSON with comments, and with a comma after the last item.
    Commas,
}

/// Where mailbag is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InstallScope {
    /// For everyone who works in this project.
    Project,
    /// For this user, in every project.
    User,
}

/// The format of a hook in a client's settings.
#[derive(Debug)]
pub struct HookForm {
    /// Whether a hook has a name.
    pub named: bool,
    /// The unit of its time limit.
    pub unit: TimeUnit,
    /// Whether a failing hook blocks prompts and tools.
    pub failure_blocks: bool,
    /// Whether the client trusts hooks by their index, which must then stay the same.
    pub trusted_by_index: bool,
}

/// The form of an MCP server in a client's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpServerForm {
    /// In `mcpServers`, with `command`, `args` and `env`.
    Plain,
    /// In `mcp`, with all words in `command`, and `environment`.
    Words,
}

/// The unit of a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

/// An event with a hook.
#[derive(Debug)]
pub struct ClientHook {
    /// The client's name for it.
    pub event: &'static str,
    /// The tools with a hook; `None` for all, or for an event without a tool.
    pub matcher: Option<&'static str>,
    /// Whether the background hook that wakes an idle session starts as well.
    pub wakes: bool,
    /// The time limit, in seconds.
    pub seconds: u64,
}

/// When a session of a client gets its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamingMoment {
    /// At its start.
    AtStart,
    /// With its first prompt. The client runs no hook before.
    AtFirstPrompt,
}

/// How an idle session of a client gets a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionWakeMethod {
    /// By a hook that waits in the background and ends with a certain exit status.
    Hook,
    /// By `codex queue`, from a process that waits in the background, or from the router if the registry says so.
    Queue,
    /// A line to the session's socket, from a process that waits in the background. The variables name the socket and
    /// its token.
    Socket {
        /// The variable with the path of the socket.
        path: &'static str,
        /// The variable with the token.
        token: &'static str,
    },
    /// By a plugin in the client. A process that waits in the background gives it the mail.
    Plugin,
    /// Not at all.
    Nothing,
}

/// Where a client shows, apart from its hooks, whether the last turn of a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnRecord {
    /// In the file of its process in `sessions/` of the user's directory.
    SessionFile,
    /// In the last of these events in the transcript of the session.
    Transcript {
        /// The events that end a turn.
        ends: &'static [&'static str],
        /// The events that begin one.
        begins: &'static [&'static str],
    },
    /// In no file.
    Unknown,
}

/// Where a client records that the person trusts the hooks of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustRecord {
    /// In `.claude.json`, for each directory.
    ClaudeProjects,
    /// In `config.toml`, the digest of each hook.
    CodexDigests,
    /// In `trustedFolders.json`, a list of directories.
    Folders,
    /// In the same file, if the person has switched `security.folderTrust` on in the user's settings.
    FoldersIfEnabled,
    /// In `config.json`, the list `trustedFolders`.
    CopilotFolders,
    /// In a file that mailbag does not read. It asks for trust in MCP servers of a project.
    Elsewhere,
    /// Nowhere: it asks for no trust.
    None,
}

/// The form of a client's rules for commands and tools that need no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowRules {
    /// No rule that names a single command, or no question.
    None,
    /// A list in its JSON settings.
    List {
        /// The keys that lead to the list.
        at: &'static [&'static str],
        /// The rule for a command of mailbag, with `*` for the command, if it allows nothing else in the same line.
        command: Option<&'static str>,
        /// The rules for a tool of the MCP server, with `*` for the tool: one for each name that the client gives to it.
        tools: &'static [&'static str],
        /// Whether the project's list replaces the user's list.
        replaces: bool,
        /// The beginning of a rule that makes the client reject all other shell commands.
        exclusive: Option<&'static str>,
    },
}

/// A question of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ClientQuestion {
    /// The subject.
    #[serde(skip)]
    pub about: QuestionSubject,
    /// The question, as the client shows it.
    pub question: &'static str,
    /// The needed answer.
    pub answer: &'static str,
}

/// The subject of a client's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionSubject {
    /// A project, at the first start in its directory.
    Folder,
    /// An MCP server of a project.
    Server,
    /// New or changed hooks.
    Hooks,
}

/// A note for the person after an installation.
#[derive(Debug)]
pub struct InstallNote {
    /// Only for this scope.
    pub scope: Option<InstallScope>,
    /// The sentence.
    pub text: &'static str,
}

/// An ability of mailbag in a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AbilityKind {
    /// Mail is announced at the start of a session.
    Start,
    /// Mail is announced at a prompt.
    Prompt,
    /// Mail is announced between tools.
    Tools,
    /// Mail is announced at a stop, and the session continues with it.
    Stop,
    /// An edit of a claimed file is stopped.
    Guard,
    /// A permission request becomes an approval to the human.
    Permission,
    /// An idle session is woken.
    Wake,
    /// The model has the MCP tools, and they know their session.
    Server,
    /// It asks no permission to read and send mail.
    Unasked,
}

/// Whether something can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbilitySupport {
    /// Yes.
    Yes,
    /// Yes, with a restriction, as a clause.
    Partly(&'static str),
    /// No, with the reason.
    No(&'static str),
}

impl AbilityKind {
    /// All of them, in the order of the table.
    pub const ALL: [AbilityKind; 9] = [
        AbilityKind::Start,
        AbilityKind::Prompt,
        AbilityKind::Tools,
        AbilityKind::Stop,
        AbilityKind::Guard,
        AbilityKind::Permission,
        AbilityKind::Wake,
        AbilityKind::Server,
        AbilityKind::Unasked,
    ];

    /// Whether a client supports it.
    pub fn in_client(self, client: &ClientFacts) -> AbilitySupport {
        client.abilities[self as usize]
    }
}
