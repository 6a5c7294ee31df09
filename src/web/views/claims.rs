//! The owners of work.

use super::{PageContent, agent, nothing, respond, seq, text, time};
use crate::base::clock::Stamp;
use crate::message::subject::ClaimSubject;
use crate::query::claims::{ClaimList, list};
use crate::web::app::WebApp;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use std::sync::Arc;

pub(in crate::web) async fn show(State(app): State<Arc<WebApp>>) -> Response {
    respond(&app, |app| {
        let content = content(&list(&app.room, None)?);
        Ok(PageContent::new("Claims", "/claims", content))
    })
    .await
}

fn content(list: &ClaimList) -> Markup {
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
                                td { code { (text(one.claim.subject.as_str())) } }
                                td { (agent(&one.claim.owner)) }
                                td { (text(one.claim.purpose.as_deref().unwrap_or_default())) }
                                td { (at(one.claim.since)) " " (seq(one.claim.seq)) }
                                td { @if let Some(end) = &one.expires_at { (time(end)) } @else { "while its session runs" } }
                            }
                        }
                    }
                }
            }
            @if !list.waiting.is_empty() {
                h2 { "Waiting" }
                ul .plain {
                    @for one in &list.waiting {
                        li { (agent(&one.agent)) " for " (subjects(&one.subjects)) " " (at(one.since)) " " (seq(one.seq)) }
                    }
                }
            }
            @if !list.offers.is_empty() {
                h2 { "Offers" }
                ul .plain {
                    @for one in &list.offers {
                        li { (agent(&one.from)) " → " (agent(&one.to)) ": " (subjects(&one.subjects)) " " (at(one.since)) " " (seq(one.seq)) }
                    }
                }
            }
        }
    }
}

fn at(micros: i64) -> Markup {
    time(&Stamp::from_micros(micros).to_string())
}

fn subjects(subjects: &[ClaimSubject]) -> Markup {
    html! { @for subject in subjects { code { (text(subject.as_str())) } " " } }
}
