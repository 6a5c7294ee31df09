//! `mailbag status`

use super::inbox::to_the_second;
use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::output::{BOLD, PLAIN, RED, YELLOW};
use crate::query::programs::Startable;
use crate::query::status::{self, Status, Undelivered};
use crate::room::Mode;
use anstyle::Style;

const EXAMPLES: &str = "\
Examples:
  mailbag status
  mailbag status --json

Below what is held up stands what mends it. Nothing is changed or routed by
looking.";

/// Show how the room stands: the router, unread mail, what waits and why, what was refused
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: Args, cx: &mut Context) -> Result<Exit> {
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
        let name = cx.out.paint(BOLD, &format!("{name:<11}"));
        cx.out.line(format!("{name} {}", sanitize::line(&value)))
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
    head("unread", if total == 0 { "none".into() } else { format!("{total}: {}", each.join(", ")) })?;
    head("held up", held_up(status))
}

/// How much of the mail has not gone its way, by what keeps it.
fn held_up(status: &Status) -> String {
    let counts = [
        (status.waiting.iter().map(|waiting| waiting.files).sum(), "waiting"),
        (status.undelivered.len(), "undelivered"),
        (status.blocked.len(), "blocked"),
        (status.unregistered.iter().map(|outbox| outbox.files).sum::<usize>(), "of nobody registered"),
        (status.rejected.iter().map(|rejected| rejected.files).sum(), "rejected"),
    ];
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    let some: Vec<String> = some.map(|(count, what)| format!("{count} {what}")).collect();
    if some.is_empty() { "nothing".into() } else { some.join(", ") }
}

fn trouble(status: &Status, cx: &mut Context) -> Result<()> {
    for problem in &status.problems {
        say(cx, RED, "trouble", problem)?;
    }
    for blocked in &status.blocked {
        let since = to_the_second(&blocked.since);
        say(cx, YELLOW, "blocked", &format!("{}: {} (since {since})", blocked.what, blocked.reason))?;
        cure(cx, &blocked.cure)?;
    }
    for outbox in &status.unregistered {
        let count = files(outbox.files);
        say(cx, YELLOW, "unknown", &format!("outbox/{} has {count}, but {}", outbox.agent, outbox.why))?;
        cure(cx, &outbox.cure)?;
    }
    for Startable { agent, program, .. } in &status.not_agreed {
        say(cx, YELLOW, "not agreed", &format!("{agent} is not woken: you did not agree to start {program}"))?;
        cure(cx, "mailbag trust")?;
    }
    for stale in &status.stale {
        let seen =
            stale.last_seen.as_deref().map_or("never seen".into(), |seen| format!("seen {}", to_the_second(seen)));
        say(cx, YELLOW, "stale", &format!("{} has {} unread, {seen}", stale.id, stale.unread))?;
        cure(cx, "mailbag who")?;
    }
    Ok(())
}

fn waits(status: &Status, cx: &mut Context) -> Result<()> {
    for waiting in &status.waiting {
        let count = files(waiting.files);
        say(cx, PLAIN, "waiting", &format!("{count} in outbox/{}, first {}", waiting.agent, waiting.first))?;
    }
    for copy in &status.undelivered {
        let Undelivered { seq, id, from, to, .. } = copy;
        say(cx, YELLOW, "undelivered", &format!("{id} of {from} for {to}, accepted as {seq}"))?;
        cure(cx, &copy.cure)?;
    }
    for rejected in &status.rejected {
        say(cx, YELLOW, "rejected", &format!("{} of {}, newest first:", files(rejected.files), rejected.agent))?;
        for rejection in &rejected.newest {
            say(cx, PLAIN, "", &format!("{}: {}", rejection.file.display(), rejection.what))?;
            cure(cx, &rejection.cure)?;
        }
    }
    Ok(())
}

fn say(cx: &mut Context, style: Style, word: &str, text: &str) -> Result<()> {
    let word = cx.out.paint(style, &format!("{word:<11}"));
    cx.out.line(format!("{word} {}", sanitize::line(text)))
}

/// What mends it, below it.
fn cure(cx: &mut Context, cure: &str) -> Result<()> {
    say(cx, PLAIN, "", &format!("  -> {cure}"))
}

fn files(count: usize) -> String {
    format!("{count} {}", if count == 1 { "file" } else { "files" })
}
