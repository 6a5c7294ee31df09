//! `mailbag list --follow`: shows new messages of an inbox as they arrive.

use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::cli::show::output::CommandOutput;
use crate::commands::announce;
use crate::commands::wait::{InboxWaiter, WaitEnd, deadline};
use crate::query::inbox::{self, InboxMessage};
use crate::query::view::{InvalidFile, MessageView};
use crate::query::wait::NewMailTracker;
use std::time::{Duration, Instant};

/// Shows the messages until `idle` passes without a new one; zero: without end.
pub(crate) fn run(identity: &IdentityArgs, idle: Duration, cx: &mut CommandContext) -> Result<()> {
    let room = cx.room()?;
    let agent = identity.mailbox(cx, &room)?;
    let mut waiter = InboxWaiter::new(&room, &agent)?;
    cx.refresh(&room, Freshness::Complete);
    let patience = || {
        if idle.is_zero() { None } else { deadline(idle) }
    };
    let mut new_mail = NewMailTracker::default();
    let mut until = patience();
    loop {
        for head in new_mail.look(&room, &agent)? {
            let mut mails = inbox::whole(&room, &[head])?;
            inbox::note_closed(&room, &agent, &mut mails);
            for mail in mails {
                let mails = std::slice::from_ref(&mail);
                announce::announcing(&room, &agent, mails, || print(&mail, cx))?;
            }
            until = patience();
        }
        // Look now and then, so that the command ends if the reader of its output has ended.
        let glance = Instant::now() + limits::TAKE_OVER;
        match waiter.wait(Some(until.map_or(glance, |until| until.min(glance)))) {
            WaitEnd::Changed => {}
            WaitEnd::Signal(_) => return Ok(()),
            WaitEnd::Removed(e) => return Err(e),
            WaitEnd::Trouble(e) => cx.warn_undelivered(&e),
            WaitEnd::TimedOut
                if cx.out.is_unread() || until.is_some_and(|until| until <= Instant::now()) =>
            {
                return Ok(());
            }
            WaitEnd::TimedOut => {}
        }
    }
}

fn print(mail: &InboxMessage, cx: &mut CommandContext) -> Result<()> {
    cx.out
        .item(
            || serde_json::to_string(&mail.whole()).expect("a message has only text keys"),
            |out| as_line(&MessageView::from(mail), out),
        )
        .and_then(|()| cx.out.flush())
}

fn as_line(view: &MessageView<'_>, out: &CommandOutput) -> String {
    if let Some(InvalidFile { file, problem, .. }) = &view.invalid {
        return format!(
            "{}  {}",
            sanitize::line(&file.to_string_lossy()),
            sanitize::line(problem)
        );
    }
    let body = view.body.unwrap_or_default();
    let about = match (view.subject, body.trim().is_empty()) {
        (Some(subject), true) => folded(subject),
        (Some(subject), false) => folded(&format!("{subject} | {body}")),
        (None, _) => folded(body),
    };
    let about = match (&view.change, about.is_empty()) {
        (Some(change), false) => format!("{change} | {about}"),
        (Some(change), true) => change.to_string(),
        (None, _) => about,
    };
    let time = out.time(view.accepted_at);
    let time = view
        .age()
        .map_or_else(|| time.clone(), |age| format!("{time} ({age})"));
    let cells = [
        &*time,
        &view.number(),
        view.from,
        view.kind,
        view.priority.as_str(),
        &about,
    ];
    cells.map(|cell| sanitize::line(cell)).join("  ")
}

/// A text in one line of limited length.
fn folded(text: &str) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match folded.char_indices().nth(limits::FOLLOW_CHARS) {
        Some((end, _)) => format!("{}…", &folded[..end]),
        None => folded,
    }
}
