//! `mailbag read`: shows messages and marks them as read.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::base::text::to_the_second;
use crate::cli::Exit;
use crate::cli::context::{Context, Identity};
use crate::cli::show::frame;
use crate::cli::show::output::DIM;
use crate::commands::read::{self, Wanted};
use crate::message::{FIELDS, unknown};
use crate::query::inbox::Mail;
use serde_json::{Map, Value};

const EXAMPLES: &str = "\
Examples:
  mailbag read --as bob             # the oldest unread message
  mailbag read 42 0192f3 --as bob   # by number, by the beginning of an id
  mailbag read --all --json         # all unread messages

The messages move to inbox/AGENT/seen/ after the output is written. If writing the
output fails, nothing moves. You can read a message again by its number or id, also
after it is archived. In a shell, write '#12' or 12: an unquoted # starts a comment.";

/// Show messages and mark them as read
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Message, as #12, 12, ID or SENDER/ID; default: the oldest unread
    #[arg(value_name = "ID", conflicts_with = "all")]
    ids: Vec<String>,
    /// All unread messages
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    identity: Identity,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    let agent = args.identity.mailbox(cx, &room)?;
    cx.route(&room);
    let wanted = match (args.all, args.ids.is_empty()) {
        (true, _) => Wanted::All,
        (false, true) => Wanted::Oldest,
        (false, false) => Wanted::Named(args.ids),
    };
    let found = read::find(&room, &agent, &wanted)?;
    if found.shown_elsewhere && found.mails.is_empty() && !cx.out.json {
        cx.out.note(&format!("another process is reading the unread messages of {agent}"));
        return Ok(Exit::Ok);
    }
    print(&agent, &found.mails, cx)?;
    read::mark_seen(&room, &agent, &found.mails)?;
    Ok(Exit::Ok)
}

/// Shows messages, as JSON where that is asked for, and hands them on.
pub(crate) fn print(agent: &str, mails: &[Mail], cx: &mut Context) -> Result<()> {
    if cx.out.json {
        cx.out.json(&mails.iter().map(|mail| &mail.content).collect::<Vec<_>>())?;
    } else if mails.is_empty() {
        cx.out.note(&format!("{agent} has no unread messages"));
    } else {
        show_each(mails, cx)?;
    }
    cx.out.flush()
}

/// Messages as letters, with a rule between them.
pub(crate) fn show_each(mails: &[Mail], cx: &mut Context) -> Result<()> {
    for (n, mail) in mails.iter().enumerate() {
        if n > 0 {
            let rule = cx.out.paint(DIM, &"-".repeat(72));
            cx.out.line(rule)?;
        }
        show(mail, cx)?;
    }
    Ok(())
}

/// A message as a letter: what is known about it, line by line, and then what its sender wrote, further in.
fn show(mail: &Mail, cx: &mut Context) -> Result<()> {
    let Some(content) = mail.content.as_object().filter(|_| mail.problem.is_none()) else {
        let problem = mail.problem.as_deref().unwrap_or_default();
        frame::fact(&mut cx.out, &sanitize::line(&mail.file.to_string_lossy()), problem)?;
        return frame::text(&mut cx.out, mail.content.as_str().unwrap_or_default(), frame::INDENT);
    };
    for (name, value) in facts(mail, content) {
        frame::fact(&mut cx.out, name, &value)?;
    }
    if let Some(body) = content.get("body").and_then(Value::as_str) {
        cx.out.line("")?;
        frame::text(&mut cx.out, body, frame::INDENT)?;
    }
    for attachment in content.get("attachments").and_then(Value::as_array).into_iter().flatten() {
        if let (Some(name), Some(content)) = (attachment.get("name"), attachment.get("content").and_then(Value::as_str))
        {
            frame::titled(&mut cx.out, name.as_str().unwrap_or_default(), content)?;
        }
    }
    Ok(())
}

/// Each with a name that the protocol knows: one that a sender chose could be that of another fact.
fn facts(mail: &Mail, content: &Map<String, Value>) -> Vec<(&'static str, String)> {
    const ELSEWHERE: [&str; 7] = ["id", "from", "to", "type", "subject", "body", "timestamp"];
    let via = content.get("delivery").and_then(|delivery| delivery.get("via")).and_then(Value::as_str);
    let to = content.get("addressed_to").or_else(|| content.get("to")).map(text).unwrap_or_default();
    let to = via.filter(|via| *via != "direct").map(|via| format!("{to} (via {via})")).unwrap_or(to);
    let seq = mail.seq.map(|seq| format!(" (#{seq})")).unwrap_or_default();
    let mut facts = vec![
        ("from", mail.from.clone()),
        ("to", to),
        ("at", to_the_second(&mail.accepted_at)),
        ("id", format!("{}{seq}", mail.id)),
        ("type", mail.kind.clone()),
    ];
    facts.extend(mail.subject.clone().map(|subject| ("subject", subject)));
    for name in FIELDS.iter().filter(|name| !ELSEWHERE.contains(name)) {
        facts.extend(content.get(*name).map(|value| match value {
            Value::Array(items) if *name == "attachments" => {
                (*name, items.iter().map(attachment).collect::<Vec<_>>().join(", "))
            }
            _ => (*name, text(value)),
        }));
    }
    facts.extend(unknown(content).map(|own| ("fields", own.to_string())));
    facts
}

fn attachment(item: &Value) -> String {
    item.get("path").or_else(|| item.get("name")).map(text).unwrap_or_default()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().map(text).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
