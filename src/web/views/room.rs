//! The reports of `mailbag status`, `mailbag claims` and `mailbag link status`.

use super::{PageContent, agent, nothing, respond, seq, text, time};
use crate::base::clock::Stamp;
use crate::base::text::count_of;
use crate::message::subject::ClaimSubject;
use crate::query::claims::{ClaimList, list};
use crate::query::links::{KnownRemoteAgent, LinkStatus, links, remote};
use crate::query::status::{NO_ROUTER, RoomStatus, status};
use crate::web::app::WebApp;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use std::sync::Arc;

pub(in crate::web) async fn show(State(app): State<Arc<WebApp>>) -> Response {
    respond(&app, |app| {
        let (status, claims) = (status(&app.room)?, list(&app.room, None)?);
        let (links, far) = (links(&app.room, None)?, remote(&app.room)?);
        let content = html! {
            section {
                h1 { "Room" }
                (state(&status))
                h2 { "Claims" }
                @if claims.claims.is_empty() { (nothing("No agent owns work. An agent claims work with", "mailbag claim 'src/**'")) }
                ul .plain { (owned(&claims)) }
                h2 { "Links" }
                @if links.is_empty() { (nothing("No links. Reach the room of another project with", "mailbag link add po ../po")) }
                ul .cards { @for link in &links { (card(link)) } }
                ul .plain { @for one in &far { (row(one)) } }
            }
        };
        Ok(PageContent::new("Room", "/room", content))
    })
    .await
}

fn state(status: &RoomStatus) -> Markup {
    html! {
        dl .facts {
            dt { "Room" } dd { code { (text(&status.room.display().to_string())) } }
            dt { "Router" } dd {
                @match &status.router {
                    Some(holder) => { "process " (holder.pid) }
                    None => (text(NO_ROUTER)),
                }
            }
            dt { "Messages" } dd {
                (status.counts.accepted) " accepted, " (status.counts.copies) " copies, " (status.counts.rejected) " rejected"
            }
            @for one in &status.waiting {
                dt { "Pending" } dd { (count_of(one.files, "file")) " of " (agent(&one.agent)) ", first " code { (text(&one.first)) } }
            }
            @for one in &status.blocked {
                dt { "Blocked" } dd { code { (text(&one.path)) } ": " (text(&one.reason)) p .fix { (text(&one.fix)) } }
            }
            @for one in &status.unregistered {
                dt { "Unregistered" } dd { (count_of(one.files, "file")) " of " (text(&one.agent)) ": " (one.reason) p .fix { code { (text(&one.fix)) } } }
            }
        }
    }
}

fn owned(list: &ClaimList) -> Markup {
    html! {
        @for one in &list.claims {
            li {
                code { (text(one.claim.subject.as_str())) } " " (agent(&one.claim.owner)) " "
                (at(one.claim.since)) " " (seq(one.claim.seq))
                @if let Some(end) = &one.expires_at { ", lapses " (time(end)) }
                @if let Some(purpose) = &one.claim.purpose { ": " (text(purpose)) }
            }
        }
        @for one in &list.offers {
            li { (agent(&one.from)) " offers " (agent(&one.to)) " " (subjects(&one.subjects)) (at(one.since)) " " (seq(one.seq)) }
        }
    }
}

fn at(micros: i64) -> Markup {
    time(&Stamp::from_micros(micros).to_string())
}

fn subjects(subjects: &[ClaimSubject]) -> Markup {
    html! { @for subject in subjects { code { (text(subject.as_str())) } " " } }
}

fn card(link: &LinkStatus) -> Markup {
    html! {
        li .card {
            p .who { strong { (text(&link.tag)) } @if link.is_down() { span .badge .rejection { "down" } } }
            p .presence {
                (link.sent) " sent, " (link.confirmed) " confirmed, " (link.received) " received"
                @if link.waiting > 0 { ", " (link.waiting) " waiting" }
                @if let Some(oldest) = &link.oldest { " since " (time(oldest)) }
            }
            @for problem in &link.problems {
                p .problem { (text(&problem.reason)) }
                p .fix { (text(&problem.fix)) }
            }
        }
    }
}

fn row(one: &KnownRemoteAgent) -> Markup {
    html! {
        li {
            (agent(&one.id))
            @if let Some(role) = &one.role { " " span .role { (text(role)) } }
            @if let Some(heard) = &one.last_arrival { ", heard of " (time(heard)) }
        }
    }
}
