//! `mailbag done`

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::waiting;
use crate::commands::take::{self, Consumer, State, Word};
use crate::query::identity::mailbox;
use serde_json::json;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mailbag done 42 --as builders                by number, or by the beginning of an id
  mailbag done 42 --renew --lease 1h           mine for an hour from now on
  mailbag done 42 --give-back                  somebody else may have it at once

It moves from inbox/AGENT/taken/ to inbox/AGENT/seen/. If its lease has lapsed
and somebody else has taken it, this is refused, and says who has it. A process
that took it with --holder NAME says its name here too.";

/// Say that a taken message is done with, or not yet
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Message, as #12, 12, ID or SENDER/ID
    #[arg(value_name = "ID")]
    id: String,
    /// Whose inbox; else MAILBAG_AGENT, else MAOS_AGENT_ID, else, at a terminal, the human's
    #[arg(long = "as", value_name = "AGENT")]
    reader: Option<String>,
    /// Keep it for longer
    #[arg(long, conflicts_with = "give_back")]
    renew: bool,
    /// How much longer, from now on
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = waiting::span, requires = "renew")]
    lease: Duration,
    /// Put it back into the inbox
    #[arg(long)]
    give_back: bool,
    /// Who took it; else the process that runs this command
    #[arg(long, value_name = "NAME", env = "MAILBAG_HOLDER", hide_env_values = true)]
    holder: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let who = cx.who(args.reader.as_deref())?;
    let room = cx.room()?;
    let agent = mailbox(&room, &room.registry()?, &who.name, Some(who.source))?;
    let word = match (args.renew, args.give_back) {
        (true, _) => Word::Renew(args.lease),
        (_, true) => Word::GiveBack,
        _ => Word::Done,
    };
    let (mail, state) = take::say(&room, &agent, &args.id, &Consumer::new(args.holder), word)?;
    cx.out.did(format!("the state of {} was changed", mail.id), "don't change it again");
    if cx.out.json {
        cx.out.json(&json!({"id": mail.id, "seq": mail.seq, "state": state}))?;
        return Ok(Exit::Ok);
    }
    let said = match state {
        State::Done => "done",
        State::DoneLate => "done; its lease had lapsed, but nobody else had taken it",
        State::DoneBefore => "it was done with before",
        State::Renewed => "renewed",
        State::GivenBack => "given back",
    };
    cx.out.done(format!("{}: {said}", sanitize::line(&mail.id)))?;
    Ok(Exit::Ok)
}
