//! `mailbag agent`: registers, shows, changes and removes agents.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::base::text::{count_of, listed};
use crate::cli::context::{CommandContext, Freshness};
use crate::cli::show::{frame, table};
use crate::commands::agent::{self, AgentFields, AgentFilter, RetiredAgentMail};
use crate::query::view::plain;
use crate::room::Room;
use crate::room::registry::{Agent, AgentStatus};
use clap::Subcommand;
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  mailbag agent add alice bob
  mailbag agent add agent_engineer_1 --role engineer --name auto
  mailbag agent list --role engineer --json
  mailbag agent set alice --status busy
  mailbag agent set alice --status retired

The agents are in registry.json, which you can also edit by hand. A running
router applies a valid change within two seconds.";

const ADD_EXAMPLES: &str = "\
Examples:
  mailbag agent add alice bob carol --role engineer
  mailbag agent add agent_writer_1 --role writer --name Sintra
  mailbag agent add dave --capability has-telegram,web --topic releases

Repeat --capability and --topic for several values, or separate them by commas.";

const SET_EXAMPLES: &str = "\
Examples:
  mailbag agent set alice --role reviewer --status online
  mailbag agent set alice --capability ''   # remove all capabilities
  mailbag agent set bob --topic releases --no-topic ports

  mailbag agent set alice --status retired  # reject new messages to alice, and keep its mail

An empty value removes the field. Capabilities are replaced as a whole; --topic adds
topics. An agent without this program writes {\"type\": \"subscribe\", \"topic\":
\"releases\"} or the type unsubscribe to its outbox.";

/// Register, show, change and remove agents
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: AgentCommand,
}

#[derive(Debug, Subcommand)]
enum AgentCommand {
    /// Register agents and create their outboxes and inboxes
    #[command(after_help = ADD_EXAMPLES)]
    Add {
        /// New ids: up to 64 letters, digits and . _ -
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        fields: AgentFieldArgs,
    },
    /// Show one agent
    #[command(
        after_help = "Examples:\n  mailbag agent show Sintra --json\n  mailbag agent show    # who you are"
    )]
    Show {
        /// Agent, by id or display name; default: the caller
        id: Option<String>,
    },
    /// List agents
    #[command(after_help = "Example:\n  mailbag agent list --role engineer --status online")]
    List {
        /// Only agents with this role
        #[arg(long)]
        role: Option<String>,
        /// Only agents with this capability
        #[arg(long, value_name = "NAME")]
        capability: Option<String>,
        /// Only agents with this status
        #[arg(long, value_parser = parse_status)]
        status: Option<AgentStatus>,
    },
    /// Change an agent's fields
    #[command(after_help = SET_EXAMPLES)]
    Set {
        /// Agent, by id or display name
        id: String,
        #[command(flatten)]
        fields: AgentFieldArgs,
        /// Topics to unsubscribe from
        #[arg(long = "no-topic", value_name = "TOPIC", value_delimiter = ',')]
        no_topics: Vec<String>,
    },
    /// Remove an agent from the registry, and keep its mail
    #[command(after_help = "Example:\n  mailbag agent remove alice --force")]
    Remove {
        /// Agent, by id or display name
        id: String,
        /// Removal even if the agent has unread or pending messages
        #[arg(long)]
        force: bool,
    },
}

#[derive(Debug, clap::Args)]
struct AgentFieldArgs {
    /// Role, such as engineer
    #[arg(long)]
    role: Option<String>,
    /// Display name, at most 12 letters; auto picks the next free name
    #[arg(long)]
    name: Option<String>,
    /// Instance, to tell several agents of one role apart
    #[arg(long)]
    instance: Option<String>,
    /// Purpose of the agent
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Capabilities, for the address cap:NAME
    #[arg(long = "capability", value_name = "NAME", value_delimiter = ',')]
    capabilities: Option<Vec<String>>,
    /// Subscribed topics, for the address #NAME
    #[arg(long = "topic", value_name = "TOPIC", value_delimiter = ',')]
    topics: Option<Vec<String>>,
    /// Agent that gets a notice when this agent is stale
    #[arg(long, value_name = "AGENT")]
    supervisor: Option<String>,
    /// Status: online, idle, busy, offline, retired or unknown
    #[arg(long, value_parser = parse_new_status)]
    status: Option<AgentStatus>,
}

/// Parses a status. An empty text removes the field: the status is unknown then.
fn parse_new_status(word: &str) -> Result<AgentStatus, String> {
    if word.is_empty() {
        return Ok(AgentStatus::Unknown);
    }
    parse_status(word)
}

/// An agent in the registry, with all its fields there.
#[derive(Serialize)]
pub(super) struct AgentOutput<'a> {
    #[serde(flatten)]
    agent: &'a Agent,
    /// The mail and the questions that remain when it is retired.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<&'a RetiredAgentMail>,
}

impl<'a> From<&'a Agent> for AgentOutput<'a> {
    fn from(agent: &'a Agent) -> AgentOutput<'a> {
        AgentOutput {
            agent,
            remaining: None,
        }
    }
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = match &args.verb {
        AgentCommand::List { .. } => cx.fresh_room(Freshness::Complete)?,
        // A waiting subscription counts.
        AgentCommand::Set { no_topics, .. } if !no_topics.is_empty() => {
            cx.fresh_room(Freshness::Messages)?
        }
        _ => cx.room()?,
    };
    match args.verb {
        AgentCommand::Add { ids, fields } => {
            let added = agent::add(&room, &ids, &fields.into())?;
            cx.out.changed();
            cx.out
                .list("agents", added.into_iter().map(Ok), "", |out, agent| {
                    let name = agent
                        .name
                        .as_ref()
                        .map(|name| format!(" ({name})"))
                        .unwrap_or_default();
                    out.done(format!("added {}{name}", agent.id))
                })?;
        }
        AgentCommand::List {
            role,
            capability,
            status,
        } => {
            let agents = agent::list(
                &room,
                &AgentFilter {
                    role,
                    capability,
                    status,
                },
            )?;
            let none = "no matching agents";
            table::list(&mut cx.out, "agents", agents, none, |agent, _| row(agent))?;
        }
        AgentCommand::Show { id } => {
            let id = id.map_or_else(|| cx.who(None).map(|who| who.name), Ok)?;
            show(&agent::show(&room, &id)?, cx)?;
        }
        AgentCommand::Set {
            id,
            fields,
            no_topics,
        } => {
            let fields = AgentFields {
                no_topics,
                ..AgentFields::from(fields)
            };
            let agent = agent::set(&room, &id, &fields)?;
            if agent.is_retired() {
                retired(&agent, &room, cx)?;
            } else {
                cx.out.changed();
                cx.out
                    .show(&agent, |out| out.done(format!("changed {}", agent.id)))?;
            }
        }
        AgentCommand::Remove { id, force } => {
            let (agent, aliases) = agent::remove(&room, &id, force)?;
            cx.out.changed();
            // Its claims lapse.
            cx.refresh(&room, Freshness::Complete);
            cx.out.show(&agent, |out| {
                out.done(format!("removed {}", agent.id))?;
                if aliases.is_empty() {
                    return Ok(());
                }
                let what = format!("removed its aliases: {}", listed(&aliases));
                out.line(sanitize::line(&what))
            })?;
        }
    }
    Ok(())
}

fn row(agent: &Agent) -> Vec<String> {
    let lists = agent.capabilities.iter().map(|c| format!("cap:{c}"));
    let lists: Vec<String> = lists
        .chain(agent.topics.iter().map(|t| format!("#{t}")))
        .collect();
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    let status = agent.status.as_str().to_owned();
    vec![
        agent.id.to_string(),
        or_dash(&agent.role),
        or_dash(&agent.name),
        status,
        lists.join(" "),
    ]
}

fn show(agent: &Agent, cx: &mut CommandContext) -> Result<()> {
    let shown = AgentOutput::from(agent);
    let fields = serde_json::to_value(&shown).unwrap_or_default();
    let fields = fields.as_object().into_iter().flatten();
    let rows = fields.map(|(key, value)| (sanitize::line(key).into_owned(), plain(value)));
    let rows: Vec<(String, String)> = rows.collect();
    cx.out.show(&shown, |out| {
        if out.is_terminal() {
            let mut rows = rows.iter();
            return rows.try_for_each(|(name, value)| frame::fact(out, name, value));
        }
        let rows = rows.iter();
        let rows: Vec<_> = rows
            .map(|(name, value)| vec![name.clone(), value.clone()])
            .collect();
        table::print(out, &rows)
    })
}

/// Reports the mail and the questions of a retired agent, because no agent reads or answers them.
fn retired(agent: &Agent, room: &Room, cx: &mut CommandContext) -> Result<()> {
    cx.out.changed();
    // Its claims lapse.
    cx.refresh(room, Freshness::Complete);
    let remaining = &agent::left_by(room, &agent.id)?;
    let shown = AgentOutput {
        remaining: Some(remaining),
        ..AgentOutput::from(agent)
    };
    cx.out.show(&shown, |out| {
        out.done(format!("changed {}", agent.id))?;
        if remaining.unread > 0 {
            let count = count_of(remaining.unread, "unread message");
            out.line(format!(
                "{count}: `mailbag inbox --as {}` shows the mail",
                agent.id
            ))?;
        }
        for one in &remaining.questions {
            let text = format!(
                "open question #{}: {} asks {}: {}",
                one.seq,
                one.from,
                listed(&one.waiting_for),
                one.text
            );
            out.line(sanitize::line(&text))?;
        }
        Ok(())
    })
}

fn parse_status(word: &str) -> Result<AgentStatus, String> {
    let known = AgentStatus::parse(word)
        .or_else(|| (word == AgentStatus::Unknown.as_str()).then_some(AgentStatus::Unknown));
    let words = || AgentStatus::ALL.map(AgentStatus::as_str).join(", ");
    known.ok_or_else(|| format!("expected one of {}, unknown", words()))
}

impl From<AgentFieldArgs> for AgentFields {
    fn from(args: AgentFieldArgs) -> AgentFields {
        let AgentFieldArgs {
            role,
            name,
            instance,
            description,
            capabilities,
            topics,
            supervisor,
            status,
        } = args;
        AgentFields {
            role,
            name,
            instance,
            description,
            capabilities,
            topics,
            no_topics: Vec::new(),
            supervisor,
            status,
        }
    }
}
