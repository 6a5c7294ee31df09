//! `mailbag hook`: answers a hook of an agent client or of git.

use super::hook_git::{self, GitHook};
use crate::base::error::{Error, ErrorContext, Result};
use crate::cli::Exit;
use crate::cli::context::{CommandContext, IdentityArgs, here};
use crate::clients::git_hooks;
use crate::clients::hook_events::{self, ConfiguredIdentity, HookEvent, ToolVerdict};
use crate::clients::idle;
use crate::clients::install::{DRY_RUN, runs_hooks_of_settings};
use crate::clients::kind::Client;
use crate::clients::rewake::{IdleWait, IdleWaitEnd};
use crate::clients::session_watch;
use crate::disk::paths::PathQuestions;
use crate::query::identity;
use crate::room::Room;
use crate::room::sessions::{self, CallingSession, is_run_by_another};
use std::io::{IsTerminal, Read};

/// The largest input of a hook. It contains the output of a client's tools.
const HOOK_BYTES: u64 = 64 << 20;

const EXAMPLES: &str = "\
Examples:
  mailbag hook claude             # what Claude Code runs at each event
  mailbag hook codex --as alice   # for sessions that are always alice
  echo '{\"hook_event_name\":\"SessionStart\",\"session_id\":\"s1\"}' | mailbag hook claude
  mailbag hook git pre-commit     # what git runs before each commit

`mailbag install` adds this command to the client's settings. It reads the event
from standard input and answers in the format of the client: the unread messages
that the agent has not been told of, in at most 1,500 characters. No message is
marked as read. A permission request becomes an approval to the human, and the
answer is the decision. The exit status is always 0, so that the client continues;
`mailbag doctor` shows when each hook last ran and its last error.

`mailbag install git` adds `mailbag hook git` to the hooks of a repository. Its exit
status is 10 if the commit has to stop, and otherwise 0.";

const AGENT: &str =
    "Agent of a session that has not joined as another; default: MAILBAG_AGENT or MAOS_AGENT_ID";

/// Answer a hook of an agent client or of git
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("agent", |arg| arg.help(AGENT)))]
pub(crate) struct Args {
    /// Client that runs the hook, or git
    #[arg(value_name = "CLIENT", value_parser = HookCaller::parse)]
    client: HookCaller,
    /// Hook of git: pre-commit or post-commit
    #[arg(value_name = "HOOK", required_if_eq("client", "git"))]
    hook: Option<GitHook>,
    #[command(flatten)]
    identity: IdentityArgs,
    /// Role of a session without a name; default: MAILBAG_ROLE
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Do nothing if the client's settings have the same hooks; a plugin adds this
    #[arg(long, hide = true)]
    plugin: bool,
    /// Hold a lock for the agent's session until its client ends; a hook starts this
    #[arg(long, value_name = "AGENT", hide = true)]
    watch: Option<String>,
    /// Wait for mail for the idle session of this agent and wake it, or for that of the event and print the mail
    #[arg(long, value_name = "AGENT", hide = true, conflicts_with = "watch")]
    idle: Option<Option<String>>,
}

/// Who runs the hook.
#[derive(Debug, Clone, Copy)]
enum HookCaller {
    Client(Client),
    Git,
}

impl HookCaller {
    fn parse(word: &str) -> Result<HookCaller, String> {
        match word {
            git_hooks::NAME => Ok(HookCaller::Git),
            word => Client::parse(word)
                .map(HookCaller::Client)
                .map_err(|wanted| format!("{wanted}, git")),
        }
    }
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    if let Some(agent) = &args.watch {
        return session_watch::watch(&cx.room()?, agent).map(|()| Exit::Ok);
    }
    let client = match args.client {
        HookCaller::Client(client) => client,
        HookCaller::Git => return hook_git::run(args.hook, &args.identity, cx),
    };
    match &args.idle {
        Some(Some(agent)) => return idle::wait(&cx.room()?, client, agent).map(|()| Exit::Ok),
        Some(None) => return wait(client, &args, cx).map(|()| Exit::Ok),
        None => {}
    }
    if std::io::stdin().is_terminal() {
        cx.out.note("this command reads the event of a client from standard input: see `mailbag hook --help`");
        return Ok(Exit::Ok);
    }
    // A client stops at another status, or shows an error to its user at every event.
    let Err(e) = answer(client, &args, cx) else {
        return Ok(Exit::Ok);
    };
    cx.out.warn(&e.to_string());
    // `mailbag install` tries the hook, and has to see the failure.
    Ok(if std::env::var_os(DRY_RUN).is_some() {
        Exit::of(&e)
    } else {
        Exit::Ok
    })
}

fn answer(client: Client, args: &Args, cx: &mut CommandContext) -> Result<()> {
    let Some(event) = read(client, cx)? else {
        return Ok(());
    };
    let from = event.directory.clone().map_or_else(here, Ok)?;
    if args.plugin && runs_hooks_of_settings(client, &from) {
        return print(client, &event, None, ToolVerdict::None, cx);
    }
    let room = match room(cx, &event) {
        Ok(Some(room)) => room,
        Ok(None) => return print(client, &event, None, ToolVerdict::None, cx),
        Err(e) => {
            let reply = hook_events::failure(&event, &e);
            print(client, &event, reply.text.as_deref(), reply.verdict, cx)?;
            return Err(e);
        }
    };
    let named = identity::named(args.identity.given());
    if std::env::var_os(DRY_RUN).is_some() {
        let text = hook_events::dry_run(&room, named.as_ref())?;
        return print(client, &event, Some(&text), ToolVerdict::None, cx);
    }
    let asked = ConfiguredIdentity {
        agent: named.as_ref(),
        role: args.role.as_deref(),
    };
    let reply = hook_events::handle_in_time(&room, client.as_str(), &event, asked);
    if let Some(problem) = &reply.problem {
        cx.out.warn(problem);
    }
    print(client, &event, reply.text.as_deref(), reply.verdict, cx)
        .inspect_err(|_| reply.not_shown(&room))?;
    reply.shown(&room, client.as_str(), &event)?;
    match &reply.agent {
        Some(agent) => idle::ensure(&room, client, &event, agent),
        None => Ok(()),
    }
}

/// Waits for mail for the idle session of the event, and prints it for the plugin that has started this process.
fn wait(client: Client, args: &Args, cx: &mut CommandContext) -> Result<()> {
    let Some(event) = read(client, cx)? else {
        return Ok(());
    };
    let Some(room) = room(cx, &event)? else {
        return Ok(());
    };
    let caller = CallingSession::here(client.as_str(), event.session.clone())?;
    let named = identity::named(args.identity.given());
    let Some(mut wait) = IdleWait::begin(&room, &event, caller, named.as_ref())? else {
        return Ok(());
    };
    match wait.wait(&|e| cx.warn_undelivered(e))? {
        IdleWaitEnd::Over => Ok(()),
        IdleWaitEnd::Signal(signal) => wait.end_by(signal),
        IdleWaitEnd::Mail(briefing) => {
            let shown = print(client, &event, Some(&briefing.text), ToolVerdict::None, cx);
            shown.inspect_err(|_| wait.not_shown(&briefing))?;
            wait.shown(&briefing)
        }
    }
}

/// The event that a client writes to standard input. `None` if another client has started this hook.
pub(crate) fn read(client: Client, cx: &CommandContext) -> Result<Option<HookEvent>> {
    let mut input = Vec::new();
    std::io::stdin()
        .take(HOOK_BYTES)
        .read_to_end(&mut input)
        .doing("read", "standard input")?;
    let is_dry_run = std::env::var_os(DRY_RUN).is_some();
    let event = client.read(&input).map_err(|what| {
        if !is_dry_run {
            note_invalid_input(client, &what, cx);
        }
        Error::usage(what, "`mailbag hook --help` shows an event")
    })?;
    let is_foreign = is_run_by_another(client.as_str(), event.session.as_deref());
    Ok((!is_foreign || is_dry_run).then_some(event))
}

/// Records the problem for `mailbag doctor`: clients hide the standard error of a hook.
fn note_invalid_input(client: Client, problem: &str, cx: &CommandContext) {
    let noted = cx.room().and_then(|room| {
        sessions::note(
            &room,
            client.as_str(),
            sessions::UNKNOWN_EVENT,
            None,
            Some(problem.to_owned()),
        )
    });
    if let Err(e) = noted {
        tracing::debug!("{e}");
    }
}

/// The room of `--room`, or of the session's working directory. Most projects have no room.
pub(crate) fn room(cx: &CommandContext, event: &HookEvent) -> Result<Option<Room>> {
    let directory = event
        .directory
        .clone()
        .filter(|directory| directory.leads_to_directory());
    cx.room_of_hook(&directory.map_or_else(here, Ok)?)
}

fn print(
    client: Client,
    event: &HookEvent,
    text: Option<&str>,
    verdict: ToolVerdict,
    cx: &mut CommandContext,
) -> Result<()> {
    cx.out
        .bytes(client.answer(event, text, verdict).as_bytes())?;
    cx.out.flush()
}
