//! `mailbag demo`: sends messages in a temporary room and shows what arrives.

use crate::base::error::{Doing, Result};
use crate::base::sanitize;
use crate::base::text::count_of;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::output::{BOLD, DIM};
use crate::commands::demo::{self, Demo};
use crate::query::view::View;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  mailbag demo
  mailbag demo --keep   # keep the room and print its path";

/// Run a demonstration in a temporary room
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// No removal of the room at the end
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let place = std::env::temp_dir();
    let temporary = tempfile::Builder::new().prefix("mailbag-demo-").tempdir_in(&place);
    let mut temporary = temporary.doing("create a directory in", &place)?;
    temporary.disable_cleanup(args.keep);
    let demo = demo::demo(temporary.path())?;
    let path = temporary.path().display().to_string();
    if cx.out.json {
        cx.out.json(&json!({"room": path, "kept": args.keep, "demo": demo}))?;
    } else {
        show(&demo, cx)?;
        cx.out.flush()?;
        cx.out.note(&match args.keep {
            true => format!("\nkept {path}; try `mailbag status --room {path}`"),
            false => "\nremoved the room; --keep keeps it".to_owned(),
        });
    }
    Ok(Exit::Ok)
}

fn show(demo: &Demo, cx: &mut Context) -> Result<()> {
    title("Five agents and the messages that they send", cx)?;
    for step in &demo.steps {
        let shows = cx.out.paint(DIM, &format!("# {}", step.shows));
        cx.out.line(format!("  {shows}"))?;
        cx.out.line(format!("  {}", sanitize::line(&step.command)))?;
    }
    cx.out.line("")?;
    title("The files of the room afterwards", cx)?;
    for line in &demo.tree {
        cx.out.line(format!("  {}", sanitize::line(line)))?;
    }
    cx.out.line("")?;
    title("The inboxes", cx)?;
    for got in &demo.inboxes {
        cx.out.line(format!("  {}: {}", got.agent, count_of(got.mail.len(), "message")))?;
        for mail in &got.mail {
            let view = View::from(mail);
            let about = view.about();
            let (from, kind, about) = (sanitize::line(view.from), sanitize::line(view.kind), sanitize::line(&about));
            cx.out.line(format!("    {}  {from}  {kind}  {about}", view.time()))?;
            // A bounce of the router explains the rejection, so it is shown whole.
            let body = view.body.filter(|_| view.kind == "error");
            for line in body.unwrap_or_default().lines() {
                cx.out.line(format!("      {}", sanitize::line(line)))?;
            }
        }
    }
    Ok(())
}

fn title(text: &str, cx: &mut Context) -> Result<()> {
    let text = cx.out.paint(BOLD, text);
    cx.out.line(text)
}
