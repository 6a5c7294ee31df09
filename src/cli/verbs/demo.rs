//! `mailbag demo`

use super::inbox;
use crate::base::error::{Doing, Result};
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::output::{BOLD, DIM};
use crate::commands::demo::{self, Demo};
use serde_json::{Value, json};

const EXAMPLES: &str = "\
Examples:
  mailbag demo
  mailbag demo --keep        then look around in the directory that it names";

/// Show everything once, in a room to throw away
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Keep the room
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let place = std::env::temp_dir();
    let temporary = tempfile::Builder::new().prefix("mailbag-demo-").tempdir_in(&place);
    let mut temporary = temporary.doing("make a directory in", &place)?;
    temporary.disable_cleanup(args.keep);
    let demo = demo::demo(temporary.path())?;
    let path = temporary.path().display().to_string();
    if cx.out.json {
        cx.out.json(&json!({"room": path, "kept": args.keep, "demo": demo}))?;
    } else {
        show(&demo, cx)?;
        cx.out.flush()?;
        cx.out.note(&match args.keep {
            true => format!("\nkept: {path}; try `mailbag status --room {path}`"),
            false => "\nthe room was removed; --keep keeps it".to_owned(),
        });
    }
    Ok(Exit::Ok)
}

fn show(demo: &Demo, cx: &mut Context) -> Result<()> {
    title("Five agents, and what they wrote", cx)?;
    for step in &demo.steps {
        let shows = cx.out.paint(DIM, &format!("# {}", step.shows));
        cx.out.line(format!("  {shows}"))?;
        cx.out.line(format!("  {}", sanitize::line(&step.command)))?;
    }
    cx.out.line("")?;
    title("The room afterwards", cx)?;
    for line in &demo.tree {
        cx.out.line(format!("  {}", sanitize::line(line)))?;
    }
    cx.out.line("")?;
    title("What each got", cx)?;
    for got in &demo.inboxes {
        let count = if got.mail.is_empty() { "nothing".to_owned() } else { got.mail.len().to_string() };
        cx.out.line(format!("  {}: {count}", got.agent))?;
        for mail in &got.mail {
            let about = mail.subject.as_ref().or(mail.preview.as_ref()).map(String::as_str).unwrap_or_default();
            let (from, kind, about) = (sanitize::line(&mail.from), sanitize::line(&mail.kind), sanitize::line(about));
            let at = inbox::to_the_second(&mail.accepted_at);
            cx.out.line(format!("    {at}  {from}  {kind}  {about}"))?;
            // What the router writes back is worth reading whole.
            let body = mail.content.get("body").and_then(Value::as_str).filter(|_| mail.kind == "error");
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
