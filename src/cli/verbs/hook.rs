//! `mailbag hook`

use crate::base::error::{Doing, Error, Result};
use crate::base::limits;
use crate::cli::Exit;
use crate::cli::context::{Context, here};
use crate::clients::events::{self, Event};
use crate::clients::install::TRIED;
use crate::clients::kind::Client;
use crate::query::identity;
use crate::room::{self, Room};
use std::io::{IsTerminal, Read};

const EXAMPLES: &str = "\
Examples:
  mailbag hook claude                what Claude Code runs at each event
  mailbag hook codex --as alice      where the session is always alice
  echo '{\"hook_event_name\":\"SessionStart\",\"session_id\":\"s1\"}' | mailbag hook claude

`mailbag install` puts it into the client's settings. It reads the event on
standard input and answers in the client's form: which unread mail the agent was
not told of yet, as facts, never more than 1,500 characters. Nothing is marked
as read. Whatever goes wrong, the exit status is 0, and the client goes on;
`mailbag doctor` tells when each hook last ran, and what it complained of.";

/// Answer a client's hook: tell its agent of new mail
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which client asks
    #[arg(value_name = "CLIENT", value_parser = Client::parse)]
    client: Client,
    /// Agent of a session that has not joined as another; else MAILBAG_AGENT, else MAOS_AGENT_ID
    #[arg(long = "as", value_name = "AGENT")]
    agent: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    if std::io::stdin().is_terminal() {
        cx.out.note("this reads what a client's hook says on standard input; see `mailbag hook --help`");
        return Ok(Exit::Ok);
    }
    // A client takes another status for a command to stop, or shows it to its user at every event.
    let Err(e) = answer(&args, cx) else { return Ok(Exit::Ok) };
    cx.out.warn(&e.to_string());
    // Who only tries it wants to know.
    Ok(if std::env::var_os(TRIED).is_some() { Exit::of(&e) } else { Exit::Ok })
}

fn answer(args: &Args, cx: &mut Context) -> Result<()> {
    let event = read(args.client)?;
    let Some(room) = room(cx, &event) else { return print(args.client, &event, None, cx) };
    let named = identity::named(args.agent.as_deref());
    if std::env::var_os(TRIED).is_some() {
        let text = events::tried(&room, named.as_ref())?;
        return print(args.client, &event, Some(&text), cx);
    }
    let reply = events::attend(&room, args.client.as_str(), &event, named.as_ref());
    if let Some(trouble) = &reply.trouble {
        cx.out.warn(trouble);
    }
    print(args.client, &event, reply.text.as_deref(), cx).inspect_err(|_| reply.unsaid(&room))?;
    reply.said(&room, args.client.as_str(), &event)
}

/// What a client says on standard input.
pub(crate) fn read(client: Client) -> Result<Event> {
    let mut input = Vec::new();
    std::io::stdin().take(limits::HOOK_BYTES).read_to_end(&mut input).doing("read", "standard input")?;
    client.read(&input).map_err(|what| Error::Usage {
        what,
        cure: format!("let {} run this as a hook; `mailbag install` does so", client.as_str()),
    })
}

/// The room that was asked for, or the one where the session works. Most projects have none, and that is fine.
pub(crate) fn room(cx: &Context, event: &Event) -> Option<Room> {
    let from = event.directory.clone().filter(|directory| directory.is_dir()).map_or_else(here, Ok).ok()?;
    Room::open(&room::find(cx.asked().as_deref(), &from).ok()?).ok()
}

fn print(client: Client, event: &Event, text: Option<&str>, cx: &mut Context) -> Result<()> {
    cx.out.bytes(client.answer(event, text).as_bytes())?;
    cx.out.flush()
}
