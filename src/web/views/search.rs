//! A search over all messages, the newest first.

use super::{PageContent, agent, agents, initials, nothing, respond_in_turn, seq, text, words};
use crate::base::error::Result;
use crate::base::limits;
use crate::base::text::count_of;
use crate::message::TYPES;
use crate::query::history::{MessageCriteria, MessageFilter};
use crate::query::search::{SearchHit, SearchPattern, newest};
use crate::web::app::WebApp;
use crate::web::reply::RequestFailure;
use crate::web::request::Query;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// The form of the search.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::web) struct SearchForm {
    q: String,
    /// Whether `q` is a regular expression.
    regex: Option<String>,
    #[serde(flatten)]
    criteria: MessageCriteria,
}

pub(in crate::web) async fn show(
    State(app): State<Arc<WebApp>>,
    Query(asked): Query<SearchForm>,
) -> Response {
    respond_in_turn(&app, move |app| {
        Ok(PageContent::new("Search", "/search", section(app, &asked)))
    })
    .await
}

/// The form with its results. An invalid search keeps the form as it was sent.
pub(super) fn section(app: &WebApp, asked: &SearchForm) -> Markup {
    html! {
        section {
            h1 { "Search" }
            (form(asked))
            @if asked.q.trim().is_empty() {
                (nothing("Words in any order, or text in double quotes, as for", "mailbag search"))
            } @else {
                @match found(app, asked) {
                    Ok(found) => (results(&found)),
                    Err(e) => (problem(&e.into())),
                }
            }
        }
    }
}

fn form(asked: &SearchForm) -> Markup {
    html! {
        form .search action="/search" {
            input type="search" name="q" value=(asked.q) aria-label="Words" autofocus;
            button .primary { "Search" }
            details open[asked.has_filters()] {
                summary { "Filters" }
                div .filters {
                    label { "From" input name="from" value=[&asked.criteria.from] autocomplete="off"; }
                    label { "To" input name="to" value=[&asked.criteria.to] autocomplete="off"; }
                    label {
                        "Type"
                        select name="type" {
                            option value="" { "all" }
                            @for kind in TYPES.iter() { option value=(kind) selected[asked.criteria.kind.as_deref() == Some(*kind)] { (words(kind)) } }
                        }
                    }
                    label { "Since" input name="since" value=[&asked.criteria.since] placeholder="7d, yesterday" autocomplete="off"; }
                    label .check {
                        input type="checkbox" name="regex" value="true" checked[asked.regex.is_some()];
                        "Regular expression"
                    }
                }
            }
        }
    }
}

impl SearchForm {
    /// The search at this address; an empty one if the address has no valid query.
    pub(super) fn at(address: &str) -> SearchForm {
        let uri = address.parse::<Uri>().ok();
        uri.and_then(|uri| axum::extract::Query::try_from_uri(&uri).ok())
            .map(|axum::extract::Query(asked)| asked)
            .unwrap_or_default()
    }

    fn has_filters(&self) -> bool {
        self.regex.is_some() || self.given() != MessageCriteria::default()
    }

    /// The filters without the empty fields of the form.
    fn given(&self) -> MessageCriteria {
        let given = |text: &Option<String>| {
            let text = text.as_deref().map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        MessageCriteria {
            from: given(&self.criteria.from),
            to: given(&self.criteria.to),
            kind: given(&self.criteria.kind),
            since: given(&self.criteria.since),
            ..MessageCriteria::default()
        }
    }
}

/// The newest messages that match, in log order. Letter case does not matter.
fn found(app: &WebApp, asked: &SearchForm) -> Result<Vec<SearchHit>> {
    let pattern = if asked.regex.is_some() {
        SearchPattern::regex(&asked.q, true)?
    } else {
        SearchPattern::words(&asked.q)?
    };
    let filter = MessageFilter::new(&app.room, asked.given())?;
    newest(&app.room, pattern, filter, limits::PAGE_FOUND)
}

fn problem(failure: &RequestFailure) -> Markup {
    html! {
        p .problem role="alert" { (text(&failure.what)) }
        p .fix { (text(&failure.fix)) }
    }
}

fn results(found: &[SearchHit]) -> Markup {
    html! {
        @if found.is_empty() {
            (nothing("No matching messages.", ""))
        } @else {
            p .facts {
                (count_of(found.len(), "message"))
                @if found.len() == limits::PAGE_FOUND { ", the newest; " code { "mailbag search" } " finds all" }
            }
            ol .entries { @for hit in found.iter().rev() { (row(hit)) } }
        }
    }
}

fn row(hit: &SearchHit) -> Markup {
    let message = &hit.past;
    let subject = message.subject.as_deref().or(message.preview.as_deref());
    html! {
        li .entry data-seq=(message.seq) tabindex="-1" {
            (initials(&message.from))
            p .facts {
                (agent(&message.from)) " "
                span .arrow { span .hidden { "to" } span aria-hidden="true" { "→" } } " "
                (agents(message.recipients.iter().take(NAMES).map(|name| &**name)))
                @if message.recipients.len() > NAMES { " and " (message.recipients.len() - NAMES) " more" }
                " " (super::time(&message.accepted_at)) " " (seq(message.seq))
            }
            p .subject { a href={ "/thread/" (message.seq) } data-open { (text(subject.unwrap_or("Message"))) } }
            @if let Some(closed) = &message.closed { p .change { (text(closed)) } }
            @for found in &hit.matches {
                p .found {
                    @if found.field != "body" { span .field { (text(&found.field)) ":" } " " }
                    @for piece in &found.excerpt {
                        @if piece.is_match { mark { (text(&piece.text)) } } @else { (text(&piece.text)) }
                    }
                }
            }
        }
    }
}

/// Maximum number of recipients by name.
const NAMES: usize = 3;
