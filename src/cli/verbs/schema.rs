//! `mailbag schema`

use crate::base::error::{Error, Result, nearest};
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::message::schema::{self, OUTPUTS};

const EXAMPLES: &str = "\
Examples:
  mailbag schema
  mailbag schema registry > registry.schema.json
  mailbag schema --output status
  mailbag schema --output agent list
  mailbag schema --list

With --output, of what a command prints with --json. Where that is a line for
each thing (log, follow, watch, channel show), the schema is that of a line;
`error` is what any command says on standard error. Within a version, the number
at the end of \"$id\", fields are only added.";

/// Which schema.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Which {
    /// Of a message
    Message,
    /// Of registry.json
    Registry,
}

/// Print the JSON Schema of a message, of the registry or of a command's output
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which one
    #[arg(default_value = "message")]
    which: Which,
    /// Of what this command prints with --json
    #[arg(long, value_name = "COMMAND", num_args = 1..=2, conflicts_with_all = ["which", "list"])]
    output: Option<Vec<String>>,
    /// The commands that have one
    #[arg(long, conflicts_with = "which")]
    list: bool,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    if args.list {
        OUTPUTS.iter().try_for_each(|(name, _)| cx.out.line(name))?;
        return Ok(Exit::Ok);
    }
    let text = match (&args.output, args.which) {
        (Some(command), _) => of_output(&command.join(" "))?,
        (None, Which::Message) => schema::message_schema(),
        (None, Which::Registry) => schema::registry_schema(),
    };
    cx.out.line(text.trim_end())?;
    Ok(Exit::Ok)
}

fn of_output(command: &str) -> Result<&'static str> {
    schema::output(command).ok_or_else(|| {
        let near = nearest(command, OUTPUTS.iter().map(|(name, _)| *name));
        let cure = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(", ")) };
        let what = format!("no command `{command}` has an output with a schema");
        Error::NotFound { what, cure: format!("{cure}`mailbag schema --list` shows all") }
    })
}
