//! `mailbag claim`: claims files, tasks and lanes.

use crate::base::clock::span_text;
use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::base::text::listed;
use crate::cli::context::{CommandContext, IdentityArgs, here};
use crate::cli::show::waiting;
use crate::commands::claim::{self, ClaimAction, ClaimDecision, SentClaimMessage};
use crate::commands::wait::{InboxWaiter, WaitResult, deadline};
use crate::message::subject::ClaimSubject;
use crate::query::claims;
use crate::query::identity::AgentIdentity;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mailbag claim 'src/auth/**' --note 'Log-in with passkeys' --as alice
  mailbag claim task:login lane:web --lease 8h
  mailbag claim src/auth --wait --timeout 1h   # wait until it is free

A subject is a path or a glob below the current directory, PATH in REPOSITORY as
REPOSITORY:PATH, task:NAME or lane:NAME. Several subjects are granted together or
not at all. A repeated claim renews the lease, which every sign of life renews
too. --wait claims again when the subjects are free; until then the agent has no
place in a queue. Exit status 0 means granted, 1 rejected (standard error names
owner, end and purpose), 75 not granted in time.

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

/// The time between two looks at the claims, for changes that put nothing into the inbox.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let who = args.identity.who(cx)?;
    let room = cx.room()?;
    let subjects = claim::subjects_to_claim(&room, &here()?, &args.subjects)?;
    let ask = ClaimAction::Claim {
        subjects: subjects.clone(),
        lease: args.lease.clone(),
    };
    if args.wait {
        return wait(&args, &who, ask, &subjects, cx);
    }
    decide(claim::ask(&room, &who, ask, args.note)?, cx)
}

/// Claims the subjects as soon as they are free, and again if another agent was faster.
fn wait(
    args: &Args,
    who: &AgentIdentity,
    ask: ClaimAction,
    subjects: &[ClaimSubject],
    cx: &mut CommandContext,
) -> Result<()> {
    let room = cx.room()?;
    let (mut sent, mut is_told) = (None, false);
    let mut attempt = |agent: Option<&str>| -> Result<Option<ClaimDecision>> {
        if sent.is_none()
            && let Some(agent) = agent
            && let Some(blockers) = claims::blockers(&room, agent, subjects)?
        {
            if !std::mem::replace(&mut is_told, true) && !cx.out.json {
                cx.out
                    .note(&format!("waiting for {}: {blockers}", listed(subjects)));
            }
            return Ok(None);
        }
        let asked = match &mut sent {
            Some(asked) => asked,
            none => none.insert(claim::ask(&room, who, ask.clone(), args.note.clone())?),
        };
        match asked.decided(cx.writer_wait()) {
            Err(e) if is_owned(&e) => {
                sent = None;
                Ok(None)
            }
            Err(e @ Error::Busy { .. }) => {
                cx.warn_undelivered(&e);
                Ok(None)
            }
            decided => decided.map(Some),
        }
    };
    claim::release_lapsed(&room);
    // A new agent has no inbox before its first claim.
    let known = args.identity.mailbox(cx, &room).ok();
    if let Some(decided) = attempt(known.as_deref())? {
        return report(&decided, cx);
    }
    let agent = args.identity.mailbox(cx, &room)?;
    let mut waiter = InboxWaiter::new(&room, &agent)?;
    waiter.look_every(LOOK);
    let mut look = || attempt(Some(&agent));
    let until = args.timeout.and_then(deadline);
    match waiter.until(until, &mut look, &|e| cx.warn_undelivered(e))? {
        WaitResult::Found(decided) => report(&decided, cx),
        WaitResult::TimedOut => {
            let within = span_text(args.timeout.unwrap_or_default());
            let mut what = format!("{} was not granted within {within}", listed(subjects));
            if let Some(blockers) = claims::blockers(&room, &agent, subjects)? {
                what += &format!(": {blockers}");
            }
            let fix = "claim it again; nothing waits for it now";
            Err(Error::busy(what, fix))
        }
        WaitResult::Signal(signal) => waiting::end_by(signal, waiter),
    }
}

/// Returns true if another agent owns the work.
fn is_owned(e: &Error) -> bool {
    let Error::NotGranted(problems) = e else {
        return false;
    };
    problems.iter().all(|problem| problem.code == "claimed")
}

/// Delivers a message about claims, waits for the decision and shows it.
pub(crate) fn decide(mut asked: SentClaimMessage, cx: &mut CommandContext) -> Result<()> {
    let decided = asked.decided(cx.writer_wait())?;
    report(&decided, cx)
}

/// Shows the router's decision.
fn report(decided: &ClaimDecision, cx: &mut CommandContext) -> Result<()> {
    cx.out.did(decided.sentence(), "do not repeat the command");
    cx.out
        .show(decided, |out| out.done(sanitize::line(&decided.sentence())))
}
