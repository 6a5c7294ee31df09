//! The tools that send: messages, replies and acknowledgements.

use super::super::arguments::unknown_word;
use super::{ToolCall, ToolResult, cut_list, route};
use crate::base::error::Result;
use crate::base::limits;
use crate::base::text::listed;
use crate::commands::ack::{self, AckRequest};
use crate::commands::follow::route_pending;
use crate::commands::post;
use crate::commands::reply::{self, ReplyDraft};
use crate::commands::send::{MessageDraft, WRITTEN};
use crate::message::status::CopyStatus;
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use serde_json::json;
use std::path::PathBuf;

pub(super) fn send(mut call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = &mut call.arguments;
    let draft = MessageDraft {
        to: arguments.needed_texts("to")?,
        paths_from_here: true,
        body: Some(arguments.needed("body")?),
        subject: arguments.text("subject")?,
        kind: arguments.text("type")?,
        priority: arguments.text("priority")?,
        thread: arguments.text("thread")?,
        attachments: paths(arguments.texts("attach")?),
        permitted_only: true,
        ..MessageDraft::default()
    };
    let room = call.session.room()?;
    let who = call.session.agent(&room, "send_message")?;
    post(&room, &who, draft)
}

pub(super) fn reply(mut call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = &mut call.arguments;
    let id = arguments.needed("id")?;
    let draft = MessageDraft {
        body: Some(arguments.needed("body")?),
        kind: arguments.text("type")?,
        attachments: paths(arguments.texts("attach")?),
        permitted_only: true,
        ..MessageDraft::default()
    };
    let all = arguments.flag("all")?;
    let room = call.session.room()?;
    let who = call.session.agent(&room, "reply_message")?;
    route_pending(&room, limits::READER_WAIT)?;
    let ReplyDraft {
        draft,
        left_out,
        answered,
    } = reply::reply(&room, &who, &id, all, draft)?;
    let mut shown = post(&room, &who, draft)?;
    if let Err(e) = call.receipts.spoken_of(&room, &who.name, &answered) {
        shown.text += &format!("\n{e}");
    }
    if !left_out.is_empty() {
        shown.text += &format!(
            "\nnot sent to {}: retired or no longer registered",
            listed(&left_out)
        );
        shown.data["left_out"] = json!(left_out);
        shown.data = cut_list(shown.data, "left_out", limits::TOOL_AGENTS);
    }
    Ok(shown)
}

pub(super) fn acknowledge(mut call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = &mut call.arguments;
    let id = arguments.needed("id")?;
    let asked = arguments.text("status")?;
    let status = status(
        asked
            .as_deref()
            .unwrap_or(CopyStatus::Acknowledged.as_str()),
    )?;
    let note = arguments.text("note")?;
    let room = call.session.room()?;
    let who = call.session.agent(&room, "acknowledge_message")?;
    // A message that was just announced to the caller may not be in the log yet.
    let before = route(&room);
    let ack = AckRequest {
        refs: vec![id.clone()],
        status,
        note,
        superseded_by: None,
    };
    let acked = ack::ack(&room, &who, ack)?;
    let mut spoken = None;
    for message in &acked.messages {
        if let Err(e) = call.receipts.spoken_of(&room, &who.name, message) {
            spoken = Some(e.to_string());
        }
    }
    let (kept, outcome) = (acked.kept_elsewhere(), acked.outcome());
    let posted = post::delivery(&room, acked.sent, limits::WRITER_WAIT)?;
    let pending = posted
        .pending
        .map(|why| format!("pending: {why}; {WRITTEN}"));
    let trouble = pending.or(before).or(spoken);
    let mut text = outcome.join("\n");
    let lines = trouble.iter().chain(&kept);
    text.extend(lines.flat_map(|line| ["\n", line]));
    Ok(ToolResult {
        text,
        data: json!({"id": id, "status": status.as_str()}),
    })
}

fn paths(texts: Vec<String>) -> Vec<PathBuf> {
    texts.into_iter().map(PathBuf::from).collect()
}

fn status(status: &str) -> Result<CopyStatus> {
    let known = CopyStatus::ACKS.map(CopyStatus::as_str);
    CopyStatus::of_ack(status).ok_or_else(|| unknown_word("status", status, &known))
}

/// Sends a message and reports its delivery.
fn post(room: &Room, who: &AgentIdentity, draft: MessageDraft) -> Result<ToolResult> {
    let posted = post::post(room, who, draft, limits::WRITER_WAIT, |_| Ok(()))?;
    let data = json!({"id": posted.sent.id, "seq": posted.seq, "recipients": posted.recipients});
    let mut data = cut_list(data, "recipients", limits::TOOL_AGENTS);
    if let Some(why) = &posted.pending {
        data["pending"] = json!(why);
    }
    if !posted.unreached.is_empty() {
        data["unreached"] = json!(posted.unreached);
    }
    Ok(ToolResult {
        text: posted.lines().join("\n"),
        data,
    })
}
