//! `mailbag rejected`

use super::inbox::to_the_second;
use crate::base::error::{Doing, Error, Problem, Result};
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::output::RED;
use crate::cli::show::{frame, table};
use crate::commands::rejected::{self, Rejected, Retried, Which};
use crate::message::record::Event;
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag rejected                       what was refused and still stands there
  mailbag rejected show 12               one file, all that is wrong with it, and how to mend it
  mailbag rejected retry 12              judge it anew, say after `agent add`
  mailbag rejected retry 12 mended.json  send this in its place
  mailbag rejected drop 12               remove it and its explanation

A refused file is named by its number, or by the name under which it was
dropped. Its sender was told in its own inbox when it was refused.";

const LIST_HELP: &str = "\
Example:
  mailbag rejected list --agent alice --json

Each line: number, when (UTC), sender, file, code, and the first thing that is
wrong; the newest first.";

const SHOW_HELP: &str = "\
Example:
  mailbag rejected show 12";

const RETRY_HELP: &str = "\
Examples:
  mailbag rejected retry 12
  mailbag rejected retry 12 mended.json
  mailbag rejected retry --agent alice

The file goes back into its sender's outbox under a new name, and its
explanation goes. With FILE, that file's content goes there, and the refused
file goes as well. Exit status 65 if anything was refused again, 75 if anything
waits still.";

const DROP_HELP: &str = "\
Examples:
  mailbag rejected drop 12 13
  mailbag rejected drop --agent alice --yes

The log keeps that and why they were refused, but not the files.";

/// Look at refused files, send them again, or drop them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List what was refused and still stands there
    #[command(after_help = LIST_HELP)]
    List {
        /// Only of this agent
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
    },
    /// Show a refused file, and everything that is wrong with it
    #[command(after_help = SHOW_HELP)]
    Show {
        /// Its number, or the name under which it was dropped
        #[arg(value_name = "SEQ|NAME")]
        name: String,
    },
    /// Put refused files back into the outboxes they came from, to be judged anew
    #[command(after_help = RETRY_HELP)]
    Retry {
        /// Its number, or the name under which it was dropped
        #[arg(value_name = "SEQ|NAME", required_unless_present_any = ["all", "agent"])]
        #[arg(conflicts_with_all = ["all", "agent"])]
        name: Option<String>,
        /// The mended file to be sent in its place
        #[arg(value_name = "FILE", requires = "name")]
        mended: Option<PathBuf>,
        #[command(flatten)]
        many: Many,
    },
    /// Remove refused files and their explanations
    #[command(after_help = DROP_HELP)]
    Drop {
        /// Their numbers, or the names under which they were dropped
        #[arg(value_name = "SEQ|NAME", required_unless_present_any = ["all", "agent"])]
        #[arg(conflicts_with_all = ["all", "agent"])]
        names: Vec<String>,
        #[command(flatten)]
        many: Many,
        /// Don't ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, clap::Args)]
struct Many {
    /// All that stand there
    #[arg(long, conflicts_with = "agent")]
    all: bool,
    /// All of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
}

impl Many {
    fn or(self, names: Vec<String>) -> Which {
        match (self.all, self.agent) {
            (true, _) => Which::All,
            (false, Some(agent)) => Which::Of(agent),
            (false, None) => Which::Named(names),
        }
    }
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    match args.verb.unwrap_or(Verb::List { agent: None }) {
        Verb::List { agent } => list(agent.map_or(Which::All, Which::Of), cx),
        Verb::Show { name } => show(&name, cx),
        Verb::Retry { name, mended, many } => retry(&many.or(name.into_iter().collect()), mended, cx),
        Verb::Drop { names, many, yes } => drop_all(&many.or(names), yes, cx),
    }
}

fn list(which: Which, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    cx.route(&room);
    let all = rejected::list(&room, &which)?;
    if cx.out.json {
        cx.out.json(&all)?;
        return Ok(Exit::Ok);
    }
    if all.is_empty() {
        cx.out.note("no refused file stands there");
    }
    table::print(&mut cx.out, &all.iter().map(row).collect::<Vec<_>>())?;
    // What is talk comes after the data, also where both go to one place.
    cx.out.flush()?;
    if let Some(newest) = all.first() {
        cx.out.note(&format!("`mailbag rejected show {}` says more", newest.seq));
    }
    Ok(Exit::Ok)
}

fn row(one: &Rejected) -> Vec<String> {
    let at = to_the_second(&one.refused_at);
    let cells = [&one.seq.to_string(), &at, &one.agent, &one.name, &one.code, &one.what];
    cells.map(|cell| sanitize::line(if cell.is_empty() { "-" } else { cell }).into_owned()).to_vec()
}

fn show(name: &str, cx: &mut Context) -> Result<Exit> {
    let shown = rejected::show(&cx.room()?, name)?;
    if cx.out.json {
        cx.out.json(&shown)?;
        return Ok(Exit::Ok);
    }
    let one = &shown.refused;
    let place = one.file.as_ref().or(one.explanation.as_ref()).map(|path| path.display().to_string());
    let heads = [
        ("number", one.seq.to_string()),
        ("from", one.agent.clone()),
        ("file", one.line.map_or(one.name.clone(), |line| format!("{}, line {line}", one.name))),
        ("refused", to_the_second(&one.refused_at)),
        ("kept as", place.unwrap_or_default()),
    ];
    for (name, value) in heads {
        frame::fact(&mut cx.out, name, &value)?;
    }
    cx.out.line("")?;
    if shown.problems.is_empty() {
        frame::text(&mut cx.out, &sanitize::line(&one.what), "")?;
    }
    problems(&shown.problems, cx)?;
    match &shown.text {
        Some(text) => frame::titled(&mut cx.out, "the file", text)?,
        None if one.file.is_some() => cx.out.line("\n(it can't be shown: it is no text, or no file)")?,
        None => cx.out.line("\n(it was taken away)")?,
    }
    let seq = one.seq;
    cx.out.flush()?;
    cx.out.note(&format!(
        "mend and send it: `mailbag rejected retry {seq} FILE`; as it stands: `mailbag rejected retry {seq}`; \
         away with it: `mailbag rejected drop {seq}`"
    ));
    Ok(Exit::Ok)
}

fn problems(problems: &[Problem], cx: &mut Context) -> Result<()> {
    for problem in problems {
        let text = problem.to_string();
        let code = cx.out.paint(RED, &problem.code);
        cx.out.line(format!("{code}  {}", sanitize::line(&text)))?;
        if let Some(example) = &problem.example {
            cx.out.line(format!("  for example: {}", sanitize::line(&example.to_string())))?;
        }
    }
    Ok(())
}

fn retry(which: &Which, mended: Option<PathBuf>, cx: &mut Context) -> Result<Exit> {
    let retried = rejected::retry(&cx.room()?, which, mended.as_deref())?;
    if !retried.is_empty() {
        let names: Vec<String> = retried.iter().map(|one| one.file.display().to_string()).collect();
        cx.out.did(
            format!("put back as {}", names.join(", ")),
            "don't retry it; `mailbag status` and `mailbag rejected` show what became of it",
        );
    }
    let exit = match () {
        () if retried.iter().any(|one| one.became == Some(Event::Rejected)) => Exit::BadData,
        () if retried.iter().any(|one| one.became.is_none()) => Exit::TryAgain,
        () => Exit::Ok,
    };
    if cx.out.json {
        cx.out.json(&retried)?;
        return Ok(exit);
    }
    if retried.is_empty() {
        cx.out.note("no refused file stands there");
    }
    for one in &retried {
        cx.out.line(sanitize::line(&became(one)))?;
        if one.became == Some(Event::Rejected) {
            problems(&one.problems, cx)?;
        }
    }
    Ok(exit)
}

fn became(one: &Retried) -> String {
    let head = format!("{} of {}", one.seq, one.agent);
    let record = one.record.unwrap_or_default();
    match one.became {
        Some(Event::Accepted) if one.recipients.is_empty() => format!("{head}: accepted as {record}, for nobody"),
        Some(Event::Accepted) => format!("{head}: accepted as {record}, for {}", one.recipients.join(", ")),
        Some(Event::Rejected) => format!("{head}: refused again, as {record}: `mailbag rejected show {record}`"),
        Some(_) => format!("{head}: it had been accepted before, and is not delivered again"),
        None => format!("{head}: waits in {}; `mailbag status` says why", one.file.display()),
    }
}

fn drop_all(which: &Which, yes: bool, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    let meant = rejected::list(&room, which)?;
    if !yes && !meant.is_empty() && !confirmed(&meant, cx)? {
        cx.out.note("nothing was removed");
        return Ok(Exit::Ok);
    }
    rejected::remove_all(&room, &meant)?;
    if cx.out.json {
        cx.out.json(&meant)?;
        return Ok(Exit::Ok);
    }
    match meant.len() {
        0 => cx.out.note("no refused file stands there"),
        1 => cx.out.done("removed 1 refused file")?,
        many => cx.out.done(format!("removed {many} refused files"))?,
    }
    Ok(Exit::Ok)
}

/// Asks the person; where there is none, nothing is removed unasked.
fn confirmed(meant: &[Rejected], cx: &mut Context) -> Result<bool> {
    if cx.out.json || !std::io::stdin().is_terminal() || !cx.out.is_terminal() {
        return Err(Error::Usage {
            what: "what is dropped can't be had back, and nobody is here to be asked".into(),
            cure: "add --yes".into(),
        });
    }
    table::print(&mut cx.out, &meant.iter().map(row).collect::<Vec<_>>())?;
    cx.out.line(format!(
        "remove {}? [y/N]",
        if meant.len() == 1 { "it".to_owned() } else { format!("all {}", meant.len()) }
    ))?;
    cx.out.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).doing("read", "standard input")?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
