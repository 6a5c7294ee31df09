//! `mailbag status`

use super::context::Context;
use super::inbox::to_the_second;
use super::output::{BOLD, RED, YELLOW};
use super::{Exit, visible};
use crate::actions::status::{self, Status};
use crate::error::Result;
use crate::room::Mode;

const EXAMPLES: &str = "\
Examples:
  mailbag status
  mailbag status --json

Nothing is changed or routed by looking.";

/// Show how the room stands: the router, unread mail, what waits and why, what was refused
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {}

pub(super) fn run(_: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    let status = status::status(&room)?;
    if cx.out.json {
        cx.out.json(&status)?;
        return Ok(Exit::Ok);
    }
    summary(&status, cx)?;
    trouble(&status, cx)?;
    waits(&status, cx)?;
    Ok(Exit::Ok)
}

fn summary(status: &Status, cx: &mut Context) -> Result<()> {
    let mut head = |name: &str, value: String| {
        let name = cx.out.paint(BOLD, &format!("{name:<9}"));
        cx.out.line(format!("{name} {}", visible::line(&value)))
    };
    head("room", status.room.display().to_string())?;
    head(
        "router",
        match &status.router {
            Some(holder) if holder.mode == Mode::Run => {
                format!("process {} since {}", holder.pid, to_the_second(&holder.since))
            }
            Some(holder) if holder.mode == Mode::Alongside => {
                format!("process {}, while it waits, since {}", holder.pid, to_the_second(&holder.since))
            }
            Some(holder) => format!("process {} makes a single pass", holder.pid),
            None => "none runs; whoever sends or reads routes".to_owned(),
        },
    )?;
    let counts = &status.counts;
    head("agents", status.agents.to_string())?;
    head(
        "log",
        format!(
            "{} accepted, {} copies, {} refused, {} duplicates",
            counts.accepted, counts.copies, counts.refused, counts.duplicates
        ),
    )?;
    let total: usize = status.unread.values().sum();
    let each: Vec<String> = status.unread.iter().map(|(agent, count)| format!("{agent} {count}")).collect();
    head("unread", if total == 0 { "none".into() } else { format!("{total}: {}", each.join(", ")) })
}

fn trouble(status: &Status, cx: &mut Context) -> Result<()> {
    for problem in &status.problems {
        let word = cx.out.paint(RED, "trouble");
        cx.out.line(format!("{word}   {}", visible::line(problem)))?;
    }
    for blocked in &status.blocked {
        let word = cx.out.paint(YELLOW, "blocked");
        let (what, why) = (visible::line(&blocked.what), visible::line(&blocked.reason));
        cx.out.line(format!("{word}   {what}: {why} (since {})", visible::line(&to_the_second(&blocked.since))))?;
    }
    for outbox in &status.unregistered {
        let word = cx.out.paint(YELLOW, "unknown");
        let (agent, cure) = (visible::line(&outbox.agent), visible::line(&outbox.cure));
        cx.out.line(format!("{word}   outbox/{agent} has {}, but {}: {cure}", files(outbox.files), outbox.why))?;
    }
    Ok(())
}

fn waits(status: &Status, cx: &mut Context) -> Result<()> {
    for waiting in &status.waiting {
        let (agent, first) = (visible::line(&waiting.agent), visible::line(&waiting.first));
        cx.out.line(format!("waiting   {} in outbox/{agent}, first {first}", files(waiting.files)))?;
    }
    for copy in &status.undelivered {
        let (id, from, to) = (visible::line(&copy.id), visible::line(&copy.from), visible::line(&copy.to));
        cx.out.line(format!("waiting   {id} of {from} for {to}: accepted as {}, not yet delivered", copy.seq))?;
    }
    for rejected in &status.rejected {
        let agent = visible::line(&rejected.agent);
        cx.out.line(format!("rejected  {} of {agent}, newest first:", files(rejected.files)))?;
        for refusal in &rejected.newest {
            let file = refusal.file.display().to_string();
            cx.out.line(format!("          {}: {}", visible::line(&file), visible::line(&refusal.what)))?;
        }
    }
    Ok(())
}

fn files(count: usize) -> String {
    format!("{count} {}", if count == 1 { "file" } else { "files" })
}
