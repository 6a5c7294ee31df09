//! `mailbag init`: creates or adopts a room.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::context::{CommandContext, here};
use crate::commands::init::{self, InitReport};
use crate::room::{Room, RoomCreation};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  mailbag init             # create a room in .mailbag
  mailbag init /srv/team   # create a room in this directory itself
  mailbag init --adopt     # make a copied room independent of its original

An existing room and existing files in the directory are not changed: in a
directory with DIR/inbox and DIR/outbox, the room is DIR.";

/// Create a room
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Room directory; default: .mailbag here, or in the main worktree of a linked git worktree
    dir: Option<PathBuf>,
    /// Adoption of a copied or restored room, which gets its own identity
    #[arg(long)]
    adopt: bool,
}

impl Args {
    /// The directory of the room, if it is given.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.dir.as_deref()
    }
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    if args.adopt {
        return adopt(args.dir, cx);
    }
    let asked = args.dir.or_else(|| cx.asked());
    let (_, init) = init::init(asked.as_deref(), &here()?)?;
    cx.out.changed();
    cx.out.show(&init, |out| {
        let place = init.room.display().to_string();
        let place = sanitize::line(&place);
        let reason = format!("note: {}", init.reason);
        if !init.created {
            out.done(format!("already a room: {place}"))?;
            out.flush()?;
            out.note(&reason);
            return Ok(());
        }
        out.done(format!("created the room {place}"))?;
        out.flush()?;
        out.note(&reason);
        if let Some(warning) = &init.warning {
            out.warn(warning);
        }
        out.note("next: `mailbag agent add alice bob`, then `mailbag send bob 'hello' --as alice`");
        Ok(())
    })
}

fn adopt(dir: Option<PathBuf>, cx: &mut CommandContext) -> Result<()> {
    let room = match &dir {
        Some(dir) => Room::open(dir)?,
        None => cx.room()?,
    };
    room.adopt()?;
    cx.out.changed();
    let init = InitReport::describe(
        room.dir.path().to_path_buf(),
        RoomCreation::Already,
        &here()?,
    );
    let place = init.room.display().to_string();
    cx.out.show(&init, |out| {
        out.line(format!("adopted the room {}", sanitize::line(&place)))
    })
}
