//! `mailbag share`: copies a file into the shared context and announces it.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::context::{CommandContext, IdentityArgs};
use crate::commands::post::SendResult;
use crate::commands::share::{ShareRequest, SharedArtifact, share};
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag share notes.md --category research --as alice
  mailbag share plan.md --category decisions --to bob --to all_engineers
  mailbag share trace.bin --category logs --note 'the crash of this morning'

Copies the file to context/CATEGORY/ of the room, and sends an announcement with the
path and SHA-256 to all agents, or to the addresses of --to. An existing file is
never replaced: if it has other content, the copy gets a number.

The command prints the path and the id of the announcement.";

/// Copy a file into the shared context and announce it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Regular file of any size
    file: PathBuf,
    /// Directory below the context, such as research
    #[arg(long, value_name = "NAME")]
    category: String,
    /// Recipients of the announcement; repeatable; default: all
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    to: Vec<String>,
    /// Text of the announcement
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Media type; default: from the file name
    #[arg(long, value_name = "TYPE")]
    media_type: Option<String>,
    #[command(flatten)]
    identity: IdentityArgs,
}

/// A file that was shared, and the message that announces it.
#[derive(Serialize)]
pub(super) struct ShareOutput {
    #[serde(flatten)]
    artifact: SharedArtifact,
    /// The announcement.
    message: SendResult,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let who = args.identity.who(cx)?;
    let room = cx.room()?;
    let Args {
        file,
        category,
        to,
        note,
        media_type,
        ..
    } = args;
    let (artifact, sent) = share(
        &room,
        &who,
        ShareRequest {
            file,
            category,
            to,
            paths_from_here: true,
            note,
            media_type,
        },
    )?;
    cx.out.did(
        format!(
            "{} is shared, and {}",
            artifact.file.display(),
            sent.written()
        ),
        "do not share it again",
    );
    if artifact.already_shared {
        cx.out.note(&format!(
            "the context already has this file as {}; announced it again",
            artifact.path
        ));
    } else if artifact.renamed {
        cx.out.note(&format!(
            "another file has this name; the copy is {}",
            artifact.path
        ));
    }
    cx.out.ahead(|out| {
        out.line(sanitize::line(&artifact.file.display().to_string()))?;
        out.line(&sent.id)
    })?;
    let message = cx.deliver(&room, sent)?;
    cx.out.show(&ShareOutput { artifact, message }, |_| Ok(()))
}
