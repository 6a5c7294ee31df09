//! `mailbag agent …`

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::table;
use crate::commands::agent::{self, Fields, Filter};
use crate::room::Room;
use crate::room::registry::{Agent, Status, Wake};
use clap::Subcommand;

const EXAMPLES: &str = "\
Examples:
  mailbag agent add alice bob
  mailbag agent add agent_engineer_1 --role engineer --name auto
  mailbag agent list --role engineer --json
  mailbag agent set alice --status busy
  mailbag agent retire alice

registry.json may be edited by hand as well; a router that runs takes a valid
change within two seconds.";

const ADD_EXAMPLES: &str = "\
Examples:
  mailbag agent add alice bob carol --role engineer
  mailbag agent add agent_writer_1 --role writer --name Sintra
  mailbag agent add dave --capability has-telegram,web --topic releases

Lists take one value each time, or several with commas.";

const SET_EXAMPLES: &str = "\
Examples:
  mailbag agent set alice --role reviewer --status online
  mailbag agent set alice --capability ''          no capabilities any more

An empty value takes a field away; a list is replaced as a whole.";

/// Register agents, change them, look at them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Register agents, and make their outboxes and inboxes
    #[command(after_help = ADD_EXAMPLES)]
    Add {
        /// Ids: letters, digits and . _ -, at most 64
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        fields: FieldArgs,
    },
    /// Show one agent
    #[command(after_help = "Example:\n  mailbag agent show Sintra --json")]
    Show {
        /// An id or a display name
        id: String,
    },
    /// List agents
    #[command(after_help = "Example:\n  mailbag agent list --role engineer --status online")]
    List {
        /// Only those of this role
        #[arg(long)]
        role: Option<String>,
        /// Only those that have this capability
        #[arg(long, value_name = "NAME")]
        capability: Option<String>,
        /// Only those of this status
        #[arg(long, value_parser = parse_status)]
        status: Option<Status>,
    },
    /// Change an agent's fields
    #[command(after_help = SET_EXAMPLES)]
    Set {
        /// An id or a display name
        id: String,
        #[command(flatten)]
        fields: FieldArgs,
    },
    /// Let nobody write to an agent any more; its mail stays
    #[command(
        after_help = "Example:\n  mailbag agent retire alice\n\n`mailbag agent set alice --status offline` takes it back."
    )]
    Retire {
        /// An id or a display name
        id: String,
    },
    /// Take an agent out of the registry; its mail stays on disk
    #[command(after_help = "Example:\n  mailbag agent remove alice --force")]
    Remove {
        /// An id or a display name
        id: String,
        /// Even if it has unread mail, or mail that was not routed yet
        #[arg(long)]
        force: bool,
    },
    /// How many agents each role has
    #[command(after_help = "Example:\n  mailbag agent roles")]
    Roles,
}

#[derive(Debug, clap::Args)]
struct FieldArgs {
    /// What it does, such as engineer
    #[arg(long)]
    role: Option<String>,
    /// Its display name, at most 12 letters; auto takes the next free one
    #[arg(long)]
    name: Option<String>,
    /// Which of several alike it is
    #[arg(long)]
    instance: Option<String>,
    /// What it is there for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// What it can do, for `cap:NAME`
    #[arg(long = "capability", value_name = "NAME", value_delimiter = ',')]
    capabilities: Option<Vec<String>>,
    /// What it follows, for `#NAME`
    #[arg(long = "topic", value_name = "NAME", value_delimiter = ',')]
    topics: Option<Vec<String>>,
    /// The system user that must own what it drops
    #[arg(long)]
    uid: Option<u32>,
    /// Who is told when it is stuck
    #[arg(long, value_name = "AGENT")]
    supervisor: Option<String>,
    /// How it is woken when mail comes: claude, codex, nobody, or a program as a JSON array
    #[arg(long, value_name = "HOW", value_parser = Wake::parse)]
    wake: Option<Wake>,
    /// online, idle, busy, offline, retired or unknown
    #[arg(long, value_parser = parse_status)]
    status: Option<Status>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    match args.verb {
        Verb::Add { ids, fields } => {
            let added = agent::add(&room, &ids, &fields.into())?;
            if cx.out.json {
                cx.out.json(&added)?;
            } else {
                for agent in &added {
                    let name = agent.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
                    cx.out.done(format!("added {}{name}", agent.id))?;
                }
            }
        }
        Verb::List { role, capability, status } => {
            let agents = agent::list(&room, &Filter { role, capability, status })?;
            if cx.out.json { cx.out.json(&agents)? } else { list(&agents, cx)? }
        }
        Verb::Roles => {
            let roles = agent::roles(&room)?;
            if cx.out.json {
                cx.out.json(&roles)?;
            } else {
                let rows = roles.into_iter().map(|(role, count)| vec![role, count.to_string()]);
                table::print(&mut cx.out, &rows.collect::<Vec<_>>())?;
            }
        }
        Verb::Show { id } => show(&agent::show(&room, &id)?, &room, cx)?,
        Verb::Set { id, fields } => {
            let agent = agent::set(&room, &id, &fields.into())?;
            changed("changed", &agent, cx)?;
            say_unless_agreed(&agent, &room, cx)?;
        }
        Verb::Retire { id } => changed("retired", &agent::retire(&room, &id)?, cx)?,
        Verb::Remove { id, force } => changed("removed", &agent::remove(&room, &id, force)?, cx)?,
    }
    Ok(Exit::Ok)
}

fn list(agents: &[Agent], cx: &mut Context) -> Result<()> {
    let row = |agent: &Agent| {
        let lists = agent.capabilities.iter().map(|c| format!("cap:{c}"));
        let lists: Vec<String> = lists.chain(agent.topics.iter().map(|t| format!("#{t}"))).collect();
        let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
        let status = agent.status.as_str().to_owned();
        vec![agent.id.to_string(), or_dash(&agent.role), or_dash(&agent.name), status, lists.join(" ")]
    };
    table::print(&mut cx.out, &agents.iter().map(row).collect::<Vec<_>>())
}

/// What an agent's session set was agreed to by nobody.
fn say_unless_agreed(agent: &Agent, room: &Room, cx: &mut Context) -> Result<()> {
    if agent.wake.as_ref().map_or(Ok(true), |wake| room.agrees(wake))? {
        return Ok(());
    }
    cx.out.note(&format!("{} is not woken before a person agrees to the program: `mailbag trust`", agent.id));
    Ok(())
}

fn show(agent: &Agent, room: &Room, cx: &mut Context) -> Result<()> {
    let serde_json::Value::Object(mut fields) = agent.to_value() else { return Ok(()) };
    if let Some(wake) = agent.wake.as_ref().filter(|_| agent.is_woken_by_a_program()) {
        let agreed = room.agrees(wake).inspect_err(|e| cx.out.warn(&e.to_string()));
        fields.insert("wake_agreed".into(), agreed.unwrap_or(false).into());
    }
    if cx.out.json {
        return cx.out.json(&fields);
    }
    let rows = fields.into_iter().map(|(key, value)| {
        let text = match value {
            serde_json::Value::String(text) => text,
            serde_json::Value::Array(items) => {
                items.iter().map(|item| item.as_str().unwrap_or_default()).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        };
        vec![sanitize::line(&key).into_owned(), sanitize::line(&text).into_owned()]
    });
    table::print(&mut cx.out, &rows.collect::<Vec<_>>())
}

fn changed(verb: &str, agent: &Agent, cx: &mut Context) -> Result<()> {
    match cx.out.json {
        true => cx.out.json(agent),
        false => cx.out.done(format!("{verb} {}", agent.id)),
    }
}

fn parse_status(word: &str) -> Result<Status, String> {
    let known = Status::parse(word).or_else(|| (word == Status::Unknown.as_str()).then_some(Status::Unknown));
    let words = || Status::ALL.map(Status::as_str).join(", ");
    known.ok_or_else(|| format!("write one of {}, unknown", words()))
}

impl From<FieldArgs> for Fields {
    fn from(args: FieldArgs) -> Fields {
        let FieldArgs { role, name, instance, description, capabilities, topics, uid, supervisor, wake, status } = args;
        Fields { role, name, instance, description, capabilities, topics, uid, supervisor, wake, status }
    }
}
