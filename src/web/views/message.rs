//! A message with its receipts and its exact JSON.

use super::markdown::markdown;
use super::{PageContent, agent, agents, block, respond_about, seq, text, time, words};
use crate::base::error::Result;
use crate::commands::reply::recipients_of_reply;
use crate::message::{APPROVAL, id};
use crate::query::history::{LoggedMessage, message};
use crate::query::trace::{MessageTrace, RecipientTrace, trace};
use crate::query::view::{Attachment, MessageView, plain};
use crate::web::app::WebApp;
use axum::extract::{Path, State};
use axum::response::Response;
use maud::{Markup, html};
use std::sync::Arc;

pub(in crate::web) async fn show(
    State(app): State<Arc<WebApp>>,
    Path(word): Path<String>,
) -> Response {
    respond_about(&app, &word, |app, found| {
        let past = message(&app.room, found)?;
        let trace = trace(&app.room, None, &format!("#{found}")).ok();
        Ok(PageContent::new(
            format!("Message #{found}"),
            "",
            content(app, &past, trace.as_ref())?,
        ))
    })
    .await
}

fn content(app: &WebApp, past: &LoggedMessage, trace: Option<&MessageTrace>) -> Result<Markup> {
    let view = MessageView::from(past);
    let json = serde_json::to_string_pretty(&past.message).unwrap_or_default();
    Ok(html! {
        article .message {
            h1 { (text(past.subject.as_deref().unwrap_or("Message"))) " " span .seq { "#" (past.seq) } }
            (facts(past, &view))
            @if let Some(change) = &past.change { p .change { (text(change)) } }
            @if let Some(text) = view.body { (body(past, text, usize::MAX)) }
            (attachments(&view))
            @if &*past.from != id::MAILBAG { (reply(app, past)?) }
        }
        @if let Some(trace) = trace { (receipts(trace)) }
        details .json { summary { "JSON" } pre { (block(&json)) } }
    })
}

fn facts(past: &LoggedMessage, view: &MessageView<'_>) -> Markup {
    html! {
        dl .facts {
            dt { "From" } dd { (agent(&past.from)) }
            dt { "To" } dd { (agents(past.recipients.iter().map(|name| &**name))) }
            dt { "Type" } dd { (text(&past.kind)) ", priority " (past.priority.as_str()) ", channel " (text(&past.channel)) }
            dt { "Accepted" } dd { (time(&past.accepted_at)) }
            dt { "Id" } dd { code { (text(&past.id)) } }
            @if past.thread_id.is_some() || past.in_reply_to.is_some() {
                dt { "Thread" } dd { a href={ "/thread/" (past.seq) } { (text(past.thread_id.as_deref().unwrap_or("conversation"))) } }
            }
            @for (name, value) in view.facts().iter().filter(|(name, _)| *name != "attachments") {
                dt { (words(name)) } dd { (text(&plain(value))) }
            }
        }
    }
}

fn attachments(view: &MessageView<'_>) -> Markup {
    html! {
        @for attached in view.attachments() {
            @match attached {
                Attachment::File(path) => p .attached { "Attached: " code { (text(path)) } },
                Attachment::Text(name, content) => {
                    details .attached { summary { "Attached: " (text(name)) } pre dir="auto" { (block(content)) } }
                }
            }
        }
    }
}

/// The text of a message, at most its first `most` bytes.
pub(super) fn body(past: &LoggedMessage, body: &str, most: usize) -> Markup {
    let mut end = most.min(body.len());
    while !body.is_char_boundary(end) {
        end -= 1;
    }
    let shown = &body[..end];
    html! {
        @if past.kind == APPROVAL { pre .source { (block(shown)) } } @else { (markdown(shown)) }
        @if shown.len() < body.len() { p { a href={ "/message/" (past.seq) } { "Show the complete message" } } }
    }
}

/// A reply below a message. It names its recipients, because newer messages can appear above a reply that is being typed.
pub(super) fn reply(app: &WebApp, past: &LoggedMessage) -> Result<Markup> {
    let to = recipients_of_reply(&app.room, &app.who(), past)?;
    let to: Vec<_> = to.iter().map(|name| text(name)).collect();
    let label = match &to[..] {
        [] => "Reply".to_owned(),
        [first, second, third, _, ..] => format!(
            "Reply to {first}, {second}, {third} and {} more",
            to.len() - 3
        ),
        few => format!("Reply to {}", few.join(", ")),
    };
    Ok(html! {
        form method="post" action="/write" .reply data-key="reply" {
            input type="hidden" name="reply_to" value=(past.seq);
            textarea name="body" rows="3" aria-label=(label) placeholder=(label) required {}
            button .primary { (label) }
        }
    })
}

fn receipts(trace: &MessageTrace) -> Markup {
    html! {
        section .receipts {
            h2 { "Receipts" }
            table {
                thead { tr { th { "Recipient" } th { "Status" } th { "Since" } } }
                tbody { @for recipient in &trace.recipients { (receipt(recipient)) } }
            }
            @if !trace.answers.is_empty() {
                h2 { "Answers" }
                ul .plain {
                    @for answer in &trace.answers {
                        li { (seq(answer.seq)) " " (agent(&answer.from)) " " (time(&answer.accepted_at))
                            @if let Some(option) = &answer.option { " " strong { (text(option)) } } }
                    }
                }
            }
        }
    }
}

fn receipt(recipient: &RecipientTrace) -> Markup {
    html! {
        tr {
            td { (agent(&recipient.agent)) @if let Some(now) = &recipient.renamed_to { " (now " (agent(now)) ")" } }
            td {
                strong { (recipient.status.as_str()) }
                @for step in recipient.statuses.iter().filter_map(|step| step.note.as_ref()) { p { (text(step)) } }
            }
            td { @if let Some(at) = recipient.statuses.last().and_then(|step| step.at.as_ref()) { (time(at)) } }
        }
    }
}
