//! `mailbag status`: shows the state of the room and pending files.

use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::base::text::{count, count_of, listed};
use crate::cli::Exit;
use crate::cli::context::{CommandContext, Freshness};
use crate::cli::show::frame;
use crate::cli::show::output::{BOLD, CommandOutput, PLAIN, RED, YELLOW};
use crate::query::claims::ClaimCounts;
use crate::query::pending::{PendingCount, age};
use crate::query::status::{self, RoomStatus, UndeliveredCopy};
use crate::room::settings::GuardedSetting;
use crate::room::{Room, RouterMode};
use anstyle::Style;

const EXAMPLES: &str = "\
Examples:
  mailbag status
  mailbag status --json

Each problem names the command that fixes it. The command changes and delivers
nothing. Exit status 65 means that settings.toml
or registry.json is invalid, and 1 that the log is damaged.";

/// Show the state of the room and pending messages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

const BEGIN: &str = "\
There is no room here or in a parent directory. To begin:

  mailbag up            set up this project and its clients
  mailbag init          create only a room
  mailbag demo          send messages in a temporary room and show them

`mailbag --help` shows the commands of daily work.";

/// Shows the state of the room, or how to begin if there is none.
pub(super) fn overview(cx: &mut CommandContext) -> Result<Exit> {
    match cx.fresh_room(Freshness::AsIs) {
        Ok(room) => show(&room, cx),
        // A room that is named must exist, and a program needs an answer in JSON.
        Err(Error::NotFound { .. }) if cx.asked().is_none() && !cx.out.json => {
            cx.out.line(BEGIN)?;
            Ok(Exit::Ok)
        }
        Err(e) => Err(e),
    }
}

pub(crate) fn run(_: Args, cx: &mut CommandContext) -> Result<Exit> {
    let room = cx.fresh_room(Freshness::AsIs)?;
    show(&room, cx)
}

fn show(room: &Room, cx: &mut CommandContext) -> Result<Exit> {
    let status = status::status(room)?;
    cx.out.show(&status, |out| {
        summary(&status, out)?;
        problems(&status, out)?;
        pending(&status, out)
    })?;
    // A file that a person edits is invalid input.
    let invalid = room.registry().err().or_else(|| room.settings().err());
    Ok(match invalid {
        Some(e) => Exit::of(&e),
        None if status.has_damaged_log => Exit::Error,
        None => Exit::Ok,
    })
}

fn router(status: &RoomStatus, out: &CommandOutput) -> String {
    let Some(holder) = &status.router else {
        return status::NO_ROUTER.to_owned();
    };
    let (pid, since) = (holder.pid, out.time(&holder.since));
    match holder.mode {
        RouterMode::Run => format!("process {pid} since {since}"),
        RouterMode::Alongside => format!("process {pid} since {since}, while it waits for mail"),
        _ => format!("process {pid}, for one pass"),
    }
}

fn summary(status: &RoomStatus, out: &mut CommandOutput) -> Result<()> {
    say(out, BOLD, "room", status.room.display().to_string())?;
    let router = router(status, out);
    say(out, BOLD, "router", router)?;
    let counts = &status.counts;
    say(out, BOLD, "agents", status.agents.to_string())?;
    say(
        out,
        BOLD,
        "log",
        format!(
            "{} accepted, {}, {} rejected, {}",
            counts.accepted,
            count(counts.copies, "copy"),
            counts.rejected,
            count(counts.duplicates, "duplicate")
        ),
    )?;
    let claims = &status.claims;
    if *claims != ClaimCounts::default() {
        let offers = count_of(claims.offers, "open offer");
        say(
            out,
            BOLD,
            "claims",
            format!("{} owned, {offers}", claims.owned),
        )?;
    }
    if let Some(text) = counted(&status.needs_human, "item") {
        let text = format!("{text}; see `mailbag pending --as human`");
        say(out, BOLD, "needs human", text)?;
    }
    if let Some(text) = counted(&status.questions, "open question") {
        let text = format!("{text}; see `mailbag list --type question`");
        say(out, BOLD, "questions", text)?;
    }
    if status.decisions > 0 {
        say(
            out,
            BOLD,
            "decisions",
            format!("{}; see `mailbag list --events`", status.decisions),
        )?;
    }
    let total: usize = status.unread.values().sum();
    let each = status
        .unread
        .iter()
        .map(|(agent, count)| format!("{agent} {count}"));
    say(
        out,
        BOLD,
        "unread",
        if total == 0 {
            "none".into()
        } else {
            format!("{total}: {}", listed(each))
        },
    )?;
    say(out, BOLD, "undelivered", held_up(status))
}

/// The numbers of files and copies that are not delivered, by reason.
fn held_up(status: &RoomStatus) -> String {
    let counts = [
        (
            status.waiting.iter().map(|waiting| waiting.files).sum(),
            "in outboxes",
        ),
        (status.picked_up, "picked up"),
        (status.undelivered.len(), "copies"),
        (
            status.links.iter().map(|link| link.waiting).sum(),
            "for other rooms",
        ),
        (status.blocked.len(), "blocked"),
        (
            status
                .unregistered
                .iter()
                .map(|outbox| outbox.files)
                .sum::<usize>(),
            "in unregistered outboxes",
        ),
    ];
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    let some: Vec<String> = some
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if some.is_empty() {
        "none".into()
    } else {
        some.join(", ")
    }
}

fn problems(status: &RoomStatus, out: &mut CommandOutput) -> Result<()> {
    if let Some(stalled) = &status.stalled {
        say(out, RED, "problem", stalled.describe())?;
        print_fix(out, &stalled.fix())?;
    }
    for problem in &status.problems {
        say(out, RED, "problem", problem)?;
    }
    for blocked in &status.blocked {
        let since = out.time(&blocked.since);
        say(
            out,
            YELLOW,
            "blocked",
            format!("{}: {} (since {since})", blocked.path, blocked.reason),
        )?;
        print_fix(out, &blocked.fix)?;
    }
    for link in status.links.iter().filter(|link| link.waiting > 0) {
        let since = link.oldest.as_deref().map(age).unwrap_or_default();
        let text = format!(
            "{}: {} not confirmed there, the oldest for {since}",
            link.tag,
            count_of(link.waiting, "item")
        );
        say(
            out,
            if link.is_down() { YELLOW } else { PLAIN },
            "link",
            &text,
        )?;
        print_fix(out, &format!("mailbag link status {}", link.tag))?;
    }
    for outbox in &status.unregistered {
        let count = count_of(outbox.files, "file");
        say(
            out,
            YELLOW,
            "unknown",
            format!("outbox/{} has {count}, but {}", outbox.agent, outbox.reason),
        )?;
        print_fix(out, &outbox.fix)?;
    }
    for GuardedSetting { key, value } in &status.withheld {
        say(
            out,
            YELLOW,
            "not trusted",
            format!("{key} has no effect: you have not trusted {value}"),
        )?;
        print_fix(out, "mailbag trust")?;
    }
    for stale in &status.stale {
        let seen = stale
            .last_seen
            .as_deref()
            .map_or("never seen".into(), |seen| {
                format!("seen {}", out.time(seen))
            });
        say(
            out,
            YELLOW,
            "stale",
            format!("{} has {} unread, {seen}", stale.id, stale.unread),
        )?;
        print_fix(out, "mailbag who")?;
    }
    Ok(())
}

fn pending(status: &RoomStatus, out: &mut CommandOutput) -> Result<()> {
    for waiting in &status.waiting {
        let count = count_of(waiting.files, "file");
        say(
            out,
            PLAIN,
            "undelivered",
            format!(
                "{count} in outbox/{}, first {}",
                waiting.agent, waiting.first
            ),
        )?;
    }
    for copy in &status.undelivered {
        let UndeliveredCopy {
            seq, id, from, to, ..
        } = copy;
        say(
            out,
            YELLOW,
            "undelivered",
            format!("#{seq} ({id}) from {from} to {to}"),
        )?;
        print_fix(out, &copy.fix)?;
    }
    for rejected in &status.rejected {
        say(
            out,
            YELLOW,
            "rejected",
            format!(
                "{} of {}, newest first:",
                count_of(rejected.files, "file"),
                rejected.agent
            ),
        )?;
        for rejection in &rejected.newest {
            say(
                out,
                PLAIN,
                "",
                format!("#{} {}", rejection.seq, rejection.what),
            )?;
            print_fix(out, &format!("mailbag rejected show {}", rejection.seq))?;
        }
    }
    Ok(())
}

/// The width of the first column.
const WORD: usize = 11;

fn say(out: &mut CommandOutput, style: Style, word: &str, text: impl AsRef<str>) -> Result<()> {
    let width = out.width().map(|width| width.saturating_sub(WORD + 1));
    let lines = frame::folded(&sanitize::line(text.as_ref()), width, "");
    for (n, line) in lines.iter().enumerate() {
        let word = if n == 0 { word } else { "" };
        let word = out.paint(style, &format!("{word:<WORD$}"));
        out.line(format!("{word} {line}"))?;
    }
    Ok(())
}

/// The number of listed items with the oldest age, and the number of older ones. `None` without items.
fn counted(count: &PendingCount, item: &str) -> Option<String> {
    let oldest = count.oldest.as_deref();
    let oldest = oldest.map(|oldest| format!(", oldest {} ago", age(oldest)));
    let older = (count.older > 0).then(|| format!(", and {} older", count.older));
    if count.items + count.older == 0 {
        return None;
    }
    Some(
        [
            count_of(count.items, item),
            oldest.unwrap_or_default(),
            older.unwrap_or_default(),
        ]
        .concat(),
    )
}

/// The command that fixes a problem, below the problem. It is not folded, so that it can be copied.
fn print_fix(out: &mut CommandOutput, fix: &str) -> Result<()> {
    out.line(format!("{:WORD$}   -> {}", "", sanitize::line(fix)))
}
