//! `mailbag helper`

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::clients::bindings::{self, Language};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag helper python -o mailbag.py         then: import mailbag
  mailbag helper typescript -o mailbag.ts     then: import { send } from \"./mailbag.ts\"
  mailbag helper shell -o mailbag.sh          then: . ./mailbag.sh

One file, without dependencies, for agents that are programs: send, reply,
inbox, wait, ack, share_artifact, broadcast_to_role, request_from_role. It reads
and writes plain files and finds the room and the agent as this program does.
What it needs and how it is used stands at its top.";

/// Which language.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Which {
    /// Python 3.9 or later
    Python,
    /// TypeScript for Node 20 or later
    Typescript,
    /// Any POSIX shell, with coreutils
    Shell,
}

/// Write the helper for a language: functions to send and read mail
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which language
    language: Which,
    /// Where to write it; else to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let language = match args.language {
        Which::Python => Language::Python,
        Which::Typescript => Language::TypeScript,
        Which::Shell => Language::Shell,
    };
    let Some(file) = args.output else {
        cx.out.bytes(bindings::source(language).as_bytes())?;
        return Ok(Exit::Ok);
    };
    bindings::write(language, &file)?;
    cx.out.line(sanitize::line(&file.display().to_string()))?;
    Ok(Exit::Ok)
}
