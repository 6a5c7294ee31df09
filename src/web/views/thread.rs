//! A conversation, oldest first.

use super::{Page, agent, agents, block, message, respond_about, seq, text, time};
use crate::base::error::Result;
use crate::message::id;
use crate::query::history::LoggedMessage;
use crate::query::{identity, thread};
use crate::web::app::App;
use axum::extract::{Path, State};
use axum::response::Response;
use maud::{Markup, html};
use std::sync::Arc;

pub(in crate::web) async fn show(
    State(app): State<Arc<App>>,
    Path(word): Path<String>,
) -> Response {
    respond_about(&app, &word, page).await
}

fn page(app: &App, found: u64) -> Result<Page> {
    let viewer = identity::viewer(&app.room, id::HUMAN)?;
    let messages = thread::thread(&app.room, &viewer, &format!("#{found}"), None)?;
    let subject = messages
        .iter()
        .find_map(|past| past.subject.as_deref())
        .unwrap_or("Thread");
    let last = messages
        .iter()
        .rev()
        .find(|past| &*past.from != id::MAILBAG);
    let content = html! {
        section .conversation {
            h1 { (text(subject)) }
            ol .entries { @for past in &messages { (entry(past, past.seq == found)) } }
            @if let Some(last) = last { (message::reply(last.seq)) }
        }
    };
    Ok(Page {
        title: format!("Thread of #{found}"),
        place: "",
        content,
    })
}

fn entry(past: &LoggedMessage, is_meant: bool) -> Markup {
    let body = past.message.get("body").and_then(serde_json::Value::as_str);
    html! {
        li .entry .meant[is_meant] id={ "m" (past.seq) } tabindex="-1" {
            p .facts {
                (agent(&past.from)) " " span .arrow aria-label="to" { "→" } " "
                (agents(past.recipients.iter().take(NAMES).map(|name| &**name)))
                @if past.recipients.len() > NAMES { " and " (past.recipients.len() - NAMES) " more" }
                " " (time(&past.accepted_at)) " " (seq(past.seq))
            }
            @if let Some(change) = &past.change { p .change { (text(change)) } }
            @if let Some(body) = body { pre .body dir="auto" { (block(body)) } }
        }
    }
}

/// How many recipients are named.
const NAMES: usize = 8;
