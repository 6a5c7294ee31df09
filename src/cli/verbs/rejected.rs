//! `mailbag rejected`: lists and shows rejected files.

use crate::base::error::{Problem, Result};
use crate::base::sanitize;
use crate::cli::context::{CommandContext, Freshness};
use crate::cli::show::newest::NewestArgs;
use crate::cli::show::output::{CommandOutput, RED};
use crate::cli::show::{frame, table};
use crate::commands::rejected::{self, ListedRejection, RejectedDetails, RejectedSelection};

const EXAMPLES: &str = "\
Examples:
  mailbag rejected                        # list the rejected files
  mailbag rejected show 12                # show a file and its problems

Name a rejected file by its number or by its file name in the outbox. The router
also sends the explanation to the inbox of the sender. To send the message again,
correct the file and drop it into the outbox again. A file with the same name or
the same id closes the item in `mailbag pending`; so does `mailbag dismiss`.";

const LIST_HELP: &str = "\
Example:
  mailbag rejected list --agent alice --json

Columns: number, time (UTC), sender, file, error code, first problem.";

const SHOW_HELP: &str = "\
Example:
  mailbag rejected show 12";

/// List and show rejected files
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
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
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
    }
}

/// The note of an empty list.
const NONE: &str = "no rejected files";

fn list(which: RejectedSelection, rows: &NewestArgs, cx: &mut CommandContext) -> Result<()> {
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
    Ok(())
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

fn show(name: &str, cx: &mut CommandContext) -> Result<()> {
    let shown = rejected::show(&cx.fresh_room(Freshness::Complete)?, name)?;
    cx.out.show(&shown, |out| print(&shown, out))?;
    Ok(())
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
    out.flush()?;
    let again = format!(
        "to send it again, drop the corrected file with the same name into outbox/{}/",
        one.agent
    );
    out.note(&frame::folded(&again, out.width(), "").join("\n"));
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
