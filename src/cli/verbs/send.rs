//! `mailbag send`

use crate::base::error::{Doing, Error, Result};
use crate::base::limits;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::commands::send::{self, Draft, Sent};
use crate::query::identity::Who;
use crate::room::Room;
use crate::router::daemon::Passed;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag send bob 'the port is 8080' --as alice
  mailbag send bob carol 'both of you, please'   addresses first, the body last
  mailbag send all_engineers 'freeze at noon' --type announcement
  git diff | mailbag send bob - --subject 'please review'
  mailbag send bob --subject 'done' --attach report.md
  mailbag send bob carol '' --subject 'the build is green'

With two words or more, the last one is the body: - reads it from standard
input, '' is none, and one that begins with a dash goes behind --. A single
word is the address; the body is then read from standard input, unless
--subject or --attach is given.

Addresses: an id or display name, human, all, all_engineers, any_engineer,
'engineer_*', '#topic', cap:rust. `mailbag explain ADDRESS` shows who that is.

The message is safe in the outbox when this returns, whatever happens then.
Its id is printed.";

/// Write a message
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "mailbag send [OPTIONS] <ADDRESS>... [BODY|-]")]
pub(crate) struct Args {
    /// Addresses, then the body
    #[arg(required = true, value_name = "ADDRESS... BODY")]
    words: Vec<String>,
    /// Who sends it; else MAILBAG_AGENT, else MAOS_AGENT_ID, else, at a terminal, the human
    #[arg(long = "as", value_name = "AGENT")]
    sender: Option<String>,
    /// The conversation it belongs to
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Message it answers, as #12, 12, ID or SENDER/ID
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    #[command(flatten)]
    fields: Fields,
}

/// What may be said of a message beside whom it is for and what it answers.
#[derive(Debug, clap::Args)]
pub(crate) struct Fields {
    /// What it is about, in one line
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    /// Its type, such as question, task or x-mine; else message, or answer in reply to a question
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// low, normal, high or urgent
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<String>,
    /// You wait for an answer
    #[arg(long)]
    requires_response: bool,
    /// What its recipients are asked to do, in a word or a line
    #[arg(long, value_name = "TEXT")]
    action: Option<String>,
    /// Related message, as #12, 12, ID or SENDER/ID; may be repeated
    #[arg(long = "ref", value_name = "ID")]
    refs: Vec<String>,
    /// A file: named if it is below the room's context/, else copied in if it is a small text; may be repeated
    #[arg(long = "attach", value_name = "FILE")]
    attachments: Vec<PathBuf>,
    /// When it is of no use any more: 10m, 2h, 7d or an instant
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// The channel; else main
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Anything else, as text under a name of your own; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, String)>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let who = cx.who(args.sender.as_deref())?;
    let room = cx.room()?;
    send(&room, &who, draft(args)?, cx)
}

/// Sends a draft, says its id, and routes.
pub(crate) fn send(room: &Room, who: &Who, draft: Draft, cx: &mut Context) -> Result<Exit> {
    let sent = send::send(room, who, draft)?;
    cx.out.did(sent.stands(), send::STANDS);
    // Before the pass: whoever kills a slow pass knows the id of what was sent.
    if !cx.out.json {
        cx.out.line(&sent.id)?;
        cx.out.flush()?;
    }
    if !sent.copied.is_empty() {
        cx.out.note(&format!("copied into the message: {}", sent.copied.join(", ")));
    }
    let routed = send::route(room);
    if cx.out.json {
        cx.out.json(&sent)?;
    }
    after(room, &sent, routed, cx)
}

/// What came of the pass after a message was sent.
pub(crate) fn after(room: &Room, sent: &Sent, routed: Result<Passed>, cx: &Context) -> Result<Exit> {
    routed.map(|_| Exit::Ok).or_else(|e| {
        // What passes by itself is no failure of sending.
        if Exit::of(&e) != Exit::TryAgain {
            return Err(e);
        }
        let place = room.dir.at(&sent.file).display().to_string();
        cx.out.warn(&format!("the message was sent, and waits to be routed; don't send it again ({place})"));
        cx.out.warn(&e.to_string());
        Ok(Exit::Ok)
    })
}

fn draft(args: Args) -> Result<Draft> {
    let (to, last) = words(args.words);
    let body_is_last_word = last.as_deref().is_some_and(|word| word != "-");
    let draft = args.fields.draft(last, "write the body after the addresses, or pipe it, or give --subject")?;
    Ok(Draft { to, body_is_last_word, thread: args.thread, reply_to: args.reply_to, ..draft })
}

/// Tells the last word, which is the body, from the addresses before it.
pub(crate) fn words(mut words: Vec<String>) -> (Vec<String>, Option<String>) {
    let last = if words.len() > 1 { words.pop() } else { None };
    (words, last)
}

impl Fields {
    /// A draft with these fields, and a body: the one that is given, or what stands on standard input for `-` or where
    /// nothing else says anything.
    pub(crate) fn draft(self, body: Option<String>, cure: &str) -> Result<Draft> {
        let says_enough = self.subject.is_some() || !self.attachments.is_empty();
        let body = match body.as_deref() {
            Some("-") => Some(piped()?),
            Some(_) => body,
            None if says_enough => None,
            None if std::io::stdin().is_terminal() => {
                return Err(Error::Usage { what: "there is nothing to send".into(), cure: cure.into() });
            }
            None => Some(piped()?),
        };
        Ok(Draft {
            body,
            subject: self.subject,
            kind: self.kind,
            priority: self.priority,
            refs: self.refs,
            attachments: self.attachments,
            expires: self.expires,
            channel: self.channel,
            requires_response: self.requires_response,
            action: self.action,
            metadata: self.metadata,
            ..Draft::default()
        })
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or("write KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// The body from standard input, without the line end that `echo` puts behind it.
fn piped() -> Result<String> {
    let bytes = stdin()?;
    let mut text = String::from_utf8(bytes).map_err(|e| Error::Usage {
        what: format!("what stands on standard input is not UTF-8: byte {}", e.utf8_error().valid_up_to()),
        cure: "convert it, for example with iconv, or attach it from the room's context/".into(),
    })?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// All of standard input, as far as any message may be long.
pub(crate) fn stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = limits::MESSAGE_BYTES_MOST + 1;
    std::io::stdin().lock().take(most).read_to_end(&mut bytes).doing("read", "standard input")?;
    Ok(bytes)
}
