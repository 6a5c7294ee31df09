//! `mailbag share`

use super::send;
use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::commands::send as sending;
use crate::commands::share::{Wish, share};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag share notes.md --category research --as alice
  mailbag share plan.md --category decisions --to bob --to all_engineers
  mailbag share trace.bin --category logs --note 'the crash of this morning'

The file is copied whole into context/CATEGORY/ of the room, and an
announcement with its path and its SHA-256 goes to all, or to whom --to names.
Another file of that name is never replaced: the copy gets a number, and you
are told. The same content under the same name stays as it is.

The path and the id of the announcement are printed.";

/// Put a file where all find it, and announce it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file: a regular one, of any size
    file: PathBuf,
    /// The directory of the context that it goes to, such as research
    #[arg(long, value_name = "NAME")]
    category: String,
    /// Who is told; may be repeated; else all
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    to: Vec<String>,
    /// A word about it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// What kind of file it is, where its name doesn't tell
    #[arg(long, value_name = "TYPE")]
    media_type: Option<String>,
    /// Who shares it; else MAILBAG_AGENT, else MAOS_AGENT_ID, else, at a terminal, the human
    #[arg(long = "as", value_name = "AGENT")]
    sender: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let who = cx.who(args.sender.as_deref())?;
    let room = cx.room()?;
    let Args { file, category, to, note, media_type, .. } = args;
    let (artifact, sent) = share(&room, &who, Wish { file, category, to, note, media_type })?;
    cx.out.did(format!("{} is shared, and {}", artifact.file.display(), sent.stands()), "don't share it again");
    if artifact.renamed {
        cx.out.note(&format!("another file has that name; this one is kept as {}", artifact.path));
    } else if artifact.already {
        cx.out.note("the same file stands there already; it was announced again");
    }
    if !cx.out.json {
        cx.out.line(sanitize::line(&artifact.file.display().to_string()))?;
        cx.out.line(&sent.id)?;
        cx.out.flush()?;
    }
    let routed = sending::route(&room);
    if cx.out.json {
        let mut shown = json!(artifact);
        shown["id"] = json!(sent.id);
        shown["recipients"] = json!(sent.recipients);
        cx.out.json(&shown)?;
    }
    send::after(&room, &sent, routed, cx)
}
