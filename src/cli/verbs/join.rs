//! `mailbag join`

use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::commands::join;
use crate::query::identity;
use crate::room::sessions::{Caller, Claim, VARIABLES};

const EXAMPLES: &str = "\
Examples:
  mailbag join alice                           this session is alice from now on
  mailbag join alice --role engineer           and is registered, if she isn't yet
  mailbag join alice --session 0199a2b3-…      where the client doesn't name it
  mailbag join alice --take-over               although another session has her

For agents that run in a client such as Claude Code, Codex or Gemini CLI. Hooks,
tools and commands of the session then know who it is without --as. The hold is
a lease: every call renews it, and another session is refused while it lives
(session_lease in settings.toml, 30 minutes after the last call, and as long as
a waiter, a tool server or a view of the session runs). It counts before
MAILBAG_AGENT and before the name that `mailbag install --agent` gave.";

/// Say which agent this client's session speaks for
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Who it is: an agent's id or display name
    #[arg(value_name = "NAME")]
    name: String,
    /// What it does; registers an agent that isn't yet
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// The client's id of the session; else what its environment says
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Which client it is
    #[arg(long, value_name = "CLIENT", requires = "session")]
    client: Option<String>,
    /// Take the agent from another session that lives
    #[arg(long)]
    take_over: bool,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let caller = match (args.session, Caller::from_environment()) {
        (Some(id), there) => {
            let known = there.filter(|there| there.session.as_deref() == Some(&id)).map(|there| there.client);
            let client = args.client.or(known).unwrap_or_else(|| "client".into());
            // The hook of that session adds its process; what runs this command may be no client at all.
            Caller { process: None, ..Caller::here(&client, Some(id))? }
        }
        (None, Some(caller)) => caller,
        (None, None) => return Err(no_session()),
    };
    let claim = if args.take_over { Claim::Force } else { Claim::Free };
    let joined = join::join(&cx.room()?, &args.name, args.role.as_deref(), &caller, claim)?;
    if cx.out.json {
        cx.out.json(&joined)?;
        return Ok(Exit::Ok);
    }
    if let Some(who) = identity::named(None).filter(|who| who.name != joined.agent) {
        let name = sanitize::line(&who.name);
        cx.out.note(&format!(
            "{} says {name}; commands, hooks and tools of this session are {} all the same",
            who.source, joined.agent
        ));
    }
    let new = if joined.registered { ", registered just now" } else { "" };
    cx.out.done(format!("this session is {}{new}; {} unread", joined.agent, joined.unread))?;
    Ok(Exit::Ok)
}

fn no_session() -> Error {
    let variables = VARIABLES.map(|(name, _)| name).join(", ");
    Error::Usage {
        what: format!("nothing says which session this is: none of {variables} is set"),
        cure: "give --session ID (a hook says it at the session's start), or set MAILBAG_AGENT instead".into(),
    }
}
