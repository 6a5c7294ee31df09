//! `mailbag who`: shows the agents, their presence and their unread messages.

use crate::base::clock::{Stamp, rough_span};
use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::cli::context::{CommandContext, Freshness};
use crate::cli::show::table;
use crate::query::channel;
use crate::query::who::{self, AgentCommit, AgentPresence, KnownAgents, WorkReport};

const EXAMPLES: &str = "\
Examples:
  mailbag who
  mailbag who --channel          # the channels, with the number of their messages
  mailbag who --channel design   # the agents that take part in a channel
  mailbag who --topic            # the topics, with their subscribers
  mailbag who --json | jq -r '.agents[] | select(.presence == \"online\").id'

Columns: presence (another status in the registry), id, display name and role, capabilities,
last sign of life, unread messages with the age of the oldest and the last wake, last reported
activity, last commit, claims.

online   a sign of life within 5 minutes, or waiting or watching now
idle     a sign of life within an hour, or idle in the registry
offline  no sign of life for longer, or offline in the registry
stale    no sign of life for 6 hours (stale_after in settings.toml), although it
         has unread messages or is online in the registry; a background waiter of an
         idle session counts only for `online`
remote   an agent of another room to which there is a link

Signs of life: the agent sends a message, mail leaves its inbox, a hook or tool of
its session runs, or `mailbag watch`, `list --follow` or `wait` runs for it. An agent
reports its activity with messages of type status, progress, blocked, completed or
agent_complete. The hooks of `mailbag install git` record its commits. A commit whose
subject line begins with the agent's name, as in `[alice] Fix the login`, is shown
without them. roster.json in the room has the same data, without such commits.";

/// Show agents, their presence and unread messages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, alias = "roster")]
pub(crate) struct Args {
    /// List the channels, or show the agents of one channel
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", conflicts_with = "topic")]
    channel: Option<String>,
    /// List the topics with their subscribers, or show one topic
    #[arg(long, value_name = "TOPIC", num_args = 0..=1, default_missing_value = "")]
    topic: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    match (args.channel, args.topic) {
        (Some(channel), _) if channel.is_empty() => channels(cx),
        (Some(channel), _) => of_channel(&channel, cx),
        (None, Some(topic)) => topics(&topic, cx),
        (None, None) => {
            let room = cx.fresh_room(Freshness::Complete)?;
            show(&who::everybody(&room)?, cx)
        }
    }
}

/// Lists the channels.
fn channels(cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Complete)?;
    let channels = channel::list(&room)?;
    let none = "no channels yet";
    table::list(&mut cx.out, "channels", channels, none, |channel, out| {
        vec![
            channel.channel.clone(),
            channel.messages.to_string(),
            out.column_time(&channel.last),
        ]
    })
}

/// Shows the agents that take part in a channel.
pub(super) fn of_channel(channel: &str, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Complete)?;
    show(&channel::agents(&room, channel)?, cx)
}

/// Lists the topics and their subscribers; an empty name means all topics.
fn topics(name: &str, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Complete)?;
    let mut topics = who::topics(&room.registry()?);
    let name = name.trim_start_matches('#');
    topics.retain(|topic| name.is_empty() || topic.topic.eq_ignore_ascii_case(name));
    let none = "no topics with subscribers";
    table::list(&mut cx.out, "topics", topics, none, |topic, _| {
        vec![
            sanitize::line(&format!("#{}", topic.topic)).into_owned(),
            sanitize::line(&topic.followers.join(", ")).into_owned(),
        ]
    })
}

/// Shows agents.
fn show(all: &KnownAgents, cx: &mut CommandContext) -> Result<()> {
    let now = Stamp::parse(&all.roster.at).unwrap_or_default();
    let remote = all.remote.iter().map(|one| {
        let known_as = name_and_role(one.name.as_deref(), one.role.as_deref());
        let heard = one
            .last_arrival
            .as_deref()
            .map_or("never heard".to_owned(), |heard| {
                format!("heard {}", ago(heard, now))
            });
        let cells = ["remote", &one.id, &known_as, "", &heard];
        cells.map(|cell| sanitize::line(cell).into_owned()).to_vec()
    });
    let rows: Vec<Vec<String>> = all
        .roster
        .agents
        .iter()
        .map(|agent| row(agent, now))
        .chain(remote)
        .collect();
    cx.out.show(all, |out| table::print(out, &rows))
}

fn row(agent: &AgentPresence, now: Stamp) -> Vec<String> {
    let presence = agent.presence.as_str();
    let declared = agent.declared.filter(|word| *word != presence);
    let declared = declared.map_or(String::new(), |word| format!(" ({word})"));
    let known_as = name_and_role(agent.name.as_deref(), agent.role.as_deref());
    let seen = agent
        .last_seen
        .as_deref()
        .map_or("never seen".to_owned(), |seen| {
            format!("seen {}", ago(seen, now))
        });
    let unread = match &agent.oldest_unread {
        Some(oldest) => format!("{} unread, {}", agent.unread, ago(oldest, now)),
        None => "-".to_owned(),
    };
    let report = agent
        .report
        .as_ref()
        .map(|report| describe_report(report, now))
        .unwrap_or_default();
    let commit = agent
        .commit
        .as_ref()
        .map(|commit| committed(commit, now))
        .unwrap_or_default();
    let presence = format!("{presence}{declared}");
    let (owns, can) = (owned(agent), capabilities(agent));
    let cells = [
        &*presence, &agent.id, &known_as, &can, &seen, &unread, &report, &commit, &owns,
    ];
    cells.map(|cell| sanitize::line(cell).into_owned()).to_vec()
}

fn name_and_role(name: Option<&str>, role: Option<&str>) -> String {
    let words: Vec<&str> = name.into_iter().chain(role).collect();
    words.join(", ")
}

fn capabilities(agent: &AgentPresence) -> String {
    let all = &agent.capabilities;
    let shown = all[..all.len().min(limits::IN_SENTENCE)].join(", ");
    match all.len().saturating_sub(limits::IN_SENTENCE) {
        _ if all.is_empty() => String::new(),
        0 => format!("can {shown}"),
        more => format!("can {shown}, {more} more"),
    }
}

fn owned(agent: &AgentPresence) -> String {
    let more = (agent.owns_more > 0).then(|| format!("{} more", agent.owns_more));
    let all: Vec<String> = agent.owns.iter().cloned().chain(more).collect();
    if all.is_empty() {
        String::new()
    } else {
        format!("owns {}", all.join(", "))
    }
}

fn describe_report(report: &WorkReport, now: Stamp) -> String {
    let progress = report
        .percent()
        .map(|percent| format!(" {percent}"))
        .unwrap_or_default();
    let text = if report.text.is_empty() {
        String::new()
    } else {
        format!(": {}", report.text)
    };
    format!(
        "{}{progress}{text} ({})",
        report.kind,
        ago(&Stamp::from_micros(report.at).to_string(), now)
    )
}

fn committed(commit: &AgentCommit, now: Stamp) -> String {
    let short = commit.id.get(..10).unwrap_or(&commit.id);
    let branch = commit
        .branch
        .as_deref()
        .map(|branch| format!(" on {branch}"))
        .unwrap_or_default();
    format!(
        "commit {short}{branch} ({})",
        ago(&Stamp::from_micros(commit.at).to_string(), now)
    )
}

/// The age of a time.
fn ago(time: &str, now: Stamp) -> String {
    let Some(then) = Stamp::parse(time) else {
        return time.to_owned();
    };
    let micros = now.micros() - then.micros();
    if micros < 60_000_000 {
        "just now".to_owned()
    } else {
        format!("{} ago", rough_span(micros))
    }
}
