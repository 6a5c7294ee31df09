//! The events of the room, the newest first.

use super::{PageContent, agent, nothing, respond, seq, text, time};
use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::query::events::{Envelope, EventFilter, LogEventReader};
use crate::query::newest::last_of;
use crate::web::app::WebApp;
use axum::extract::State;
use axum::response::Response;
use maud::html;
use std::sync::Arc;

pub(in crate::web) async fn show(State(app): State<Arc<WebApp>>) -> Response {
    respond(&app, page).await
}

fn page(app: &WebApp) -> Result<PageContent> {
    let events = LogEventReader::of(&app.room, EventFilter::default())?;
    let newest = last_of(
        events
            .each()?
            .filter(|event| event.as_ref().map_or(true, Envelope::is_for_worklog)),
        limits::PAGE_FOUND,
    )?;
    let content = html! {
        section {
            h1 { "Worklog" }
            @if newest.is_empty() {
                (nothing("No milestones yet. An agent records one with", "mailbag send 'Login works' --type milestone"))
            }
            ol .entries {
                @for event in newest.iter().rev() {
                    li .entry tabindex="-1" {
                        p .facts {
                            (agent(&event.actor)) " " span .badge { (text(&event.kind)) } " " (time(&event.at)) " " (seq(event.seq))
                        }
                        p { (sanitize::brief(&event.text(), limits::WORKLOG_TEXT)) }
                    }
                }
            }
            @if newest.len() == limits::PAGE_FOUND { p .empty { "Older events: " code { "mailbag log events" } } }
        }
    };
    Ok(PageContent::new("Worklog", "/worklog", content))
}
