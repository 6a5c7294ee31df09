//! `mailbag trace`: shows the delivery status of a message.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::cli::show::output::{BOLD, CommandOutput, DIM};
use crate::message::id;
use crate::query::trace::{
    self, ClaimState, ClaimTrace, MessageTrace, RecipientTrace, StatusChange,
};

const EXAMPLES: &str = "\
Examples:
  mailbag trace msg_7 --as alice
  mailbag trace 42 --json

Status per recipient: accepted, delivered, announced, seen, acknowledged, actioned,
closed as resolved, superseded, withdrawn, abandoned or expired. The time is that
of the observation: `seen` means that the file has left the inbox.
";

/// Show the delivery status of a message
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Message, as #12, 12, ID or SENDER/ID
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Complete)?;
    let asker = args
        .identity
        .looker(cx, &room)?
        .filter(|asker| asker != id::HUMAN);
    let trace = trace::trace(&room, asker.as_deref(), &args.id)?;
    cx.out.show(&trace, |out| show(&trace, out))
}

fn show(trace: &MessageTrace, out: &mut CommandOutput) -> Result<()> {
    let about = trace.subject.as_deref().unwrap_or_default();
    let name = out.paint(BOLD, &format!("{}/{}", trace.from, trace.id));
    let at = out.time(&trace.accepted_at);
    let head = format!(
        "{name}  #{}  {}  {at}  {}",
        trace.seq,
        sanitize::line(&trace.kind),
        sanitize::line(about)
    );
    out.line(head)?;
    if let Some(ClaimTrace { change, state }) = &trace.claim {
        let state = match state {
            Some(ClaimState::Owned) => "; still owned",
            Some(ClaimState::Open) => "; the offer is open",
            Some(ClaimState::Ended) => "; ended",
            None => "",
        };
        out.line(format!("{}{state}", sanitize::line(change)))?;
    }
    if let Some(sent) = &trace.sent {
        out.line(format!(
            "original: {}",
            sanitize::line(&sent.to_string_lossy())
        ))?;
    }
    for recipient in &trace.recipients {
        show_recipient(recipient, out)?;
    }
    for answer in &trace.answers {
        let what = answer
            .option
            .as_ref()
            .map_or("answered".to_owned(), |option| {
                format!("decided: {option},")
            });
        let text = format!("{what} by {}/{}  #{}", answer.from, answer.id, answer.seq);
        let line = format!(
            "{}  {}",
            out.time(&answer.accepted_at),
            sanitize::line(&text)
        );
        out.line(line)?;
    }
    if let Some(end) = &trace.withdrawn {
        let (at, by) = (end.at.as_deref(), end.by.as_deref());
        let note = end
            .note
            .as_ref()
            .map(|note| format!(": {note}"))
            .unwrap_or_default();
        let text = format!(
            "{} by {}{note}",
            end.status.as_str(),
            by.unwrap_or_default()
        );
        out.line(format!(
            "{}  {}",
            out.time(at.unwrap_or_default()),
            sanitize::line(&text)
        ))?;
    }
    for notice in &trace.notices {
        let at = out.time(&notice.at);
        let outcome = notice.outcome.as_ref();
        let outcome = outcome.map_or(String::new(), |outcome| {
            format!(" by the deadline: {}", sanitize::line(outcome))
        });
        out.line(format!(
            "{at}  notice to {}: {}{outcome}",
            notice.agent, notice.event
        ))?;
    }
    if trace.recipients.is_empty() {
        out.note("no recipients: the message is only in its channel");
    }
    Ok(())
}

fn show_recipient(recipient: &RecipientTrace, out: &mut CommandOutput) -> Result<()> {
    let name = out.paint(BOLD, &recipient.agent);
    let via = if recipient.via == "direct" {
        String::new()
    } else {
        format!(" (via {})", recipient.via)
    };
    let now = recipient
        .renamed_to
        .as_ref()
        .map(|now| format!(" (now {now})"))
        .unwrap_or_default();
    out.line(format!("{name}{now}{via}: {}", recipient.status.as_str()))?;
    for step in &recipient.statuses {
        dated(
            step.at.as_deref().unwrap_or_default(),
            &said(step, &recipient.agent),
            out,
        )?;
    }
    Ok(())
}

fn dated(at: &str, text: &str, out: &mut CommandOutput) -> Result<()> {
    let width = if out.is_terminal() { 26 } else { 20 };
    let at = out.paint(DIM, &format!("{:<width$}", out.time(at)));
    out.line(format!("  {at}  {text}"))
}

fn said(step: &StatusChange, agent: &str) -> String {
    let by = step
        .by
        .as_deref()
        .filter(|by| *by != agent)
        .map(|by| format!(" by {by}"))
        .unwrap_or_default();
    let note = step
        .note
        .as_deref()
        .map(|note| format!(": {note}"))
        .unwrap_or_default();
    sanitize::line(&format!("{}{by}{note}", step.status.as_str())).into_owned()
}
