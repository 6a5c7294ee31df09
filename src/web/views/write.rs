//! Writing a message: address completion, and a preview of who it reaches.

use super::{PageContent, agents, respond, text};
use crate::base::error::Result;
use crate::message::{Priority, id};
use crate::query::explain::{explain, known_addresses};
use crate::room::Room;
use crate::web::app::WebApp;
use crate::web::request::Query;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// A message, or a reply if it names one.
#[derive(Debug, Default, Deserialize)]
pub(in crate::web) struct MessageForm {
    #[serde(default)]
    pub(in crate::web) to: String,
    #[serde(default)]
    pub(in crate::web) kind: String,
    #[serde(default)]
    pub(in crate::web) priority: String,
    #[serde(default)]
    pub(in crate::web) subject: String,
    #[serde(default)]
    pub(in crate::web) body: String,
    #[serde(default)]
    pub(in crate::web) reply_to: String,
    /// Whether a reply that could be a decision is meant as a reply.
    #[serde(default)]
    pub(in crate::web) confirmed: bool,
}

/// Types that a person writes.
const KINDS: [&str; 5] = ["message", "question", "task", "status", "broadcast"];

pub(in crate::web) async fn show(
    State(app): State<Arc<WebApp>>,
    Query(letter): Query<MessageForm>,
) -> Response {
    respond(&app, move |app| page(app, &letter)).await
}

fn page(app: &WebApp, letter: &MessageForm) -> Result<PageContent> {
    let content = html! {
        section {
            h1 { "Write" }
            form method="post" action="/write" .write {
                label {
                    "To"
                    input name="to" value=(letter.to) list="addresses" required autocomplete="off" spellcheck="false"
                        placeholder="alice, all_engineer, #topic" aria-describedby="reaches";
                }
                datalist #addresses { @for address in known_addresses(&app.room)? { option value=(address) {} } }
                p #reaches data-part="/part/reaches" { (reaches(&app.room, &letter.to)?) }
                div .row {
                    label { "Type" select name="kind" { @for kind in KINDS { option selected[letter.kind == kind] { (kind) } } } }
                    label {
                        "Priority"
                        select name="priority" {
                            @for priority in Priority::WORDS {
                                option selected[if letter.priority.is_empty() { priority == "normal" } else { letter.priority == priority }] { (priority) }
                            }
                        }
                    }
                }
                label { "Subject" input name="subject" value=(letter.subject) autocomplete="off"; }
                label { "Message" textarea name="body" rows="8" required { "\n" (letter.body) } }
                @if !letter.reply_to.is_empty() { input type="hidden" name="reply_to" value=(letter.reply_to); }
                button .primary { "Send" }
            }
        }
    };
    Ok(PageContent::new("Write", "/write", content))
}

/// The recipients of a message, for the script.
pub(in crate::web) async fn reaches_part(
    State(app): State<Arc<WebApp>>,
    Query(letter): Query<MessageForm>,
) -> Response {
    super::part(&app, move |app| reaches(&app.room, &letter.to)).await
}

fn reaches(room: &Room, to: &str) -> Result<Markup> {
    let addresses: Vec<String> = to
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    if addresses.is_empty() {
        return Ok(html! { "Several addresses have blanks between them." });
    }
    let explained = explain(room, &room.registry()?, Some(id::HUMAN), &addresses)?;
    let mut problems = explained
        .addresses
        .iter()
        .flat_map(|one| &one.problems)
        .peekable();
    Ok(html! {
        @if problems.peek().is_some() {
            @for problem in problems { span .problem { (text(&problem.to_string())) } " " }
        } @else if explained.recipients.is_empty() {
            "Reaches nobody now."
        } @else {
            "Reaches " (agents(explained.recipients.iter().map(|one| &*one.agent))) "."
        }
    })
}
