//! The first page: what needs the person, then the agents, then the timeline.

use super::{Page, agents, needs, nothing, respond, text, time, timeline};
use crate::base::limits;
use crate::message::id;
use crate::query::latest::Wait;
use crate::query::pending::List;
use crate::query::timeline::Choice;
use crate::query::who::{Everybody, Presence, Present};
use crate::web::app::App;
use axum::extract::{Query, State};
use axum::response::Response;
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(in crate::web) async fn show(
    State(app): State<Arc<App>>,
    Query(asked): Query<timeline::Asked>,
) -> Response {
    respond(&app, move |app| {
        let is_filtered = asked.choice() != Choice::default();
        let content = html! {
            @if !is_filtered && asked.before.is_none() {
                (needs_section(&app.pending()?))
                (agents_section(&app.everybody()?, &app.waits()?))
            }
            (timeline::section(app, &asked)?)
        };
        Ok(Page {
            title: "Room".into(),
            place: "/",
            content,
        })
    })
    .await
}

pub(in crate::web) async fn needs_part(State(app): State<Arc<App>>) -> Response {
    super::part(&app, |app| Ok(needs_section(&app.pending()?))).await
}

pub(in crate::web) async fn agents_part(State(app): State<Arc<App>>) -> Response {
    super::part(&app, |app| {
        Ok(agents_section(&app.everybody()?, &app.waits()?))
    })
    .await
}

fn needs_section(list: &List) -> Markup {
    html! {
        section #needs data-live="/part/needs" aria-labelledby="needs-title" {
            h2 #needs-title { "Needs you" @if !list.items.is_empty() { span .count { (list.items.len()) } } }
            button type="button" .news hidden {}
            @if list.items.is_empty() {
                (nothing("Nothing. An agent asks with", "mailbag ask human 'May I deploy?' --options yes,no"))
            } @else {
                ol .items { @for item in &list.items { (needs::item(item)) } }
            }
        }
    }
}

fn agents_section(everybody: &Everybody, waits: &BTreeMap<Arc<str>, Vec<Wait>>) -> Markup {
    // The person who looks is no news to itself.
    let present: Vec<&Present> = everybody
        .roster
        .agents
        .iter()
        .filter(|agent| &*agent.id != id::HUMAN)
        .collect();
    html! {
        section #agents data-live="/part/agents" aria-labelledby="agents-title" {
            h2 #agents-title { "Agents" span .count { (present.len()) } }
            @if present.is_empty() {
                (nothing("No agents yet. Set up a project with", "mailbag up"))
            } @else {
                ul .cards { @for agent in &present { (card(agent, waits.get(&agent.id).map_or(&[], Vec::as_slice))) } }
            }
            @if !everybody.remote.is_empty() {
                p .remote { "Of other rooms: " (agents(everybody.remote.iter().map(|remote| remote.id.as_str()))) }
            }
        }
    }
}

fn card(one: &Present, waits: &[Wait]) -> Markup {
    html! {
        li .card {
            p .who {
                span .(format!("dot {}", one.presence.as_str())) {}
                (super::agent(&one.id))
                @if let Some(role) = &one.role { span .role { (text(role)) } }
                @if one.unread > 0 { span .unread { (one.unread) " unread" } }
            }
            p .presence {
                (one.presence.as_str())
                @if let (Some(seen), true) = (&one.last_seen, one.presence != Presence::Online) { ", seen " (time(seen)) }
            }
            @if let Some(doing) = &one.doing {
                p .doing {
                    (text(&doing.text))
                    @if let Some(progress) = &doing.progress { " (" (progress.to_string()) " %)" }
                    @if !doing.waiting_for.is_empty() {
                        " — blocked by " (agents(doing.waiting_for.iter().map(String::as_str)))
                    }
                }
            }
            @for wait in waits.iter().take(limits::IN_SENTENCE) {
                p .waits {
                    "waits for " @if !wait.of.is_empty() { (agents(wait.of.iter().map(|agent| &**agent))) ": " }
                    (text(&wait.what))
                }
            }
            @if waits.len() > limits::IN_SENTENCE { p .waits { "and " (waits.len() - limits::IN_SENTENCE) " more" } }
            @if !one.owns.is_empty() {
                p .owns {
                    @for subject in &one.owns { code { (text(subject)) } " " }
                    @if one.owns_more > 0 { a href="/claims" { "and " (one.owns_more) " more" } }
                }
            }
            @if let Some(wake) = one.wake.as_ref().and_then(|wake| wake.failed.as_ref()) {
                p .problem { "wake failed: " (text(wake)) }
            }
        }
    }
}
