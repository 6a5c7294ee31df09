//! Tools that find agents, messages and conversations, and the tool that registers the caller.

use super::super::tool_message::{BodyRange, NAMES, ToolMessage};
use super::{ToolCall, ToolResult, deliver_pending};
use crate::base::error::Result;
use crate::base::text::count_of;
use crate::base::{limits, sanitize};
use crate::query::history::{MessageCriteria, MessageFilter};
use crate::query::identity;
use crate::query::links::KnownRemoteAgent;
use crate::query::search::{SearchHit, SearchPattern, newest};
use crate::query::thread as conversation;
use crate::query::view::MessageView;
use crate::query::who::{self, AgentPresence, KnownAgents};
use serde_json::{Value, json};

/// The number of characters of each body that `get_thread` shows.
const THREAD_BODY_SHOWN: usize = 1000;

pub(super) fn register(mut call: ToolCall<'_>) -> Result<ToolResult> {
    let name = call.arguments.needed("name")?;
    let role = call.arguments.text("role")?.filter(|role| !role.is_empty());
    let session = call
        .arguments
        .text("session")?
        .filter(|session| !session.is_empty());
    let room = call.session.room()?;
    let joined = call
        .session
        .register(&room, &name, role.as_deref(), session)?;
    let new = if joined.registered {
        ", newly registered"
    } else {
        ""
    };
    let text = format!(
        "you are {}{new}; {}",
        joined.agent,
        count_of(joined.unread, "unread message")
    );
    Ok(ToolResult {
        text,
        data: json!({"you": joined.agent, "new": joined.registered, "unread": joined.unread}),
    })
}

pub(super) fn agents(call: ToolCall<'_>) -> Result<ToolResult> {
    let room = call.session.room()?;
    deliver_pending(&room);
    let KnownAgents { roster, remote } = who::everybody(&room)?;
    let you = call.session.known(&room);
    let shown = &roster.agents[..roster.agents.len().min(limits::TOOL_AGENTS)];
    let mut lines: Vec<String> = you.iter().map(|you| format!("you are {you}")).collect();
    lines.extend(shown.iter().map(line));
    let mut data = json!({"agents": shown.iter().map(fields).collect::<Vec<_>>()});
    if let Some(you) = you {
        data["you"] = json!(you);
    }
    let far = &remote[..remote.len().min(limits::TOOL_AGENTS)];
    lines.extend(far.iter().map(far_line));
    if !far.is_empty() {
        data["remote"] = far.iter().map(far_fields).collect();
    }
    let more = roster.agents.len() - shown.len() + remote.len() - far.len();
    if more > 0 {
        lines.push(format!("{more} more"));
        data["more"] = json!(more);
    }
    Ok(ToolResult {
        text: lines.join("\n"),
        data,
    })
}

fn line(agent: &AgentPresence) -> String {
    let report = agent
        .report
        .as_ref()
        .map(|report| format!("; {}: {}", report.kind, report.text))
        .unwrap_or_default();
    let state = format!(
        "{}, {} unread{report}",
        agent.presence.as_str(),
        agent.unread
    );
    agent_line(
        &agent.id,
        agent.name.as_deref(),
        agent.role.as_deref(),
        &state,
    )
}

fn far_line(agent: &KnownRemoteAgent) -> String {
    agent_line(
        &agent.id,
        agent.name.as_deref(),
        agent.role.as_deref(),
        "in another room",
    )
}

/// An agent in one line: its id, its other name, its role and its state.
fn agent_line(id: &str, name: Option<&str>, role: Option<&str>, state: &str) -> String {
    let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
    let role = role.map(|role| format!("{role}, ")).unwrap_or_default();
    sanitize::line(&format!("{id}{name}: {role}{state}")).into_owned()
}

fn far_fields(agent: &KnownRemoteAgent) -> Value {
    let mut fields = json!({"id": agent.id});
    set(&mut fields, "name", agent.name.as_deref());
    set(&mut fields, "role", agent.role.as_deref());
    fields
}

fn fields(agent: &AgentPresence) -> Value {
    let mut fields = json!({"id": agent.id, "presence": agent.presence});
    set(&mut fields, "name", agent.name.as_deref());
    set(&mut fields, "role", agent.role.as_deref());
    if agent.unread > 0 {
        fields["unread"] = json!(agent.unread);
    }
    let report = agent.report.as_ref();
    let report = report.map(|report| format!("{}: {}", report.kind, report.text));
    set(&mut fields, "report", report.as_deref());
    fields
}

fn set(fields: &mut Value, field: &str, text: Option<&str>) {
    if let Some(text) = text {
        fields[field] = json!(sanitize::line(text));
    }
}

pub(super) fn search(mut call: ToolCall<'_>) -> Result<ToolResult> {
    let query = call.arguments.needed("query")?;
    let limit = call.limit(10)?;
    let room = call.session.room()?;
    let agent = call.session.agent(&room, "search_messages")?.name;
    deliver_pending(&room);
    let pattern = SearchPattern::words(&query)?;
    let filter = MessageFilter::new(
        &room,
        MessageCriteria {
            asker: Some(agent),
            ..MessageCriteria::default()
        },
    )?;
    // One more than are shown, because the note depends on it.
    let newest = newest(&room, pattern, filter, limit + 1)?;
    let hits: Vec<&SearchHit> = newest.iter().rev().take(limit).collect();
    let has_older = newest.len() > limit;
    let mut lines: Vec<String> = hits.iter().map(|hit| hit_line(hit)).collect();
    if has_older {
        lines.push("older messages match: use a larger limit or more words".to_owned());
    }
    let text = if lines.is_empty() {
        "no matching messages".to_owned()
    } else {
        lines.join("\n")
    };
    Ok(ToolResult {
        text,
        data: json!({"older": has_older, "messages": hits.iter().map(|hit| hit_fields(hit)).collect::<Vec<_>>()}),
    })
}

fn hit_line(hit: &SearchHit) -> String {
    let view = MessageView::from(&hit.past);
    let found = hit
        .matches
        .first()
        .map(|found| format!("; {}: {}", found.field, found.text()))
        .unwrap_or_default();
    let to = view.recipients(NAMES).join(", ");
    let head = format!(
        "{} {} from {} to {to}, {}{}",
        view.name(),
        view.kind,
        view.from,
        view.time(),
        view.closed_mark()
    );
    sanitize::line(&(head + &found)).into_owned()
}

fn hit_fields(hit: &SearchHit) -> Value {
    let view = MessageView::from(&hit.past);
    let found = hit
        .matches
        .first()
        .map(|found| format!("{}: {}", found.field, found.text()))
        .unwrap_or_default();
    let mut fields = json!({
        "seq": view.seq,
        "at": view.time(),
        "from": view.from,
        "to": view.recipients(NAMES),
        "type": sanitize::line(view.kind),
        "found": sanitize::line(&found),
    });
    if let Some(closed) = view.closed {
        fields["closed"] = closed.into();
    }
    fields
}

pub(super) fn thread(mut call: ToolCall<'_>) -> Result<ToolResult> {
    let id = call.arguments.needed("id")?;
    let limit = call.limit(20)?;
    let room = call.session.room()?;
    let agent = call.session.agent(&room, "get_thread")?.name;
    deliver_pending(&room);
    let messages =
        conversation::thread(&room, &identity::viewer(&room, &agent)?, &id, Some(limit))?;
    let part = BodyRange {
        from: 0,
        most: THREAD_BODY_SHOWN,
    };
    let letters = messages
        .iter()
        .map(|past| ToolMessage::new(&room, &MessageView::from(past), part))
        .collect::<Result<Vec<_>>>()?;
    let texts: Vec<String> = letters.iter().map(ToolMessage::text).collect();
    let data: Vec<Value> = letters.iter().map(ToolMessage::data).collect();
    Ok(ToolResult {
        text: texts.join("\n\n"),
        data: json!({"messages": data}),
    })
}
