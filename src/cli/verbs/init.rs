//! `mailbag init`

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{Context, here};
use crate::commands::init::{self, Init};
use crate::disk::Readers;
use crate::room::Room;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag init                  a room in .mailbag
  mailbag init /srv/team        a room in that very directory
  mailbag init --group          a room that the directory's group may read
  mailbag init --adopt          a copied room here is a room of its own

A room that is there already is not changed, and no file that stands in the
directory is: a harness that made DIR/inbox and DIR/outbox makes DIR the room.";

/// Make a room
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The room's own directory; else .mailbag here, or beside the main files in a linked git worktree
    dir: Option<PathBuf>,
    /// Let the group of the directory read the room
    #[arg(long)]
    group: bool,
    /// Take a copied or restored room for a room of its own
    #[arg(long, conflicts_with = "group")]
    adopt: bool,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let readers = if args.group { Readers::Group } else { Readers::Owner };
    if args.adopt {
        return adopt(args.dir, cx);
    }
    let asked = args.dir.or_else(|| cx.asked());
    let (_, init) = init::init(asked.as_deref(), &here()?, readers)?;
    if cx.out.json {
        cx.out.json(&init)?;
        return Ok(Exit::Ok);
    }
    let place = init.room.display().to_string();
    let place = sanitize::line(&place);
    if !init.made {
        cx.out.done(format!("already there: {place}"))?;
        return Ok(Exit::Ok);
    }
    cx.out.done(format!("made the room {place}"))?;
    cx.out.flush()?;
    cx.out.note("next: `mailbag agent add alice bob`, then `mailbag send bob 'hello' --as alice`");
    Ok(Exit::Ok)
}

fn adopt(dir: Option<PathBuf>, cx: &mut Context) -> Result<Exit> {
    let room = match &dir {
        Some(dir) => Room::open(dir)?,
        None => cx.room()?,
    };
    room.adopt()?;
    let init = Init { room: room.dir.path().to_path_buf(), made: false };
    if cx.out.json {
        cx.out.json(&init)?;
        return Ok(Exit::Ok);
    }
    let place = init.room.display().to_string();
    cx.out.line(format!("adopted the room {}", sanitize::line(&place)))?;
    Ok(Exit::Ok)
}
