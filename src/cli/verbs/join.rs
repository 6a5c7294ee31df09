//! `mailbag join`: binds a client's session to an agent.

use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::base::text::{count_of, joined};
use crate::cli::context::CommandContext;
use crate::cli::show::output::CommandOutput;
use crate::commands::join::{self, JoinResult};
use crate::query::identity;
use crate::room::sessions::{self, CallingSession, Takeover, session_variables};

const EXAMPLES: &str = "\
Examples:
  mailbag join alice                      # this session is alice
  mailbag join alice --role engineer      # register alice if she is unknown
  mailbag join --role engineer            # take the next free name
  mailbag join alice --session 0199a2b3   # if the client sets no variable
  mailbag join alice --take-over          # replace another session

For agents that run in a client such as Claude Code, Codex or Gemini CLI. Hooks,
tools and commands of the session then need no --as. The name is leased to the
session: every call renews the lease, and another session cannot join as the agent
until the lease expires. Only a person can give it the name with --take-over. That is session_lease (30 minutes, in settings.toml) after
the last call, and not while a wait, MCP server or watch of the session runs. The
joined name takes precedence over MAILBAG_AGENT and `mailbag install --agent`.

A session without a name gets one at its start. If it joins another agent, its claims
go to that agent, and its first name becomes an alias.";

/// Bind this client session to an agent
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Agent, by id or display name; default: the next free name
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Role; registers an unknown agent
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Session id of the client; default: from the environment
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Name of the client
    #[arg(long, value_name = "CLIENT", requires = "session")]
    client: Option<String>,
    /// Replacement of another live session
    #[arg(long)]
    take_over: bool,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.room_to_route()?;
    let caller = match (args.session, CallingSession::from_environment()) {
        (Some(id), own) => {
            let known = own
                .as_ref()
                .filter(|own| own.session.as_deref() == Some(&id))
                .map(|own| own.client.clone());
            let client = args.client.or(known).unwrap_or_else(|| "client".into());
            // The hook of that session adds its process. The parent of this command may not be the client.
            CallingSession {
                process: None,
                ..sessions::of_given_id(&room, own.as_ref(), &client, id)?
            }
        }
        (None, Some(caller)) => caller,
        (None, None) => return Err(no_session()),
    };
    let claim = if args.take_over {
        Takeover::Force
    } else {
        Takeover::Free
    };
    let role = args.role.as_deref();
    let joined = match &args.name {
        Some(name) => join::join(&room, name, role, &caller, claim)?,
        None => join::join_any(&room, role, &caller)?,
    };
    cx.out.changed();
    cx.out.show(&joined, |out| show(&joined, out))
}

fn show(joined: &JoinResult, out: &mut CommandOutput) -> Result<()> {
    if let Some(who) = identity::named(None).filter(|who| who.name != joined.agent) {
        let name = sanitize::line(&who.name);
        out.note(&format!(
            "{} names {name}, but commands, hooks and tools of this session act as {}",
            who.source.as_str(),
            joined.agent
        ));
    }
    let new = if joined.registered {
        ", newly registered"
    } else {
        ""
    };
    let was = joined
        .previous_name
        .as_ref()
        .map(|was| format!(", and no longer {was}"))
        .unwrap_or_default();
    let unread = count_of(joined.unread, "unread message");
    out.done(format!(
        "this session is {}{new}{was}; {unread}",
        joined.agent
    ))
}

fn no_session() -> Error {
    let variables = joined(session_variables().map(|(name, _)| name));
    Error::usage(
        format!("cannot identify this session: none of {variables} is set"),
        "give --session ID, the id that the client gives the session, or set MAILBAG_AGENT",
    )
}
