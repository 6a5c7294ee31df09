//! Who owns which work.

use super::{Page, agent, nothing, respond, seq, text, time};
use crate::query::claims::{List, list};
use crate::web::app::App;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use std::sync::Arc;

pub(in crate::web) async fn show(State(app): State<Arc<App>>) -> Response {
    respond(&app, |app| {
        let content = content(&list(&app.room, None)?);
        Ok(Page::new("Claims", "/claims", content))
    })
    .await
}

fn content(list: &List) -> Markup {
    html! {
        section {
            h1 { "Claims" }
            @if list.claims.is_empty() { (nothing("Nobody owns anything. An agent claims work with", "mailbag claim 'src/**'")) }
            @else {
                table {
                    thead { tr { th { "Work" } th { "Owner" } th { "Purpose" } th { "Since" } th { "Lapses" } } }
                    tbody {
                        @for one in &list.claims {
                            tr {
                                td { code { (text(&one.subject)) } }
                                td { (agent(&one.owner)) }
                                td { (text(one.why.as_deref().unwrap_or_default())) }
                                td { (time(&one.since)) " " (seq(one.seq)) }
                                td { @if let Some(at) = &one.lapses_at { (time(at)) } @else { "while its session runs" } }
                            }
                        }
                    }
                }
            }
            @if !list.waiting.is_empty() {
                h2 { "Waiting" }
                ul .plain {
                    @for one in &list.waiting {
                        li { (agent(&one.agent)) " for " (subjects(&one.subjects)) " " (time(&one.since)) " " (seq(one.seq)) }
                    }
                }
            }
            @if !list.offers.is_empty() {
                h2 { "Offers" }
                ul .plain {
                    @for one in &list.offers {
                        li { (agent(&one.from)) " → " (agent(&one.to)) ": " (subjects(&one.subjects)) " " (time(&one.since)) " " (seq(one.seq)) }
                    }
                }
            }
        }
    }
}

fn subjects(subjects: &[String]) -> Markup {
    html! { @for subject in subjects { code { (text(subject)) } " " } }
}
