//! The commands of the command line, one file each: its options, the call, and how the answer is shown.
//!
//! The list at the end is the only list of commands. Parsing, dispatch, help, man pages and completions come from it.

use super::Exit;
use super::context::Context;
use super::watch;
use crate::base::error::Result;

mod accept;
mod ack;
mod agent;
mod archive;
mod ask;
mod backup;
mod channel;
mod charter;
mod check;
mod claim;
mod claims;
mod completions;
mod context;
mod decide;
mod decline;
mod demo;
mod digest;
mod dismiss;
mod doctor;
mod done;
mod events;
mod exec;
mod explain;
mod follow;
mod handoff;
mod helper;
mod hook;
mod hook_git;
mod inbox;
mod init;
mod install;
mod join;
mod link;
mod link_carry;
mod list;
mod log;
mod man;
mod mcp;
mod milestone;
pub(super) mod pending;
mod read;
mod rejected;
mod release;
mod reply;
mod rewake;
pub(super) mod run;
mod schema;
mod search;
mod send;
mod service;
mod settings;
mod share;
mod status;
mod take;
mod thread;
mod topic;
mod trace;
mod trust;
mod uninstall;
mod up;
mod wait;
mod web;
mod who;

/// Adds a command's options to it.
type AddOptions = fn(clap::Command) -> clap::Command;

/// Declares the commands, in groups: the heading in `--help`, and each command's name and module.
macro_rules! commands {
    ($($heading:literal: $($name:ident($module:ident)),+;)+) => {
        /// What to do.
        #[derive(Debug, clap::Subcommand)]
        pub(super) enum Command {
            $($($name($module::Args),)+)+
        }

        impl Command {
            /// Runs the command.
            pub(super) fn run(self, cx: &mut Context) -> Result<Exit> {
                match self {
                    $($(Command::$name(args) => $module::run(args, cx),)+)+
                }
            }
        }

        /// The commands by what people do with them.
        pub(super) const GROUPS: &[(&str, &[&str])] = &[$(($heading, &[$(stringify!($module)),+])),+];

        /// Each command's name, and what adds its options.
        pub(super) const OPTIONS: &[(&str, AddOptions)] =
            &[$($((stringify!($module), <$module::Args as clap::Args>::augment_args)),+),+];
    };
}

commands! {
    "Mail": Send(send), Inbox(inbox), Read(read), Wait(wait), Follow(follow), Ack(ack), List(list), Search(search), Events(events), Digest(digest),
        Trace(trace), Check(check), Rejected(rejected);
    "Conversation": Reply(reply), Ask(ask), Decide(decide), Pending(pending), Dismiss(dismiss), Milestone(milestone), Thread(thread), Context(context),
        Channel(channel), Topic(topic), Watch(watch), Web(web);
    "Work": Claim(claim), Release(release), Handoff(handoff), Accept(accept), Decline(decline), Claims(claims), Take(take),
        Done(done), Share(share), Exec(exec);
    "People": Agent(agent), Who(who), Join(join), Explain(explain);
    "Setup": Up(up), Init(init), Install(install), Uninstall(uninstall), Trust(trust), Link(link), Settings(settings), Charter(charter), Helper(helper),
        Schema(schema), Completions(completions), Man(man), Demo(demo);
    "Service": Run(run), Service(service), Status(status), Doctor(doctor), Log(log), Archive(archive), Backup(backup), Hook(hook),
        Mcp(mcp);
}
