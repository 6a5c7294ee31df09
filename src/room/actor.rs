//! Decides whether an agent or the person runs this process. Every command and page that only the person may use asks here.
//!
//! The person is a caller without a client's mark in its environment or among its parents, started at the prompt of a shell in
//! the foreground of its terminal, who answered a question there.

use super::sessions::{HOLD, KNOWN, KnownClient};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::{sanitize, test_variable};
use crate::disk::paths::PathQuestions;
use crate::disk::process_ancestry::{ParentProcess, ProcessAncestry};
use crate::disk::{machine, terminal};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest name of a process that is shown.
const PROCESS_NAME: usize = 40;

/// The caller of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// An agent, or a program that an agent started: the observation that shows it, as a sentence without a full stop.
    Agent(String),
    /// The person at the prompt of a shell in a terminal.
    Person,
    /// Another program, with the observation. It may read and send, but not act as the person.
    Unknown(String),
}

/// The action of a decision of the human, for [`require_person`].
pub const DECIDE: &str = "decide as human";

impl Actor {
    /// The caller of this process. The answer does not change while the process runs.
    pub fn of_this_process() -> &'static Actor {
        static ACTOR: OnceLock<Actor> = OnceLock::new();
        ACTOR.get_or_init(Actor::detect)
    }

    fn detect() -> Actor {
        if let Some((name, client)) = marks().find(|(name, _)| std::env::var_os(name).is_some()) {
            return Actor::Agent(format!("the environment has {name}, which {client} sets"));
        }
        if let Some(actor) = replaced_actor() {
            return actor;
        }
        let lineage = ProcessAncestry::of_this_process();
        if let Some(evidence) = lineage.parents.iter().find_map(mark_of) {
            return Actor::Agent(evidence);
        }
        match why_not_at_prompt(&lineage, &machine::shells()) {
            None => Actor::Person,
            Some(evidence) => Actor::Unknown(evidence),
        }
    }
}

/// Fails unless the person runs this process. `action` completes the sentence “only a person can …”. Asks the person, unless
/// the command has asked before.
pub fn require_person(action: &str) -> Result<()> {
    match Actor::of_this_process() {
        Actor::Person => {}
        Actor::Agent(evidence) => return Err(rejected_agent(action, evidence)),
        Actor::Unknown(evidence) => {
            return Err(Error::usage(
                format!("only a person can {action}, and the caller is unknown: {evidence}"),
                "type it at the prompt of a shell, in a terminal of the machine itself, outside of containers",
            ));
        }
    }
    let has_answered = HAS_ANSWERED.load(Ordering::Relaxed) || replaced_actor().is_some();
    if has_answered || ask(&format!("Do you want to {action}? [y/N]"))? {
        return Ok(());
    }
    Err(Error::usage(
        format!("only a person can {action}, and the answer was no"),
        "run it again, and answer y",
    ))
}

/// True after the person answered a question of this command with yes.
static HAS_ANSWERED: AtomicBool = AtomicBool::new(false);

/// Asks a question at the terminal of this process. Any answer but yes means no.
pub fn ask(question: &str) -> Result<bool> {
    let answer = terminal::ask(question).doing("ask at", "/dev/tty")?;
    let is_yes = ["y", "yes"].contains(&&*answer.trim().to_ascii_lowercase());
    HAS_ANSWERED.fetch_or(is_yes, Ordering::Relaxed);
    Ok(is_yes)
}

/// Fails if an agent runs this process. An unknown caller may do it. `action` is as in [`require_person`].
pub fn reject_agent(action: &str) -> Result<()> {
    match Actor::of_this_process() {
        Actor::Agent(evidence) => Err(rejected_agent(action, evidence)),
        Actor::Person | Actor::Unknown(_) => Ok(()),
    }
}

fn rejected_agent(action: &str, evidence: &str) -> Error {
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
fn replaced_actor() -> Option<Actor> {
    let value = test_variable("MAILBAG_TEST_ANCESTRY")?;
    let evidence = "MAILBAG_TEST_ANCESTRY replaces the parents".to_owned();
    match value.as_str() {
        "person" => Some(Actor::Person),
        "agent" => Some(Actor::Agent(evidence)),
        "unknown" => Some(Actor::Unknown(evidence)),
        _ => None,
    }
}

/// The mark of a client on a parent process: its program, or a variable in its environment. Of mailbag itself, only commands
/// that start other programs are parents.
fn mark_of(parent: &ParentProcess) -> Option<String> {
    let shown = shown(parent);
    let names = program_names(parent);
    if let Some(client) = KNOWN
        .iter()
        .find(|client| names.iter().any(|name| is_name_of(name, client)))
    {
        return Some(format!(
            "the parent {shown} is a program of {}",
            client.name
        ));
    }
    if names.contains(&"mailbag") {
        return Some(format!("the parent {shown} starts programs for agents"));
    }
    let (name, client) =
        marks().find(|(name, _)| parent.variables.iter().any(|set| set == name))?;
    Some(format!(
        "the parent {shown} has {name}, which {client} sets"
    ))
}

/// The names of a process: in the system, and in its arguments, with the script of an interpreter: the first argument that is
/// no option.
fn program_names(parent: &ParentProcess) -> Vec<&str> {
    let mut words = parent.arguments.iter().map(String::as_str);
    let own = words.next().map(|word| word.trim_start_matches('-'));
    let script = words.find(|word| !word.starts_with('-'));
    let script = script.filter(|word| !Path::new(word).leads_to_directory());
    let names = [Some(parent.name.as_str()), own, script];
    names.into_iter().flatten().collect()
}

/// Returns true for a client's program, with its kind of machine if the name has that, or a file of its package.
fn is_name_of(name: &str, client: &KnownClient) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let in_package = parts
        .windows(2)
        .any(|pair| is_package_place(pair[0]) && client.packages.contains(&pair[1]));
    let program = parts.last().copied().unwrap_or_default();
    let mut ends = client
        .programs
        .iter()
        .chain(client.packages)
        .filter_map(|known| program.strip_prefix(known));
    in_package || ends.any(|end| end.is_empty() || end.starts_with('-'))
}

fn is_package_place(directory: &str) -> bool {
    directory.starts_with('@') || directory == "node_modules" || directory.ends_with("-packages")
}

/// Why this process was not started at the prompt of a shell. `None` if it was: it is in the foreground of its terminal, and each
/// parent up to the leader of the terminal's session is a shell with a process group of its own.
fn why_not_at_prompt(lineage: &ProcessAncestry, shells: &[PathBuf]) -> Option<String> {
    if let Some(reason) = &lineage.hidden
        && lineage.parents.is_empty()
    {
        return Some(reason.clone());
    }
    let Some(foreground) = lineage.foreground else {
        return Some("this process has no controlling terminal".into());
    };
    if lineage.group != foreground {
        return Some("this process is not in the foreground of its terminal".into());
    }
    let leader = lineage.session_leader;
    let Some(last) = lineage
        .parents
        .iter()
        .position(|parent| parent.pid == leader)
    else {
        let no_shell = "no shell started this process in its terminal".to_owned();
        return Some(lineage.hidden.clone().unwrap_or(no_shell));
    };
    let above = &lineage.parents[..=last];
    let other = above.iter().find(|parent| !is_shell(parent, shells));
    if let Some(other) = other {
        return Some(format!("the parent {} is not a shell", shown(other)));
    }
    let script = above
        .iter()
        .find(|parent| parent.group == lineage.group || parent.group != parent.pid)?;
    Some(format!(
        "the parent {} runs a script, and not a prompt",
        shown(script)
    ))
}

fn is_shell(parent: &ParentProcess, shells: &[PathBuf]) -> bool {
    let program = &parent.program;
    let is_same = |shell: &PathBuf| {
        shell == program || !program.is_absolute() && shell.file_name() == program.file_name()
    };
    parent.is_set_user_id_root || shells.iter().any(is_same)
}

fn shown(parent: &ParentProcess) -> String {
    format!(
        "process {} ({})",
        parent.pid,
        sanitize::path(&parent.name, PROCESS_NAME)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parent with this name and this command line.
    fn parent(pid: u32, name: &str, command: &str) -> ParentProcess {
        let arguments = command.split_whitespace().map(str::to_owned).collect();
        ParentProcess {
            pid,
            group: pid,
            name: name.into(),
            program: format!("/usr/bin/{name}").into(),
            arguments,
            ..ParentProcess::default()
        }
    }

    fn is_agent(name: &str, command: &str) -> bool {
        mark_of(&parent(7, name, command)).is_some()
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
            ("bun", "bun /home/u/.bun/bin/opencode"),
            ("python3.12", "/usr/bin/python3.12 -m kimi_cli"),
            (
                "kimi",
                "/home/u/.local/share/uv/tools/kimi-cli/bin/python /home/u/.local/bin/kimi",
            ),
            ("copilot", "node /usr/bin/copilot"),
            ("cursor-agent", "/home/u/.local/bin/cursor-agent"),
            ("aider", "/usr/bin/python3 /usr/bin/aider --yes"),
            ("bash", "bash /home/u/bin/claude"),
            ("npx", "npx -y @anthropic-ai/claude-code"),
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
            ("vim", "vim /home/u/claude.md"),
            ("node", "node /home/u/codex/server.js"),
            ("node", "node server.js claude"),
            ("bash", "bash script claude"),
            ("npm", "npm run build claude"),
            ("sshd", "sshd: u@pts/0"),
        ] {
            assert!(!is_agent(name, command), "{name}: {command}");
        }
    }

    #[test]
    fn a_variable_in_the_environment_of_a_parent_counts() {
        let shell = ParentProcess {
            variables: vec!["CLAUDECODE".into()],
            ..parent(9, "bash", "bash")
        };
        assert_eq!(
            mark_of(&shell).as_deref(),
            Some("the parent process 9 (bash) has CLAUDECODE, which claude sets")
        );
    }

    /// Why a process with the group 90 is not at a prompt. The session leader is the process 70.
    fn obstacle(parents: Vec<ParentProcess>, foreground: Option<u32>) -> Option<String> {
        let lineage = ProcessAncestry {
            group: 90,
            session_leader: 70,
            foreground,
            parents,
            hidden: None,
        };
        let shells = ["bash", "zsh"].map(|name| PathBuf::from(format!("/usr/bin/{name}")));
        why_not_at_prompt(&lineage, &shells)
    }

    #[test]
    fn a_command_at_the_prompt_of_a_shell_is_of_the_person() {
        let zsh = || parent(70, "zsh", "-zsh");
        let su = ParentProcess {
            is_set_user_id_root: true,
            ..parent(80, "su", "su - ann")
        };
        for parents in [
            vec![zsh(), parent(2, "xterm", "xterm")],
            vec![parent(81, "bash", "bash"), zsh()],
            vec![parent(81, "bash", "-bash"), su, zsh()],
        ] {
            assert_eq!(obstacle(parents, Some(90)), None);
        }
        // As `ps` gives it.
        let named = ParentProcess {
            program: "zsh".into(),
            ..zsh()
        };
        assert_eq!(obstacle(vec![named], Some(90)), None);
    }

    #[test]
    fn a_command_of_a_program_or_a_script_is_not_of_the_person() {
        let zsh = || parent(70, "zsh", "-zsh");
        let in_group = |name: &str| ParentProcess {
            group: 90,
            ..parent(90, name, name)
        };
        for (parents, foreground, reason) in [
            (vec![zsh()], None, "no controlling terminal"),
            (vec![zsh()], Some(91), "not in the foreground"),
            (
                vec![in_group("make"), zsh()],
                Some(90),
                "(make) is not a shell",
            ),
            (
                vec![in_group("bash"), zsh()],
                Some(90),
                "(bash) runs a script",
            ),
            (
                vec![parent(70, "tmux", "tmux")],
                Some(90),
                "(tmux) is not a shell",
            ),
            (
                vec![parent(1, "systemd", "init")],
                Some(90),
                "no shell started",
            ),
        ] {
            let evidence = obstacle(parents, foreground).expect(reason);
            assert!(evidence.contains(reason), "{evidence}: {reason}");
        }
    }
}
