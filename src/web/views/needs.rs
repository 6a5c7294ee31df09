//! One item that needs the person, with the buttons that settle it.

use super::{agent, seq, text, time};
use crate::query::pending::{Item, left};
use maud::{Markup, html};

pub(super) fn item(item: &Item) -> Markup {
    html! {
        li .item .(item.kind) id={ "need-" (item.kind) "-" (item.seq) } tabindex="-1" {
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
            (form(item))
        }
    }
}

fn form(item: &Item) -> Markup {
    let needs_words = matches!(item.kind, "approval" | "question" | "escalation");
    let has_buttons = needs_words || matches!(item.kind, "offer" | "rejection" | "wake" | "link") && item.seq > 0;
    if !has_buttons {
        return html! { p .command { code { (text(&item.command)) } } };
    }
    html! {
        form method="post" action="/answer" .act {
            input type="hidden" name="kind" value=(item.kind);
            input type="hidden" name="seq" value=(item.seq);
            input type="hidden" name="message" value=(item.message);
            @match item.kind {
                "approval" => {
                    (words("Reason (optional)"))
                    span .buttons {
                        @for (n, option) in item.options.iter().enumerate() {
                            button name="option" value=(option) .primary[n == 0] { (text(option)) }
                        }
                        (dismiss())
                    }
                }
                "question" | "escalation" => {
                    (words("Reply"))
                    span .buttons { button name="action" value="reply" .primary { "Reply" } (dismiss()) }
                }
                "offer" => {
                    span .buttons {
                        button name="action" value="accept" .primary { "Accept" }
                        button name="action" value="decline" { "Decline" }
                    }
                }
                "rejection" => {
                    span .buttons {
                        a .button href="/rejected" { "Correct it" }
                        button name="action" value="again" { "Send again" }
                        (dismiss())
                    }
                }
                _ => { p .command { code { (text(&item.command)) } } }
            }
        }
    }
}

fn words(label: &str) -> Markup {
    html! { textarea name="text" rows="1" aria-label=(label) placeholder=(label) {} }
}

fn dismiss() -> Markup {
    html! { button name="action" value="dismiss" .quiet { "Dismiss" } }
}
