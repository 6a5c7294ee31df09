//! `mailbag install --status`: shows where mailbag is installed and whether it works.

use super::{InstallTarget, ScopeArgs};
use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{CommandContext, here};
use crate::cli::show::output::{CommandOutput, RED, YELLOW};
use crate::cli::show::table;
use crate::clients::git_hooks;
use crate::clients::install::{self, ClientStatus, HookPresence, HookTrust, InstallScope};
use crate::clients::kind::{AbilityKind, AbilitySupport, Client, SessionWakeMethod};
use serde::Serialize;
use std::path::Path;

/// The installation status of clients and of the repository.
#[derive(Serialize)]
pub(in crate::cli::verbs) struct InstallStatus<'a> {
    /// The clients.
    clients: &'a [ClientStatus],
    /// The hooks of the git repository. `None` without a repository, or if only another client or scope was asked for.
    git: Option<&'a git_hooks::GitHookStatus>,
}

/// Prints the installed files of one client or of all clients.
pub(super) fn run(
    which: Option<InstallTarget>,
    place: &ScopeArgs,
    cx: &mut CommandContext,
) -> Result<Exit> {
    let from = here()?;
    let homes = install::homes(&from)?;
    let clients = Client::ALL
        .into_iter()
        .filter(|one| which.is_none_or(|which| which.client() == Some(*one)));
    let scopes = [InstallScope::Project, InstallScope::User]
        .into_iter()
        .filter(|one| !place.is_given() || *one == place.scope());
    let scopes: Vec<InstallScope> = scopes.collect();
    let all: Vec<ClientStatus> = clients
        .flat_map(|client| scopes.iter().map(move |scope| (client, *scope)))
        .map(|(client, scope)| install::status(client, scope, &homes))
        .collect();
    let wants_git = which.is_none_or(|which| which.client().is_none())
        && scopes.contains(&InstallScope::Project);
    let git = if wants_git {
        git_hooks::status(&from)
    } else {
        None
    };
    cx.out.show(
        &InstallStatus {
            clients: &all,
            git: git.as_ref(),
        },
        |out| show(&all, git.as_ref(), out),
    )?;
    Ok(Exit::Ok)
}

fn show(
    all: &[ClientStatus],
    git: Option<&git_hooks::GitHookStatus>,
    out: &mut CommandOutput,
) -> Result<()> {
    let head = [
        "CLIENT",
        "FOR",
        "HOOKS",
        "MCP",
        "SECTION",
        "APPROVALS",
        "PROGRAM",
        "TRUSTED",
        "AGENT",
    ]
    .map(String::from)
    .to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head)
        .chain(all.iter().map(row))
        .chain(git.map(git_row))
        .collect();
    table::print(out, &rows)?;
    for status in all {
        if !status.missing.is_empty() {
            let word = out.paint(YELLOW, "partly");
            out.line(format!(
                "{word}: {} has no hook at {}",
                status.client.name(),
                status.missing.join(", ")
            ))?;
        }
        show_problems(&status.problems, out)?;
    }
    for client in all
        .iter()
        .filter(|status| status.hooks != HookPresence::Absent)
        .map(|status| status.client)
    {
        let facts = client.facts();
        if let (SessionWakeMethod::Queue, AbilitySupport::Partly(why)) =
            (facts.wake, AbilityKind::Wake.in_client(facts))
        {
            out.line(format!("note: waking sessions of {}: {why}", client.name()))?;
        }
    }
    let Some(git) = git else {
        return Ok(());
    };
    if !git.missing.is_empty() {
        let word = out.paint(YELLOW, "partly");
        out.line(format!(
            "{word}: git has no hook at {}",
            git.missing.join(", ")
        ))?;
    }
    show_problems(&git.problems, out)
}

fn show_problems(problems: &[String], out: &mut CommandOutput) -> Result<()> {
    for problem in problems {
        let word = out.paint(RED, "problem");
        out.line(format!("{word}: {}", sanitize::line(problem)))?;
    }
    Ok(())
}

fn row(status: &ClientStatus) -> Vec<String> {
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let scope = if status.scope == InstallScope::Project {
        "project"
    } else {
        "user"
    };
    let program = program(status.command.as_deref(), status.executable.as_deref());
    let trusted = match status.trusted {
        _ if status.hooks == HookPresence::Absent => "-",
        HookTrust::Yes => "yes",
        HookTrust::No => "no",
        HookTrust::Unknown => "unknown",
    };
    let agent = status
        .agent
        .as_deref()
        .map_or("-".into(), |agent| sanitize::line(agent).into_owned());
    let client = status.client.as_str().to_owned();
    let (hooks, trusted) = (word(status.hooks), trusted.to_owned());
    let [mcp, section, approvals] = [status.mcp, status.section, status.approvals].map(yes);
    vec![
        client,
        scope.into(),
        hooks,
        mcp,
        section,
        approvals,
        program,
        trusted,
        agent,
    ]
}

fn git_row(status: &git_hooks::GitHookStatus) -> Vec<String> {
    let program = program(status.command.as_deref(), status.executable.as_deref());
    let none = || "-".to_owned();
    vec![
        git_hooks::NAME.into(),
        "project".into(),
        word(status.hooks),
        none(),
        none(),
        none(),
        program,
        none(),
        none(),
    ]
}

fn word(hooks: HookPresence) -> String {
    let word = match hooks {
        HookPresence::Installed => "installed",
        HookPresence::Partly => "partly",
        HookPresence::Absent => "absent",
    };
    word.into()
}

fn program(command: Option<&str>, executable: Option<&Path>) -> String {
    match (command, executable) {
        (None, _) => "-".into(),
        (Some(_), Some(path)) => sanitize::line(&path.display().to_string()).into_owned(),
        (Some(command), None) => format!("{} not found", sanitize::line(command)),
    }
}
