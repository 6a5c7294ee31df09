//! `mailbag service`: the router of a room as a service of its user.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::context::CommandContext;
use crate::cli::show::output::{BOLD, CommandOutput};
use crate::commands::service::{RouterService, ServiceChange, ServiceManager, ServiceStatus};
use clap::Subcommand;
use clap::builder::PossibleValue;

const EXAMPLES: &str = "\
Examples:
  mailbag service install --dry-run   # print the file
  mailbag service install
  mailbag service status
  mailbag service uninstall

Commands that send or read also deliver, so the service is optional. With it,
messages arrive immediately, and programs wake idle agents, as with `mailbag run`.
On Linux it is a unit of the user's systemd, on macOS an agent of launchd. Each room
has its own. Without `loginctl enable-linger`, a unit runs only while its user is
logged in.";

/// Run the router of a room as a service
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: ServiceCommand,
}

#[derive(Debug, Subcommand)]
enum ServiceCommand {
    /// Install and start the service of this room
    #[command(after_help = "Example:\n  mailbag service install --dry-run")]
    Install {
        /// The file and its path, without a change
        #[arg(long)]
        dry_run: bool,
        /// The service manager whose file is shown
        #[arg(
            long,
            value_enum,
            value_name = "MANAGER",
            requires = "dry_run",
            hide = true
        )]
        manager: Option<ServiceManager>,
    },
    /// Show whether the service is installed and runs
    #[command(after_help = "Example:\n  mailbag service status --json")]
    Status,
    /// Stop and remove the service of this room
    #[command(after_help = "Example:\n  mailbag service uninstall")]
    Uninstall,
}

impl clap::ValueEnum for ServiceManager {
    fn value_variants<'a>() -> &'a [ServiceManager] {
        &[ServiceManager::Systemd, ServiceManager::Launchd]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self {
            ServiceManager::Systemd => "systemd",
            ServiceManager::Launchd => "launchd",
        }))
    }
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.room()?;
    match args.verb {
        ServiceCommand::Install {
            dry_run: true,
            manager,
        } => {
            let planned =
                RouterService::of(&room, manager.unwrap_or_else(ServiceManager::here))?.plan()?;
            cx.out.show(&planned, |out| plan(&planned, out))?;
        }
        ServiceCommand::Install { .. } => {
            let done = RouterService::of(&room, ServiceManager::here())?.install()?;
            cx.out.changed();
            cx.out.show(&done, |out| {
                changed(&done, out, "installed and started", "it runs already")
            })?;
        }
        ServiceCommand::Status => {
            let status = RouterService::of(&room, ServiceManager::here())?.status()?;
            cx.out.show(&status, |out| show(&status, out))?;
        }
        ServiceCommand::Uninstall => {
            let done = RouterService::of(&room, ServiceManager::here())?.uninstall()?;
            cx.out.changed();
            cx.out.show(&done, |out| {
                changed(&done, out, "stopped and removed", "it is not installed")
            })?;
        }
    }
    Ok(())
}

fn plan(planned: &ServiceChange, out: &mut CommandOutput) -> Result<()> {
    let what = if planned.changed {
        "would write"
    } else {
        "would not change"
    };
    out.note(&format!(
        "{what} {}",
        sanitize::line(&planned.file.to_string_lossy())
    ));
    planned
        .content
        .iter()
        .flat_map(|content| content.lines())
        .try_for_each(|line| out.line(sanitize::line(line)))
}

fn changed(
    done: &ServiceChange,
    out: &mut CommandOutput,
    what: &str,
    otherwise: &str,
) -> Result<()> {
    let ServiceChange {
        service,
        file,
        changed,
        ..
    } = done;
    let file = file.to_string_lossy();
    out.done(if *changed {
        format!("{what} {service}, {}", sanitize::line(&file))
    } else {
        format!("nothing to do: {otherwise}")
    })
}

fn show(status: &ServiceStatus, out: &mut CommandOutput) -> Result<()> {
    let file = status.file.to_string_lossy();
    let installed = match (status.installed, status.current) {
        (false, _) => "not installed; `mailbag service install` installs it".to_owned(),
        (true, true) => format!("installed as {}", sanitize::line(&file)),
        (true, false) => {
            format!(
                "installed as {}, which is not what `mailbag service install` would write",
                sanitize::line(&file)
            )
        }
    };
    line(out, "service", &status.service)?;
    line(out, "file", &installed)?;
    if let Some(running) = &status.running
        && status.installed
    {
        let since = running
            .since
            .as_deref()
            .map(|since| format!(" since {}", out.time(since)))
            .unwrap_or_default();
        let pid = running
            .pid
            .map(|pid| format!(", process {pid}"))
            .unwrap_or_default();
        let restarts = running.restarts.filter(|restarts| *restarts > 0);
        let restarts = restarts
            .map(|restarts| format!(", restarts: {restarts}"))
            .unwrap_or_default();
        line(
            out,
            "state",
            &format!("{}{since}{pid}{restarts}", running.state),
        )?;
        line(
            out,
            "at login",
            if running.enabled {
                "starts"
            } else {
                "does not start"
            },
        )?;
    }
    if let Some(problem) = &status.problem {
        line(out, "problem", problem)?;
    }
    Ok(())
}

fn line(out: &mut CommandOutput, name: &str, text: &str) -> Result<()> {
    let name = out.paint(BOLD, &format!("{name:<9}"));
    out.line(format!("{name} {}", sanitize::line(text)))
}
