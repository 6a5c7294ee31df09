//! `mailbag claims`: lists claims, and shows the owners of paths.

use crate::base::clock::{Stamp, rough_span};
use crate::base::error::{Error, Result};
use crate::base::text::listed;
use crate::cli::Exit;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs, here};
use crate::cli::show::output::{BOLD, CommandOutput, DIM, PLAIN, RED, YELLOW};
use crate::cli::show::table::{self, StyledCell};
use crate::query::claims::{self, ClaimList, ClaimOffer, ListedClaim, Ownership, WorkStatus};
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  mailbag claims                       # all claims and open offers
  mailbag claims --mine --as alice
  mailbag claims src/auth/login.rs     # may I edit this file?

Columns: subject, owner, since when, how long the lease lasts if the owner stays
inactive, purpose. A claim does not lapse while the session of its owner runs.

With PATHs, exit status 0 means that all of them are free or yours, 1 that another
agent owns at least a part, 75 that it is unknown.

claims.json in the room has the same data, up to the record that it names.";

/// A claim that lapses within this time, in microseconds, is marked.
const LAPSES_SOON: i64 = 15 * 60 * 1_000_000;

/// List claims, or tell who owns a path
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Paths, globs, task:NAME or lane:NAME
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Only claims and offers of the agent
    #[arg(long, conflicts_with = "paths")]
    mine: bool,
    #[command(flatten)]
    identity: IdentityArgs,
}

/// The claims of a room, or the owners of paths.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ClaimsOutput<'a> {
    /// All claims, or the claims of one agent.
    All(&'a ClaimList),
    /// The owners of the given paths.
    Paths {
        /// The paths, in their order.
        paths: &'a [Ownership],
    },
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    if !args.paths.is_empty() {
        let found = paths(&args, cx).map_err(|e| match e {
            e @ (Error::Usage { .. } | Error::Busy { .. }) => e,
            e => claims::unknown(&e),
        })?;
        cx.out.show(&ClaimsOutput::Paths { paths: &found }, |out| {
            found.iter().try_for_each(|one| tell(one, out))
        })?;
        return Ok(if is_owned(&found) {
            Exit::Error
        } else {
            Exit::Ok
        });
    }
    let room = cx.fresh_room(Freshness::Messages)?;
    let mine = if args.mine {
        Some(args.identity.mailbox(cx, &room)?)
    } else {
        args.identity.looker(cx, &room)?;
        None
    };
    let mut list = claims::list(&room, mine.as_deref())?;
    if list.has_lapsed() {
        cx.refresh(&room, Freshness::Complete);
        list = claims::list(&room, mine.as_deref())?;
    }
    cx.out
        .show(&ClaimsOutput::All(&list), |out| show(&list, out))?;
    Ok(Exit::Ok)
}

fn paths(args: &Args, cx: &CommandContext) -> Result<Vec<Ownership>> {
    let room = cx.fresh_room(Freshness::Messages)?;
    let agent = args.identity.looker(cx, &room)?;
    let from = here()?;
    let look = || claims::paths(&room, agent.as_deref(), &from, &args.paths);
    let mut found = look()?;
    if is_owned(&found) && claims::list(&room, None)?.has_lapsed() {
        cx.refresh(&room, Freshness::Complete);
        found = look()?;
    }
    Ok(found)
}

fn is_owned(found: &[Ownership]) -> bool {
    found.iter().any(|one| one.status == WorkStatus::Owned)
}

fn tell(one: &Ownership, out: &mut CommandOutput) -> Result<()> {
    let path = out.paint(BOLD, &one.path);
    if one.claims.is_empty() {
        return out.line(format!("{path}: free"));
    }
    for owner in one.listed_claims() {
        let purpose = owner
            .purpose
            .as_ref()
            .map(|purpose| format!(": {purpose}"))
            .unwrap_or_default();
        let style = if one.status == WorkStatus::Mine {
            PLAIN
        } else {
            RED
        };
        let text = format!(
            "owned by {} ({}) since {}",
            owner.owner,
            owner.subject,
            since(owner.since, out)
        );
        out.line(format!("{path}: {}", out.paint(style, &(text + &purpose))))?;
    }
    match one.more_claims() {
        Some(more) => out.line(format!("{path}: and {more}; --json lists all")),
        None => Ok(()),
    }
}

fn show(list: &ClaimList, out: &mut CommandOutput) -> Result<()> {
    if list.claims.is_empty() && list.offers.is_empty() {
        out.note("no claims");
        return Ok(());
    }
    let now = Stamp::parse(&list.at).unwrap_or_default();
    let mut rows: Vec<Vec<StyledCell>> = Vec::new();
    rows.extend(list.claims.iter().map(|one| owned(one, now, out)));
    rows.extend(list.offers.iter().map(|one| offer(one, out)));
    table::print_styled(out, &rows)
}

fn owned(one: &ListedClaim, now: Stamp, out: &CommandOutput) -> Vec<StyledCell> {
    let left = one.left(now);
    let left = match left {
        None => (DIM, "running session".to_owned()),
        Some(..=0) => (RED, "lapsed".to_owned()),
        Some(left) => (
            if left < LAPSES_SOON { YELLOW } else { PLAIN },
            format!("{} left", rough_span(left)),
        ),
    };
    vec![
        (BOLD, one.claim.subject.to_string()),
        (PLAIN, one.claim.owner.to_string()),
        (DIM, since(one.claim.since, out)),
        left,
        (PLAIN, one.claim.purpose.clone().unwrap_or_default()),
    ]
}

fn offer(one: &ClaimOffer, out: &CommandOutput) -> Vec<StyledCell> {
    vec![
        (BOLD, listed(&one.subjects)),
        (PLAIN, one.from.to_string()),
        (DIM, since(one.since, out)),
        (YELLOW, format!("offered to {}", one.to)),
        (DIM, format!("mailbag handoff --accept {}", one.seq)),
    ]
}

fn since(micros: i64, out: &CommandOutput) -> String {
    out.column_time(&Stamp::from_micros(micros).to_string())
}
