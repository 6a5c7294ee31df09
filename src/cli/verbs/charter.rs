//! `mailbag charter`: shows the room's charter, or writes a template.

use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::CommandContext;
use crate::cli::show::frame;
use crate::cli::show::output::CommandOutput;
use crate::commands::charter;
use crate::query::charter::{self as query, RoomCharter};
use crate::room::charter::Lane;

const EXAMPLES: &str = "\
Examples:
  mailbag charter init
  mailbag charter
  mailbag send lane:web 'The form is broken'   # reaches the owners of the lane web

The charter is charter.md in the room. Exit status 65 means that it has mistakes;
what can be read counts all the same.";

const INIT_HELP: &str = "\
Example:
  mailbag charter init

The template has no goals and no lanes until you write them. An existing charter
is not changed.";

/// Show the room's goals and lanes, or write a template
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<CharterCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum CharterCommand {
    /// Write a template of charter.md
    #[command(after_help = INIT_HELP)]
    Init,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    let room = cx.room()?;
    if let Some(CharterCommand::Init) = args.verb {
        let written = charter::init(&room)?;
        cx.out.changed();
        cx.out.show(&written, |out| {
            out.done(format!(
                "wrote {}: complete it in an editor",
                written.path.display()
            ))
        })?;
        return Ok(Exit::Ok);
    }
    let found = query::charter(&room)?;
    cx.out.show(&found, |out| show(out, &found))?;
    Ok(if found.charter.problems.is_empty() {
        Exit::Ok
    } else {
        Exit::BadData
    })
}

/// The words of the charter are indented, because every agent can write them.
fn show(out: &mut CommandOutput, found: &RoomCharter) -> Result<()> {
    let charter = &found.charter;
    frame::fact(out, "charter", &found.path.to_string_lossy())?;
    let settings = charter
        .settings
        .iter()
        .map(|one| format!("{}: {}", one.name, one.value));
    for (title, lines) in [
        ("goals", charter.goals.clone()),
        ("lanes", charter.lanes.iter().map(lane).collect()),
        ("acceptance criteria", charter.criteria.clone()),
        ("settings", settings.collect()),
        (
            "problems",
            charter.problems.iter().map(ToString::to_string).collect(),
        ),
    ] {
        if !lines.is_empty() {
            frame::fact(out, title, &lines.len().to_string())?;
            lines
                .iter()
                .try_for_each(|line| frame::text(out, line, frame::INDENT))?;
        }
    }
    Ok(())
}

fn lane(lane: &Lane) -> String {
    let paths = if lane.paths.is_empty() {
        String::new()
    } else {
        format!(" ({})", lane.paths.join(", "))
    };
    format!("{}: {}{paths}", lane.name, lane.owners.join(", "))
}
