//! `mailbag doctor`

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{Context, here};
use crate::cli::show::output::{BOLD, PLAIN, RED, YELLOW};
use crate::doctor::{self, Asked, Finding, Severity};
use crate::query::identity;

const EXAMPLES: &str = "\
Examples:
  mailbag doctor
  mailbag doctor --fix
  mailbag doctor --json --as bob      also whether bob's mail waits elsewhere

Below each finding stands the command that mends it, or that shows more. Looking
changes nothing. --fix does only what can't lose anything: it makes directories
that are missing, and a pass, which makes conversations anew, sets an unfinished
batch of the log aside and routes what waits.

Exit status 0 if all is well, 1 if there is a problem or a warning; notes don't
count.";

/// Say what is wrong with the room, the machine or where mail is looked for, and what mends it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Mend what can be mended without losing anything
    #[arg(long)]
    fix: bool,
    /// Whose mail is missed; else MAILBAG_AGENT, else MAOS_AGENT_ID
    #[arg(long = "as", value_name = "AGENT")]
    agent: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let (asked, from) = (cx.asked(), here()?);
    let who = identity::who(args.agent.as_deref(), || cx.room(), false).ok();
    let agent = who.as_ref().map(|who| who.name.as_str());
    let asked = Asked { room: asked.as_deref(), from: &from, agent };
    let report = if args.fix { doctor::mend(&asked)? } else { doctor::examine(&asked)? };
    let exit = if report.healthy { Exit::Ok } else { Exit::Error };
    if cx.out.json {
        cx.out.json(&report)?;
        return Ok(exit);
    }
    for finding in &report.fixed {
        let word = cx.out.paint(BOLD, "fixed");
        cx.out.line(format!("{word}: {}", sanitize::line(&finding.what)))?;
    }
    report.findings.iter().try_for_each(|finding| show(finding, cx))?;
    if let (true, Some(room)) = (report.healthy, &report.room) {
        let room = room.display().to_string();
        cx.out.line(format!("nothing is wrong with {}", sanitize::line(&room)))?;
    }
    Ok(exit)
}

fn show(finding: &Finding, cx: &mut Context) -> Result<()> {
    let (style, word) = match finding.severity {
        Severity::Problem => (RED, "problem"),
        Severity::Warning => (YELLOW, "warning"),
        Severity::Note => (PLAIN, "note"),
    };
    let word = cx.out.paint(style, word);
    cx.out.line(format!("{word}: {}", sanitize::line(&finding.what)))?;
    cx.out.line(format!("  {}", sanitize::line(&finding.cure)))
}
