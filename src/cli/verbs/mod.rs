//! The commands of the command line, one file each: its options, the call, and how the answer is shown.
//!
//! The list at the end is the only list of commands. Parsing, dispatch, help, man pages and completions come from it.

use super::Exit;
use super::context::CommandContext;
use crate::base::error::Result;
use std::path::Path;

mod ack;
mod agent;
mod archive;
mod ask;
mod backup;
mod channel;
mod claim;
mod claims;
mod completions;
mod context;
mod decide;
mod demo;
mod dismiss;
mod doctor;
mod dry_run;
mod exec;
mod follow;
mod generate;
mod handoff;
mod help;
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
mod mcp;
mod message;
pub(super) mod pending;
mod pending_follow;
mod read;
mod rejected;
mod release;
mod reply;
mod rewake;
pub(super) mod run;
mod schema;
mod search;
mod send;
mod settings;
mod share;
mod status;
mod thread;
mod trace;
mod trust;
mod uninstall;
mod up;
mod wait;
mod watch;
mod web;
mod who;

/// Declares the commands, in groups: the heading in `--help`, and each command's name and module.
macro_rules! commands {
    ($($heading:literal: $($name:ident($module:ident)),+;)+ hidden: $($hidden:ident($hidden_module:ident)),+;) => {
        /// The command.
        #[derive(Debug, clap::Subcommand)]
        pub(super) enum Command {
            $($($name($module::Args),)+)+
            $($hidden($hidden_module::Args),)+
        }

        impl Command {
            /// Runs the command.
            pub(super) fn run(self, cx: &mut CommandContext) -> Result<Exit> {
                match self {
                    $($(Command::$name(args) => $module::run(args, cx).map(Into::into),)+)+
                    $(Command::$hidden(args) => $hidden_module::run(args, cx).map(Into::into),)+
                }
            }
        }

        /// The commands by what people do with them.
        pub(super) const GROUPS: &[(&str, &[&str])] = &[$(($heading, &[$(stringify!($module)),+])),+];
    };
}

/// The commands of daily work, which `mailbag --help` shows.
pub(super) const DAILY: &[&str] = &[
    "up", "send", "inbox", "read", "reply", "ask", "wait", "pending", "decide", "claim", "who",
    "watch",
];

/// Shows the state of the room, or how to begin without one.
pub(super) fn overview(cx: &mut CommandContext) -> Result<Exit> {
    status::overview(cx)
}

impl Command {
    /// The directory of the room, for a command that names it as an argument.
    pub(super) fn room_directory(&self) -> Option<&Path> {
        match self {
            Command::Init(args) => args.directory(),
            Command::Trust(args) => args.directory(),
            _ => None,
        }
    }
}

commands! {
    "Mail": Send(send), Inbox(inbox), Read(read), Wait(wait), Ack(ack), List(list), Search(search), Trace(trace), Rejected(rejected);
    "Conversation": Reply(reply), Ask(ask), Decide(decide), Pending(pending), Dismiss(dismiss), Thread(thread), Context(context),
        Watch(watch), Web(web);
    "Work": Claim(claim), Release(release), Handoff(handoff), Claims(claims), Share(share), Exec(exec);
    "People": Agent(agent), Who(who), Join(join);
    "Setup": Up(up), Init(init), Install(install), Uninstall(uninstall), Trust(trust), Link(link), Settings(settings),
        Generate(generate);
    "Service": Run(run), Status(status), Doctor(doctor), Log(log), Archive(archive), Backup(backup), Hook(hook),
        Mcp(mcp);
    hidden: Channel(channel), Demo(demo), Help(help), Message(message);
}
