//! `mailbag rejected`: lists, shows, retries and drops rejected files.

use crate::base::error::{Error, ErrorContext, Problem, Result};
use crate::base::sanitize;
use crate::base::text::{count_of, listed};
use crate::cli::Exit;
use crate::cli::context::{CommandContext, Freshness};
use crate::cli::show::newest::NewestArgs;
use crate::cli::show::output::{CommandOutput, RED};
use crate::cli::show::{frame, table};
use crate::commands::rejected::{
    self, ListedRejection, RejectedDetails, RejectedSelection, RetryResult,
};
use crate::message::record::EventKind;
use serde_json::json;
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag rejected                        # list the rejected files
  mailbag rejected show 12                # show a file and its problems
  mailbag rejected retry 12               # try again, for example after `agent add`
  mailbag rejected retry 12 fixed.json    # send a corrected file instead
  mailbag rejected drop 12                # remove the file

Name a rejected file by its number or by its file name in the outbox. The router
also sends the explanation to the inbox of the sender.";

const LIST_HELP: &str = "\
Example:
  mailbag rejected list --agent alice --json

Columns: number, time (UTC), sender, file, error code, first problem.";

const SHOW_HELP: &str = "\
Example:
  mailbag rejected show 12";

const RETRY_HELP: &str = "\
Examples:
  mailbag rejected retry 12
  mailbag rejected retry 12 fixed.json
  mailbag rejected retry --agent alice

Moves the file back to the sender's outbox under a new name and removes the
explanation. With FILE, sends the content of FILE instead and removes the rejected
file. Exit status 65 means that a file was rejected again, 75 that a file is still
pending.";

const DROP_HELP: &str = "\
Examples:
  mailbag rejected drop 12 13
  mailbag rejected drop --agent alice --yes

The log keeps the rejection and its reasons, but not the files.";

/// List, retry or drop rejected files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<RejectedCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum RejectedCommand {
    /// List the rejected files
    #[command(after_help = LIST_HELP)]
    List {
        /// Sender
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
        #[command(flatten)]
        newest: NewestArgs,
    },
    /// Show a rejected file and its problems
    #[command(after_help = SHOW_HELP)]
    Show {
        /// Rejected file, by number or file name
        #[arg(value_name = "SEQ|NAME")]
        name: String,
    },
    /// Return rejected files to their outboxes
    #[command(after_help = RETRY_HELP)]
    Retry {
        /// Rejected file, by number or file name
        #[arg(value_name = "SEQ|NAME", required_unless_present_any = ["all", "agent"])]
        #[arg(conflicts_with_all = ["all", "agent"])]
        name: Option<String>,
        /// Corrected file to send instead
        #[arg(value_name = "FILE", requires = "name")]
        corrected: Option<PathBuf>,
        #[command(flatten)]
        many: RejectedSelectionArgs,
    },
    /// Remove rejected files and their explanations
    #[command(after_help = DROP_HELP)]
    Drop {
        /// Rejected files, by number or file name
        #[arg(value_name = "SEQ|NAME", required_unless_present_any = ["all", "agent"])]
        #[arg(conflicts_with_all = ["all", "agent"])]
        names: Vec<String>,
        #[command(flatten)]
        many: RejectedSelectionArgs,
        /// No confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, clap::Args)]
struct RejectedSelectionArgs {
    /// All rejected files
    #[arg(long, conflicts_with = "agent")]
    all: bool,
    /// All rejected files of one sender
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
}

impl RejectedSelectionArgs {
    fn or(self, names: Vec<String>) -> RejectedSelection {
        match (self.all, self.agent) {
            (true, _) => RejectedSelection::All,
            (false, Some(agent)) => RejectedSelection::Of(agent),
            (false, None) => RejectedSelection::Named(names),
        }
    }
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    let default = RejectedCommand::List {
        agent: None,
        newest: NewestArgs::default(),
    };
    match args.verb.unwrap_or(default) {
        RejectedCommand::List { agent, newest } => list(
            agent.map_or(RejectedSelection::All, RejectedSelection::Of),
            &newest,
            cx,
        ),
        RejectedCommand::Show { name } => show(&name, cx),
        RejectedCommand::Retry {
            name,
            corrected,
            many,
        } => retry(&many.or(name.into_iter().collect()), corrected, cx),
        RejectedCommand::Drop { names, many, yes } => drop_all(&many.or(names), yes, cx),
    }
}

/// The note of an empty list.
const NONE: &str = "no rejected files";

fn list(which: RejectedSelection, rows: &NewestArgs, cx: &mut CommandContext) -> Result<Exit> {
    let room = cx.fresh_room(Freshness::Complete)?;
    let all = rejected::list(&room, &which)?;
    let newest = all.last().map(|newest| newest.seq);
    rows.show(all.into_iter().map(Ok), &mut cx.out, |out, all| {
        let all: Result<Vec<ListedRejection>> = all.collect();
        table::list(out, "rejected", all?, NONE, row)
    })?;
    // Notes follow the data, even if both are written to one file.
    cx.out.flush()?;
    if let Some(newest) = newest
        && !cx.out.json
    {
        cx.out
            .note(&format!("details: `mailbag rejected show {newest}`"));
    }
    Ok(Exit::Ok)
}

fn row(one: &ListedRejection, out: &CommandOutput) -> Vec<String> {
    let at = out.column_time(&one.rejected_at);
    let cells = [
        &format!("#{}", one.seq),
        &at,
        &one.agent,
        &one.name,
        &one.code,
        &one.what,
    ];
    cells
        .map(|cell| sanitize::line(if cell.is_empty() { "-" } else { cell }).into_owned())
        .to_vec()
}

fn show(name: &str, cx: &mut CommandContext) -> Result<Exit> {
    let shown = rejected::show(&cx.fresh_room(Freshness::Complete)?, name)?;
    cx.out.show(&shown, |out| print(&shown, out))?;
    Ok(Exit::Ok)
}

fn print(shown: &RejectedDetails, out: &mut CommandOutput) -> Result<()> {
    let one = &shown.rejected;
    let place = one
        .file
        .as_ref()
        .or(one.explanation.as_ref())
        .map(|path| path.display().to_string());
    let heads = [
        ("number", format!("#{}", one.seq)),
        ("from", one.agent.clone()),
        (
            "file",
            one.line.map_or(one.name.clone(), |line| {
                format!("{}, line {line}", one.name)
            }),
        ),
        ("rejected", out.time(&one.rejected_at)),
        ("kept as", place.unwrap_or_default()),
    ];
    for (name, value) in heads {
        frame::fact(out, name, &value)?;
    }
    out.line("")?;
    if shown.problems.is_empty() {
        frame::text(out, &sanitize::line(&one.what), "")?;
    }
    problems(&shown.problems, out)?;
    match &shown.text {
        Some(text) => frame::titled(out, "the file", text)?,
        None if one.file.is_some() => out.line("\n(cannot show the file: not a text)")?,
        None => out.line("\n(the file was removed)")?,
    }
    let seq = one.seq;
    out.flush()?;
    out.note(&format!(
        "send a corrected file: `mailbag rejected retry {seq} FILE`"
    ));
    if shown.text.is_some() || one.file.is_some() {
        out.note(&format!("try again: `mailbag rejected retry {seq}`"));
    }
    out.note(&format!("remove it: `mailbag rejected drop {seq}`"));
    Ok(())
}

fn problems(problems: &[Problem], out: &mut CommandOutput) -> Result<()> {
    for problem in problems {
        let text = format!("{}  {}", problem.code, sanitize::line(&problem.to_string()));
        for line in frame::folded(&text, out.width(), frame::INDENT) {
            let line = match line.strip_prefix(&*problem.code) {
                Some(rest) => format!("{}{rest}", out.paint(RED, &problem.code)),
                None => line,
            };
            out.line(line)?;
        }
        if let Some(example) = &problem.example {
            out.line(format!(
                "  corrected: {}",
                sanitize::line(&example.to_string())
            ))?;
        }
    }
    Ok(())
}

fn retry(
    which: &RejectedSelection,
    corrected: Option<PathBuf>,
    cx: &mut CommandContext,
) -> Result<Exit> {
    let content = corrected.as_deref().map(rejected::corrected).transpose()?;
    let retried = rejected::retry(&cx.room_to_route()?, which, content, cx.writer_wait())?;
    if !retried.is_empty() {
        let mut names: Vec<String> = retried
            .iter()
            .map(|one| one.file.display().to_string())
            .collect();
        names.dedup();
        cx.out.did(
            format!("put back as {}", names.join(", ")),
            "don't retry it; `mailbag status` and `mailbag rejected` show the result",
        );
    }
    let exit = match () {
        () if retried
            .iter()
            .any(|one| one.event == Some(EventKind::Rejected)) =>
        {
            Exit::BadData
        }
        () if retried.iter().any(|one| one.event.is_none()) => Exit::TryAgain,
        () => Exit::Ok,
    };
    cx.out
        .list("retried", retried.iter().map(Ok), NONE, |out, one| {
            out.line(sanitize::line(&describe_retry(one)))?;
            if one.event == Some(EventKind::Rejected) {
                problems(&one.problems, out)?;
            }
            Ok(())
        })?;
    Ok(exit)
}

fn describe_retry(one: &RetryResult) -> String {
    let mut head = format!("#{} of {}", one.seq, one.agent);
    if let Some(line) = one.line {
        head.push_str(&format!(", line {line}"));
    }
    let record = one.new_seq.unwrap_or_default();
    match one.event {
        Some(EventKind::Accepted) if one.recipients.is_empty() => {
            format!("{head}: accepted as #{record}, without recipients")
        }
        Some(EventKind::Accepted) => format!(
            "{head}: accepted as #{record}, for {}",
            listed(&one.recipients)
        ),
        Some(EventKind::Rejected) => {
            format!("{head}: rejected again, as #{record}: `mailbag rejected show {record}`")
        }
        Some(_) => format!("{head}: duplicate of an accepted message, not delivered again"),
        None => format!(
            "{head}: waits in {}; `mailbag status` shows the reason",
            one.file.display()
        ),
    }
}

fn drop_all(which: &RejectedSelection, yes: bool, cx: &mut CommandContext) -> Result<Exit> {
    let room = cx.room()?;
    let meant = rejected::list(&room, which)?;
    if !yes && !meant.is_empty() && !confirmed(&meant, cx)? {
        cx.out.note("no file removed");
        return Ok(Exit::Ok);
    }
    let removed = rejected::remove_all(&room, meant.clone())?;
    for one in meant
        .iter()
        .filter(|one| !removed.iter().any(|other| other.seq == one.seq))
    {
        cx.out.note(&format!(
            "#{} of {} was sent again, removed or archived before",
            one.seq, one.agent
        ));
    }
    cx.out.changed();
    cx.out
        .show(&json!({ "rejected": removed }), |out| match removed.len() {
            0 => {
                out.note(NONE);
                Ok(())
            }
            many => out.done(format!("removed {}", count_of(many, "rejected file"))),
        })?;
    Ok(Exit::Ok)
}

/// Asks the person. Without a terminal nothing is removed unless `--yes` is given.
fn confirmed(meant: &[ListedRejection], cx: &mut CommandContext) -> Result<bool> {
    if cx.out.json || !std::io::stdin().is_terminal() || !cx.out.is_terminal() {
        return Err(Error::usage(
            "cannot ask for confirmation without a terminal, and dropped files cannot be restored",
            "add --yes",
        ));
    }
    let rows: Vec<_> = meant.iter().map(|one| row(one, &cx.out)).collect();
    table::print(&mut cx.out, &rows)?;
    cx.out.line(format!(
        "remove {}? [y/N]",
        if meant.len() == 1 {
            "it".to_owned()
        } else {
            format!("all {}", meant.len())
        }
    ))?;
    cx.out.flush()?;
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .doing("read", "standard input")?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}
