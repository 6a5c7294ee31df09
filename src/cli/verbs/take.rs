//! `mailbag take`

use super::inbox::to_the_second;
use super::read;
use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::waiting;
use crate::commands::take::{self, Consumer, Handed, Lapsed};
use crate::commands::wait::{Waiter, Wakeup, deadline};
use crate::query::identity::mailbox;
use crate::room::Room;
use serde_json::json;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  mailbag take --as builders                   the next message, mine for 10 minutes
  mailbag take --as builders --wait 5m --lease 1h --holder builder-3
  mailbag done 42 --as builders                and it is done with

For several processes that share an inbox: each message is handed to one of
them, the most urgent first, then the oldest. It moves to inbox/AGENT/taken/.
When the lease is over and nothing was heard of it, the next take gives it back
and says so on standard error; `mailbag done --renew` makes a lease longer.
Exit status 3 says that there is nothing to take, 4 that nothing came in time.";

/// Take the next message of a shared inbox
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Whose inbox; else MAILBAG_AGENT, else MAOS_AGENT_ID, else, at a terminal, the human's
    #[arg(long = "as", value_name = "AGENT")]
    reader: Option<String>,
    /// How long it is mine, unless I say that it is done
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = waiting::span)]
    lease: Duration,
    /// Who takes it; else the process that runs this command
    #[arg(long, value_name = "NAME", env = "MAILBAG_HOLDER", hide_env_values = true)]
    holder: Option<String>,
    /// Wait so long for a message
    #[arg(long, value_name = "TIME", value_parser = waiting::span)]
    wait: Option<Duration>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let who = cx.who(args.reader.as_deref())?;
    let room = cx.room()?;
    let agent = mailbox(&room, &room.registry()?, &who.name, Some(who.source))?;
    let consumer = Consumer::new(args.holder);
    let until = args.wait.map(|wait| (wait, deadline(wait)));
    let mut waiter = until.map(|_| Waiter::new(&room, &agent)).transpose()?;
    cx.route(&room);
    let mut given_back = Vec::new();
    loop {
        let taking = take::take(&room, &agent, &consumer, args.lease)?;
        taking.lapsed.iter().for_each(|lapsed| tell(lapsed, cx));
        given_back.extend(taking.lapsed);
        if let Some(handed) = taking.handed {
            return hand(&room, &agent, &handed, &given_back, cx);
        }
        let (Some((wait, until)), Some(waiting_for_mail)) = (until, &mut waiter) else {
            let cure = "wait for it with --wait TIME".to_owned();
            return Err(Error::NotFound { what: format!("there is nothing to take from {agent}"), cure });
        };
        // A message whose lease lapses meanwhile is one that can be taken.
        let next = taking.next.and_then(|next| Instant::now().checked_add(next));
        match waiting_for_mail.wait([until, next].into_iter().flatten().min()) {
            Wakeup::Changed => {}
            Wakeup::Trouble(e) => cx.trouble(&e),
            Wakeup::Signal(signal) => return waiter.map_or(Ok(Exit::Ok), |waiter| waiting::end_by(signal, waiter)),
            Wakeup::TimedOut if until.is_some_and(|until| until <= Instant::now()) => {
                let what = format!("there was nothing to take from {agent}");
                return Err(waiting::too_late(&what, wait, "wait again, or longer with --wait"));
            }
            Wakeup::TimedOut => {}
        }
    }
}

fn tell(lapsed: &Lapsed, cx: &Context) {
    let holder = sanitize::line(lapsed.holder.as_deref().unwrap_or("somebody"));
    let (file, until) = (sanitize::line(&lapsed.file), to_the_second(&lapsed.until));
    cx.out.warn(&format!("given back: the lease of {holder} on {file} lapsed at {until}"));
}

/// Shows what was taken. What can't be shown is not handed out.
fn hand(room: &Room, agent: &str, handed: &Handed, given_back: &[Lapsed], cx: &mut Context) -> Result<Exit> {
    let shown = show(handed, given_back, cx);
    if shown.is_err() {
        take::put_back(room, agent, &handed.mail.name)?;
    }
    shown?;
    let until = to_the_second(&handed.lease.until);
    cx.out.note(&format!("taken by {} until {until}", handed.lease.holder));
    Ok(Exit::Ok)
}

fn show(handed: &Handed, given_back: &[Lapsed], cx: &mut Context) -> Result<()> {
    if cx.out.json {
        let file = handed.mail.file.to_string_lossy();
        cx.out.json(&json!({
            "message": handed.mail.content,
            "lease": handed.lease,
            "file": file,
            "given_back": given_back,
        }))?;
    } else {
        read::show_each(std::slice::from_ref(&handed.mail), cx)?;
    }
    cx.out.flush()
}
