//! The left area: the views with their counts, and the agents with presence, unread mail and current work.

use super::{agent, agents, encoded, initials, nothing, part, respond, text, time};
use crate::base::error::Result;
use crate::base::limits;
use crate::message::id;
use crate::query::latest::WaitReason;
use crate::query::who::{AgentPresence, KnownAgents, Presence};
use crate::query::{inbox, status};
use crate::web::app::WebApp;
use crate::web::request::Query;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of agents beside a list.
const PAGE_AGENTS: usize = 24;

/// The content of the left area.
pub(super) struct SidebarContent {
    /// The number of items that need the person.
    pub(super) needs: usize,
    counts: [usize; VIEWS.len()],
    everybody: KnownAgents,
    waits: BTreeMap<Arc<str>, Vec<WaitReason>>,
}

/// The views, by address and name.
const VIEWS: [(&str, &str); 6] = [
    ("/", "Needs you"),
    ("/inbox", "Inbox"),
    ("/all", "All mail"),
    ("/write", "Write"),
    ("/rejected", "Rejected"),
    ("/room", "Room"),
];
/// The number of views in the navigation bar of a narrow window. The others are behind *More*.
const IN_BAR: usize = 4;

/// The page with all views and agents, for a narrow window. On it the left area has no agents.
const MORE: &str = "/more";

impl SidebarContent {
    pub(super) fn of(app: &WebApp) -> Result<SidebarContent> {
        let glance = status::glance(&app.room)?;
        let (pending, everybody) = (app.pending()?, app.everybody()?);
        let needs = pending.items.len() + pending.older;
        let unread = inbox::names_with_taken(&app.room, id::HUMAN)?.len();
        let counts = VIEWS.map(|(place, _)| match place {
            "/" => needs,
            "/inbox" => unread,
            "/rejected" => glance.rejected,
            "/room" => glance.waiting + glance.blocked,
            _ => 0,
        });
        Ok(SidebarContent {
            needs,
            counts,
            waits: app.waits()?,
            everybody,
        })
    }

    /// The area, for the page at this address.
    pub(super) fn show(&self, place: &str) -> Markup {
        html! {
            aside #side .still data-live={ "/part/side?place=" (encoded(place)) } data-needs=(self.needs) {
                nav aria-label="Views" {
                    ul .views {
                        (self.views(place, IN_BAR))
                        li .bar-only { a href=(MORE) aria-current=[(place == MORE).then_some("page")] { "More" } }
                    }
                }
                @if place != MORE { (self.agents(PAGE_AGENTS)) }
                button type="button" #notify hidden { "Notify me of new items" }
            }
        }
    }

    /// The views. Those after the first `in_bar` have no place in a navigation bar.
    fn views(&self, place: &str, in_bar: usize) -> Markup {
        html! {
            @for (n, ((address, name), count)) in VIEWS.iter().zip(self.counts).enumerate() {
                li .wide-only[n >= in_bar] {
                    a href=(address) aria-current=[(*address == place).then_some("page")] {
                        (name) @if count > 0 { " " span .count { (count) } }
                    }
                }
            }
        }
    }

    fn agents(&self, most: usize) -> Markup {
        // The person does not need an entry for itself.
        let all = self.everybody.roster.agents.iter();
        let present: Vec<&AgentPresence> = all.filter(|agent| &*agent.id != id::HUMAN).collect();
        let remote = &self.everybody.remote;
        html! {
            section #agents aria-labelledby="agents-title" {
                h2 #agents-title { "Agents " span .count { (present.len()) } }
                @if present.is_empty() { (nothing("No agents yet. Set up a project with", "mailbag up")) }
                ul {
                    @for agent in present.iter().take(most) {
                        (row(agent, self.waits.get(&agent.id).map_or(&[], Vec::as_slice)))
                    }
                }
                @if present.len() > most { p { a href=(MORE) { "and " (present.len() - most) " more" } } }
                @if !remote.is_empty() {
                    p .remote { "Of other rooms: " (agents(remote.iter().map(|remote| remote.id.as_str()))) }
                }
            }
        }
    }
}

fn row(one: &AgentPresence, waits: &[WaitReason]) -> Markup {
    html! {
        li .card {
            p .who {
                (initials(&one.id)) " " (agent(&one.id)) " "
                span .(format!("presence {}", one.presence.as_str())) { (one.presence.as_str()) }
                @if let (Some(seen), true) = (&one.last_seen, one.presence != Presence::Online) { " " (time(seen)) }
                @if one.unread > 0 { " " span .unread { (one.unread) " unread" } }
            }
            @if let Some(report) = &one.report {
                p .report {
                    (text(&report.text))
                    @if let Some(percent) = report.percent() { " (" (percent) ")" }
                    @if !report.waiting_for.is_empty() {
                        ", blocked by " (agents(report.waiting_for.iter().map(String::as_str)))
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
        }
    }
}

/// The page that has the area.
#[derive(Debug, Deserialize)]
pub(in crate::web) struct SidebarQuery {
    #[serde(default)]
    place: String,
}

/// The area, for the script.
pub(in crate::web) async fn show(
    State(app): State<Arc<WebApp>>,
    Query(asked): Query<SidebarQuery>,
) -> Response {
    part(&app, move |app| {
        Ok(SidebarContent::of(app)?.show(&asked.place))
    })
    .await
}

/// All views and agents, for a narrow window.
pub(in crate::web) async fn more(State(app): State<Arc<WebApp>>) -> Response {
    respond(&app, |app| {
        let overview = SidebarContent::of(app)?;
        let content = html! {
            section .more {
                h1 { "Views and agents" }
                ul .views { (overview.views(MORE, VIEWS.len())) }
                (overview.agents(usize::MAX))
            }
        };
        Ok(super::PageContent::new("Views and agents", MORE, content))
    })
    .await
}
