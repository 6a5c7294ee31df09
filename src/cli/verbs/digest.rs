//! `mailbag log digest`: what happened in a time, as Markdown.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::text::listed;
use crate::base::{limits, markdown, sanitize};
use crate::cli::context::{CommandContext, Freshness};
use crate::cli::show::output::{BOLD, CommandOutput, PLAIN};
use crate::cli::show::table;
use crate::query::context::MessageSummary;
use crate::query::digest::{self, LimitedList, LogDigest};
use crate::query::time;

const EXAMPLES: &str = "\
Examples:
  mailbag log digest
  mailbag log digest --since 'monday' > digest.md
  0 18 * * 1-5  cd ~/project && mailbag log digest | mail -s 'Digest' me   # in a crontab

The digest has decisions, milestones and escalations of the time, rejected mail and
the number of messages of each agent, and, of any time, open questions and claims.";

/// Summarize a day or another time in Markdown
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Beginning of the time: 24h, monday, a date or an instant
    #[arg(long, value_name = "TIME", default_value = "24h")]
    since: String,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Complete)?;
    let digest = digest::digest(&room, time::past(&args.since)?)?;
    cx.out.show(&digest, |out| show(&digest, out))
}

/// A text of an agent: plain at a terminal, otherwise with escapes for Markdown.
fn text(text: &str, out: &CommandOutput) -> String {
    if out.is_terminal() {
        sanitize::brief(text, limits::WORKLOG_TEXT)
    } else {
        markdown::brief(text, limits::WORKLOG_TEXT)
    }
}

fn heading(level: usize, title: &str, out: &mut CommandOutput) -> Result<()> {
    let line = if out.is_terminal() {
        out.paint(BOLD, title)
    } else {
        format!("{} {title}", "#".repeat(level))
    };
    out.line(line)
}

fn show(digest: &LogDigest, out: &mut CommandOutput) -> Result<()> {
    let title = format!("Digest of {}", text(&digest.room, out));
    heading(1, &title, out)?;
    let (since, until) = (out.time(&digest.since), out.time(&digest.until));
    out.line(format!("\n{since} to {until}"))?;
    part(out, "Decisions", &digest.decisions, happened)?;
    part(out, "Milestones", &digest.milestones, happened)?;
    part(out, "Escalations", &digest.escalations, happened)?;
    part(out, "Open questions", &digest.questions, |one, out| {
        let (at, from, of) = (
            out.time(&one.at),
            text(&one.from, out),
            text(&listed(&one.waiting_for), out),
        );
        format!(
            "#{} {at} {from} asks {of}: {}",
            one.seq,
            text(&one.text, out)
        )
    })?;
    part(out, "Who owns what", &digest.owners, |one, out| {
        let purpose = one
            .purpose
            .as_ref()
            .map(|purpose| format!(": {}", text(purpose, out)));
        let since = out.time(&Stamp::from_micros(one.since).to_string());
        let (owner, subject) = (text(&one.owner, out), text(one.subject.as_str(), out));
        format!(
            "{owner} owns {subject} since {since}{}",
            purpose.unwrap_or_default()
        )
    })?;
    part(out, "Rejected mail", &digest.rejected, |one, out| {
        let (at, from) = (out.time(&one.at), text(&one.from, out));
        format!("#{} {at} {from}: {}", one.seq, text(&one.about, out))
    })?;
    out.line("")?;
    heading(2, "Messages", out)?;
    out.line("")?;
    if digest.agents.items.is_empty() {
        return out.line("None.");
    }
    agents(digest, out)?;
    more(out, &digest.agents)
}

fn happened(one: &MessageSummary, out: &CommandOutput) -> String {
    let (at, from) = (out.time(&one.at), text(&one.from, out));
    format!(
        "#{} {at} {from} · {} · {}",
        one.seq,
        one.kind,
        text(&one.about, out)
    )
}

/// The number of messages of each agent.
fn agents(digest: &LogDigest, out: &mut CommandOutput) -> Result<()> {
    let mut rows = vec![
        ["agent", "sent", "received", "rejected"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for one in &digest.agents.items {
        let counts = [one.sent, one.received, one.rejected].map(|count| count.to_string());
        rows.push([vec![text(&one.agent, out)], counts.to_vec()].concat());
    }
    if out.is_terminal() {
        return table::print(out, &rows);
    }
    for (n, row) in rows.iter().enumerate() {
        out.line(format!("| {} |", row.join(" | ")))?;
        if n == 0 {
            out.line("|---|---|---|---|")?;
        }
    }
    Ok(())
}

fn part<T>(
    out: &mut CommandOutput,
    title: &str,
    part: &LimitedList<T>,
    line: impl Fn(&T, &CommandOutput) -> String,
) -> Result<()> {
    out.line("")?;
    heading(2, title, out)?;
    out.line("")?;
    if part.items.is_empty() {
        out.line("None.")?;
    }
    for one in &part.items {
        let line = line(one, out);
        out.pieces(&[(PLAIN, "- "), (PLAIN, &line)])?;
    }
    more(out, part)
}

fn more<T>(out: &mut CommandOutput, part: &LimitedList<T>) -> Result<()> {
    match part.more {
        0 => Ok(()),
        more => out.line(format!("\n{more} more.")),
    }
}
