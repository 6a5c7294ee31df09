//! The links to other rooms, with the delivery state of their mail.

use super::{PageContent, agent, nothing, respond, text, time};
use crate::query::links::{KnownRemoteAgent, LinkStatus, links, remote};
use crate::web::app::WebApp;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use std::sync::Arc;

pub(in crate::web) async fn show(State(app): State<Arc<WebApp>>) -> Response {
    respond(&app, |app| {
        let (links, remote) = (links(&app.room, None)?, remote(&app.room)?);
        let content = html! {
            section {
                h1 { "Links" }
                @if links.is_empty() { (nothing("No links. Reach the room of another project with", "mailbag link add po ../po")) }
                ul .cards { @for link in &links { (card(link)) } }
                @if !remote.is_empty() {
                    h2 { "Agents of other rooms" }
                    ul .plain { @for one in &remote { (row(one)) } }
                }
            }
        };
        Ok(PageContent::new("Links", "/links", content))
    })
    .await
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
