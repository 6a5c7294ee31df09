//! `mailbag generate schema`: prints JSON Schemas.

use crate::base::error::{Error, Result, did_you_mean};
use crate::cli::context::CommandContext;
use crate::message::dialects;
use crate::message::schema::{self, OUTPUTS};
use std::borrow::Cow;

const EXAMPLES: &str = "\
Examples:
  mailbag generate schema
  mailbag generate schema registry > registry.schema.json
  mailbag generate schema dialects
  mailbag generate schema --output status
  mailbag generate schema --output agent list
  mailbag generate schema --list

--output prints the schema of the --json output of a command. For log, log
events, list-follow, watch and channel show it is the schema of one line. `error` is the schema of the
error that any command prints to standard error. Within a version, which is the
number at the end of \"$id\", fields are only added.";

/// The schemas of the files of a room.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SchemaKind {
    /// Schema of a message
    Message,
    /// Schema of registry.json
    Registry,
    /// Table of the dialects of messages, in Markdown
    Dialects,
}

/// Print a JSON Schema
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Schema
    #[arg(default_value = "message")]
    which: SchemaKind,
    /// Schema of the --json output of this command
    #[arg(long, value_name = "COMMAND", num_args = 1..=2, conflicts_with_all = ["which", "list"])]
    output: Option<Vec<String>>,
    /// List of the commands that have a schema
    #[arg(long, conflicts_with = "which")]
    list: bool,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    if args.list {
        OUTPUTS.iter().try_for_each(|(name, _)| cx.out.line(name))?;
        return Ok(());
    }
    let text: Cow<str> = match (&args.output, args.which) {
        (Some(command), _) => of_output(&command.join(" "))?.into(),
        (None, SchemaKind::Message) => schema::message_schema().into(),
        (None, SchemaKind::Registry) => schema::registry_schema().into(),
        (None, SchemaKind::Dialects) => dialects::published().into(),
    };
    cx.out.line(text.trim_end())
}

fn of_output(command: &str) -> Result<&'static str> {
    schema::output(command).ok_or_else(|| {
        let all = "run `mailbag generate schema --list` to see all";
        let near = did_you_mean(command, OUTPUTS.iter().map(|(name, _)| *name));
        Error::not_found(
            format!("no schema for the output of `{command}`"),
            near.map_or_else(|| all.to_owned(), |near| format!("{near} {all}")),
        )
    })
}
