//! Decides whether an agent or a person runs this process. Every command and page that only a person may use asks here.

use super::sessions::{self, HOLD, KNOWN, KnownClient, SHELLS};
use super::{Room, find, named_by_environment};
use crate::base::error::{Error, Result};
use crate::base::{sanitize, test_variable};
use crate::disk::process_ancestry::{ParentProcess, ProcessAncestry};
use crate::disk::{machine, terminal};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The longest name of a process that is shown.
const PROCESS_NAME: usize = 40;

/// The caller of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// An agent, or a program that an agent started.
    Agent(ActorEvidence),
    /// A person at a terminal.
    Person,
    /// A process with hidden parents or without a terminal. It may read and send, but not act as a person.
    Unknown(ActorEvidence),
}

/// The observation that makes a caller an agent or unknown, as a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActorEvidence(String);

impl fmt::Display for ActorEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The action of a decision of the human, for [`require_person`].
pub const DECIDE: &str = "decide as human";

/// Variables of services that run commands without a person.
const AUTOMATION: [&str; 4] = ["CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"];

/// Commands of mailbag that start programs for agents.
const STARTS_AGENTS: [&str; 6] = ["exec", "run", "up", "mcp", "hook", "wait"];

/// Programs that run another program, which their arguments name. Python has many names.
const RUNNERS: [&str; 15] = [
    "node", "nodejs", "bun", "bunx", "deno", "npx", "npm", "pnpm", "pnpx", "yarn", "uv", "uvx",
    "pipx", "ruby", "perl",
];

/// Words of [`RUNNERS`] before the name of the program.
const RUN_WORDS: [&str; 7] = ["run", "exec", "dlx", "x", "tool", "task", "inspect"];

/// Programs that are below init only if the program that started them has ended, or that run without a person.
const DETACHED: [&str; 14] = [
    "script", "nohup", "expect", "unbuffer", "socat", "sudo", "su", "doas", "xargs", "make", "git",
    "cron", "crond", "atd",
];

/// Programs that begin a person's session.
const LOGIN_SERVICES: [&str; 6] = [
    "sshd",
    "sshd-session",
    "login",
    "lightdm",
    "sddm-helper",
    "gdm-session-wor",
];

/// Programs that become the parent of a process when its own parent has ended.
const MANAGERS: [&str; 3] = ["systemd", "init", "launchd"];

impl Actor {
    /// The caller of this process. The answer does not change while the process runs.
    pub fn of_this_process() -> &'static Actor {
        static ACTOR: OnceLock<Actor> = OnceLock::new();
        ACTOR.get_or_init(Actor::detect)
    }

    fn detect() -> Actor {
        if let Some((name, client)) = marks().find(|(name, _)| std::env::var_os(name).is_some()) {
            return Actor::agent(format!("the environment has {name}, which {client} sets"));
        }
        if let Some(actor) = replaced_ancestry() {
            return actor;
        }
        let lineage = ProcessAncestry::of_this_process();
        if let Some(evidence) = lineage.parents.iter().find_map(evidence_of_agent) {
            return Actor::Agent(evidence);
        }
        if let Some(evidence) = recorded_parent(&lineage.parents) {
            return Actor::Agent(evidence);
        }
        if let Some(evidence) = hidden_parent(&lineage) {
            return Actor::Unknown(evidence);
        }
        if let Some(name) = AUTOMATION
            .iter()
            .find(|name| std::env::var_os(name).is_some())
        {
            return Actor::unknown(format!(
                "the environment has {name}, as in an automated run"
            ));
        }
        if terminal::has_controlling_terminal() {
            return Actor::Person;
        }
        Actor::unknown("this process has no controlling terminal")
    }

    fn agent(evidence: impl Into<String>) -> Actor {
        Actor::Agent(ActorEvidence(evidence.into()))
    }

    fn unknown(evidence: impl Into<String>) -> Actor {
        Actor::Unknown(ActorEvidence(evidence.into()))
    }
}

/// Fails unless a person runs this process. `action` completes the sentence “only a person can …”.
pub fn require_person(action: &str) -> Result<()> {
    match Actor::of_this_process() {
        Actor::Person => Ok(()),
        Actor::Agent(evidence) => Err(rejected_agent(action, evidence)),
        Actor::Unknown(evidence) => Err(Error::usage(
            format!("only a person can {action}, and the caller is unknown: {evidence}"),
            "run it in a terminal of the machine itself, outside of containers",
        )),
    }
}

/// Fails if an agent runs this process. An unknown caller may do it. `action` is as in [`require_person`].
pub fn reject_agent(action: &str) -> Result<()> {
    match Actor::of_this_process() {
        Actor::Agent(evidence) => Err(rejected_agent(action, evidence)),
        Actor::Person | Actor::Unknown(_) => Ok(()),
    }
}

fn rejected_agent(action: &str, evidence: &ActorEvidence) -> Error {
    Error::usage(
        format!("only a person can {action}, and the caller is an agent: {evidence}"),
        "ask the person to run it in a clean terminal: a new terminal window that no agent, editor or tmux started, \
               or a new login by SSH",
    )
}

/// The variables of clients and of `mailbag exec`, each with the program that sets it.
fn marks() -> impl Iterator<Item = (&'static str, &'static str)> {
    KNOWN
        .iter()
        .flat_map(KnownClient::variables)
        .chain([(HOLD, "mailbag exec")])
}

/// Test builds can replace the evidence of parents and terminals.
fn replaced_ancestry() -> Option<Actor> {
    let value = test_variable("MAILBAG_TEST_ANCESTRY")?;
    let evidence = "MAILBAG_TEST_ANCESTRY replaces the parents";
    match value.as_str() {
        "person" => Some(Actor::Person),
        "agent" => Some(Actor::agent(evidence)),
        "unknown" => Some(Actor::unknown(evidence)),
        _ => None,
    }
}

/// The evidence that a parent process is an agent or starts agents.
fn evidence_of_agent(parent: &ParentProcess) -> Option<ActorEvidence> {
    if let Some(client) = KNOWN.iter().find(|client| is_program_of(parent, client)) {
        return Some(ActorEvidence(format!(
            "the parent {} is a program of {}",
            shown(parent),
            client.name
        )));
    }
    if let Some((name, client)) =
        marks().find(|(name, _)| parent.variables.iter().any(|set| set == name))
    {
        return Some(ActorEvidence(format!(
            "the parent {} has {name}, which {client} sets",
            shown(parent)
        )));
    }
    let is_ours = programs(parent).any(|program| program == "mailbag");
    let is_starter = is_ours
        && words_to_script(parent)
            .iter()
            .any(|word| STARTS_AGENTS.contains(word));
    is_starter.then(|| {
        ActorEvidence(format!(
            "the parent {} starts programs for agents",
            shown(parent)
        ))
    })
}

fn is_program_of(parent: &ParentProcess, client: &KnownClient) -> bool {
    let is_runner = programs(parent).any(|program| is_runner(program) || SHELLS.contains(&program));
    programs(parent).any(|name| is_client_name(name, client))
        || is_runner
            && words_to_script(parent)
                .iter()
                .any(|word| names_client(word, client))
}

/// The arguments of an interpreter or of a program that starts others, up to its script: the first argument that is not an
/// option. If an argument can be an option's value, the next one is included. The arguments of the script are not.
fn words_to_script(parent: &ParentProcess) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_value = false;
    for word in words(parent).skip(1) {
        found.push(word);
        let is_option = word.starts_with('-');
        let stem = base_name(word).split('.').next().unwrap_or_default();
        let is_script = !is_option
            && !is_value
            && !word.contains('=')
            && !word.starts_with(|c: char| c.is_ascii_digit())
            && !RUN_WORDS.contains(&word)
            && !SHELLS.contains(&stem)
            && !is_runner(stem.trim_end_matches("-cli"));
        if is_script {
            break;
        }
        is_value = is_option && word != "--" && !word.contains('=');
    }
    found
}

/// Returns true for a client's program. Its name can end with the kind of machine.
fn is_client_name(name: &str, client: &KnownClient) -> bool {
    let mut ends = client
        .programs
        .iter()
        .filter_map(|program| name.strip_prefix(program));
    ends.any(|end| end.is_empty() || end.starts_with('-'))
}

/// The names of a process: its name in the system, and the name in its arguments.
fn programs(parent: &ParentProcess) -> impl Iterator<Item = &str> {
    let argument = words(parent)
        .next()
        .map(|word| base_name(word).trim_start_matches('-'));
    std::iter::once(parent.name.as_str()).chain(argument)
}

/// The words of a command line. A program that sets its own title has all in one argument.
fn words(parent: &ParentProcess) -> impl Iterator<Item = &str> {
    let words: Vec<&str> = match parent.arguments.as_slice() {
        [title] => title.split_whitespace().collect(),
        arguments => arguments.iter().map(String::as_str).collect(),
    };
    words.into_iter()
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_runner(program: &str) -> bool {
    RUNNERS.contains(&program) || program.starts_with("python") || program.starts_with("pypy")
}

/// Returns true if an argument is the client's program, its package, or a file of its package.
fn names_client(word: &str, client: &KnownClient) -> bool {
    let parts: Vec<&str> = word
        .trim_start_matches("npm:")
        .split('/')
        .map(without_version)
        .collect();
    let in_package = parts.windows(2).any(|pair| {
        let is_place = ["node_modules", "site-packages", "dist-packages"].contains(&pair[0])
            || pair[0].starts_with('@');
        is_place && client.is_called(pair[1])
    });
    let last = parts.last().copied().unwrap_or_default();
    let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
    !word.contains(char::is_whitespace) && (in_package || client.is_called(stem))
}

/// The name of a package without its version, as in `codex@1.0`.
fn without_version(part: &str) -> &str {
    part.split_once('@')
        .map_or(part, |(name, _)| if name.is_empty() { part } else { name })
}

fn shown(parent: &ParentProcess) -> String {
    format!(
        "process {} ({})",
        parent.pid,
        sanitize::path(&parent.name, PROCESS_NAME)
    )
}

/// The evidence that a hook recorded a parent as an agent's session. Searches the rooms of the working directories of
/// this process and its parents.
fn recorded_parent(parents: &[ParentProcess]) -> Option<ActorEvidence> {
    let named = named_by_environment();
    let directories: BTreeSet<PathBuf> = parents
        .iter()
        .filter_map(|parent| parent.directory.clone())
        .chain(machine::here().ok())
        .collect();
    let rooms = directories
        .iter()
        .filter_map(|directory| find(None, directory).ok())
        .chain(named);
    rooms
        .collect::<BTreeSet<_>>()
        .iter()
        .find_map(|room| recorded_in(room, parents))
}

fn recorded_in(room: &Path, parents: &[ParentProcess]) -> Option<ActorEvidence> {
    let leases = sessions::all(&Room::open(room).ok()?).ok()?;
    // If a client has ended, its hook can record a login service.
    let mut candidates = parents
        .iter()
        .filter(|parent| !is_manager(parent) && !is_login_service(parent));
    candidates.find_map(|parent| {
        let mut current = leases
            .iter()
            .filter(|lease| !lease.ended && lease.process.is_some());
        let lease = current.find(|lease| lease.process == parent.process)?;
        Some(ActorEvidence(format!(
            "the parent {} is the session of {}",
            shown(parent),
            sanitize::line(&lease.agent)
        )))
    })
}

/// The evidence that the program that started this one is not known.
fn hidden_parent(lineage: &ProcessAncestry) -> Option<ActorEvidence> {
    if lineage.parents.iter().any(is_login_service) {
        return None;
    }
    if let Some(reason) = &lineage.hidden
        && !lineage.parents.last().is_some_and(is_manager)
    {
        return Some(ActorEvidence(reason.clone()));
    }
    let Some(top) = lineage.parents.iter().rfind(|parent| !is_manager(parent)) else {
        return Some(ActorEvidence(
            "the program that started this process has ended".into(),
        ));
    };
    let name = top.name.as_str();
    let is_detached = SHELLS.contains(&name) || DETACHED.contains(&name) || is_runner(name);
    is_detached.then(|| ActorEvidence(format!("the program that started {} has ended", shown(top))))
}

fn is_login_service(parent: &ParentProcess) -> bool {
    LOGIN_SERVICES.contains(&parent.name.as_str())
}

fn is_manager(parent: &ParentProcess) -> bool {
    parent.pid == 1 || MANAGERS.contains(&parent.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parent with this name and this command line.
    fn parent(pid: u32, name: &str, command: &str) -> ParentProcess {
        let arguments = command.split_whitespace().map(str::to_owned).collect();
        ParentProcess {
            pid,
            name: name.into(),
            arguments,
            ..ParentProcess::default()
        }
    }

    fn is_agent(name: &str, command: &str) -> bool {
        evidence_of_agent(&parent(7, name, command)).is_some()
    }

    #[test]
    fn a_client_is_recognised_by_its_program_and_its_arguments() {
        for (name, command) in [
            ("claude", "claude"),
            ("2.1.5", "claude --resume"),
            ("codex-x86_64-un", "/opt/codex-x86_64-unknown-linux-musl"),
            ("node", "node --no-warnings /usr/local/bin/gemini -p hello"),
            (
                "node",
                "node /usr/lib/node_modules/@google/gemini-cli/dist/index.js",
            ),
            (
                "MainThread",
                "node /home/u/node_modules/@anthropic-ai/claude-code/cli.js",
            ),
            ("npm exec @openai", "npm exec @openai/codex@latest"),
            ("bun", "bun /home/u/.bun/bin/opencode"),
            ("deno", "deno run -A npm:@qwen-code/qwen-code@1.0"),
            ("python3.12", "/usr/bin/python3.12 -m kimi_cli"),
            (
                "kimi",
                "/home/u/.local/share/uv/tools/kimi-cli/bin/python /home/u/.local/bin/kimi",
            ),
            ("copilot", "node /usr/bin/copilot"),
            ("cursor-agent", "/home/u/.local/bin/cursor-agent"),
            ("aider", "/usr/bin/python3 /usr/bin/aider --yes"),
            ("bash", "bash /home/u/bin/claude"),
            ("env", "env -u NO_COLOR TERM=xterm claude"),
            ("timeout", "timeout -k 5 9 python3 -u /path/bin/aider"),
            ("npx", "npx -y @anthropic-ai/claude-code"),
            (
                "node",
                "node /usr/lib/node_modules/npm/bin/npx-cli.js codex",
            ),
            ("node", "node -r ./hook.js /usr/bin/claude"),
            ("python3", "python3 -m debugpy --listen 5678 -m aider"),
            ("node", "node inspect /usr/bin/claude"),
            ("uv", "uv tool run --with x aider"),
            ("pnpm", "pnpm dlx @qwen-code/qwen-code"),
            ("mailbag", "mailbag exec --id t --role x -- sh"),
            ("mailbag", "/usr/bin/mailbag --room /r run"),
        ] {
            assert!(is_agent(name, command), "{name}: {command}");
        }
    }

    #[test]
    fn programs_of_a_person_are_no_clients() {
        for (name, command) in [
            ("bash", "-bash"),
            ("zsh", "zsh -c cd /home/u/claude/src; make"),
            ("tmux: server", "tmux new -s claude"),
            ("konsole", "konsole --workdir /home/u/claude"),
            ("vim", "vim /home/u/claude.md"),
            ("node", "node /home/u/codex/server.js"),
            ("node", "node server.js claude"),
            ("timeout", "timeout 9 python3 x.py claude"),
            ("nice", "nice -n 10 python3 x.py claude"),
            ("bash", "bash script claude"),
            ("npm", "npm run build claude"),
            ("mailbag", "mailbag send claude hello"),
            ("mailbag", "mailbag --room /r send run hello"),
            ("mailbag", "mailbag watch"),
            ("sshd", "sshd: u@pts/0"),
        ] {
            assert!(!is_agent(name, command), "{name}: {command}");
        }
    }

    #[test]
    fn a_title_in_one_argument_is_read_as_words() {
        let npx = ParentProcess {
            name: "npm exec @openai".into(),
            arguments: vec!["npm exec @openai/codex".into()],
            ..ParentProcess::default()
        };
        assert!(evidence_of_agent(&npx).is_some());
    }

    #[test]
    fn a_variable_in_the_environment_of_a_parent_counts() {
        let shell = ParentProcess {
            variables: vec!["CLAUDECODE".into()],
            ..parent(9, "bash", "bash")
        };
        let evidence = evidence_of_agent(&shell).expect("it is an agent");
        assert_eq!(
            evidence.to_string(),
            "the parent process 9 (bash) has CLAUDECODE, which claude sets"
        );
    }

    fn hidden(names: &[&str], reason: Option<&str>) -> Option<String> {
        let count = u32::try_from(names.len()).expect("a short list");
        let parents = names
            .iter()
            .zip(0..)
            .map(|(name, at)| parent(if at + 1 == count { 1 } else { 100 - at }, name, name));
        let lineage = ProcessAncestry {
            parents: parents.collect(),
            hidden: reason.map(str::to_owned),
        };
        hidden_parent(&lineage).map(|evidence| evidence.to_string())
    }

    #[test]
    fn parents_up_to_init_or_a_login_service_are_known() {
        assert_eq!(
            hidden(&["zsh", "gnome-terminal-", "systemd", "systemd"], None),
            None
        );
        assert_eq!(hidden(&["bash", "sshd", "sshd", "init"], None), None);
        assert_eq!(hidden(&["sh", "xterm", "init"], None), None);
        // A system that hides the processes of other users.
        assert_eq!(hidden(&["bash", "sshd-session", "x"], Some("hidden")), None);
        assert_eq!(
            hidden(&["bash", "login", "Terminal", "launchd"], None),
            None
        );
    }

    #[test]
    fn a_parent_that_has_ended_or_is_hidden_makes_the_caller_unknown() {
        assert_eq!(
            hidden(&[], Some("in a container")).as_deref(),
            Some("in a container")
        );
        assert_eq!(
            hidden(&["systemd", "systemd"], None).as_deref(),
            Some("the program that started this process has ended")
        );
        for top in ["script", "bash", "python3", "node", "cron"] {
            let evidence = hidden(&["sh", top, "systemd", "init"], None).expect("it is unknown");
            assert!(
                evidence.contains(top) && evidence.ends_with("has ended"),
                "{evidence}"
            );
        }
    }
}
