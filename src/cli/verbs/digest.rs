//! `mailbag log digest`: what happened in a time, as Markdown.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::text::to_the_second;
use crate::base::{limits, markdown};
use crate::cli::Exit;
use crate::cli::context::{Context, Freshness};
use crate::cli::show::output::Output;
use crate::query::digest::{self, Digest, Happened, Part};
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

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.fresh_room(Freshness::Complete)?;
    let digest = digest::digest(&room, time::past(&args.since)?)?;
    cx.out.show(&digest, |out| markdown(&digest, out))?;
    Ok(Exit::Ok)
}

fn markdown(digest: &Digest, out: &mut Output) -> Result<()> {
    let text = |text: &str| markdown::brief(text, limits::WORKLOG_TEXT);
    let (since, until) = (to_the_second(&digest.since), to_the_second(&digest.until));
    out.line(format!(
        "# Digest of {}\n\n{since} to {until}",
        text(&digest.room)
    ))?;
    let happened = |one: &Happened| {
        format!(
            "- #{} {} {} · {} · {}",
            one.seq,
            to_the_second(&one.at),
            text(&one.from),
            one.kind,
            text(&one.text)
        )
    };
    part(out, "Decisions", &digest.decisions, happened)?;
    part(out, "Milestones", &digest.milestones, happened)?;
    part(out, "Escalations", &digest.escalations, happened)?;
    part(out, "Open questions", &digest.questions, |one| {
        let (at, from, of) = (
            to_the_second(&one.at),
            text(&one.from),
            text(&one.of.join(", ")),
        );
        format!("- #{} {at} {from} asks {of}: {}", one.seq, text(&one.text))
    })?;
    part(out, "Who owns what", &digest.owners, |one| {
        let why = one
            .why
            .as_ref()
            .map(|why| format!(": {}", text(why)))
            .unwrap_or_default();
        format!(
            "- {} owns {} since {}{why}",
            text(&one.owner),
            text(one.subject.as_str()),
            to_the_second(&Stamp::from_micros(one.since).to_string())
        )
    })?;
    part(out, "Rejected mail", &digest.rejected, |one| {
        format!(
            "- #{} {} {}: {}",
            one.seq,
            to_the_second(&one.at),
            text(&one.from),
            text(&one.problem)
        )
    })?;
    out.line("\n## Messages\n")?;
    if digest.agents.items.is_empty() {
        return out.line("None.");
    }
    out.line("| agent | sent | received | rejected |\n|---|---|---|---|")?;
    for one in &digest.agents.items {
        out.line(format!(
            "| {} | {} | {} | {} |",
            text(&one.agent),
            one.sent,
            one.received,
            one.rejected
        ))?;
    }
    more(out, &digest.agents)
}

fn part<T>(
    out: &mut Output,
    title: &str,
    part: &Part<T>,
    line: impl Fn(&T) -> String,
) -> Result<()> {
    out.line(format!("\n## {title}\n"))?;
    if part.items.is_empty() {
        out.line("None.")?;
    }
    part.items.iter().try_for_each(|one| out.line(line(one)))?;
    more(out, part)
}

fn more<T>(out: &mut Output, part: &Part<T>) -> Result<()> {
    match part.more {
        0 => Ok(()),
        more => out.line(format!("\n{more} more.")),
    }
}
