//! `mailbag topic`

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::table;
use crate::commands::{send, topic};

const EXAMPLES: &str = "\
Examples:
  mailbag topic list
  mailbag topic subscribe releases ports --as bob
  mailbag topic unsubscribe ports --as bob
  mailbag send '#releases' '1.2 is out' --as alice

An agent without this program drops {\"type\": \"subscribe\", \"topic\": \"releases\"}
into its outbox, or unsubscribe; that is what these commands do. The registry has
who follows what, and may be edited: mailbag agent set bob --topic releases.";

const LIST_HELP: &str = "\
Example:
  mailbag topic list --json

Each line: the topic, and who gets what is written to it.";

const SUBSCRIBE_HELP: &str = "\
Examples:
  mailbag topic subscribe releases --as bob
  mailbag topic subscribe releases ports";

const UNSUBSCRIBE_HELP: &str = "\
Example:
  mailbag topic unsubscribe releases --as bob";

/// Show who follows which topic, follow one, or no longer
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the topics that somebody follows
    #[command(after_help = LIST_HELP)]
    List,
    /// Get what is written to these topics from now on
    #[command(after_help = SUBSCRIBE_HELP)]
    Subscribe(Change),
    /// No longer get what is written to these topics
    #[command(after_help = UNSUBSCRIBE_HELP)]
    Unsubscribe(Change),
}

#[derive(Debug, clap::Args)]
struct Change {
    /// The topics, with or without a # in front
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// Who follows; else MAILBAG_AGENT, else MAOS_AGENT_ID
    #[arg(long = "as", value_name = "AGENT")]
    follower: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    match args.verb {
        Verb::List => list(cx),
        Verb::Subscribe(change) => follow(change, true, cx),
        Verb::Unsubscribe(change) => follow(change, false, cx),
    }
}

fn list(cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    cx.route(&room);
    let topics = topic::list(&room.registry()?);
    if cx.out.json {
        cx.out.json(&topics)?;
        return Ok(Exit::Ok);
    }
    if topics.is_empty() {
        cx.out.note("nobody follows a topic");
    }
    let row = |topic: &topic::Topic| {
        let followers = sanitize::line(&topic.followers.join(", ")).into_owned();
        vec![sanitize::line(&format!("#{}", topic.topic)).into_owned(), followers]
    };
    table::print(&mut cx.out, &topics.iter().map(row).collect::<Vec<_>>())?;
    Ok(Exit::Ok)
}

fn follow(change: Change, follow: bool, cx: &mut Context) -> Result<Exit> {
    let who = cx.who(change.follower.as_deref())?;
    let room = cx.room()?;
    let sent = topic::change(&room, &who, follow, &change.topics)?;
    let stand: Vec<String> = sent.iter().map(|sent| sent.stands()).collect();
    cx.out.did(stand.join(", "), send::STANDS);
    if let Err(e) = send::route(&room) {
        cx.out.warn(&format!("it was sent, and waits to be routed; don't send it again: {e}"));
    }
    if cx.out.json {
        cx.out.json(&sent)?;
        return Ok(Exit::Ok);
    }
    sent.iter().try_for_each(|sent| cx.out.line(&sent.id))?;
    Ok(Exit::Ok)
}
