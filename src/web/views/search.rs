//! A search over all messages, the newest first.

use super::{Page, agent, nothing, respond, seq, text, time};
use crate::base::error::Result;
use crate::base::limits;
use crate::base::text::count_of;
use crate::query::history::{Criteria, Filter};
use crate::query::search::{Hit, Pattern, newest};
use crate::web::app::App;
use axum::extract::{Query, State};
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// What to search for.
#[derive(Debug, Deserialize)]
pub(in crate::web) struct Asked {
    #[serde(default)]
    q: String,
}

pub(in crate::web) async fn show(
    State(app): State<Arc<App>>,
    Query(asked): Query<Asked>,
) -> Response {
    respond(&app, move |app| {
        let found = if asked.q.is_empty() {
            Vec::new()
        } else {
            found(app, &asked.q)?
        };
        Ok(Page::new("Search", "/search", content(&asked.q, &found)))
    })
    .await
}

/// The newest messages that match, in log order. Letter case does not count.
fn found(app: &App, words: &str) -> Result<Vec<Hit>> {
    let (pattern, filter) = (
        Pattern::new(words, true, None)?,
        Filter::new(&app.room, Criteria::default())?,
    );
    newest(&app.room, pattern, filter, limits::PAGE_FOUND)
}

fn content(words: &str, found: &[Hit]) -> Markup {
    html! {
        section {
            h1 { "Search" }
            form .search action="/search" {
                input type="search" name="q" value=(words) aria-label="Regular expression" autofocus;
                button .primary { "Search" }
            }
            @if words.is_empty() {
                (nothing("A text or a regular expression, as for", "mailbag search"))
            } @else if found.is_empty() {
                (nothing("No matching messages.", ""))
            } @else {
                p .facts {
                    (count_of(found.len(), "message"))
                    @if found.len() == limits::PAGE_FOUND { ", the newest; " code { "mailbag search" } " finds all" }
                }
            }
            ol .entries { @for hit in found.iter().rev() { (row(hit)) } }
        }
    }
}

fn row(hit: &Hit) -> Markup {
    html! {
        li .entry tabindex="-1" {
            p .facts { (agent(&hit.past.from)) " " (time(&hit.past.accepted_at)) " " (seq(hit.past.seq)) }
            @for found in &hit.matches {
                p .found {
                    span .field { (text(&found.field)) } " "
                    (text(&found.before)) mark { (text(&found.text)) } (text(&found.after))
                }
            }
        }
    }
}
