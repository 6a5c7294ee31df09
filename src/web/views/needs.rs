//! The view *Needs you*: each item has its complete text above the buttons that settle it.

use super::markdown::markdown;
use super::{PageContent, agent, nothing, part, respond, seq, text, time};
use crate::base::text::count_of;
use crate::message::id;
use crate::query::history::message;
use crate::query::pending::{PendingItem, PendingList, PendingRow, age, grouped, left};
use crate::room::Room;
use crate::web::app::WebApp;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, PreEscaped, html};
use std::sync::Arc;

/// The bytes of items with their text in the list of items that need the person. Later items have only a title.
const PAGE_WHOLE: usize = 16 << 10;
/// The longest text of an item in the list of items that need the person.
const PAGE_ITEM_TEXT: usize = 8 << 10;
/// The number of reports that such a row lists.
const PAGE_GROUPED: usize = 20;
/// The longest text of an approval that the page displays. A longer one is decided in a terminal.
const PAGE_SOURCE: usize = 256 << 10;

pub(in crate::web) async fn show(State(app): State<Arc<WebApp>>) -> Response {
    respond(&app, |app| {
        Ok(PageContent::new(
            "Needs you",
            "/",
            section(app, &app.pending()?),
        ))
    })
    .await
}

pub(in crate::web) async fn list_part(State(app): State<Arc<WebApp>>) -> Response {
    part(&app, |app| Ok(section(app, &app.pending()?))).await
}

pub(super) fn section(app: &WebApp, list: &PendingList) -> Markup {
    html! {
        section #needs .still data-live="/part/needs" aria-labelledby="needs-title" {
            h1 #needs-title { "Needs you " @if !list.items.is_empty() { span .count { (list.items.len()) } } }
            button type="button" .news hidden {}
            @if list.items.is_empty() && list.older == 0 {
                (nothing("Nothing. An agent asks with", "mailbag ask human 'May I deploy?' --options yes,no"))
            } @else {
                ol .items { (rows(app, list)) }
            }
            @if let Some(older) = list.older_sentence() { p .facts { (text(&older)) } }
        }
    }
}

/// The items. Reports of the same kind from the router are one group. The first items have their text and their
/// buttons; the others lead to their conversation, so that the page stays small.
fn rows(app: &WebApp, list: &PendingList) -> Markup {
    let mut rows = String::new();
    let items: Vec<&PendingItem> = list.items.iter().collect();
    for row in grouped(&items) {
        let row = match row {
            PendingRow::Group(equal) => group(&equal),
            PendingRow::One(one) if one.seq > 0 && rows.len() >= PAGE_WHOLE => brief(one),
            PendingRow::One(one) => with_text(app, one),
        };
        rows += &row.into_string();
    }
    PreEscaped(rows)
}

/// An item with its text. A text that is too long for a list is in the item's conversation.
fn with_text(app: &WebApp, one: &PendingItem) -> Markup {
    let mut one = one.clone();
    app.add_text(&mut one);
    let body = match one.kind {
        "question" | "escalation" => body(&app.room, one.seq),
        _ => String::new(),
    };
    let length = displayed(&one).map_or(body.len(), str::len);
    if length > PAGE_ITEM_TEXT {
        brief(&one)
    } else {
        item(&one, &body)
    }
}

/// The body of a message; empty if it cannot be read.
fn body(room: &Room, seq: u64) -> String {
    let message = message(room, seq).ok();
    let body = message.as_ref().and_then(|past| past.message.get("body"));
    body.and_then(|body| body.as_str())
        .unwrap_or_default()
        .to_owned()
}

/// Equal reports as one row, which lists them and dismisses all that it lists.
fn group(equal: &[&PendingItem]) -> Markup {
    let (kind, oldest) = (equal[0].kind, equal.iter().map(|item| &*item.since).min());
    html! {
        li .item .group data-key={ "group " (kind) } tabindex="-1" {
            details {
                summary {
                    (count_of(equal.len(), kind))
                    @if let Some(oldest) = oldest { ", oldest " (age(oldest)) }
                }
                ol { @for item in equal.iter().take(PAGE_GROUPED) { (brief(item)) } }
                @if equal.len() > PAGE_GROUPED { p { "and " (equal.len() - PAGE_GROUPED) " more" } }
            }
            form method="post" action="/dismiss" .act {
                input type="hidden" name="kind" value=(kind);
                input type="hidden" name="seqs" value=(equal.iter().map(|item| item.seq.to_string()).collect::<Vec<_>>().join(" "));
                span .buttons { button .quiet { "Dismiss all" } }
            }
        }
    }
}

/// One item without its text. It can be settled in its conversation.
fn brief(item: &PendingItem) -> Markup {
    html! {
        li .item .brief .(item.kind) data-key=(key(item)) data-seq=(item.seq) tabindex="-1" {
            p .facts { (badge(item)) " " (agent(&item.from)) " " (time(&item.since)) }
            p .title { (conversation(item)) }
        }
    }
}

/// One item, with its complete text above its buttons.
pub(super) fn item(item: &PendingItem, shown: &str) -> Markup {
    html! {
        li .item .(item.kind) data-key=(key(item)) data-seq=(item.seq) tabindex="-1" {
            (facts(item))
            p .title { (conversation(item)) }
            @match (item.kind, displayed(item)) {
                // The displayed text of an approval has its hidden characters as escapes.
                ("approval", Some(source)) => pre .source { @for line in source.lines() { span .line { (line) "\n" } } },
                ("approval", None) => p .problem { "The complete text cannot be shown here. Decide in a terminal." },
                _ if !shown.is_empty() && shown.trim() != item.title => { (markdown(shown)) },
                _ => {}
            }
            (form(item))
        }
    }
}

/// The script finds the same item in a newer list by this key.
fn key(item: &PendingItem) -> String {
    match item.kind {
        "approval" | "question" | "escalation" | "rejection" => {
            format!("{} {}", item.kind, item.seq)
        }
        kind => format!("{kind} {} {} {}", item.seq, item.from, item.title),
    }
}

/// The title, which leads to the conversation.
fn conversation(item: &PendingItem) -> Markup {
    html! {
        @match (item.kind, item.seq) {
            ("rejection" | "link", _) | (_, 0) => (text(&item.title)),
            (_, seq) => a href={ "/thread/" (seq) } data-open { (text(&item.title)) },
        }
    }
}

fn badge(item: &PendingItem) -> Markup {
    html! { span .badge .(item.kind) { (item.kind) } }
}

fn facts(item: &PendingItem) -> Markup {
    html! {
        p .facts {
            (badge(item)) " "
            @if !item.priority.is_normal() { span .badge .(item.priority.as_str()) { (item.priority.as_str()) } " " }
            @if !item.from.is_empty() { (agent(&item.from)) " " }
            @if item.seq > 0 { (seq(item.seq)) " " }
            (time(&item.since))
            @if item.blocked && !item.inactive { " " span .blocked { "waits for you" } }
            @if item.inactive { " " span .inactive { "inactive" } }
            @if let Some(deadline) = &item.deadline { " " time .deadline datetime=(deadline) { (left(deadline)) } }
        }
    }
}

/// The complete text of an approval. A decision is bound to it.
pub(super) fn displayed(item: &PendingItem) -> Option<&str> {
    item.text
        .as_deref()
        .filter(|text| text.len() <= PAGE_SOURCE)
}

fn form(item: &PendingItem) -> Markup {
    let Some(answers) = answers(item) else {
        return command(item);
    };
    html! {
        form method="post" action="/answer" .act data-key=(key(item)) {
            input type="hidden" name="kind" value=(item.kind);
            input type="hidden" name="seq" value=(item.seq);
            input type="hidden" name="message" value=(item.message);
            input type="hidden" name="from" value=(item.from);
            @if let Some(digest) = &item.digest { input type="hidden" name="digest" value=(digest); }
            (answers)
        }
    }
}

/// The actions for an item. `None` if it has no action here. The router reads no replies.
fn answers(item: &PendingItem) -> Option<Markup> {
    Some(match item.kind {
        "approval" if displayed(item).is_none() => return None,
        "approval" => html! {
            (words("Reason (optional)"))
            span .buttons {
                @for (n, option) in item.options.iter().enumerate() {
                    button name="option" value=(option) .primary[n == 0] { (text(option)) }
                }
            }
        },
        "question" | "escalation" if item.from == id::MAILBAG => html! {
            span .buttons { (dismiss()) }
        },
        "question" | "escalation" => html! {
            (words("Reply"))
            span .buttons { button name="action" value="reply" .primary { "Reply" } (dismiss()) }
        },
        "offer" => html! {
            span .buttons {
                button name="action" value="accept" .primary { "Accept" }
                button name="action" value="decline" { "Decline" }
            }
        },
        "rejection" => html! {
            span .buttons {
                a .button href={ "/rejected/" (item.seq) } { "Correct it" }
                (dismiss())
            }
        },
        _ => return None,
    })
}

fn command(item: &PendingItem) -> Markup {
    html! { p .command { code { (text(&item.command)) } } }
}

fn words(label: &str) -> Markup {
    html! { textarea name="text" rows="1" aria-label=(label) placeholder=(label) {} }
}

fn dismiss() -> Markup {
    html! { button name="action" value="dismiss" .quiet { "Dismiss" } }
}
