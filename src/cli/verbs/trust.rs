//! `mailbag trust`: records the person's consent to use a room and to connect over its links.

use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{CommandContext, here};
use crate::cli::show::output::{BOLD, CommandOutput, YELLOW};
use crate::cli::show::table;
use crate::commands::trust::{self, RoomTrust};
use crate::room::actor::require_person;
use crate::room::consent::KnownRoom;
use crate::room::key_file::KeyFile;
use crate::room::settings::LinkConnection;
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  mailbag trust                   # show the room found here and ask
  mailbag trust /srv/team --yes   # trust without a question, in a script
  mailbag trust --list            # show everything that you trust
  mailbag trust --revoke          # stop trusting the room found here

A link over which a room connects to another machine is used only if you trust exactly
this link, also in your own room.

The consent is recorded outside the room, in ~/.local/share/mailbag or below
XDG_DATA_HOME. A sandbox or container with another home directory needs its own
consent, or MAILBAG_TRUST_DIR set to a directory that it can read.

Your first decision on an approval that needs a signature pins your decision key in
the room. The key is in ~/.local/share/mailbag/decision.key of your home directory in
the user database.

Exit status 1 means that you did not agree, 3 that there is no room or no consent to
revoke.";

/// Trust the links of a room
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Room, or directory with a room; default: the room found here
    dir: Option<PathBuf>,
    /// Consent to everything shown, without a question
    #[arg(long, conflicts_with_all = ["revoke", "list"])]
    yes: bool,
    /// Removal of all consent for the room
    #[arg(long, conflicts_with = "list")]
    revoke: bool,
    /// List of everything you trust, for all rooms
    #[arg(long, conflicts_with = "dir")]
    list: bool,
}

/// A room, or recorded consent.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum TrustOutput<'a> {
    /// A room and the consent of the user.
    Room(&'a RoomTrust),
    /// With `--list`: all recorded consent.
    Rooms {
        /// The rooms.
        rooms: &'a [KnownRoom],
    },
    /// With `--revoke`: the removed consent.
    Revoked {
        /// The rooms.
        revoked: &'a [KnownRoom],
    },
}

impl Args {
    /// The directory of the room, if it is given.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.dir.as_deref()
    }
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    if args.list {
        return list(cx);
    }
    let (asked, from) = (args.dir.or_else(|| cx.asked()), here()?);
    if args.revoke {
        let revoked = trust::revoke(asked.as_deref(), &from)?;
        cx.out
            .show(&TrustOutput::Revoked { revoked: &revoked }, |out| {
                let mut paths = revoked
                    .iter()
                    .map(|consent| sanitize::line(&consent.identity.path));
                paths.try_for_each(|path| out.line(format!("revoked for {path}")))
            })?;
        return Ok(Exit::Ok);
    }
    let before = trust::look(asked.as_deref(), &from)?;
    if before.open_links().next().is_none() && before.settings.is_empty() {
        cx.out.show(&TrustOutput::Room(&before), |out| {
            show(&before, out)?;
            out.line("nothing to decide")
        })?;
        return Ok(Exit::Ok);
    }
    cx.out.ahead(|out| show(&before, out))?;
    let is_agreed = args.yes || ask(cx)?;
    if is_agreed {
        trust::agree(&before)?;
    }
    if cx.out.json {
        let after = trust::look(asked.as_deref(), &from)?;
        cx.out.json(&TrustOutput::Room(&after))?;
    } else {
        cx.out
            .line(if is_agreed { "trusted" } else { "not trusted" })?;
    }
    Ok(if is_agreed { Exit::Ok } else { Exit::Error })
}

/// Asks the person.
fn ask(cx: &mut CommandContext) -> Result<bool> {
    require_person("change consent")?;
    let question = "Let these links connect, and these settings take effect?";
    cx.out.ask(question)?.ok_or_else(|| {
        Error::usage(
            "cannot ask for consent without a terminal",
            "run `mailbag trust` at a terminal, or give --yes to trust all of this",
        )
    })
}

fn show(standing: &RoomTrust, out: &mut CommandOutput) -> Result<()> {
    let name = out.paint(BOLD, &format!("{:<8}", "room"));
    let room = sanitize::line(&standing.identity.path);
    out.line(format!("{name} {room}"))?;
    for link in &standing.links {
        print_trust("link", &connection(&link.connection), link.trusted, out)?;
    }
    for setting in &standing.settings {
        let text = format!("{} = {}", setting.key, setting.value);
        print_trust("setting", &text, false, out)?;
    }
    Ok(())
}

fn print_trust(name: &str, text: &str, trusted: bool, out: &mut CommandOutput) -> Result<()> {
    let (style, word) = if trusted {
        (BOLD, "trusted")
    } else {
        (YELLOW, "not trusted")
    };
    let (name, word) = (
        out.paint(BOLD, &format!("{name:<8}")),
        out.paint(style, word),
    );
    out.line(format!("{name} {}: {word}", sanitize::line(text)))
}

/// A connection in words.
fn connection(connection: &LinkConnection) -> String {
    let LinkConnection {
        link,
        carrier,
        address,
        known_as,
        credentials,
        ca,
    } = connection;
    let known_as = known_as.as_deref().unwrap_or("(no tag)");
    let file = |name: &str, file: &Option<KeyFile>| {
        let content = |file: &KeyFile| {
            file.sha256
                .as_deref()
                .map_or("missing".to_owned(), |sha256| {
                    format!("sha256 {sha256:.12}")
                })
        };
        file.as_ref()
            .map(|file| format!(", with the {name} in {} ({})", file.path, content(file)))
            .unwrap_or_default()
    };
    let files = file("credentials", credentials) + &file("certificates", ca);
    format!("{link} by {carrier} at {address}, as {known_as}{files}")
}

fn list(cx: &mut CommandContext) -> Result<Exit> {
    let rooms = trust::list()?;
    cx.out.show(&TrustOutput::Rooms { rooms: &rooms }, |out| {
        let rows = consents(&rooms, out);
        table::print(out, &rows)
    })?;
    Ok(Exit::Ok)
}

fn consents(rooms: &[KnownRoom], out: &CommandOutput) -> Vec<Vec<String>> {
    let row = |room: &KnownRoom| {
        vec![
            sanitize::line(&room.identity.path).into_owned(),
            out.column_time(&room.since),
        ]
    };
    rooms.iter().map(row).collect()
}
