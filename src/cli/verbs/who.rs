//! `mailbag who`

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::table;
use crate::query::{channel, who};
use crate::router::projections::roster::{Doing, Present};

const EXAMPLES: &str = "\
Examples:
  mailbag who
  mailbag who --json | jq -r '.agents[] | select(.presence == \"online\").id'

Each line: presence, id, display name or role, when it was last seen, how many
messages it has not read and since when, and what it last said that it does.

online   seen within 5 minutes, or waiting or watching now
idle     seen within the hour, or the registry says idle
offline  not seen for longer, or the registry says offline
stale    nothing for 6 hours (stale_after in settings.toml), although it has
         unread mail or the registry says online

An agent is seen when it sends something, when mail leaves its inbox, when a
hook or tool of its session calls, and as long as `mailbag watch`, `follow` or
`wait` runs for it. What the registry says of it stands in brackets. It says
what it does by messages of type status, progress, blocked, completed or
agent_complete. The same stands in roster.json in the room.";

/// Show who is there, what each does, and how much it has not read
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A channel, whose roster is the room's: what `mailbag channel roster NAME` is read as
    #[arg(long, value_name = "CHANNEL", hide = true)]
    channel: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    cx.route(&room);
    if let Some(name) = &args.channel {
        channel::find(&room, name)?;
    }
    let roster = who::who(&room)?;
    if cx.out.json {
        cx.out.json(&roster)?;
        return Ok(Exit::Ok);
    }
    let now = Stamp::parse(&roster.at).unwrap_or_default();
    let rows: Vec<Vec<String>> = roster.agents.iter().map(|agent| row(agent, now)).collect();
    table::print(&mut cx.out, &rows)?;
    Ok(Exit::Ok)
}

fn row(agent: &Present, now: Stamp) -> Vec<String> {
    let declared = agent.declared.map(|word| format!(" ({word})")).unwrap_or_default();
    let known_as = agent.name.as_deref().or(agent.role.as_deref()).unwrap_or_default();
    let seen = agent.last_seen.as_deref().map_or("never seen".to_owned(), |seen| format!("seen {}", ago(seen, now)));
    let unread = match &agent.oldest_unread {
        Some(oldest) => format!("{} unread, since {}", agent.unread, ago(oldest, now)),
        None => "-".to_owned(),
    };
    let doing = agent.doing.as_ref().map(|doing| told(doing, now)).unwrap_or_default();
    let presence = format!("{}{declared}", agent.presence.as_str());
    let cells = [&*presence, &agent.id, known_as, &seen, &unread, &doing];
    cells.map(|cell| sanitize::line(cell).into_owned()).to_vec()
}

fn told(doing: &Doing, now: Stamp) -> String {
    let progress = doing.progress.as_ref().map(|progress| format!(" {progress}")).unwrap_or_default();
    let text = if doing.text.is_empty() { String::new() } else { format!(": {}", doing.text) };
    format!("{}{progress}{text} ({})", doing.kind, ago(&doing.at, now))
}

/// How long ago, in the largest unit of which it is a whole one.
fn ago(time: &str, now: Stamp) -> String {
    let Some(then) = Stamp::parse(time) else { return time.to_owned() };
    let seconds = ((now.micros() - then.micros()) / 1_000_000).max(0);
    match seconds {
        0..60 => "just now".to_owned(),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}
