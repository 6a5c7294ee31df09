//! `mailbag generate schema`: prints the schemas of a room's files.

use crate::base::error::Result;
use crate::cli::context::CommandContext;
use crate::message::dialects;
use crate::message::schema;
use std::borrow::Cow;

const EXAMPLES: &str = "\
Examples:
  mailbag generate schema
  mailbag generate schema registry > registry.schema.json
  mailbag generate schema dialects";

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
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let text: Cow<str> = match args.which {
        SchemaKind::Message => schema::message_schema().into(),
        SchemaKind::Registry => schema::registry_schema().into(),
        SchemaKind::Dialects => dialects::published().into(),
    };
    cx.out.line(text.trim_end())
}
