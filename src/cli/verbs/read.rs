//! `mailbag read`: shows messages and marks them as read.

use crate::base::error::Result;
use crate::base::text::{count_of, joined};
use crate::base::{limits, sanitize};
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::cli::show::frame;
use crate::cli::show::output::{CommandOutput, DIM};
use crate::commands::read::{self, ReadSelection};
use crate::message::DECISION;
use crate::query::inbox::{self, InboxMessage};
use crate::query::view::{Attachment, InvalidFile, MessageView, plain};
use crate::room::Room;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  mailbag read --as bob               # the oldest unread message
  mailbag read 42 0192f3ab --as bob   # by number, by 8 characters of an id
  mailbag read --all --json           # all unread messages

In a pipe, --all shows at most 16,000 characters, and leaves the others unread;
--max-chars 0 shows all.
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
    /// Most characters for --all, 0 for no limit; default: 16000 in a pipe, no limit on a terminal
    #[arg(long, value_name = "N", requires = "all")]
    max_chars: Option<usize>,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Complete)?;
    let agent = args.identity.mailbox(cx, &room)?;
    let wanted = match (args.all, args.ids.is_empty()) {
        (true, _) => ReadSelection::All,
        (false, true) => ReadSelection::Oldest,
        (false, false) => ReadSelection::Named(args.ids),
    };
    let is_next = matches!(wanted, ReadSelection::Oldest);
    let mut found = read::find(&room, &agent, &wanted)?;
    if found.shown_elsewhere && found.mails.is_empty() && !cx.out.json {
        cx.out.note(&format!(
            "another process is reading the unread messages of {agent}"
        ));
        return Ok(());
    }
    let usual = if cx.out.is_terminal() {
        0
    } else {
        limits::BODIES_SHOWN
    };
    let left = match args.max_chars.unwrap_or(usual) {
        most if args.all && most > 0 => limit_text(&mut found.mails, most),
        _ => 0,
    };
    let none = if found.mails.is_empty() {
        format!("{agent} has {}", inbox::nothing_unread(&room, &agent)?)
    } else {
        String::new()
    };
    print(&none, &found.mails, cx)?;
    read::mark_seen(&room, &agent, &found.mails)?;
    if left > 0 {
        let left = count_of(left, "unread message");
        cx.out
            .note(&format!("{left} left; run `mailbag read --all` again"));
    } else if is_next && !cx.out.json {
        note_others(&room, &agent, cx)?;
    }
    Ok(())
}

/// Reports the number of messages that are still unread.
fn note_others(room: &Room, agent: &str, cx: &CommandContext) -> Result<()> {
    let left = inbox::names(room, agent)?.len();
    if left > 0 {
        let left = count_of(left, "unread message");
        cx.out.note(&format!(
            "{left} left; `mailbag read` shows the next one, `mailbag inbox` lists them"
        ));
    }
    Ok(())
}

/// Keeps the messages that fit into `most` bytes of JSON, at least one. Returns the number of the others.
fn limit_text(mails: &mut Vec<InboxMessage>, most: usize) -> usize {
    let lengths = mails.iter().map(|mail| mail.content.to_string().len());
    let fits = read::count_fitting(lengths, most);
    let left = mails.len() - fits;
    mails.truncate(fits);
    left
}

/// Prints messages, or the note `none`, and flushes the output.
pub(crate) fn print(none: &str, mails: &[InboxMessage], cx: &mut CommandContext) -> Result<()> {
    cx.out.show(
        &json!({ "messages": mails.iter().map(InboxMessage::whole).collect::<Vec<_>>() }),
        |out| {
            if mails.is_empty() {
                out.note(none);
            }
            show_each(mails, out)
        },
    )?;
    cx.out.flush()
}

/// Messages as letters, with a rule between them.
pub(crate) fn show_each(mails: &[InboxMessage], out: &mut CommandOutput) -> Result<()> {
    for (n, mail) in mails.iter().enumerate() {
        if n > 0 {
            let rule = out.paint(DIM, &"-".repeat(72));
            out.line(rule)?;
        }
        show(mail, out)?;
    }
    Ok(())
}

/// A message as a letter: its facts line by line, then the text of its sender, indented.
fn show(mail: &InboxMessage, out: &mut CommandOutput) -> Result<()> {
    let view = MessageView::from(mail);
    if let Some(InvalidFile {
        file,
        problem,
        text,
    }) = view.invalid
    {
        frame::fact(out, &sanitize::line(&file.to_string_lossy()), problem)?;
        return frame::text(out, text, frame::INDENT);
    }
    for (name, value) in facts(&view, out) {
        frame::fact(out, name, &value)?;
    }
    if let Some(body) = view.body {
        out.line("")?;
        frame::text(out, body, frame::INDENT)?;
    }
    for attachment in view.attachments() {
        if let Attachment::Text(name, content) = attachment {
            frame::titled(out, name, content)?;
        }
    }
    Ok(())
}

fn facts(view: &MessageView<'_>, out: &CommandOutput) -> Vec<(&'static str, String)> {
    let via = view
        .via()
        .filter(|via| *via != "direct")
        .map(|via| format!(" (via {via})"))
        .unwrap_or_default();
    let seq = view.seq.map(|seq| format!(" (#{seq})")).unwrap_or_default();
    let time = out.time(view.accepted_at);
    let mut facts = vec![
        ("from", view.from.to_owned()),
        ("to", format!("{}{via}", view.addressed.join(", "))),
        (
            "at",
            view.age()
                .map_or_else(|| time.clone(), |age| format!("{time} ({age})")),
        ),
        ("id", format!("{}{seq}", view.id)),
        ("type", view.kind.to_owned()),
    ];
    facts.extend(view.change.as_ref().map(|change| {
        (
            if view.kind == DECISION {
                DECISION
            } else {
                "claim"
            },
            change.to_string(),
        )
    }));
    facts.extend(view.closed.map(|closed| ("closed", closed.to_owned())));
    facts.extend(view.subject.map(|subject| ("subject", subject.to_owned())));
    facts.extend(view.facts().into_iter().map(|(name, value)| match name {
        "attachments" => (name, joined(view.attachments().map(Attachment::name))),
        _ => (name, plain(&value)),
    }));
    facts
}
