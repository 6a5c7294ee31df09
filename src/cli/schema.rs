//! `mailbag schema`

use super::Exit;
use super::context::Context;
use crate::error::Result;
use crate::schema;

/// Which schema.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Which {
    /// Of a message
    Message,
    /// Of registry.json
    Registry,
}

/// Print the JSON Schema of a message or of the registry
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  mailbag schema\n  mailbag schema registry > registry.schema.json")]
pub(super) struct Args {
    /// Which one
    #[arg(default_value = "message")]
    which: Which,
}

pub(super) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let text = match args.which {
        Which::Message => schema::message_schema(),
        Which::Registry => schema::registry_schema(),
    };
    cx.out.line(text.trim_end())?;
    Ok(Exit::Ok)
}
