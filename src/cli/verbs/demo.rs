//! `mailbag demo`: sends messages in a temporary room and shows what arrives.

use crate::base::error::{ErrorContext, Result};
use crate::base::sanitize;
use crate::base::text::count_of;
use crate::cli::context::CommandContext;
use crate::cli::show::output::{BOLD, CommandOutput, DIM};
use crate::commands::demo::{self, DemoResult};
use crate::query::view::MessageView;
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  mailbag demo
  mailbag demo --keep   # keep the room and print its path";

/// Run a demonstration in a temporary room
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, hide = true)]
pub(crate) struct Args {
    /// No removal of the room at the end
    #[arg(long)]
    keep: bool,
}

/// The result of the demo.
#[derive(Serialize)]
pub(super) struct DemoOutput<'a> {
    /// The directory of the room.
    room: &'a str,
    /// Whether the room still exists.
    kept: bool,
    /// The steps and their result.
    demo: &'a DemoResult,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let place = std::env::temp_dir();
    let temporary = tempfile::Builder::new()
        .prefix("mailbag-demo-")
        .tempdir_in(&place);
    let mut temporary = temporary.doing("create a directory in", &place)?;
    temporary.disable_cleanup(args.keep);
    let demo = demo::demo(temporary.path())?;
    let path = temporary.path().display().to_string();
    cx.out.show(
        &DemoOutput {
            room: &path,
            kept: args.keep,
            demo: &demo,
        },
        |out| {
            show(&demo, out)?;
            out.flush()?;
            out.note(&if args.keep {
                format!("\nkept {path}; try `mailbag status --room {path}`")
            } else {
                "\nremoved the room; --keep keeps it".to_owned()
            });
            Ok(())
        },
    )
}

fn show(demo: &DemoResult, out: &mut CommandOutput) -> Result<()> {
    title("Five agents and the messages that they send", out)?;
    for step in &demo.steps {
        let explanation = out.paint(DIM, &format!("# {}", step.explanation));
        out.line(format!("  {explanation}"))?;
        out.line(format!("  {}", sanitize::line(&step.command)))?;
    }
    out.line("")?;
    title("The files of the room afterwards", out)?;
    for line in &demo.tree {
        out.line(format!("  {}", sanitize::line(line)))?;
    }
    out.line("")?;
    title("The inboxes", out)?;
    for got in &demo.inboxes {
        out.line(format!(
            "  {}: {}",
            got.agent,
            count_of(got.mail.len(), "message")
        ))?;
        for mail in &got.mail {
            let view = MessageView::from(mail);
            let about = view.about();
            let (from, kind, about) = (
                sanitize::line(view.from),
                sanitize::line(view.kind),
                sanitize::line(&about),
            );
            let time = out.time(view.accepted_at);
            out.line(format!("    {time}  {from}  {kind}  {about}"))?;
            // A bounce of the router explains the rejection, so it is shown whole.
            if view.kind == "error" {
                for line in view.body.unwrap_or_default().lines() {
                    out.line(format!("      {}", sanitize::line(line)))?;
                }
            }
        }
    }
    Ok(())
}

fn title(text: &str, out: &mut CommandOutput) -> Result<()> {
    let text = out.paint(BOLD, text);
    out.line(text)
}
