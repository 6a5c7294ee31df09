//! The tools that read mail: unread messages, and the wait for new ones.

use super::super::receipts::ResponseMessage;
use super::super::tool_message::{BodyRange, ToolMessage};
use super::{ToolCall, ToolResult, route};
use crate::base::clock::span_text;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::commands::wait::{InboxWaiter, WaitResult};
use crate::commands::{announce, read};
use crate::query::inbox::{self, InboxMessage};
use crate::query::view::MessageView;
use crate::query::wait::WaitFilter;
use crate::room::Room;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The number of characters of a body that the MCP tool `fetch_inbox` shows before it explains how to get the rest.
const BODY_SHOWN: usize = 4000;
const _: () = assert!(BODY_SHOWN <= limits::BODIES_SHOWN);
/// The default waiting time of `wait_for_message`.
const TOOL_WAIT: Duration = Duration::from_secs(30);
/// The longest waiting time of `wait_for_message`. Clients cancel a tool call after a minute.
const TOOL_WAIT_MOST: Duration = Duration::from_secs(50);
const _: () =
    assert!(TOOL_WAIT.as_secs() <= TOOL_WAIT_MOST.as_secs() && TOOL_WAIT_MOST.as_secs() < 60);

pub(super) fn fetch(mut call: ToolCall<'_>) -> Result<ToolResult> {
    let limit = call.limit(10)?;
    let id = call.arguments.text("id")?;
    let offset = call
        .arguments
        .number("offset", 0.0..=f64::from(u32::MAX))?
        .unwrap_or_default() as usize;
    let room = call.session.room()?;
    let agent = call.session.agent(&room, "fetch_inbox")?.name;
    call.receipts.received_before(call.came)?;
    let problem = route(&room);
    if let Some(id) = id {
        let mails = read::named(&room, &agent, &[id]).map_err(|e| match e {
            Error::NotFound { what, .. } => {
                Error::not_found(what, "use get_thread for messages that you sent")
            }
            e => e,
        })?;
        let part = BodyRange {
            from: offset,
            most: limits::BODIES_SHOWN,
        };
        let mail = FetchedMail {
            mails,
            left: 0,
            part,
            problem,
        };
        return hand(&call, &room, &agent, mail);
    }
    let mut unread = 0;
    let mut mails = inbox::list_those(&room, &agent, &mut |_| {
        unread += 1;
        unread <= limit
    })?;
    // A file that is still being written is left for later.
    mails.retain(|mail| !mail.unfinished);
    inbox::note_closed(&room, &agent, &mut mails);
    let mail = FetchedMail {
        mails,
        left: unread.saturating_sub(limit),
        part: BodyRange {
            from: offset,
            most: BODY_SHOWN,
        },
        problem,
    };
    hand(&call, &room, &agent, mail)
}

pub(super) fn wait_for(mut call: ToolCall<'_>) -> Result<ToolResult> {
    let most = TOOL_WAIT_MOST.as_secs_f64();
    let timeout = call.arguments.number("timeout_s", 0.0..=most)?;
    let timeout = timeout.map_or(TOOL_WAIT, Duration::from_secs_f64);
    let from = call.arguments.texts("from")?;
    let kinds = call.arguments.texts("type")?;
    let thread = call.arguments.text("thread")?;
    let deadline = Instant::now() + timeout;
    let room = call.session.room()?;
    let agent = call.session.agent(&room, "wait_for_message")?.name;
    let filter = WaitFilter::new(&room, &agent, &from, thread, kinds)?;
    call.receipts.received_before(call.came)?;
    let mut waiter = InboxWaiter::of_server(&room, &agent)?;
    call.stop.wakes(waiter.stopper());
    let problem = route(&room);
    let mut text = match waiter.mail(&filter, 1, Some(deadline), &|_| {})? {
        WaitResult::Found(mails) => {
            let mail = FetchedMail {
                mails,
                left: 0,
                part: BodyRange {
                    from: 0,
                    most: BODY_SHOWN,
                },
                problem,
            };
            return hand(&call, &room, &agent, mail);
        }
        WaitResult::Signal(_) => "the wait was cancelled".to_owned(),
        WaitResult::TimedOut => format!("no matching message within {}", span_text(timeout)),
    };
    text.extend(problem.iter().flat_map(|problem| ["\n", problem]));
    Ok(ToolResult {
        text,
        data: json!({"messages": []}),
    })
}

/// Mail for the result of a tool.
struct FetchedMail {
    mails: Vec<InboxMessage>,
    /// The number of unread messages that are left in the inbox.
    left: usize,
    /// The part of each body.
    part: BodyRange,
    /// Why pending messages could not be delivered.
    problem: Option<String>,
}

/// Returns mail and records the handover. The reader counts as notified from now on. The mail counts as read once the client
/// has shown that it has the response.
fn hand(call: &ToolCall<'_>, room: &Room, agent: &str, mail: FetchedMail) -> Result<ToolResult> {
    let FetchedMail {
        mut mails,
        mut left,
        part,
        problem,
    } = mail;
    let mut letters = mails
        .iter()
        .map(|mail| ToolMessage::new(room, &MessageView::from(mail), part))
        .collect::<Result<Vec<_>>>()?;
    let fits = read::count_fitting(
        letters.iter().map(ToolMessage::length),
        limits::BODIES_SHOWN,
    );
    left += letters.len() - fits;
    letters.truncate(fits);
    mails.truncate(fits);
    let texts: Vec<String> = letters.iter().map(ToolMessage::text).collect();
    let data: Vec<Value> = letters.iter().map(ToolMessage::data).collect();
    let handed: Vec<ResponseMessage> = mails
        .iter()
        .filter(|mail| mail.can_be_marked_seen())
        .map(|mail| ResponseMessage {
            file: mail.name.clone(),
            from: mail.from.clone(),
            id: mail.id.clone(),
        })
        .collect();
    call.receipts.hand(&call.request, room, agent, handed)?;
    announce::announcing(room, agent, &mails, || Ok(()))?;
    let mut text = if texts.is_empty() {
        inbox::nothing_unread(room, agent)?
    } else {
        texts.join("\n\n")
    };
    let mut data = json!({"messages": data});
    if left > 0 {
        text += &format!("\n\n{left} more unread: call fetch_inbox again");
        data["more"] = json!(left);
    }
    if let Some(problem) = problem {
        text += &format!("\n\n{problem}");
        data["problem"] = json!(problem);
    }
    Ok(ToolResult { text, data })
}
