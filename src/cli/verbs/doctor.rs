//! `mailbag doctor`: finds problems with the room and the machine, and fixes some.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{CommandContext, Freshness, here};
use crate::cli::show::output::{BOLD, CommandOutput, PLAIN, RED, YELLOW};
use crate::doctor::{self, DoctorRequest, Finding, Severity};

const EXAMPLES: &str = "\
Examples:
  mailbag doctor
  mailbag doctor --fix
  mailbag doctor --json

Each finding names the command that fixes it or shows more. Without --fix nothing
is changed. --fix makes only changes that cannot lose data: it creates missing
directories, makes the room private and runs one pass of the router, which rebuilds
channels, sets an unfinished batch of the log aside and delivers pending messages.

Exit status 1 means that there is a problem or a warning. Notes do not count.";

/// Find and fix problems with the room and the machine
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Fixes that cannot lose data
    #[arg(long)]
    fix: bool,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    let (asked, from) = (cx.asked(), here()?);
    let _ = cx.fresh_room(Freshness::AsIs);
    let asked = DoctorRequest {
        room: asked.as_deref(),
        from: &from,
    };
    let report = if args.fix {
        doctor::fix(&asked)?
    } else {
        doctor::examine(&asked)?
    };
    let exit = if report.healthy {
        Exit::Ok
    } else {
        Exit::Error
    };
    cx.out.show(&report, |out| {
        for finding in &report.fixed {
            let word = out.paint(BOLD, "fixed");
            out.line(format!("{word}: {}", sanitize::line(&finding.what)))?;
        }
        report
            .findings
            .iter()
            .try_for_each(|finding| show(finding, out))?;
        if let Some(room) = &report.room
            && report.healthy
        {
            let room = room.display().to_string();
            out.line(format!("no problems with {}", sanitize::line(&room)))?;
        }
        Ok(())
    })?;
    Ok(exit)
}

fn show(finding: &Finding, out: &mut CommandOutput) -> Result<()> {
    let (style, word) = match finding.severity {
        Severity::Problem => (RED, "problem"),
        Severity::Warning => (YELLOW, "warning"),
        Severity::Note => (PLAIN, "note"),
    };
    let word = out.paint(style, word);
    out.line(format!("{word}: {}", sanitize::line(&finding.what)))?;
    out.line(format!("  {}", sanitize::line(&finding.fix)))
}
