//! `mailbag check`

use super::send;
use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::output::{BOLD, RED};
use crate::commands::check::{self, Checked, Input};

const EXAMPLES: &str = "\
Examples:
  mailbag check message.json
  mailbag check 'drafts/*.json' --as alice       recipients are looked up, too
  mailbag check turn.ndjson --as alice           each line of it
  echo '{\"to\": \"bob\"}' | mailbag check -

Exit status 65 if anything would be refused.";

/// Check messages without sending them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files, quoted patterns, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Who would send them; then the recipients are resolved as well, if there is a room
    #[arg(long = "as", value_name = "AGENT")]
    sender: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = match cx.room() {
        Ok(room) => Some(room),
        // Without a room the message itself can still be checked; a room that was named must be there.
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
    let checked = check::check(inputs, room.as_ref(), args.sender.as_deref())?;
    let exit = if checked.iter().all(|checked| checked.ok) { Exit::Ok } else { Exit::BadData };
    if cx.out.json {
        cx.out.json(&checked)?;
        return Ok(exit);
    }
    checked.iter().try_for_each(|checked| show(checked, cx))?;
    if room.is_none() && args.sender.is_some() {
        cx.out.note("there is no room here, so the recipients were not looked up");
    }
    Ok(exit)
}

fn show(checked: &Checked, cx: &mut Context) -> Result<()> {
    let line = checked.line.map(|line| format!(" line {line}")).unwrap_or_default();
    let file = cx.out.paint(BOLD, &format!("{}{line}", checked.file));
    if checked.ok {
        let to = checked.recipients.as_ref().map(|recipients| {
            let names: Vec<&str> = recipients.iter().map(|recipient| &*recipient.agent).collect();
            format!(", to {}", if names.is_empty() { "nobody".into() } else { names.join(", ") })
        });
        return cx.out.line(format!("{file}: fine{}", to.unwrap_or_default()));
    }
    let word = cx.out.paint(RED, "refused");
    cx.out.line(format!("{file}: {word}"))?;
    for problem in &checked.problems {
        cx.out.line(format!("  {}", sanitize::line(&problem.to_string())))?;
        if let Some(example) = &problem.example {
            cx.out.line(format!("    for example {}", sanitize::line(&example.to_string())))?;
        }
    }
    Ok(())
}
