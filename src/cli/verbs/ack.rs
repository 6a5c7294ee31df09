//! `mailbag ack`

use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::commands::ack::{self, Ack};
use crate::commands::send::STANDS;
use crate::message::status::Status;
use clap::builder::PossibleValuesParser;

const EXAMPLES: &str = "\
Examples:
  mailbag ack 42 --as bob                            bob has it
  mailbag ack 42 43 --state actioned --as bob        bob has done it
  mailbag ack 42 --state resolved --note 'merged' --as bob
  mailbag ack msg_7 --state withdrawn --as alice     alice takes it back

Only who got a message can say how far it has come; its sender can say
`superseded` or `withdrawn`, which takes unread copies out of the inboxes. A step
back is refused. An ack wakes nobody; `mailbag trace` shows it to the sender.
A file {\"type\": \"ack\", \"refs\": [\"msg_7\"], \"status\": \"actioned\"} in the outbox
says the same.";

/// Say how far a message has come
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Message, as #12, 12, ID or SENDER/ID
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// How far
    #[arg(long, value_name = "STATE", default_value = "acknowledged", value_parser = states())]
    state: String,
    /// In words
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Who says so; else MAILBAG_AGENT, else MAOS_AGENT_ID, else, at a terminal, the human
    #[arg(long = "as", value_name = "AGENT")]
    agent: Option<String>,
}

fn states() -> PossibleValuesParser {
    PossibleValuesParser::new(Status::ACKS.map(Status::as_str))
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let who = cx.who(args.agent.as_deref())?;
    let room = cx.room()?;
    // What the acker was told just now may not be in the log yet.
    cx.route(&room);
    let status = Status::of_ack(&args.state).unwrap_or(Status::Acknowledged);
    let sent = ack::ack(&room, &who, Ack { refs: args.ids, status, note: args.note })?.sent;
    cx.out.did(sent.stands(), STANDS);
    cx.route(&room);
    if cx.out.json {
        cx.out.json(&sent)?;
    } else {
        cx.out.line(&sent.id)?;
    }
    Ok(Exit::Ok)
}
