//! Lists of mail, the newest entry first: the inbox, and all mail with filters in the address.

use super::rejected::sentence;
use super::{
    PageContent, agent, agents, encoded, initials, nothing, respond, seq, text, time, words,
};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::message::record::EventKind;
use crate::message::{DECISION, TYPES, id};
use crate::query::history::LoggedMessage;
use crate::query::inbox;
use crate::query::timeline::{TimelineEntry, TimelineFilter, page, since};
use crate::query::view::MessageView;
use crate::web::app::{WebApp, run};
use crate::web::reply::json_text;
use crate::web::request::Query;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A list of mail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MailList {
    /// Mail to the person.
    Inbox,
    /// The mail of all agents, rejections and notices.
    #[default]
    All,
}

impl MailList {
    pub(super) fn place(self) -> &'static str {
        match self {
            MailList::Inbox => "/inbox",
            MailList::All => "/all",
        }
    }

    fn title(self) -> &'static str {
        match self {
            MailList::Inbox => "Inbox",
            MailList::All => "All mail",
        }
    }
}

pub(in crate::web) async fn all(
    State(app): State<Arc<WebApp>>,
    Query(asked): Query<MailListQuery>,
) -> Response {
    list(&app, asked).await
}

pub(in crate::web) async fn inbox(
    State(app): State<Arc<WebApp>>,
    Query(asked): Query<MailListQuery>,
) -> Response {
    let list_of = MailList::Inbox;
    list(
        &app,
        MailListQuery {
            list: list_of,
            ..asked
        },
    )
    .await
}

async fn list(app: &Arc<WebApp>, asked: MailListQuery) -> Response {
    respond(app, move |app| {
        let list = asked.list;
        Ok(PageContent::new(
            list.title(),
            list.place(),
            section(app, &asked)?,
        ))
    })
    .await
}

/// The part of a list that an address asks for.
#[derive(Debug, Clone, Default, Deserialize)]
pub(in crate::web) struct MailListQuery {
    #[serde(default)]
    list: MailList,
    agent: Option<String>,
    r#type: Option<String>,
    channel: Option<String>,
    /// Entries before this record.
    pub(in crate::web) before: Option<u64>,
    /// Entries after this record, for the script.
    after: Option<u64>,
}

impl MailListQuery {
    /// The beginning of a list.
    pub(super) fn of(list: MailList) -> MailListQuery {
        MailListQuery {
            list,
            ..MailListQuery::default()
        }
    }

    fn choice(&self) -> TimelineFilter {
        let given = |word: &Option<String>| word.clone().filter(|word| !word.is_empty());
        TimelineFilter {
            agent: given(&self.agent),
            to: (self.list == MailList::Inbox).then(|| id::HUMAN.to_owned()),
            kind: given(&self.r#type),
            channel: given(&self.channel),
        }
    }

    /// The list and its filters as the query of an address.
    fn query(&self) -> String {
        let choice = self.choice();
        let list = choice.to.is_some().then(|| "inbox".to_owned());
        let pairs = [
            ("list", list),
            ("agent", choice.agent),
            ("type", choice.kind),
            ("channel", choice.channel),
        ];
        let pairs = pairs
            .into_iter()
            .filter_map(|(name, word)| Some(format!("{name}={}", encoded(&word?))));
        pairs.collect::<Vec<_>>().join("&")
    }

    fn older(&self, before: u64) -> Markup {
        let (place, query) = (self.list.place(), self.query());
        let and = if query.is_empty() { "" } else { "&" };
        html! { p #older { a href={ (place) "?" (query) (and) "before=" (before) } rel="next" { "Older" } } }
    }
}

pub(super) fn section(app: &WebApp, asked: &MailListQuery) -> Result<Markup> {
    let choice = asked.choice();
    let page = page(&app.room, &choice, asked.before, limits::PAGE_ENTRIES)?;
    let unread = UnreadMail::of(app)?;
    let (list, is_empty) = (asked.list, page.entries.is_empty() && page.before.is_none());
    Ok(html! {
        section #timeline aria-labelledby="timeline-title" data-newest=(page.newest) data-query=(asked.query())
            data-place=(list.place()) data-live[asked.before.is_none()] {
            h1 #timeline-title { (list.title()) }
            @if list == MailList::All { (filters(&choice)) }
            p #more hidden { button type="button" { "New entries" } }
            @if is_empty { (nothing("No messages yet. Send one with", "mailbag send all 'Good morning'")) }
            @if list == MailList::Inbox { (unread.by_hand()) }
            ol .entries #entries { @for entry in &page.entries { (row(entry, &unread)) } }
            @if let Some(before) = page.before { (asked.older(before)) }
        }
    })
}

/// The unread mail of the person.
struct UnreadMail {
    at: BTreeSet<Stamp>,
    /// Files that no router has placed.
    files: Vec<String>,
}

impl UnreadMail {
    fn of(app: &WebApp) -> Result<UnreadMail> {
        let (mut at, mut files) = (BTreeSet::new(), Vec::new());
        for (name, accepted) in inbox::names_with_taken(&app.room, id::HUMAN)? {
            match accepted {
                Some(stamp) => drop(at.insert(stamp)),
                None => files.push(name.to_string_lossy().into_owned()),
            }
        }
        Ok(UnreadMail { at, files })
    }

    fn has(&self, entry: &TimelineEntry) -> bool {
        entry.message.is_to(id::HUMAN)
            && Stamp::parse(&entry.message.accepted_at).is_some_and(|at| self.at.contains(&at))
    }

    fn by_hand(&self) -> Markup {
        html! {
            @for file in &self.files {
                p .problem { "A file was placed here by hand. Read it with " code { "mailbag read '" (text(file)) "'" } }
            }
        }
    }
}

fn filters(choice: &TimelineFilter) -> Markup {
    let value = |word: &Option<String>| word.clone().unwrap_or_default();
    html! {
        form .filters action="/all" {
            label { "Agent" input name="agent" value=(value(&choice.agent)) autocomplete="off"; }
            label {
                "Type"
                select name="type" {
                    option value="" { "all" }
                    @for kind in TYPES.iter() { option value=(kind) selected[choice.kind.as_deref() == Some(kind)] { (words(kind)) } }
                }
            }
            label { "Channel" input name="channel" value=(value(&choice.channel)) autocomplete="off"; }
            button { "Filter" }
            @if *choice != TimelineFilter::default() { a .button href="/all" { "Show all" } }
        }
    }
}

/// Entries for the script: after the record `after`, or before the record `before`.
pub(in crate::web) async fn part(
    State(app): State<Arc<WebApp>>,
    Query(asked): Query<MailListQuery>,
) -> Response {
    let made = run(&app, move |app| {
        let choice = asked.choice();
        let page = match asked.after {
            Some(after) => since(&app.room, &choice, after, limits::PAGE_ENTRIES)?,
            None => page(&app.room, &choice, asked.before, limits::PAGE_ENTRIES)?,
        };
        let unread = UnreadMail::of(app)?;
        let rows = html! { @for entry in &page.entries { (row(entry, &unread)) } }.into_string();
        let older = page
            .before
            .map(|before| asked.older(before).into_string())
            .unwrap_or_default();
        // If `before` is set, entries are missing between the browser's rows and these.
        let skipped = asked.after.is_some() && page.before.is_some();
        Ok(
            serde_json::json!({"rows": rows, "older": older, "newest": page.newest, "skipped": skipped}),
        )
    });
    made.await
        .map_or_else(|failure| failure.json(), |json| json_text(json.to_string()))
}

/// One entry. It leads to its conversation.
fn row(entry: &TimelineEntry, unread: &UnreadMail) -> Markup {
    let (message, view) = (&entry.message, MessageView::from(&entry.message));
    let (is_urgent, is_unread) = (entry.is_urgent(), unread.has(entry));
    let (subject, body) = match &entry.rejected {
        Some(rejected) => (Some(rejected.name.as_str()), None),
        None => (view.subject, view.body),
    };
    let preview = body.map(|body| sanitize::brief(body, limits::PAGE_PREVIEW));
    html! {
        li .entry .urgent[is_urgent] .aside[entry.is_aside()] .rejected[entry.rejected.is_some()] .unread[is_unread]
            id={ "m" (message.seq) } data-seq=(message.seq) tabindex="-1" {
            (initials(entry.sender()))
            p .facts {
                (agent(entry.sender())) " "
                @if entry.rejected.is_some() {
                    span .badge .rejection { "rejected" } " "
                } @else {
                    span .arrow { span .hidden { "to" } span aria-hidden="true" { "→" } } " " (recipients(&view)) " "
                    @if view.kind != "message" { span .badge .(kind_class(view.kind)) { (words(view.kind)) } " " }
                }
                @if is_unread { span .badge .new { "unread" } " " }
                @if is_urgent { span .badge .urgent { "urgent" } " " }
                @if view.channel != crate::message::DEFAULT_CHANNEL { span .channel { "#" (text(view.channel)) } " " }
                (time(view.accepted_at)) " " (seq(message.seq))
            }
            @if let Some(change) = change(message) { p .change { (text(change)) } }
            @match (subject, &preview) {
                (Some(subject), preview) => {
                    p .subject { (conversation(entry, &text(subject))) }
                    @if let Some(preview) = preview { p .body dir="auto" { (preview) } }
                }
                (None, Some(preview)) => p .body dir="auto" { (conversation(entry, preview)) },
                (None, None) => {}
            }
            @if let Some(rejected) = &entry.rejected {
                @for problem in &rejected.problems { p .problem { (sentence(problem)) } }
            }
        }
    }
}

/// The change of claims or approvals. A decision with the question as its subject needs no id.
fn change(message: &LoggedMessage) -> Option<&str> {
    let change = message.change.as_deref()?;
    match change.rsplit_once(" · ") {
        Some((_, option)) if message.kind == DECISION && message.subject.is_some() => Some(option),
        _ => Some(change),
    }
}

fn conversation(entry: &TimelineEntry, words: &str) -> Markup {
    let seq = entry.message.seq;
    match entry.event {
        EventKind::Rejected => html! { a href={ "/rejected/" (seq) } { (words) } },
        _ => html! { a href={ "/thread/" (seq) } data-open { (words) } },
    }
}

fn recipients(view: &MessageView<'_>) -> Markup {
    const NAMES: usize = 3;
    let copies = view.copies.unwrap_or_default();
    match copies.len() {
        1..=NAMES => agents(copies.iter().map(|name| &**name)),
        _ => html! { span .to { (text(&view.to(NAMES))) } },
    }
}

/// Known types have a colour. The style sheet has no name for other types.
pub(super) fn kind_class(kind: &str) -> &str {
    if TYPES.contains(&kind) { kind } else { "other" }
}
