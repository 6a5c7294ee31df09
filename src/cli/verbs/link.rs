//! `mailbag link`: links to other rooms.

use super::link_carry;
use crate::base::error::Result;
use crate::base::sanitize;
use crate::base::text::count_of;
use crate::cli::Exit;
use crate::cli::context::{CommandContext, Freshness, here};
use crate::cli::show::output::{BOLD, CommandOutput, YELLOW};
use crate::cli::show::table;
use crate::commands::link::{self, AddedLink, LinkRequest};
use crate::query::links::{self, LinkStatus};
use crate::query::pending::age;
use crate::room::registry::AddressKind;
use crate::room::settings::{Carrier, LinkSettings};

const EXAMPLES: &str = "\
Examples:
  mailbag link add po ../po                       # a room on this machine
  mailbag send po:Sintra 'Which port?' --as alice
  mailbag link status                             # what was sent, confirmed and received

A link leads to the room of another project. Its agents have addresses such as
po:Sintra, po:all_engineer and po:*. Both rooms need a link to each other. See
docs/links.md.";

const ADD_HELP: &str = "\
Examples:
  mailbag link add po ../po
  mailbag link add po ../po --accept agents,roles,all
  mailbag link add po ../po --dry-run

The link is a table in settings.toml; the rest of the file stays as it is. TAG is how
this room calls the other one. The other room chooses its own tag for this room: the
output shows the command for it.

--accept says which addresses the mail from the other room may have here: agents (by
name), roles (all_ROLE, any_ROLE), all (and patterns), topics (and capabilities,
lanes, owners), human. Default: agents,roles.";

const STATUS_HELP: &str = "\
Examples:
  mailbag link status
  mailbag link status po --json

Exit status 1 means that something is wrong with a link: its mail waits, or the link
is stopped. Below each problem is a command that helps.";

const REMOVE_HELP: &str = "\
Examples:
  mailbag link remove po
  mailbag link remove po --bounce

The command does nothing while mail waits for the other room's confirmation. With
--bounce the senders of this mail are told that it was not confirmed.

A link stops when the other room no longer has what it had confirmed: it was restored
from a backup, copied, or replaced by a new room. Then remove the link in both rooms,
and add it again.";

/// Add, show and remove links to other rooms
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: LinkCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LinkCommand {
    /// Add a link to another room
    #[command(after_help = ADD_HELP)]
    Add {
        /// Tag of the other room, as in po:Sintra
        tag: String,
        /// Project directory or room; for ssh: [USER@]HOST:/PATH/TO/ROOM; for nats: servers, as nats://HOST or tls://HOST, with
        /// commas; for none: nothing
        #[arg(value_name = "DIR|HOST")]
        address: Option<String>,
        /// What brings the mail: dir (this machine or a mount), ssh, nats, or none (the other room connects)
        #[arg(long, value_name = "CARRIER", default_value = "dir", value_parser = carrier)]
        carrier: Carrier,
        /// Addresses that mail from the other room may have
        #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = accept)]
        accept: Option<Vec<AddressKind>>,
        /// This room's tag in the other room; for ssh and nats the default is the setting tag
        #[arg(long, value_name = "NAME")]
        known_as: Option<String>,
        #[command(flatten)]
        nats: link_carry::NatsArgs,
        /// Table to be written, without a change
        #[arg(long)]
        dry_run: bool,
    },
    /// List the links
    #[command(
        after_help = "Example:\n  mailbag link list --json\n\nColumns: tag, carrier, address, accepted addresses."
    )]
    List,
    /// Show how far the mail of links is
    #[command(after_help = STATUS_HELP)]
    Status {
        /// One link; default: all
        #[arg(value_name = "TAG")]
        tag: Option<String>,
    },
    /// Remove a link
    #[command(after_help = REMOVE_HELP)]
    Remove {
        /// Link
        #[arg(value_name = "TAG")]
        tag: String,
        /// Removal also while mail waits, whose senders are told
        #[arg(long)]
        bounce: bool,
    },
    /// Carry mail to and from other machines
    #[command(after_help = link_carry::RUN_HELP)]
    Run(link_carry::LinkRunArgs),
    /// Serve a link to another machine
    #[command(after_help = link_carry::SERVE_HELP)]
    Serve(link_carry::LinkServeArgs),
}

fn carrier(word: &str) -> Result<Carrier, String> {
    Carrier::parse(word).ok_or_else(|| "the carriers are dir, ssh, nats and none".to_owned())
}

fn accept(word: &str) -> Result<AddressKind, String> {
    AddressKind::parse(word.trim())
        .ok_or_else(|| "the kinds are agents, roles, all, topics and human".to_owned())
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    match args.verb {
        LinkCommand::Add {
            tag,
            address,
            carrier,
            accept,
            known_as,
            nats,
            dry_run,
        } => {
            let (address, nats) = (address.as_deref().unwrap_or_default(), nats.settings());
            add(
                &LinkRequest {
                    tag: &tag,
                    address,
                    carrier,
                    accept,
                    known_as,
                    nats,
                    dry_run,
                },
                cx,
            )
        }
        LinkCommand::List => list(cx),
        LinkCommand::Status { tag } => status(tag.as_deref(), cx),
        LinkCommand::Remove { tag, bounce } => remove(&tag, bounce, cx),
        LinkCommand::Run(args) => link_carry::run(&args, cx),
        LinkCommand::Serve(args) => link_carry::serve(&args, cx),
    }
}

fn add(wanted: &LinkRequest<'_>, cx: &mut CommandContext) -> Result<Exit> {
    let room = cx.room_to_route()?;
    let added = link::add(&room, &here()?, wanted)?;
    if !added.dry_run {
        cx.out.changed();
    }
    cx.out.show(&added, |out| tell_added(&added, out))?;
    if !added.dry_run {
        cx.refresh(&room, Freshness::Complete);
    }
    Ok(Exit::Ok)
}

fn tell_added(added: &AddedLink, out: &mut CommandOutput) -> Result<()> {
    let AddedLink {
        tag,
        settings,
        added,
        changed,
        dry_run,
        table,
        reverse_link,
        next,
    } = added;
    if *dry_run {
        out.line(sanitize::block(table.trim_end()))?;
    } else {
        let word = match (added, changed) {
            (true, _) => "added",
            (false, true) => "changed",
            (false, false) => "unchanged:",
        };
        let to = match settings.address.as_str() {
            "" => String::new(),
            address => format!(" to {}", sanitize::line(address)),
        };
        out.done(format!("{word} the link {tag}{to}"))?;
    }
    match (reverse_link, next) {
        (Some(tag), _) => out.done(format!(
            "the other room calls this one {tag}, so mail can be sent in both directions"
        )),
        (None, Some(next)) => {
            out.done("the other room has no link to this one yet; add it with")?;
            out.line(format!("  {}", sanitize::line(next)))
        }
        (None, None) => {
            out.done("the other room needs a link to this one, too; see docs/machines.md")
        }
    }
}

fn list(cx: &mut CommandContext) -> Result<Exit> {
    let links = links::list(&cx.room()?)?;
    table::list(
        &mut cx.out,
        "links",
        links,
        "no links; `mailbag link add` adds one",
        |link, _| {
            let LinkSettings {
                carrier, address, ..
            } = &link.settings;
            let cells = [
                &link.tag,
                carrier.as_str(),
                address,
                &accepted(&link.settings),
            ];
            cells.map(|cell| sanitize::line(cell).into_owned()).to_vec()
        },
    )?;
    Ok(Exit::Ok)
}

fn accepted(settings: &LinkSettings) -> String {
    settings
        .accept
        .iter()
        .map(|accept| accept.as_str())
        .collect::<Vec<_>>()
        .join(",")
}

fn status(tag: Option<&str>, cx: &mut CommandContext) -> Result<Exit> {
    let room = cx.fresh_room(Freshness::Complete)?;
    let links = links::links(&room, tag)?;
    let is_well = links.iter().all(|link| link.problems.is_empty());
    cx.out.list(
        "links",
        links.into_iter().map(Ok),
        "no links; `mailbag link add` adds one",
        |out, link| show(&link, out),
    )?;
    Ok(if is_well { Exit::Ok } else { Exit::Error })
}

fn show(link: &LinkStatus, out: &mut CommandOutput) -> Result<()> {
    let LinkStatus {
        sent,
        confirmed,
        waiting,
        oldest,
        received,
        ..
    } = link;
    let head = out.paint(BOLD, &link.tag);
    match &link.settings {
        Some(settings) => {
            let LinkSettings {
                carrier, address, ..
            } = settings;
            let address = sanitize::line(address).into_owned();
            out.line(format!(
                "{head}  {} {address}, accepts {}",
                carrier.as_str(),
                accepted(settings)
            ))?;
        }
        None => out.line(format!("{head}  not in settings.toml"))?,
    }
    let oldest = oldest
        .as_deref()
        .map(|oldest| format!(", the oldest for {}", age(oldest)))
        .unwrap_or_default();
    out.line(format!(
        "    sent {sent}, confirmed {confirmed}, waiting {waiting}{oldest}; received {received}"
    ))?;
    for problem in &link.problems {
        let word = out.paint(YELLOW, "problem");
        out.line(format!(
            "    {word}: {} (for {})",
            sanitize::line(&problem.reason),
            age(&problem.since)
        ))?;
        out.line(format!("      -> {}", sanitize::line(&problem.fix)))?;
    }
    Ok(())
}

fn remove(tag: &str, bounce: bool, cx: &mut CommandContext) -> Result<Exit> {
    let removed = link::remove(&cx.room_to_route()?, tag, bounce)?;
    cx.out.changed();
    cx.out.show(&removed, |out| {
        let gone = match removed.waiting {
            0 => String::new(),
            n => format!(
                "; {} not confirmed, and the senders are told",
                count_of(n, "item")
            ),
        };
        out.done(format!("removed the link {}{gone}", removed.tag))?;
        out.done("this command adds it again:")?;
        out.line(format!("  {}", sanitize::line(&removed.add_again)))?;
        let Some(command) = &removed.server_cleanup else {
            return Ok(());
        };
        out.done(
            "the servers keep what was for this room; with the client of NATS, remove it there:",
        )?;
        out.line(format!("  {}", sanitize::line(command)))
    })?;
    Ok(Exit::Ok)
}
