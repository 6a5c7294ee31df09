//! One item that needs the person, with the buttons that settle it.

use super::{agent, encoded, seq, text, time};
use crate::base::limits;
use crate::message::id;
use crate::query::pending::{Item, Owned, left};
use maud::{Markup, html};

pub(super) fn item(item: &Item) -> Markup {
    html! {
        // The script finds the same item in a newer list by this key.
        li .item .(item.kind) data-key={ (item.kind) " " (item.seq) " " (item.from) " " (item.title) } tabindex="-1" {
            p .facts {
                span .badge .(item.kind) { (item.kind) } " "
                @if !item.from.is_empty() { (agent(&item.from)) " " }
                @if item.seq > 0 { (seq(item.seq)) " " }
                (time(&item.since))
                @if item.blocked && !item.inactive { span .blocked { "waits for you" } }
                @if item.inactive { span .inactive { "inactive" } }
                @if let Some(deadline) = &item.deadline { span .deadline { (left(deadline)) } }
            }
            p .title { (text(&item.title)) }
            (source(item))
            (form(item))
        }
    }
}

/// The complete text of an approval. A decision is bound to it.
fn displayed(item: &Item) -> Option<&str> {
    item.text
        .as_deref()
        .filter(|text| text.len() <= limits::PAGE_SOURCE)
}

fn source(item: &Item) -> Markup {
    match (displayed(item), item.kind) {
        (Some(text), _) => html! { pre .source { (text) } },
        (None, "approval") => {
            html! { p .problem { "The complete text cannot be shown here. Decide in a terminal." } }
        }
        _ => html! {},
    }
}

fn form(item: &Item) -> Markup {
    let Some(answers) = answers(item) else {
        return command(item);
    };
    html! {
        form method="post" action="/answer" .act {
            input type="hidden" name="kind" value=(item.kind);
            input type="hidden" name="seq" value=(item.seq);
            input type="hidden" name="message" value=(item.message);
            input type="hidden" name="from" value=(item.from);
            @if let Some(digest) = &item.digest { input type="hidden" name="digest" value=(digest); }
            @if let Some(owned) = &item.owned {
                input type="hidden" name="subject" value=(owned.subject.as_str());
                input type="hidden" name="owner" value=(owned.owner);
            }
            (answers)
        }
    }
}

/// What a person can do here, if anything.
fn answers(item: &Item) -> Option<Markup> {
    Some(match (item.kind, &item.owned) {
        ("approval", _) if displayed(item).is_none() => return None,
        ("approval", _) => html! {
            (words("Reason (optional)"))
            span .buttons {
                @for (n, option) in item.options.iter().enumerate() {
                    button name="option" value=(option) .primary[n == 0] { (text(option)) }
                }
                (dismiss())
            }
        },
        ("question" | "escalation", _) => html! {
            (words("Reply"))
            span .buttons { button name="action" value="reply" .primary { "Reply" } (dismiss()) }
        },
        ("offer", _) => html! {
            span .buttons {
                button name="action" value="accept" .primary { "Accept" }
                button name="action" value="decline" { "Decline" }
            }
        },
        ("claim", Some(Owned { subject, owner })) => html! {
            (words("Reason (optional)"))
            span .buttons {
                button name="action" value="release" .primary {
                    "Release " (text(subject.as_str())) @if owner != id::HUMAN { " of " (text(owner)) }
                }
                @if owner != id::HUMAN { a .button href={ "/write?to=" (encoded(owner)) } { "Write to " (text(owner)) } }
            }
        },
        ("rejection", _) => html! {
            span .buttons {
                a .button href={ "/rejected/" (item.seq) } { "Correct it" }
                button name="action" value="again" { "Send again" }
                (dismiss())
            }
        },
        ("wake", _) if item.seq > 0 => html! { (command(item)) span .buttons { (dismiss()) } },
        _ => return None,
    })
}

fn command(item: &Item) -> Markup {
    html! { p .command { code { (text(&item.command)) } } }
}

fn words(label: &str) -> Markup {
    html! { textarea name="text" rows="1" aria-label=(label) placeholder=(label) {} }
}

fn dismiss() -> Markup {
    html! { button name="action" value="dismiss" .quiet { "Dismiss" } }
}
