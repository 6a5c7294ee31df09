//! `mailbag generate helper`: writes the helper library for a language.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::context::CommandContext;
use crate::clients::bindings::{self, HelperLanguage};
use clap::builder::PossibleValue;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag generate helper python -o mailbag.py       # import mailbag
  mailbag generate helper typescript -o mailbag.ts   # import { send } from \"./mailbag.ts\"
  mailbag generate helper shell -o mailbag.sh        # . ./mailbag.sh

The helper is one file without dependencies, for agents that are programs. Its
functions: send, reply, inbox, wait, ack, share_artifact, broadcast_to_role,
request_from_role. It reads and writes plain files. The comment at its top says
how to use it.";

impl clap::ValueEnum for HelperLanguage {
    fn value_variants<'a>() -> &'a [HelperLanguage] {
        &[
            HelperLanguage::Python,
            HelperLanguage::TypeScript,
            HelperLanguage::Shell,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            HelperLanguage::Python => PossibleValue::new("python").help("Python 3.9 or later"),
            HelperLanguage::TypeScript => {
                PossibleValue::new("typescript").help("TypeScript for Node 20 or later")
            }
            HelperLanguage::Shell => {
                PossibleValue::new("shell").help("Any POSIX shell, with coreutils")
            }
        })
    }
}

/// Write a helper library for a programming language
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Language
    language: HelperLanguage,
    /// Output file; default: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let language = args.language;
    let Some(file) = args.output else {
        cx.out.bytes(bindings::source(language).as_bytes())?;
        return Ok(());
    };
    bindings::write(language, &file)?;
    cx.out.line(sanitize::line(&file.display().to_string()))
}
