//! `mailbag claim`: claims files, tasks and lanes.

use crate::base::error::{Error, Problem, Result};
use crate::base::sanitize;
use crate::base::text::listed;
use crate::cli::context::{CommandContext, IdentityArgs, here};
use crate::cli::show::waiting;
use crate::commands::claim::{self, ClaimAction, ClaimDecision, ClaimOutcome, SentClaimMessage};
use crate::commands::wait::{InboxWaiter, WaitResult, deadline};
use crate::message::subject::ClaimSubject;
use crate::query::claims;
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mailbag claim 'src/auth/**' --note 'Log-in with passkeys' --as alice
  mailbag claim task:login lane:web --lease 8h
  mailbag claim src/auth --wait --timeout 1h   # wait until the owner releases it

A subject is a path or a glob below the current directory, PATH in REPOSITORY as
REPOSITORY:PATH, task:NAME or lane:NAME. Several subjects are granted together or
not at all. A repeated claim renews the lease, which every sign of life renews
too. A waiting claim keeps its place in the queue after --timeout; Ctrl-C
withdraws it. Exit status 0 means granted, 1 rejected (standard error names owner
and purpose), 75 not decided in time.

A file {\"type\": \"claim\", \"claims\": [\"src/auth/**\"]} in the outbox does the same.";

/// Claim files, tasks or lanes
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Paths, globs, task:NAME or lane:NAME
    #[arg(value_name = "SUBJECT", required = true)]
    subjects: Vec<String>,
    /// Purpose
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Lease duration, after the last activity; default: 4h
    #[arg(long, value_name = "TIME")]
    lease: Option<String>,
    /// Wait until the claim is granted
    #[arg(long)]
    wait: bool,
    /// Timeout of --wait; default: none
    #[arg(long, value_name = "TIME", value_parser = waiting::span, requires = "wait")]
    timeout: Option<Duration>,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let who = args.identity.who(cx)?;
    let room = cx.room()?;
    let subjects = claim::subjects_to_claim(&room, &here()?, &args.subjects)?;
    let ask = ClaimAction::Claim {
        subjects: subjects.clone(),
        lease: args.lease,
        wait: args.wait,
    };
    // A waiter that exists before the claim handles a signal from then on. A new agent has no inbox yet.
    let agent = args.identity.mailbox(cx, &room).ok();
    let waiter = match agent {
        Some(agent) if args.wait => InboxWaiter::new(&room, &agent).ok(),
        _ => None,
    };
    let mut asked = claim::ask(&room, &who, ask, args.note)?;
    if !args.wait {
        return decide(asked, cx);
    }
    match asked.deliver(cx.writer_wait()) {
        Err(e @ Error::NotGranted(_)) => return Err(e),
        Err(e) => cx.warn_undelivered(&e),
        Ok(_) => {}
    }
    let mut waiter = waiter.map_or_else(|| InboxWaiter::new(&room, asked.agent()), Ok)?;
    let mut is_told = false;
    let mut look = || match asked.look()? {
        Some(decided) if decided.status != ClaimOutcome::Waiting => Ok(Some(decided.clone())),
        Some(_) if !is_told && !cx.out.json => {
            is_told = true;
            cx.out.note(&format!(
                "waiting for {}: {}",
                listed(&subjects),
                claims::blockers(&room, asked.agent(), &subjects)?
            ));
            Ok(None)
        }
        _ => Ok(None),
    };
    let until = args.timeout.and_then(deadline);
    match waiter.until(until, &mut look, &|e| cx.warn_undelivered(e))? {
        WaitResult::Found(decided) => report(&decided, cx),
        WaitResult::TimedOut => Err(not_yet(
            &room,
            &mut asked,
            &subjects,
            args.timeout.unwrap_or_default(),
        )?),
        WaitResult::Signal(signal) => match withdraw(asked, &who, &subjects, cx)? {
            Some(granted) => report(&granted, cx),
            None => waiting::end_by(signal, waiter),
        },
    }
}

/// Delivers a message about claims, waits for the decision and shows it.
pub(crate) fn decide(mut asked: SentClaimMessage, cx: &mut CommandContext) -> Result<()> {
    let decided = asked.decided(cx.writer_wait())?;
    report(&decided, cx)
}

/// The error of a claim that was not granted in time.
fn not_yet(
    room: &Room,
    asked: &mut SentClaimMessage,
    subjects: &[ClaimSubject],
    timeout: Duration,
) -> Result<Error> {
    let found = asked.look().map(|found| found.map(drop));
    asked.checked(found)?;
    let blockers = claims::blockers(room, asked.agent(), subjects)?;
    let what = format!(
        "{} was not granted within {}: {blockers}",
        listed(subjects),
        crate::base::clock::span_text(timeout)
    );
    let fix = "the claim keeps its place in the queue; `mailbag claims --mine` shows it, `mailbag release` withdraws it";
    Ok(Error::busy(what, fix))
}

/// Withdraws the claim of an interrupted wait. Returns the decision if it was granted before.
fn withdraw(
    mut asked: SentClaimMessage,
    who: &AgentIdentity,
    subjects: &[ClaimSubject],
    cx: &CommandContext,
) -> Result<Option<ClaimDecision>> {
    if let Some(decided) = asked.look()?
        && decided.status == ClaimOutcome::Granted
    {
        return Ok(Some(decided.clone()));
    }
    asked.withdraw(who, subjects)?;
    cx.out.note(&format!(
        "withdrawn: {} ({})",
        listed(subjects),
        asked.name()
    ));
    Ok(None)
}

/// Shows the router's decision.
fn report(decided: &ClaimDecision, cx: &mut CommandContext) -> Result<()> {
    let ClaimDecision { status, claims, .. } = decided;
    if let ClaimOutcome::Skipped | ClaimOutcome::Withdrawn = status {
        let what = format!(
            "the claim of {} no longer waits: it was withdrawn",
            listed(claims)
        );
        return Err(Error::NotGranted(vec![
            Problem::new("withdrawn", what).fix("claim it again if you still need it"),
        ]));
    }
    cx.out.did(decided.sentence(), "do not repeat the command");
    cx.out
        .show(decided, |out| out.done(sanitize::line(&decided.sentence())))
}
