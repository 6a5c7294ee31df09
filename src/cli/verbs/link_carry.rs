//! `mailbag link run` and `mailbag link serve`: the carriers of links to other machines.

use super::run::{LogFormat, start_logging};
use crate::base::error::{Error, Result};
use crate::base::text::count_of;
use crate::cli::Exit;
use crate::cli::context::CommandContext;
use crate::link;
use crate::room::settings::{NatsSettings, REPLICAS_MOST};
use serde::Serialize;
use std::io::IsTerminal;

pub(super) const RUN_HELP: &str = "\
Examples:
  mailbag link run           # until Ctrl-C
  mailbag link run --once    # bring what is there, in both directions, and exit
  mailbag run --links        # the daemon, which runs the carriers along

One process serves all links of the room with `carrier = \"ssh\"` or \"nats\", and
connects again when a connection ends. For ssh it starts the system's SSH client,
without questions. Over nats, the other room runs this command, too. It connects only
over links that you agreed to, see `mailbag trust`. While no daemon runs, it delivers
mail, here and at the other end of SSH.";

pub(super) const SERVE_HELP: &str = "\
Example:
  mailbag link serve fit --room /home/ann/po/.mailbag

The other machine starts this command by SSH and speaks with it over standard input
and output. In authorized_keys, a forced command with this line limits a key to one
link.";

/// Options of `mailbag link run`.
#[derive(Debug, clap::Args)]
pub(super) struct LinkRunArgs {
    /// One exchange of all pending mail
    #[arg(long)]
    once: bool,
    /// Format of the log on standard error
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    log_format: LogFormat,
}

/// Options of `mailbag link add` for NATS.
#[derive(Debug, clap::Args)]
pub(super) struct NatsArgs {
    /// For nats: file with this room's credentials for the servers
    #[arg(long, value_name = "FILE")]
    credentials: Option<String>,
    /// For nats: file with the certificates that those of the servers come from; default: the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<String>,
    /// For nats: servers that keep a copy of each stream; default: 3
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=i64::from(REPLICAS_MOST)))]
    replicas: Option<u8>,
}

impl NatsArgs {
    pub(super) fn settings(self) -> NatsSettings {
        let NatsArgs {
            credentials,
            ca,
            replicas,
        } = self;
        NatsSettings {
            credentials,
            ca,
            replicas,
        }
    }
}

/// Options of `mailbag link serve`.
#[derive(Debug, clap::Args)]
pub(super) struct LinkServeArgs {
    /// Link by which this room knows the other one
    #[arg(value_name = "TAG")]
    tag: String,
}

/// The result of an exchange over all links.
#[derive(Serialize)]
pub(super) struct ExchangeResult {
    /// The number of links to other machines that were served.
    served: usize,
}

pub(super) fn run(args: &LinkRunArgs, cx: &mut CommandContext) -> Result<Exit> {
    start_logging(args.log_format, cx);
    let room = cx.room()?;
    if args.once {
        let links = link::run::once(&room)?;
        cx.out.show(&ExchangeResult { served: links }, |out| {
            out.done(format!(
                "{}: all mail is confirmed",
                count_of(links, "link")
            ))
        })?;
    } else {
        link::run::run(&room)?;
    }
    Ok(Exit::Ok)
}

pub(super) fn serve(args: &LinkServeArgs, cx: &CommandContext) -> Result<Exit> {
    if std::io::stdin().is_terminal() {
        return Err(Error::usage(
            "`mailbag link serve` speaks with another machine, not with a person",
            "run `mailbag link run` on the other machine, which starts it",
        ));
    }
    link::serve::serve(&cx.room()?, &args.tag)?;
    Ok(Exit::Ok)
}
