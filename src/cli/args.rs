//! The command line as it is written: the commands, and what all of them take.

use super::context::Global;
use super::verbs::{
    ack, agent, archive, ask, backup, channel, check, completions, demo, doctor, done, exec, explain, follow, helper,
    hook, inbox, init, install, join, list, log, man, mcp, read, rejected, reply, run, schema, search, send, settings,
    share, status, take, thread, topic, trace, trust, uninstall, wait, who,
};
use super::watch;
use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  mailbag init                              make a room in .mailbag
  mailbag agent add alice bob               register two agents
  mailbag install claude --agent alice      Claude Code's sessions here are alice
  mailbag send bob 'hello' --as alice       alice writes to bob
  mailbag read --as bob                     show the oldest, and mark it as read
  mailbag ask bob 'which port?' --as alice  alice asks bob, and waits for the answer
  mailbag run                               route at once, wake who idles, until ended

Nothing needs a router: without one, whoever sends, reads or waits routes. Nor
the program: write {\"to\": \"bob\", \"body\": \"hello\"} into outbox/alice/x.json.

Exit status: 0 done, 1 trouble, 2 usage, 3 not found, 4 timeout, 65 bad data,
75 try again later.";

/// Mail for AI agents, in plain files
///
/// An agent drops a JSON file into its outbox; mailbag checks it, works out who it is for, and puts one copy into each
/// recipient's inbox: once, whole, and even across a crash.
#[derive(Debug, Parser)]
#[command(name = "mailbag", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Init(init::Args),
    Agent(agent::Args),
    Send(send::Args),
    Ack(ack::Args),
    Trace(trace::Args),
    Inbox(inbox::Args),
    Read(read::Args),
    Wait(wait::Args),
    Ask(ask::Args),
    Follow(follow::Args),
    Take(take::Args),
    Done(done::Args),
    Reply(reply::Args),
    Thread(thread::Args),
    List(list::Args),
    Search(search::Args),
    Channel(channel::Args),
    Topic(topic::Args),
    Install(install::Args),
    Uninstall(uninstall::Args),
    Join(join::Args),
    Who(who::Args),
    Explain(explain::Args),
    Share(share::Args),
    Exec(exec::Args),
    Check(check::Args),
    Watch(watch::Args),
    Rejected(rejected::Args),
    Status(status::Args),
    Trust(trust::Args),
    Doctor(doctor::Args),
    Log(log::Args),
    Archive(archive::Args),
    Backup(backup::Args),
    Run(run::Args),
    Settings(settings::Args),
    Schema(schema::Args),
    Helper(helper::Args),
    Hook(hook::Args),
    Mcp(mcp::Args),
    Demo(demo::Args),
    Completions(completions::Args),
    Man(man::Args),
}
