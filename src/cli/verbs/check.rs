//! `mailbag check`: validates messages without sending them.

use super::send;
use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{Context, Identity};
use crate::cli::show::output::{BOLD, Output, RED};
use crate::commands::check::{self, Checked, Input};

const EXAMPLES: &str = "\
Examples:
  mailbag check message.json
  mailbag check 'drafts/*.json' --as alice   # resolve the recipients too
  mailbag check turn.ndjson --as alice       # one message per line
  echo '{\"to\": \"bob\"}' | mailbag check -

Exit status 65 means that a message would be rejected.";

/// Validate messages without sending them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("agent", |arg| arg.help("Sender; with it the recipients are resolved too")))]
pub(crate) struct Args {
    /// Files, quoted glob patterns, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    #[command(flatten)]
    identity: Identity,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = match cx.room() {
        Ok(room) => Some(room),
        // A message can be checked without a room. A room that --room names must exist.
        Err(Error::NotFound { .. }) if cx.asked().is_none() => None,
        Err(e) => return Err(e),
    };
    let mut inputs = Vec::new();
    for name in &args.files {
        match name.as_str() {
            "-" => inputs.push(Input::Bytes(send::stdin()?)),
            name => inputs.extend(check::expand(name)?.into_iter().map(Input::File)),
        }
    }
    let checked = check::check(inputs, room.as_ref(), args.identity.given())?;
    let exit = if checked.iter().all(|checked| checked.ok) {
        Exit::Ok
    } else {
        Exit::BadData
    };
    cx.out.list(checked.into_iter().map(Ok), "", show)?;
    if room.is_none() && args.identity.given().is_some() && !cx.out.json {
        cx.out
            .note("no room here: the recipients were not resolved");
    }
    Ok(exit)
}

fn show(out: &mut Output, checked: Checked) -> Result<()> {
    let line = checked
        .line
        .map(|line| format!(" line {line}"))
        .unwrap_or_default();
    let file = out.paint(BOLD, &format!("{}{line}", checked.file));
    if checked.ok {
        let to = checked.recipients.as_ref().map(|recipients| {
            let names: Vec<&str> = recipients
                .iter()
                .map(|recipient| &*recipient.agent)
                .collect();
            format!(
                ", to {}",
                if names.is_empty() {
                    "no recipients".into()
                } else {
                    names.join(", ")
                }
            )
        });
        out.line(format!("{file}: valid{}", to.unwrap_or_default()))?;
        let mut unreached = checked.unreached.iter();
        return unreached.try_for_each(|problem| {
            out.line(format!("  {}", sanitize::line(&problem.to_string())))
        });
    }
    let word = out.paint(RED, "rejected");
    out.line(format!("{file}: {word}"))?;
    for problem in &checked.problems {
        out.line(format!("  {}", sanitize::line(&problem.to_string())))?;
        if let Some(example) = &problem.example {
            out.line(format!(
                "    for example {}",
                sanitize::line(&example.to_string())
            ))?;
        }
    }
    Ok(())
}
