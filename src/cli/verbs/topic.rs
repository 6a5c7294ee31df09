//! `mailbag topic`: lists topics, and subscribes agents to them.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::cli::show::table;
use crate::commands::post::SendResult;
use crate::commands::topic;

const EXAMPLES: &str = "\
Examples:
  mailbag topic list
  mailbag topic subscribe releases ports --as bob
  mailbag topic unsubscribe ports --as bob
  mailbag send '#releases' '1.2 is out' --as alice

An agent without this program writes {\"type\": \"subscribe\", \"topic\": \"releases\"} or
the type unsubscribe to its outbox, as these commands do. The subscriptions are in
the registry; `mailbag agent set bob --topic releases` sets them too.";

const LIST_HELP: &str = "\
Example:
  mailbag topic list --json

Columns: topic, subscribers.";

const SUBSCRIBE_HELP: &str = "\
Examples:
  mailbag topic subscribe releases --as bob
  mailbag topic subscribe releases ports";

const UNSUBSCRIBE_HELP: &str = "\
Example:
  mailbag topic unsubscribe releases --as bob";

/// List topics, subscribe or unsubscribe
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: TopicCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TopicCommand {
    /// List the topics and their subscribers
    #[command(after_help = LIST_HELP)]
    List,
    /// Subscribe to topics
    #[command(after_help = SUBSCRIBE_HELP)]
    Subscribe(SubscriptionArgs),
    /// Unsubscribe from topics
    #[command(after_help = UNSUBSCRIBE_HELP)]
    Unsubscribe(SubscriptionArgs),
}

#[derive(Debug, clap::Args)]
struct SubscriptionArgs {
    /// Topics, with or without # in front
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    match args.verb {
        TopicCommand::List => list(cx),
        TopicCommand::Subscribe(change) => follow(change, true, cx),
        TopicCommand::Unsubscribe(change) => follow(change, false, cx),
    }
}

fn list(cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Complete)?;
    let topics = topic::list(&room.registry()?);
    table::list(
        &mut cx.out,
        "topics",
        topics,
        "no topics with subscribers",
        |topic, _| {
            let followers = sanitize::line(&topic.followers.join(", ")).into_owned();
            vec![
                sanitize::line(&format!("#{}", topic.topic)).into_owned(),
                followers,
            ]
        },
    )?;
    Ok(())
}

fn follow(change: SubscriptionArgs, follow: bool, cx: &mut CommandContext) -> Result<()> {
    let who = change.identity.who(cx)?;
    let room = if follow {
        cx.room()?
    } else {
        // A pending subscription counts.
        cx.fresh_room(Freshness::Messages)?
    };
    let sent = topic::change(&room, &who, follow, &change.topics)?;
    let posted: Vec<SendResult> = sent
        .into_iter()
        .map(|sent| cx.deliver(&room, sent))
        .collect::<Result<_>>()?;
    let mut topics = change.topics.iter();
    let verb = if follow {
        "subscribed to"
    } else {
        "no longer subscribed to"
    };
    cx.out
        .list("messages", posted.into_iter().map(Ok), "", |out, posted| {
            let is_done = !out.quiet && posted.pending.is_none();
            match topics.next() {
                Some(topic) if is_done => {
                    let topic = topic.trim_start_matches('#');
                    out.line(sanitize::line(&format!("{} is {verb} #{topic}", who.name)))
                }
                _ => out.line(&posted.sent.id),
            }
        })
}
