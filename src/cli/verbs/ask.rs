//! `mailbag ask`: sends a question and waits for the answers.

use super::read;
use super::send::{MessageFieldArgs, words};
use crate::base::clock::span_text;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::sanitize;
use crate::base::text::listed;
use crate::cli::Exit;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::cli::show::waiting;
use crate::commands::approval::{self, ApprovalOutcome};
use crate::commands::ask::{self, SentQuestion};
use crate::commands::post::lines_about;
use crate::commands::read as reading;
use crate::commands::send::MessageDraft;
use crate::commands::wait::{InboxWaiter, WaitResult, deadline};
use crate::query::identity::AgentIdentity;
use crate::query::inbox::{FullInboxMessage, InboxMessage};
use crate::room::Room;
use serde::Serialize;
use std::time::Duration;

/// The default time that `mailbag ask` waits for an answer.
const ANSWER: Duration = Duration::from_secs(30);

const EXAMPLES: &str = "\
Examples:
  mailbag ask bob 'which port?' --as alice
  mailbag ask any_engineer 'who can review?' --timeout 10m
  mailbag ask all_engineers 'is your branch merged?' --all --timeout 5m
  mailbag ask human 'Deploy?' --options yes,no --deadline 30m --else no && ./deploy

Addresses and body are written as for `mailbag send`. An answer is a message from
a recipient of the question that names the question in in_reply_to or refs, or
belongs to its thread; `mailbag reply ID 8080` writes one. Answers are shown and
marked as read. Without --all, the command ends at the first answer. Exit status
4 means that answers are missing; standard error names the first agents, and
--json all. Later answers arrive as ordinary messages.

With --options, --deadline, --else or --signed the question is an approval: one
recipient decides with one of the options (default: yes, no), and nothing else
counts. The command prints the option. Status 0 means the first option, 1 another
one, denied or withdrawn, and 75 undecided; without --timeout it waits until the
decision.";

/// Send a question and wait for the answer
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "mailbag ask [OPTIONS] <ADDRESS>... [BODY|-]")]
pub(crate) struct Args {
    /// Addresses, then the body
    #[arg(required = true, value_name = "ADDRESS... BODY")]
    words: Vec<String>,
    #[command(flatten)]
    identity: IdentityArgs,
    /// Timeout: 500ms, 30s, 5m, 1h; default: 30s, or none for an approval
    #[arg(long, value_name = "TIME", value_parser = waiting::span)]
    timeout: Option<Duration>,
    /// Wait for an answer from every recipient
    #[arg(long)]
    all: bool,
    /// Conversation of the question
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    #[command(flatten)]
    approval: ApprovalArgs,
    #[command(flatten)]
    fields: MessageFieldArgs,
}

/// The terms of an approval.
#[derive(Debug, clap::Args)]
struct ApprovalArgs {
    /// Options of an approval, separated by commas; the first lets you go on
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        conflicts_with = "all"
    )]
    options: Vec<String>,
    /// Deadline of an approval: a duration or a time
    #[arg(long, value_name = "TIME", conflicts_with = "all")]
    deadline: Option<String>,
    /// Outcome at the deadline: an option other than the first, deny or escalate; default: deny
    #[arg(
        long = "else",
        value_name = "OUTCOME",
        requires = "deadline",
        conflicts_with = "all"
    )]
    on_deadline: Option<String>,
    /// Approval that needs the signature of the person
    #[arg(long, conflicts_with = "all")]
    signed: bool,
}

impl ApprovalArgs {
    fn is_wanted(&self) -> bool {
        !self.options.is_empty()
            || self.deadline.is_some()
            || self.on_deadline.is_some()
            || self.signed
    }
}

/// A question and its answers, or the outcome of an approval.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum AskOutput<'a> {
    /// A question and its answers.
    Question {
        /// The id of the question.
        id: &'a str,
        /// The agents that were asked.
        asked: Vec<String>,
        /// The answers.
        answers: Vec<FullInboxMessage<'a>>,
        /// The agents that did not answer.
        missing: &'a [String],
    },
    /// The outcome of an approval.
    Approval(&'a ApprovalOutcome),
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    let who = args.identity.who(cx)?;
    let room = cx.room()?;
    if args.approval.is_wanted() {
        return approve(args, &who, &room, cx);
    }
    let (timeout, all) = (args.timeout.unwrap_or(ANSWER), args.all);
    let asker = who
        .mailbox(&room, &room.registry()?)
        .unwrap_or_else(|_| who.name.clone());
    let draft = drafted(args.words, args.thread, args.fields, cx)?;
    let mut question = ask::ask(&room, &who, &asker, draft)?;
    cx.out.did(
        question.message.sent.written(),
        "do not ask again; `mailbag wait` shows the answer",
    );
    for line in lines_about(&question.message.sent.unreached) {
        cx.out.warn(&line);
    }
    let mut waiter = InboxWaiter::new(&room, &asker)?;
    let until = deadline(timeout);
    cx.refresh(&room, Freshness::Complete);
    question.read_record(&room)?;
    // A caller that ends this command early knows the id of the question.
    cx.out.note(&format!(
        "asked {}: {}",
        listed(question.asked()),
        question.message.sent.id
    ));
    let mut answers: Vec<InboxMessage> = Vec::new();
    // Collect answers until there are enough or the question is rejected.
    let mut look = || {
        for answer in question.look(&room)? {
            if !answers.iter().any(|other| other.from == answer.from) {
                answers.push(answer);
            }
            if !all || question.missing(&answers).is_empty() {
                return Ok(Some(()));
            }
        }
        Ok(None)
    };
    let ended = waiter.until(until, &mut look, &|e| cx.warn_undelivered(e))?;
    let missing = if all || answers.is_empty() {
        question.missing(&answers)
    } else {
        Vec::new()
    };
    show(&question, &answers, &missing, cx)?;
    reading::mark_seen(&room, &asker, &answers)?;
    match ended {
        WaitResult::Signal(signal) => waiting::end_by(signal, waiter).map(Exit::from),
        WaitResult::TimedOut => {
            let what = format!(
                "no answer to {} from {}",
                question.message.sent.id,
                listed(&missing)
            );
            Err(waiting::too_late(
                &what,
                timeout,
                format!("wait longer with `mailbag wait --as {asker}`"),
            ))
        }
        WaitResult::Found(_) => Ok(Exit::Ok),
    }
}

/// Asks for a decision, and waits for it.
fn approve(args: Args, who: &AgentIdentity, room: &Room, cx: &mut CommandContext) -> Result<Exit> {
    let timeout = args.timeout;
    let ApprovalArgs {
        options,
        deadline: at,
        on_deadline,
        signed,
    } = args.approval;
    let terms = approval::ApprovalRequest {
        options,
        deadline: at,
        on_deadline,
        signed,
    };
    let draft = drafted(args.words, args.thread, args.fields, cx)?;
    let mut asked = approval::ask(room, who, draft, terms)?;
    cx.out.did(
        asked.message.sent.written(),
        "do not ask again; `mailbag wait` shows the decision",
    );
    cx.out.note(&asked.sentence());
    let mut waiter = InboxWaiter::new(room, asked.agent())?;
    // A withdrawal puts no mail into the inbox.
    waiter.look_every(limits::TAKE_OVER);
    cx.refresh(room, Freshness::Complete);
    let until = timeout.and_then(deadline);
    match waiter.until(until, &mut || asked.look(), &|e| cx.warn_undelivered(e))? {
        WaitResult::Signal(signal) => waiting::end_by(signal, waiter).map(Exit::from),
        WaitResult::TimedOut => {
            let what = format!(
                "{} is undecided after {}",
                asked.approval,
                span_text(timeout.unwrap_or_default())
            );
            let fix = format!(
                "the approval stays open; wait longer with `mailbag wait --as {}`",
                asked.agent()
            );
            cx.out.error(&Error::busy(what, fix));
            Ok(Exit::TryAgain)
        }
        WaitResult::Found(outcome) => {
            cx.out.show(&AskOutput::Approval(&outcome), |out| {
                out.line(sanitize::line(outcome.word()))
            })?;
            cx.out.flush()?;
            let is_first =
                outcome.option.is_some() && outcome.option.as_ref() == asked.options.first();
            Ok(if is_first { Exit::Ok } else { Exit::Error })
        }
    }
}

fn show(
    question: &SentQuestion,
    answers: &[InboxMessage],
    missing: &[String],
    cx: &mut CommandContext,
) -> Result<()> {
    let report = AskOutput::Question {
        id: &question.message.sent.id,
        asked: question.asked(),
        answers: answers.iter().map(InboxMessage::whole).collect(),
        missing,
    };
    cx.out.show(&report, |out| read::show_each(answers, out))?;
    cx.out.flush()
}

fn drafted(
    given: Vec<String>,
    thread: Option<String>,
    fields: MessageFieldArgs,
    cx: &CommandContext,
) -> Result<MessageDraft> {
    let (to, body) = words(given);
    let body_is_last_word = body.as_deref().is_some_and(|word| word != "-");
    Ok(MessageDraft {
        to,
        body_is_last_word,
        thread,
        ..fields.draft(body, &cx.out)?
    })
}
