//! `mailbag ask`: sends a question and waits for the answers.

use super::read;
use super::send::{Fields, words};
use crate::base::error::{Error, Result};
use crate::cli::Exit;
use crate::cli::context::{Context, Identity};
use crate::cli::show::waiting;
use crate::commands::ask::{self, Question, Reply};
use crate::commands::read as reading;
use crate::commands::send::Draft;
use crate::commands::wait::{Waited, Waiter, deadline};
use crate::query::identity::mailbox;
use crate::query::inbox::Mail;
use crate::room::Room;
use serde_json::json;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  mailbag ask bob 'which port?' --as alice
  mailbag ask any_engineer 'who can review?' --timeout 10m
  mailbag ask all_engineers 'is your branch merged?' --all --timeout 5m

Addresses and body are written as for `mailbag send`. An answer is a message from
a recipient of the question that names the question in in_reply_to or refs, or
belongs to its thread; `mailbag reply ID 8080` writes one. Answers are shown and
marked as read. Without --all, the command ends at the first answer. Exit status
4 means that answers are missing; standard error names the agents. Later answers
arrive as ordinary messages.";

/// Send a question and wait for the answer
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "mailbag ask [OPTIONS] <ADDRESS>... [BODY|-]")]
pub(crate) struct Args {
    /// Addresses, then the body
    #[arg(required = true, value_name = "ADDRESS... BODY")]
    words: Vec<String>,
    #[command(flatten)]
    identity: Identity,
    /// Timeout: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = waiting::span)]
    timeout: Duration,
    /// Wait for an answer from every recipient
    #[arg(long)]
    all: bool,
    /// Conversation of the question
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    #[command(flatten)]
    fields: Fields,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let (timeout, all) = (args.timeout, args.all);
    let who = args.identity.who(cx)?;
    let room = cx.room()?;
    let asker = mailbox(&room, &room.registry()?, &who.name, Some(who.source)).unwrap_or_else(|_| who.name.clone());
    let draft = draft(args)?;
    let mut question = ask::ask(&room, &who, &asker, draft)?;
    cx.out.did(question.sent.written(), "do not ask again; `mailbag wait` shows the answer");
    // A caller that ends this command early knows the id of the question.
    cx.out.note(&format!("asked {}: {}", question.asked().join(", "), question.sent.id));
    let mut waiter = Waiter::new(&room, &asker)?;
    let until = deadline(timeout);
    cx.route(&room);
    let mut answers: Vec<Mail> = Vec::new();
    let ended = match wait(&room, &mut question, &mut answers, all, (&mut waiter, until), cx)? {
        Waited::Found(Some((bounce, problems))) => {
            cx.out.error(&problems);
            reading::mark_seen(&room, &asker, &[bounce])?;
            return Ok(Exit::of(&problems));
        }
        ended => ended,
    };
    let missing = if all || answers.is_empty() { question.missing(&answers) } else { Vec::new() };
    show(&question, &answers, &missing, cx)?;
    reading::mark_seen(&room, &asker, &answers)?;
    match ended {
        Waited::Signal(signal) => waiting::end_by(signal, waiter),
        Waited::TimedOut => {
            let what = format!("no answer to {} from {}", question.sent.id, missing.join(", "));
            Err(waiting::too_late(&what, timeout, format!("wait longer with `mailbag wait --as {asker}`")))
        }
        Waited::Found(_) => Ok(Exit::Ok),
    }
}

type Rejected = Option<(Mail, Error)>;

/// Collects answers until there are enough or the question is rejected.
fn wait(
    room: &Room,
    question: &mut Question,
    answers: &mut Vec<Mail>,
    all: bool,
    (waiter, until): (&mut Waiter, Option<Instant>),
    cx: &Context,
) -> Result<Waited<Rejected>> {
    let mut look = || {
        for reply in question.look(room)? {
            match reply {
                Reply::Rejection(mail, problems) => return Ok(Some(Some((mail, Error::Rejected(problems))))),
                Reply::Answer(mail) if !answers.iter().any(|answer| answer.from == mail.from) => answers.push(mail),
                Reply::Answer(_) => {}
            }
            if !all || question.missing(answers).is_empty() {
                return Ok(Some(None));
            }
        }
        Ok(None)
    };
    waiter.until(until, &mut look, &|e| cx.trouble(e))
}

fn show(question: &Question, answers: &[Mail], missing: &[String], cx: &mut Context) -> Result<()> {
    if cx.out.json {
        cx.out.json(&json!({
            "id": question.sent.id,
            "asked": question.asked(),
            "answers": answers.iter().map(|mail| &mail.content).collect::<Vec<_>>(),
            "missing": missing,
        }))?;
    } else {
        read::show_each(answers, cx)?;
    }
    cx.out.flush()
}

fn draft(args: Args) -> Result<Draft> {
    let (to, body) = words(args.words);
    let body_is_last_word = body.as_deref().is_some_and(|word| word != "-");
    let draft = args
        .fields
        .draft(body, "write the question after the addresses, pipe it to standard input, or give --subject")?;
    Ok(Draft { to, body_is_last_word, thread: args.thread, ..draft })
}
