//! `mailbag install`: adds mailbag to an agent client, and shows where it is installed.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{Context, here};
use crate::cli::show::output::{BOLD, DIM, PLAIN, RED, YELLOW};
use crate::cli::show::table;
use crate::clients::install::{self, Change, HookTest, Hooks, Plan, Request, Scope, Status, Trust};
use crate::clients::kind::Client;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag install claude                   # for everybody in this project
  mailbag install claude --agent planner   # sessions here are the agent planner
  mailbag install codex --user             # for you, in all projects
  mailbag install gemini --dry-run         # show the change only
  mailbag install --status                 # show what is installed

Adds three things to the client's configuration: hooks, which tell the agent of
new messages; the MCP server, with which it reads and sends; and a section in
AGENTS.md. The rest of these files stays unchanged, to the byte. The command shows
the change, keeps a copy of each file beside it, and runs the hook once as a test.
A second run changes nothing. `mailbag uninstall` removes everything again.";

/// The clients.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Which {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
}

/// Add mailbag to an agent client
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Client
    #[arg(required_unless_present = "status")]
    client: Option<Which>,
    #[command(flatten)]
    place: Place,
    /// Agent of all sessions of the client; default: each session joins as an agent
    #[arg(long, value_name = "ID", conflicts_with = "status")]
    agent: Option<String>,
    /// Preview of the change, without writing
    #[arg(long, conflicts_with = "status")]
    dry_run: bool,
    /// Report of what is installed and whether it works
    #[arg(long)]
    status: bool,
    /// Program in the configuration; default: this one
    #[arg(long, value_name = "PATH", hide = true)]
    command: Option<PathBuf>,
}

/// The scope of an installation.
#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// Project scope, for everybody in this project (default)
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// User scope, for you in all projects
    #[arg(long)]
    user: bool,
}

/// What was changed, or would be with `--dry-run`.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    plan: &'a Plan,
    dry_run: bool,
    proof: Option<&'a HookTest>,
}

impl Which {
    pub(crate) fn client(self) -> Client {
        match self {
            Which::Claude => Client::Claude,
            Which::Codex => Client::Codex,
            Which::Gemini => Client::Gemini,
        }
    }
}

impl Place {
    pub(crate) fn scope(&self) -> Scope {
        if self.user { Scope::User } else { Scope::Project }
    }

    fn is_given(&self) -> bool {
        self.user || self.project
    }
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let from = here()?;
    let client = args.client.map(Which::client);
    let Some(client) = client.filter(|_| !args.status) else {
        return status(client, &args.place, cx);
    };
    let room = cx.asked();
    let asked = Request {
        client,
        scope: args.place.scope(),
        agent: args.agent.as_deref(),
        program: args.command.as_deref(),
        room: room.as_deref(),
        from: &from,
    };
    let plan = install::install(&asked)?;
    show(&plan, cx)?;
    if args.dry_run {
        return report(&plan, true, None, cx);
    }
    plan.apply()?;
    done(&plan, cx)?;
    let proof = plan.test_hook();
    report(&plan, false, Some(&proof), cx)
}

/// Prints the change before it is made.
pub(crate) fn show(plan: &Plan, cx: &mut Context) -> Result<()> {
    if cx.out.json {
        return Ok(());
    }
    for line in plan.files.iter().flat_map(|file| file.diff.lines()) {
        let style = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => BOLD,
            Some(b'+') => crate::cli::show::output::FOUND,
            Some(b'-') => RED,
            Some(b'@') => DIM,
            _ => PLAIN,
        };
        // Tabs of the file stay tabs.
        let line = line.trim_end_matches('\r');
        let painted = line.split('\t').map(|part| cx.out.paint(style, part));
        cx.out.line(painted.reduce(|line, part| line + "\t" + &part).unwrap_or_default())?;
    }
    if !plan.files.is_empty() {
        cx.out.line("")?;
    }
    cx.out.flush()
}

/// Prints what was changed.
pub(crate) fn done(plan: &Plan, cx: &mut Context) -> Result<()> {
    if cx.out.json {
        return Ok(());
    }
    for file in &plan.files {
        let word = match file.change {
            Change::Made => "created",
            Change::Changed => "changed",
            Change::Removed => "removed",
            Change::Kept => "kept",
        };
        let path = file.path.display().to_string();
        let kept = file.backup.as_ref().map(|backup| format!(" (backup: {})", backup.display()));
        cx.out.line(sanitize::line(&format!("{word} {path}{}", kept.unwrap_or_default())))?;
    }
    cx.out.flush()
}

/// Prints the result and what is left to do.
pub(crate) fn report(plan: &Plan, dry_run: bool, proof: Option<&HookTest>, cx: &mut Context) -> Result<Exit> {
    let exit = if proof.is_none_or(|proof| proof.ok) { Exit::Ok } else { Exit::Error };
    if cx.out.json {
        cx.out.json(&Report { plan, dry_run, proof })?;
        return Ok(exit);
    }
    if plan.files.is_empty() {
        let directory = plan.directory.display().to_string();
        cx.out.line(sanitize::line(&format!("no changes for {} in {directory}", plan.client.name())))?;
    }
    if let Some(proof) = proof {
        let command = sanitize::line(&proof.command).into_owned();
        match &proof.trouble {
            None => {
                let said = if proof.said.trim().is_empty() { "no output" } else { proof.said.trim() };
                cx.out.line(format!(
                    "tested `{command}`: passed in {} ms, output: {}",
                    proof.millis,
                    sanitize::line(said)
                ))?;
            }
            Some(trouble) => {
                cx.out.line(format!("tested `{command}`: {}", cx.out.paint(RED, trouble)))?;
            }
        }
    }
    cx.out.flush()?;
    plan.notes.iter().for_each(|note| cx.out.note(&format!("note: {note}")));
    Ok(exit)
}

fn status(client: Option<Client>, place: &Place, cx: &mut Context) -> Result<Exit> {
    let homes = install::homes(&here()?)?;
    let clients = Client::ALL.into_iter().filter(|one| client.is_none_or(|client| client == *one));
    let scopes = [Scope::Project, Scope::User].into_iter().filter(|one| !place.is_given() || *one == place.scope());
    let scopes: Vec<Scope> = scopes.collect();
    let all: Vec<Status> = clients
        .flat_map(|client| scopes.iter().map(move |scope| (client, *scope)))
        .map(|(client, scope)| install::status(client, scope, &homes))
        .collect();
    if cx.out.json {
        cx.out.json(&serde_json::json!({ "clients": all }))?;
        return Ok(Exit::Ok);
    }
    let head = ["CLIENT", "FOR", "HOOKS", "MCP", "SECTION", "PROGRAM", "TRUSTED", "AGENT"].map(String::from).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(all.iter().map(row)).collect();
    table::print(&mut cx.out, &rows)?;
    for status in &all {
        if !status.missing.is_empty() {
            let word = cx.out.paint(YELLOW, "partly");
            cx.out.line(format!("{word}: {} has no hook at {}", status.client.name(), status.missing.join(", ")))?;
        }
        for problem in &status.problems {
            let word = cx.out.paint(RED, "problem");
            cx.out.line(format!("{word}: {}", sanitize::line(problem)))?;
        }
    }
    Ok(Exit::Ok)
}

fn row(status: &Status) -> Vec<String> {
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let hooks = match status.hooks {
        Hooks::Installed => "installed",
        Hooks::Partly => "partly",
        Hooks::Absent => "absent",
    };
    let scope = if status.scope == Scope::Project { "project" } else { "user" };
    let program = match (&status.command, &status.executable) {
        (None, _) => "-".into(),
        (Some(_), Some(path)) => sanitize::line(&path.display().to_string()).into_owned(),
        (Some(command), None) => format!("{} not found", sanitize::line(command)),
    };
    let trusted = match status.trusted {
        _ if status.hooks == Hooks::Absent => "-",
        Trust::Yes => "yes",
        Trust::No => "no",
        Trust::Unknown => "unknown",
    };
    let agent = status.agent.as_deref().map_or("-".into(), |agent| sanitize::line(agent).into_owned());
    let client = status.client.as_str().to_owned();
    vec![client, scope.into(), hooks.into(), yes(status.mcp), yes(status.section), program, trusted.into(), agent]
}
