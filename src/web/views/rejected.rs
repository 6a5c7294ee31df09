//! Rejected mail: the list, and one file with its problems, to be fixed and sent as a new file.

use super::{PageContent, agent, nothing, respond, respond_about, text, time};
use crate::base::error::{Problem, Result, in_words};
use crate::base::{limits, sanitize};
use crate::commands::rejected::{self, RejectedDetails, RejectedSelection};
use crate::message::schema::corrected;
use crate::message::title::title_of_fields;
use crate::web::app::WebApp;
use axum::extract::{Path, State};
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, Value};
use std::sync::Arc;

pub(in crate::web) async fn list(State(app): State<Arc<WebApp>>) -> Response {
    respond(&app, |app| {
        let all = rejected::list(&app.room, &RejectedSelection::All)?;
        let content = html! {
            section {
                h1 { "Rejected mail" }
                @if all.is_empty() { (nothing("No rejected mail. Check a file before you send it with", "mailbag send --dry-run --file FILE")) }
                ol .entries {
                    @for one in all.iter().rev().take(limits::PAGE_ENTRIES) { (row(&rejected::with_text(&app.room, one.clone()))) }
                }
                @if all.len() > limits::PAGE_ENTRIES {
                    p .facts { "and " (all.len() - limits::PAGE_ENTRIES) " older: " code { "mailbag rejected list" } }
                }
            }
        };
        Ok(PageContent::new("Rejected", "/rejected", content))
    })
    .await
}

fn row(shown: &RejectedDetails) -> Markup {
    let one = &shown.rejected;
    let head = RejectedHeader::of(shown);
    html! {
        li .entry .rejected tabindex="-1" {
            p .facts {
                (agent(&one.agent)) (head.recipients()) " "
                (time(&one.rejected_at)) " "
                a .seq href={ "/rejected/" (one.seq) } { "#" (one.seq) }
            }
            p .subject { a href={ "/rejected/" (one.seq) } { (text(head.subject.as_deref().unwrap_or(&one.name))) } }
            p .problem { (text(&one.what)) }
        }
    }
}

/// The recipients and the subject of a rejected file, as far as it has them.
#[derive(Default)]
struct RejectedHeader {
    to: Vec<String>,
    /// The subject, the first line of the body, or the work that it claims.
    subject: Option<String>,
}

impl RejectedHeader {
    fn of(shown: &RejectedDetails) -> RejectedHeader {
        let content = shown.text.as_deref().unwrap_or_default();
        let Ok(message) = serde_json::from_str::<Map<String, Value>>(content) else {
            return RejectedHeader::default();
        };
        let to = match message.get("to") {
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(all)) => all
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            _ => Vec::new(),
        };
        RejectedHeader {
            to,
            subject: title_of_fields(&message)
                .map(str::to_owned)
                .or_else(|| ownership(&message))
                .map(|line| sanitize::brief(&line, limits::PAGE_PREVIEW)),
        }
    }

    fn recipients(&self) -> Markup {
        html! {
            @if !self.to.is_empty() {
                " " span .arrow { span .hidden { "to" } span aria-hidden="true" { "→" } } " "
                span .to { (text(&sanitize::brief(&self.to.join(", "), limits::PAGE_PREVIEW))) }
            }
        }
    }
}

/// The type and the subjects of a message about ownership, such as `claim src/auth`.
fn ownership(message: &Map<String, Value>) -> Option<String> {
    let kind = message.get("type")?.as_str()?;
    let subjects = message.get("claims")?.as_array()?;
    let subjects: Vec<&str> = subjects.iter().filter_map(Value::as_str).collect();
    Some(format!("{kind} {}", subjects.join(", ")))
}

pub(in crate::web) async fn show(
    State(app): State<Arc<WebApp>>,
    Path(word): Path<String>,
) -> Response {
    respond_about(&app, &word, |app, found| {
        let shown = rejected::show(&app.room, &format!("#{found}"))?;
        Ok(PageContent::new(
            format!("Rejected #{found}"),
            "/rejected",
            content(&shown)?,
        ))
    })
    .await
}

fn content(shown: &RejectedDetails) -> Result<Markup> {
    let one = &shown.rejected;
    let head = RejectedHeader::of(shown);
    Ok(html! {
        section {
            h1 { (text(head.subject.as_deref().unwrap_or(&one.name))) " " span .seq { "#" (one.seq) } }
            p .facts {
                (agent(&one.agent)) (head.recipients()) ", rejected " (time(&one.rejected_at)) ", file " code { (text(&one.name)) }
            }
            (problems(&shown.problems))
            (form(one.seq, &one.agent, &shown.problems, shown.text.as_deref().unwrap_or_default()))
        }
    })
}

fn problems(problems: &[Problem]) -> Markup {
    html! {
        ul .problems {
            @for problem in problems {
                li .problem {
                    (sentence(problem))
                    @if !problem.fix.is_empty() { p .fix { (text(&problem.fix)) } }
                }
            }
        }
    }
}

/// A problem with the field that has it.
pub(super) fn sentence(problem: &Problem) -> Markup {
    html! {
        @if !problem.place.is_empty() { code { (text(&in_words(&problem.place))) } ": " }
        (text(&problem.what))
    }
}

/// The file, with buttons that send it or insert the suggestions.
fn form(seq: u64, sender: &str, problems: &[Problem], content: &str) -> Markup {
    // An escape of JSON means the same character, and can be seen.
    let fixed = corrected(problems).map(|text| sanitize::json(&text).into_owned());
    html! {
        form method="post" action={ "/rejected/" (seq) } .fixing {
            label {
                "The file. It is sent as " (text(sender)) "."
                textarea name="text" rows=(content.lines().count().clamp(6, 24)) spellcheck="false" { "\n" (sanitize::json(content)) }
            }
            span .buttons {
                button .primary { "Send again" }
                @if let Some(fixed) = fixed { button type="button" data-text=(fixed) { "Insert the suggestion" } }
            }
        }
    }
}
