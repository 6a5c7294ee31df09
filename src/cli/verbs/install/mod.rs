//! `mailbag install`: adds mailbag to an agent client or a git repository, and shows where it is installed.

pub(super) mod status;

use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{CommandContext, here};
use crate::cli::show::output::{BOLD, CommandOutput, DIM, PLAIN, RED};
use crate::clients::git_hooks;
use crate::clients::install::{
    self, FileChange, FileChangeKind, HookTest, InstallPlan, InstallRequest, InstallScope,
};
use crate::clients::kind::Client;
use clap::builder::PossibleValue;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::LazyLock;

const EXAMPLES: &str = "\
Examples:
  mailbag install claude                   # for everybody in this project
  mailbag install claude --agent planner   # sessions here are the agent planner
  mailbag install claude --approvals       # you answer permission requests by mail
  mailbag install codex --user             # for you, in all projects
  mailbag install gemini --dry-run         # show the change only
  mailbag install git                      # the hooks of this repository
  mailbag install --status                 # show what is installed

Adds to a client's configuration: hooks, which tell the agent of new messages; the
MCP server, with which it reads and sends; rules, by which it does so without a
question (Claude Code); and a section in AGENTS.md. The rest of these files stays
unchanged, to the byte. The command shows the change, copies the original of each
file to ~/.local/state/mailbag/originals/ (or $XDG_STATE_HOME/mailbag/originals/),
and runs the hook once as a test.
A second run changes nothing. `mailbag uninstall` removes everything again.

`--approvals` adds a hook for permission requests of Claude Code or Codex: each
becomes an approval to the human, who answers it with `mailbag decide` in a
terminal. After permission_within (settings.toml) the client asks by itself.

`git` adds a pre-commit hook, which stops a commit of files that another agent has
claimed, and a post-commit hook, which records the commit. Hooks that belong to
husky, lefthook, pre-commit or core.hooksPath are not changed: the command prints
the lines to add.";

/// Where to install.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InstallTarget {
    /// An agent client.
    Client(Client),
    /// The hooks of a git repository.
    Git,
}

impl clap::ValueEnum for InstallTarget {
    fn value_variants<'a>() -> &'a [InstallTarget] {
        static ALL: LazyLock<Vec<InstallTarget>> = LazyLock::new(|| {
            Client::ALL
                .into_iter()
                .map(InstallTarget::Client)
                .chain([InstallTarget::Git])
                .collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            InstallTarget::Client(client) => {
                PossibleValue::new(client.as_str()).help(client.name())
            }
            InstallTarget::Git => {
                PossibleValue::new(git_hooks::NAME).help("The hooks of a git repository")
            }
        })
    }
}

/// Add mailbag to an agent client or a git repository
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Client, or git
    #[arg(required_unless_present = "status")]
    client: Option<InstallTarget>,
    #[command(flatten)]
    place: ScopeArgs,
    /// Agent of all sessions of the client; default: each session joins as an agent
    #[arg(long, value_name = "ID", conflicts_with = "status")]
    agent: Option<String>,
    /// Permission requests of the client become approvals to the human
    #[arg(long, conflicts_with = "status")]
    approvals: bool,
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
pub(crate) struct ScopeArgs {
    /// Project scope, for everybody in this project (default)
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// User scope, for you in all projects
    #[arg(long)]
    user: bool,
}

/// The changes, made or planned with `--dry-run`.
#[derive(Serialize)]
pub(in crate::cli::verbs) struct InstallChanges<'a> {
    #[serde(flatten)]
    plan: &'a InstallPlan,
    dry_run: bool,
    hook_test: Option<&'a HookTest>,
}

impl InstallTarget {
    /// The client; `None` for git.
    pub(crate) fn client(self) -> Option<Client> {
        match self {
            InstallTarget::Client(client) => Some(client),
            InstallTarget::Git => None,
        }
    }
}

impl ScopeArgs {
    pub(crate) fn scope(&self) -> InstallScope {
        if self.user {
            InstallScope::User
        } else {
            InstallScope::Project
        }
    }

    pub(crate) fn is_given(&self) -> bool {
        self.user || self.project
    }

    /// Fails if a scope is given that a repository does not have.
    pub(crate) fn check_git(&self) -> Result<()> {
        if self.user {
            return Err(Error::usage(
                "the hooks of git belong to one repository",
                "run the command in the repository, without --user",
            ));
        }
        Ok(())
    }
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    let from = here()?;
    let which = match args.client {
        Some(which) if !args.status => which,
        client => return status::run(client, &args.place, cx),
    };
    let room = cx.asked();
    let plan = match which.client() {
        Some(client) => install::install(&InstallRequest {
            client,
            scope: args.place.scope(),
            agent: args.agent.as_deref(),
            for_up: None,
            approvals: args.approvals,
            program: args.command.as_deref(),
            room: room.as_deref(),
            from: &from,
        })?,
        None => {
            args.place.check_git()?;
            if args.approvals {
                return Err(Error::usage(
                    "git asks for no permission",
                    "install --approvals into claude or codex",
                ));
            }
            if args.agent.is_some() {
                return Err(Error::usage(
                    "the hooks of git have no fixed agent",
                    "leave --agent out: the hooks use MAILBAG_AGENT or the session that commits",
                ));
            }
            git_hooks::install(&from, args.command.as_deref())?
        }
    };
    show(&plan, cx)?;
    if args.dry_run {
        return report(&plan, true, None, cx);
    }
    plan.apply()?;
    done(&plan, cx)?;
    let hook_test = plan.test_hook();
    report(&plan, false, Some(&hook_test), cx)
}

/// Prints the change before it is made.
pub(crate) fn show(plan: &InstallPlan, cx: &mut CommandContext) -> Result<()> {
    cx.out.ahead(|out| diff(&plan.files, out))
}

/// Prints the changes of files.
pub(crate) fn diff(files: &[FileChange], out: &mut CommandOutput) -> Result<()> {
    for line in files.iter().flat_map(|file| file.diff.lines()) {
        let style = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => BOLD,
            Some(b'+') => crate::cli::show::output::FOUND,
            Some(b'-') => RED,
            Some(b'@') => DIM,
            _ => PLAIN,
        };
        // Tabs of the file stay tabs.
        let line = line.trim_end_matches('\r');
        let painted = line.split('\t').map(|part| out.paint(style, part));
        out.line(
            painted
                .reduce(|line, part| line + "\t" + &part)
                .unwrap_or_default(),
        )?;
    }
    if files.is_empty() {
        Ok(())
    } else {
        out.line("")
    }
}

/// Prints the changes.
pub(crate) fn done(plan: &InstallPlan, cx: &mut CommandContext) -> Result<()> {
    cx.out.ahead(|out| {
        plan.files.iter().try_for_each(|file| {
            let word = match file.change {
                FileChangeKind::Made => "created",
                FileChangeKind::Changed => "changed",
                FileChangeKind::Removed => "removed",
                FileChangeKind::Kept => "kept",
            };
            let path = file.path.display().to_string();
            let kept = file
                .backup
                .as_ref()
                .map(|backup| format!(" (backup: {})", backup.display()));
            out.line(sanitize::line(&format!(
                "{word} {path}{}",
                kept.unwrap_or_default()
            )))
        })
    })
}

/// Prints the result and the next steps.
pub(crate) fn report(
    plan: &InstallPlan,
    dry_run: bool,
    hook_test: Option<&HookTest>,
    cx: &mut CommandContext,
) -> Result<Exit> {
    let exit = if hook_test.is_none_or(|hook_test| hook_test.ok) {
        Exit::Ok
    } else {
        Exit::Error
    };
    if !dry_run {
        cx.out.changed();
    }
    cx.out.show(
        &InstallChanges {
            plan,
            dry_run,
            hook_test,
        },
        |out| result(plan, hook_test, out),
    )?;
    Ok(exit)
}

fn result(plan: &InstallPlan, hook_test: Option<&HookTest>, out: &mut CommandOutput) -> Result<()> {
    if plan.files.is_empty() && plan.manual_edits.is_empty() {
        let directory = plan.directory.display().to_string();
        out.line(sanitize::line(&format!(
            "no changes for {} in {directory}",
            plan.name
        )))?;
    }
    if let Some(hook_test) = hook_test {
        let command = sanitize::line(&hook_test.command).into_owned();
        match &hook_test.problem {
            None => {
                let output = if hook_test.output.trim().is_empty() {
                    "no output"
                } else {
                    hook_test.output.trim()
                };
                out.line(format!(
                    "tested `{command}`: passed in {} ms, output: {}",
                    hook_test.ms,
                    sanitize::line(output)
                ))?;
            }
            Some(problem) => {
                out.line(format!("tested `{command}`: {}", out.paint(RED, problem)))?;
            }
        }
    }
    for edit in &plan.manual_edits {
        let path = edit.path.display().to_string();
        let what = if edit.lines.is_empty() {
            "edit"
        } else {
            "add these lines to"
        };
        out.line(sanitize::line(&format!(
            "{what} {path} ({}){}",
            edit.reason,
            if edit.lines.is_empty() { "" } else { ":" }
        )))?;
        edit.lines
            .lines()
            .try_for_each(|line| out.line(sanitize::line(line)))?;
    }
    out.flush()?;
    for note in &plan.notes {
        out.note(&format!("note: {note}"));
    }
    Ok(())
}
