//! A conversation beside a list: the oldest message first, and below the newest one the
//! decision, or a reply.

use super::timeline::{MailList, MailListQuery};
use super::{
    PageContent, agent, agents, initials, message, needs, respond_about, search, seq, text, time,
    timeline,
};
use crate::base::error::Result;
use crate::message::id;
use crate::query::history::LoggedMessage;
use crate::query::pending::PendingItem;
use crate::query::{history, identity, thread};
use crate::web::app::WebApp;
use crate::web::request::Query;
use axum::extract::{Path, State};
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// The number of messages of a conversation.
const PAGE_THREAD: usize = 50;
/// The bytes of a message in a conversation. The rest is on the page of the message.
const PAGE_BODY: usize = 32 << 10;

/// The list beside a conversation, by its address.
#[derive(Debug, Deserialize)]
pub(in crate::web) struct ListAddress {
    #[serde(default)]
    of: String,
}

impl ListAddress {
    /// The address, if it is a list's address. A link of another site must not lead the button *Back* elsewhere.
    fn address(&self) -> &str {
        match self.of.as_str() {
            "/" | "/inbox" => &self.of,
            of if of.starts_with("/search?") => of,
            _ => "/all",
        }
    }
}

pub(in crate::web) async fn show(
    State(app): State<Arc<WebApp>>,
    Path(word): Path<String>,
    Query(from): Query<ListAddress>,
) -> Response {
    respond_about(&app, &word, move |app, found| {
        let address = from.address();
        let (place, list) = match address {
            "/" => ("/", needs::section(app, &app.pending()?)),
            "/inbox" => (
                "/inbox",
                timeline::section(app, &MailListQuery::of(MailList::Inbox))?,
            ),
            "/all" => (
                "/all",
                timeline::section(app, &MailListQuery::of(MailList::All))?,
            ),
            _ => (
                "/search",
                search::section(app, &search::SearchForm::at(address)),
            ),
        };
        let mut page = PageContent::new(format!("Conversation #{found}"), place, list);
        page.open = Some(conversation(app, found, address)?);
        Ok(page)
    })
    .await
}

/// The conversation, for the script.
pub(in crate::web) async fn part(
    State(app): State<Arc<WebApp>>,
    Path(word): Path<String>,
    Query(from): Query<ListAddress>,
) -> Response {
    match super::number(&word) {
        Ok(found) => super::part(&app, move |app| conversation(app, found, from.address())).await,
        Err(failure) => failure.json(),
    }
}

fn conversation(app: &WebApp, found: u64, place: &str) -> Result<Markup> {
    let viewer = identity::viewer(&app.room, id::HUMAN)?;
    let name = format!("#{found}");
    let mut messages = thread::thread(&app.room, &viewer, &name, Some(PAGE_THREAD))?;
    let is_cut = messages.len() == PAGE_THREAD;
    if !messages.iter().any(|past| past.seq == found) {
        messages.insert(0, history::message(&app.room, found)?);
    }
    let subject = messages.iter().find_map(|past| past.subject.as_deref());
    let mut items = app.pending()?.items;
    items.retain(|item| messages.iter().any(|past| past.seq == item.seq));
    for item in &mut items {
        app.add_text(item);
    }
    let last = messages
        .iter()
        .rev()
        .find(|past| &*past.from != id::MAILBAG);
    Ok(html! {
        section #open .still aria-labelledby="open-title"
            data-live={ "/part/thread/" (found) "?of=" (super::encoded(place)) } {
            p .back { a .button href=(place) data-back { "Back" } }
            h1 #open-title { (text(subject.unwrap_or("Conversation"))) }
            button type="button" .news hidden {}
            @if is_cut { p .facts { "Earlier messages: " code { "mailbag thread '#" (found) "'" } } }
            ol .thread { @for past in &messages { (entry(past, past.seq == found, &items)) } }
            @if !items.is_empty() {
                ol .items { @for item in &items { (needs::item(item, "")) } }
            }
            @if let Some(last) = last { (message::reply(app, last)?) }
        }
    })
}

/// One message. The text of an approval that can be decided is at its buttons.
fn entry(past: &LoggedMessage, is_meant: bool, items: &[PendingItem]) -> Markup {
    let body = past.message.get("body").and_then(serde_json::Value::as_str);
    let is_decided_below = items
        .iter()
        .any(|item| item.kind == "approval" && item.seq == past.seq);
    let is_to_person = past.recipients.iter().any(|to| &**to == id::HUMAN);
    html! {
        li .message .meant[is_meant] data-key={ "m" (past.seq) } data-seq=(past.seq) tabindex="-1"
            data-at=[is_to_person.then_some(&past.accepted_at)] {
            p .facts {
                (initials(&past.from)) " " (agent(&past.from)) " "
                span .arrow { span .hidden { "to" } span aria-hidden="true" { "→" } } " "
                (agents(past.recipients.iter().take(NAMES).map(|name| &**name)))
                @if past.recipients.len() > NAMES { " and " (past.recipients.len() - NAMES) " more" }
                " " (time(&past.accepted_at)) " " (seq(past.seq))
            }
            @if let Some(change) = &past.change { p .change { (text(change)) } }
            @if let Some(closed) = &past.closed { p .change { (text(closed)) } }
            @if is_decided_below {
                p .facts { "The text is below, with its options." }
            } @else if let Some(body) = body {
                (message::body(past, body, PAGE_BODY))
            }
        }
    }
}

/// Maximum number of recipients by name.
const NAMES: usize = 8;
