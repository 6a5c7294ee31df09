//! `mailbag send`: sends a message. Also the fields that `ask` and `reply` take too.

use super::dry_run;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::{limits, sanitize};
use crate::cli::Exit;
use crate::cli::context::{CommandContext, IdentityArgs};
use crate::cli::show::output::CommandOutput;
use crate::commands::check::{self, CheckInput};
use crate::commands::post::post;
use crate::commands::send::{self, MessageDraft};
use crate::message::MILESTONE;
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag send bob 'the port is 8080' --as alice
  mailbag send bob carol 'both of you, please'   # addresses first, the body last
  mailbag send all_engineers 'freeze at noon' --type announcement
  git diff | mailbag send bob - --subject 'please review'
  mailbag send bob --subject 'done' --attach report.md
  mailbag send bob carol '' --subject 'the build is green'
  mailbag send 'The parser passes all tests' --type milestone   # to all agents
  git log -1 --format=%s | mailbag send --type milestone -
  mailbag send --dry-run all_engineers 'freeze at noon'   # is it valid, who gets it, and why
  mailbag send --dry-run 'engineer_*' '#releases' ''      # recipients of two addresses
  mailbag send --dry-run --file 'drafts/*.json' --as alice

The last of several words is the body: - reads it from standard input, '' means no
body, and a body that starts with a dash goes after --. A single word is the
address; then the body is read from standard input, unless --subject or --attach is
given. With --type milestone a single word is the body, for all agents: WORKLOG.md
and `mailbag list --events` show milestones.

Addresses: an id or display name, human, all, all_engineers, any_engineer,
'engineer_*', '#topic', cap:rust. `mailbag send --dry-run ADDRESS` shows the
recipients. With --dry-run, exit status 65 means that a message would be rejected.
A file that ends in .ndjson has one message per line.

The command prints the number of the message and how each recipient will receive
it; with -q only the message's id, as in `mailbag trace $(mailbag send -q bob hi)`.
When it returns, all copies are in the inboxes. If a router runs and has not
delivered them within 2 seconds, the command reports why and ends with status 0:
do not send the message again. If no agent received the message, the status is 3, and
the command prints the nearest name.";

/// Send a message
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "mailbag send [OPTIONS] <ADDRESS>... [BODY|-]")]
pub(crate) struct Args {
    /// Addresses, then the body
    #[arg(required_unless_present = "files", value_name = "ADDRESS... BODY")]
    words: Vec<String>,
    /// Check the message and show its recipients and the reasons, without sending it
    #[arg(long)]
    dry_run: bool,
    /// Check files that contain messages: names, quoted patterns, or - for standard input
    #[arg(long = "file", value_name = "FILE", num_args = 1.., requires = "dry_run", conflicts_with_all = ["words", "thread", "reply_to", "fields"])]
    files: Vec<String>,
    #[command(flatten)]
    identity: IdentityArgs,
    /// Conversation of the message
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Message that this one answers, as #12, 12, ID or SENDER/ID
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    #[command(flatten)]
    fields: MessageFieldArgs,
}

/// The fields of a message besides its recipients, thread and body.
#[derive(Debug, clap::Args)]
pub(crate) struct MessageFieldArgs {
    /// Subject, one line
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    /// Type, such as task or x-mine; default: message, a question of `ask`, an answer to a question
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Priority: low, normal, high or urgent
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<String>,
    /// Request for a response
    #[arg(long)]
    requires_response: bool,
    /// Action for the recipients, a word or a line
    #[arg(long, value_name = "TEXT")]
    action: Option<String>,
    /// Related message (12, ID or SENDER/ID), file or URL; repeatable
    #[arg(long = "ref", value_name = "ID")]
    refs: Vec<String>,
    /// File: by path from the room's context/, otherwise as a copy if it is a small text; repeatable
    #[arg(long = "attach", value_name = "FILE")]
    attachments: Vec<PathBuf>,
    /// Expiry time: 10m, 2h, 7d or an instant
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// Channel; default: main
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Additional field of metadata; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, String)>,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    if !args.files.is_empty() {
        return dry_run::check_files(inputs(&args.files)?, &args.identity, cx);
    }
    if args.dry_run {
        let identity = args.identity.clone();
        return dry_run::check_draft(draft(args, cx)?, &identity, cx);
    }
    let who = args.identity.who(cx)?;
    let room = cx.room()?;
    let draft = draft(args, cx)?;
    send(&room, &who, draft, cx)
}

/// The files to check: names, quoted glob patterns, or - for standard input.
fn inputs(names: &[String]) -> Result<Vec<CheckInput>> {
    let mut inputs = Vec::new();
    for name in names {
        match name.as_str() {
            "-" => inputs.push(CheckInput::Bytes(stdin()?)),
            name => inputs.extend(check::expand(name)?.into_iter().map(CheckInput::File)),
        }
    }
    Ok(inputs)
}

/// Sends a draft, and shows how each recipient will receive it.
pub(crate) fn send(
    room: &Room,
    who: &AgentIdentity,
    draft: MessageDraft,
    cx: &mut CommandContext,
) -> Result<Exit> {
    let mut posted = post(room, who, draft, cx.writer_wait(), |sent| {
        cx.out.did(sent.written(), send::WRITTEN);
        if cx.out.quiet {
            // Before the delivery: a caller that kills a slow delivery knows the id.
            cx.out.ahead(|out| out.line(&sent.id))?;
        }
        if !sent.copied.is_empty() {
            cx.out.note(&format!(
                "copied into the message: {}",
                sent.copied.join(", ")
            ));
        }
        Ok(())
    })?;
    cx.check_accepted(&mut posted)?;
    cx.out.show(&posted, |out| {
        let mut indent = "";
        for line in posted.lines_about_recipients() {
            out.done(format!("{indent}{}", sanitize::line(&line)))?;
            indent = "  ";
        }
        Ok(())
    })?;
    Ok(if posted.has_no_recipient() {
        Exit::NotFound
    } else {
        Exit::Ok
    })
}

fn draft(args: Args, cx: &CommandContext) -> Result<MessageDraft> {
    let (to, last) = match args.words.as_slice() {
        [text] if args.fields.kind.as_deref() == Some(MILESTONE) && text != "all" => {
            (Vec::new(), Some(text.clone()))
        }
        _ => words(args.words),
    };
    let body_is_last_word = !to.is_empty() && last.as_deref().is_some_and(|word| word != "-");
    // A dry run of an address alone needs no body.
    let last = last.or_else(|| args.dry_run.then(String::new));
    let draft = args.fields.draft(last, &cx.out)?;
    Ok(MessageDraft {
        to,
        body_is_last_word,
        thread: args.thread,
        reply_to: args.reply_to,
        ..draft
    })
}

/// Separates the last word, which is the body, from the addresses. One word can have several addresses, such as `bob, carol`.
pub(crate) fn words(mut words: Vec<String>) -> (Vec<String>, Option<String>) {
    let last = if words.len() > 1 { words.pop() } else { None };
    let addresses = words
        .iter()
        .flat_map(|word| word.split(','))
        .map(str::trim)
        .filter(|address| !address.is_empty())
        .map(str::to_owned);
    let addresses: Vec<String> = addresses.collect();
    if addresses.is_empty() {
        (words, last)
    } else {
        (addresses, last)
    }
}

impl MessageFieldArgs {
    /// A draft with these fields and a body: the given one, or standard input for `-` or if there is no other content.
    pub(crate) fn draft(self, body: Option<String>, out: &CommandOutput) -> Result<MessageDraft> {
        let says_enough = self.subject.is_some() || !self.attachments.is_empty();
        let body = match body.as_deref() {
            Some("-") => Some(piped(out)?),
            Some(_) => body,
            None if says_enough => None,
            None => Some(piped(out)?),
        };
        Ok(MessageDraft {
            paths_from_here: true,
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
            ..MessageDraft::default()
        })
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .ok_or("expected KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// The body from standard input, without the line end that `echo` adds. A person at a terminal learns how to end the input.
pub(crate) fn piped(out: &CommandOutput) -> Result<String> {
    if std::io::stdin().is_terminal() {
        out.note("Type the text. End it with Ctrl-D on a new line; Ctrl-C cancels.");
    }
    let bytes = stdin()?;
    let mut text = String::from_utf8(bytes).map_err(|e| {
        Error::usage(
            format!(
                "standard input is not UTF-8 at byte {}",
                e.utf8_error().valid_up_to()
            ),
            "convert it, for example with iconv, or attach a file of the room's context/",
        )
    })?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// Standard input, up to the largest size of a message.
pub(crate) fn stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = limits::MESSAGE_BYTES_MOST + 1;
    std::io::stdin()
        .lock()
        .take(most)
        .read_to_end(&mut bytes)
        .doing("read", "standard input")?;
    Ok(bytes)
}
