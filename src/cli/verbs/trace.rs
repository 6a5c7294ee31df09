//! `mailbag trace`

use super::inbox::to_the_second;
use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::output::{BOLD, DIM};
use crate::message::id;
use crate::query::trace::{self, Recipient, Step, Trace};

const EXAMPLES: &str = "\
Examples:
  mailbag trace msg_7 --as alice          how far alice's message has come
  mailbag trace 42 --json                 the same for a program

For each recipient: accepted, delivered, announced, seen, acknowledged, actioned,
and closed as resolved, superseded, withdrawn, abandoned or expired. A status is
shown when it was observed: `seen` means that the file left the inbox.";

/// Show how far each copy of a message has come
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Message, as #12, 12, ID or SENDER/ID
    #[arg(value_name = "ID")]
    id: String,
    /// Who asks; else MAILBAG_AGENT, else MAOS_AGENT_ID. The human, and who is nobody, may ask for every message
    #[arg(long = "as", value_name = "AGENT")]
    agent: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    let asker = match cx.who(args.agent.as_deref()) {
        Ok(who) => Some(who.in_registry(&room.registry()?)?.id.to_string()).filter(|asker| asker != id::HUMAN),
        Err(e) if args.agent.is_some() => return Err(e),
        Err(_) => None,
    };
    cx.route(&room);
    let trace = trace::trace(&room, asker.as_deref(), &args.id)?;
    if cx.out.json {
        cx.out.json(&trace)?;
    } else {
        show(&trace, cx)?;
    }
    Ok(Exit::Ok)
}

fn show(trace: &Trace, cx: &mut Context) -> Result<()> {
    let about = trace.subject.as_deref().unwrap_or_default();
    let name = cx.out.paint(BOLD, &format!("{}/{}", trace.from, trace.id));
    let at = to_the_second(&trace.accepted_at);
    let head = format!("{name}  #{}  {}  {at}  {}", trace.seq, sanitize::line(&trace.kind), sanitize::line(about));
    cx.out.line(head)?;
    if let Some(sent) = &trace.sent {
        cx.out.line(format!("kept as {}", sanitize::line(&sent.to_string_lossy())))?;
    }
    for recipient in &trace.recipients {
        show_recipient(recipient, cx)?;
    }
    for answer in &trace.answers {
        let text = format!("answered by {}/{}  #{}", answer.from, answer.id, answer.seq);
        cx.out.line(format!("{}  {}", to_the_second(&answer.at), sanitize::line(&text)))?;
    }
    for told in &trace.told {
        cx.out.line(format!("{}  {} was told that it is {}", to_the_second(&told.at), told.agent, told.what))?;
    }
    if trace.recipients.is_empty() {
        cx.out.note("nobody got a copy: it stands in its channel");
    }
    Ok(())
}

fn show_recipient(recipient: &Recipient, cx: &mut Context) -> Result<()> {
    let name = cx.out.paint(BOLD, &recipient.agent);
    let via = if recipient.via == "direct" { String::new() } else { format!(" (via {})", recipient.via) };
    cx.out.line(format!("{name}{via}: {}", recipient.status.as_str()))?;
    for step in &recipient.statuses {
        let at = step.at.as_deref().map(to_the_second).unwrap_or_else(|| "just now".into());
        let at = cx.out.paint(DIM, &format!("{at:<20}"));
        cx.out.line(format!("  {at}  {}", said(step, &recipient.agent)))?;
    }
    Ok(())
}

fn said(step: &Step, agent: &str) -> String {
    let by = step.by.as_deref().filter(|by| *by != agent).map(|by| format!(" by {by}")).unwrap_or_default();
    let note = step.note.as_deref().map(|note| format!(": {note}")).unwrap_or_default();
    sanitize::line(&format!("{}{by}{note}", step.status.as_str())).into_owned()
}
