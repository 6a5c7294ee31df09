//! Rejected mail: the list, and one file with its problems, to be mended and sent again.

use super::{Page, agent, nothing, respond, respond_about, text, time};
use crate::base::error::{Problem, Result};
use crate::base::sanitize;
use crate::commands::rejected::{self, Shown, Which};
use crate::web::app::App;
use axum::extract::{Path, State};
use axum::response::Response;
use maud::{Markup, html};
use std::sync::Arc;

pub(in crate::web) async fn list(State(app): State<Arc<App>>) -> Response {
    respond(&app, |app| {
        let all = rejected::list(&app.room, &Which::All)?;
        let content = html! {
            section {
                h1 { "Rejected mail" }
                @if all.is_empty() { (nothing("No rejected mail. Check a file before you send it with", "mailbag send --dry-run --file FILE")) }
                ol .entries {
                    @for one in &all {
                        li .entry .rejected {
                            p .facts {
                                (agent(&one.agent)) " " span .badge .rejection { (text(&one.code)) } " "
                                (time(&one.rejected_at)) " "
                                a .seq href={ "/rejected/" (one.seq) } { "#" (one.seq) }
                            }
                            p .subject { a href={ "/rejected/" (one.seq) } { (text(&one.name)) } }
                            p .problem { (text(&one.what)) }
                        }
                    }
                }
            }
        };
        Ok(Page::new("Rejected", "/rejected", content))
    })
    .await
}

pub(in crate::web) async fn show(
    State(app): State<Arc<App>>,
    Path(word): Path<String>,
) -> Response {
    respond_about(&app, &word, |app, found| {
        let shown = rejected::show(&app.room, &format!("#{found}"))?;
        Ok(Page::new(
            format!("Rejected #{found}"),
            "/rejected",
            content(&shown)?,
        ))
    })
    .await
}

fn content(shown: &Shown) -> Result<Markup> {
    let one = &shown.rejected;
    Ok(html! {
        section {
            h1 { (text(&one.name)) " " span .seq { "#" (one.seq) } }
            p .facts { "from " (agent(&one.agent)) ", rejected " (time(&one.rejected_at)) }
            (mend(one.seq, &one.agent, &shown.problems, shown.text.as_deref().unwrap_or_default()))
        }
    })
}

fn mend(seq: u64, sender: &str, problems: &[Problem], body: &str) -> Markup {
    html! {
        ul .problems {
            @for problem in problems {
                li .problem {
                    @if !problem.place.is_empty() { code { (text(&problem.place)) } " " }
                    (text(&problem.what))
                    @if !problem.fix.is_empty() { p .fix { (text(&problem.fix)) } }
                }
            }
        }
        form method="post" action={ "/rejected/" (seq) } .mend {
            label {
                "The file. It is sent as " (text(sender)) "."
                // An escape of JSON means the same character, and can be seen.
                textarea name="text" rows=(body.lines().count().clamp(6, 24)) spellcheck="false" { "\n" (sanitize::json(body)) }
            }
            button .primary { "Send again" }
        }
    }
}
