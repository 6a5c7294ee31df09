//! The timeline, the newest entry first, with filters in the address.

use super::{agent, agents, encoded, nothing, seq, text, time};
use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::message::TYPES;
use crate::message::record::EventKind;
use crate::query::timeline::{Choice, Entry, page, since};
use crate::query::view::View;
use crate::web::app::{App, run};
use crate::web::reply::json_text;
use axum::extract::{Query, State};
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// The part of the timeline that an address asks for.
#[derive(Debug, Clone, Default, Deserialize)]
pub(in crate::web) struct Asked {
    agent: Option<String>,
    r#type: Option<String>,
    channel: Option<String>,
    /// Entries in front of this record.
    pub(in crate::web) before: Option<u64>,
    /// Entries behind this record, for the script.
    after: Option<u64>,
}

impl Asked {
    pub(super) fn choice(&self) -> Choice {
        let given = |word: &Option<String>| word.clone().filter(|word| !word.is_empty());
        Choice {
            agent: given(&self.agent),
            kind: given(&self.r#type),
            channel: given(&self.channel),
        }
    }

    /// The filters as the query of an address.
    fn query(&self) -> String {
        let Choice {
            agent,
            kind,
            channel,
        } = self.choice();
        let pairs = [("agent", agent), ("type", kind), ("channel", channel)];
        let pairs = pairs
            .into_iter()
            .filter_map(|(name, word)| Some(format!("{name}={}", encoded(&word?))));
        pairs.collect::<Vec<_>>().join("&")
    }

    fn older(&self, before: u64) -> String {
        let query = self.query();
        if query.is_empty() {
            format!("?before={before}")
        } else {
            format!("?{query}&before={before}")
        }
    }
}

pub(super) fn section(app: &App, asked: &Asked) -> Result<Markup> {
    let choice = asked.choice();
    let page = page(&app.room, &choice, asked.before, limits::PAGE_ENTRIES)?;
    Ok(html! {
        section #timeline aria-labelledby="timeline-title" data-newest=(page.newest) data-query=(asked.query())
            data-live[asked.before.is_none()] {
            h2 #timeline-title { "Timeline" }
            (filters(&choice))
            p #more hidden { button type="button" { "New entries" } }
            @if page.entries.is_empty() && page.before.is_none() {
                (nothing("No messages yet. Send one with", "mailbag send all 'Good morning'"))
            }
            ol .entries #entries { @for entry in &page.entries { (row(entry)) } }
            (older(asked, page.before))
        }
    })
}

fn older(asked: &Asked, before: Option<u64>) -> Markup {
    html! { @if let Some(before) = before { p #older { a href={ "/" (asked.older(before)) } rel="next" { "Older" } } } }
}

fn filters(choice: &Choice) -> Markup {
    let value = |word: &Option<String>| word.clone().unwrap_or_default();
    html! {
        form .filters action="/" {
            label { "Agent" input name="agent" value=(value(&choice.agent)) autocomplete="off"; }
            label {
                "Type"
                select name="type" {
                    option value="" { "all" }
                    @for kind in TYPES { option selected[choice.kind.as_deref() == Some(kind)] { (kind) } }
                }
            }
            label { "Channel" input name="channel" value=(value(&choice.channel)) autocomplete="off"; }
            button { "Filter" }
            @if *choice != Choice::default() { a href="/" { "All" } }
        }
    }
}

/// Entries for the script: those behind `after`, or those in front of `before`.
pub(in crate::web) async fn part(
    State(app): State<Arc<App>>,
    Query(asked): Query<Asked>,
) -> Response {
    let made = run(&app, move |app| {
        let choice = asked.choice();
        let page = match asked.after {
            Some(after) => since(&app.room, &choice, after, limits::PAGE_ENTRIES)?,
            None => page(&app.room, &choice, asked.before, limits::PAGE_ENTRIES)?,
        };
        let rows = html! { @for entry in &page.entries { (row(entry)) } };
        let (rows, older) = (rows.into_string(), older(&asked, page.before).into_string());
        // With older ones behind `after`, the rows do not follow those that the browser has.
        let skipped = asked.after.is_some() && page.before.is_some();
        Ok(
            serde_json::json!({"rows": rows, "older": older, "newest": page.newest, "skipped": skipped}),
        )
    });
    made.await
        .map_or_else(|failure| failure.json(), |json| json_text(json.to_string()))
}

/// One entry.
fn row(entry: &Entry) -> Markup {
    let view = View::from(entry);
    let urgent = entry.is_urgent();
    html! {
        li .entry .urgent[urgent] .aside[entry.is_aside()] .rejected[entry.event == EventKind::Rejected]
            id={ "m" (entry.seq) } data-seq=(entry.seq) tabindex="-1" {
            p .facts {
                (agent(&entry.from)) " "
                @if entry.event == EventKind::Rejected {
                    span .badge .rejection { "rejected" } " "
                } @else {
                    span .arrow aria-label="to" { "→" } " " (recipients(entry, &view)) " "
                    @if entry.kind != "message" { span .badge .(kind_class(&entry.kind)) { (text(&entry.kind)) } " " }
                }
                @if urgent { span .badge .urgent { "urgent" } " " }
                @if entry.channel != crate::message::DEFAULT_CHANNEL { span .channel { "#" (text(&entry.channel)) } " " }
                (time(&entry.at)) " " (seq_of(entry))
            }
            @if let Some(change) = &entry.change { p .change { (text(change)) } }
            @if let Some(subject) = &entry.subject { p .subject { (text(subject)) } }
            @if let Some(body) = &entry.body { p .body dir="auto" { (sanitize::brief(body, limits::PAGE_PREVIEW)) } }
            @if let Some(file) = &entry.file { p .subject { (text(file)) } }
            @for problem in &entry.problems { p .problem { (text(&problem.to_string())) } }
        }
    }
}

fn seq_of(entry: &Entry) -> Markup {
    match entry.event {
        EventKind::Rejected => {
            html! { a .seq href={ "/rejected/" (entry.seq) } { "#" (entry.seq) } }
        }
        _ => html! {
            (seq(entry.seq)) " "
            @if entry.thread_id.is_some() || entry.in_reply_to.is_some() {
                a .thread href={ "/thread/" (entry.seq) } { "thread" }
            }
        },
    }
}

fn recipients(entry: &Entry, view: &View<'_>) -> Markup {
    const NAMES: usize = 3;
    match entry.to.len() {
        1..=NAMES => agents(entry.to.iter().map(|name| &**name)),
        _ => html! { span .to { (text(&view.to(NAMES))) } },
    }
}

/// Known types have a colour. The type of a sender's own is no name for the style sheet.
pub(super) fn kind_class(kind: &str) -> &str {
    if TYPES.contains(&kind) { kind } else { "other" }
}
