//! Messages per hour and sender, and per sender and recipient: as drawings, and as tables with the same numbers.

use super::{PageContent, SHADES, agent, nothing, respond_in_turn, text};
use crate::query::activity::{HOURS, MailActivity, SenderActivity, activity};
use crate::query::timeline::shade;
use crate::web::app::WebApp;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use std::sync::Arc;

/// The number of agents in the drawings. Each has its own colour.
const MOST: usize = SHADES;

pub(in crate::web) async fn show(State(app): State<Arc<WebApp>>) -> Response {
    respond_in_turn(&app, |app| {
        let found = activity(&app.room)?;
        Ok(PageContent::new("Activity", "/activity", content(&found)))
    })
    .await
}

fn content(found: &MailActivity) -> Markup {
    let names = names(found);
    html! {
        section {
            h1 { "Activity" }
            @if found.senders.is_empty() {
                (nothing("No messages in the last 24 hours. Send one with", "mailbag send all 'Good morning'"))
            } @else {
                h2 { "Messages per hour, last 24 hours" }
                (bars(found))
                p .legend { @for sender in found.senders.iter().take(MOST) { (agent(&sender.id)) " " } }
                details { summary { "Table" } (hours(found)) }
                h2 { "Who writes to whom" }
                (squares(found, &names))
                details { summary { "Table" } (pairs(found)) }
                @if found.senders.len() > MOST {
                    p .facts { "The drawings show the " (MOST) " agents with the most messages." }
                }
            }
        }
    }
}

/// The senders, and then the agents that only receive.
fn names(found: &MailActivity) -> Vec<&str> {
    let mut names: Vec<&str> = found.senders.iter().map(|sender| &*sender.id).collect();
    for (_, recipient) in found.copies.keys() {
        if !names.contains(&&**recipient) {
            names.push(recipient);
        }
    }
    names.truncate(MOST);
    names
}

fn colour(name: &str) -> String {
    format!("shade{}", shade(name, SHADES))
}

/// One bar for each hour, with a part for each sender.
fn bars(found: &MailActivity) -> Markup {
    const HEIGHT: u64 = 120;
    const WIDTH: usize = 24;
    let senders = &found.senders[..found.senders.len().min(MOST)];
    let highest = (0..HOURS)
        .map(|hour| senders.iter().map(|sender| sender.hours[hour]).sum::<u64>())
        .max()
        .unwrap_or(0)
        .max(1);
    html! {
        svg .chart viewBox={ "0 0 " (HOURS * WIDTH + 40) " " (HEIGHT + 34) } role="img"
            aria-label="Messages per hour; the table below has the numbers" {
            @for hour in 0..HOURS {
                @for part in parts(senders, hour) {
                    @let (bottom, top) = (part.below * HEIGHT / highest, (part.below + part.count) * HEIGHT / highest);
                    rect .(colour(part.sender)) x=(hour * WIDTH + 34) width=(WIDTH - 4) y=(HEIGHT + 8 - top) height=((top - bottom).max(1)) {
                        title { (text(part.sender)) ": " (part.count) }
                    }
                }
            }
            text x="4" y="18" { (highest) }
            text x="34" y=(HEIGHT + 26) { "24 h ago" }
            text x=(HOURS * WIDTH + 34) y=(HEIGHT + 26) text-anchor="end" { "now" }
        }
    }
}

/// A sender's part of a bar.
struct BarPart<'a> {
    sender: &'a str,
    count: u64,
    /// The messages in the parts below this one.
    below: u64,
}

fn parts(senders: &[SenderActivity], hour: usize) -> Vec<BarPart<'_>> {
    let mut below = 0;
    let mut parts = Vec::new();
    for sender in senders {
        let count = sender.hours[hour];
        if count > 0 {
            parts.push(BarPart {
                sender: &sender.id,
                count,
                below,
            });
        }
        below += count;
    }
    parts
}

/// A square for each pair of agents: the more copies, the fuller.
fn squares(found: &MailActivity, names: &[&str]) -> Markup {
    const SIDE: usize = 28;
    const LEFT: usize = 130;
    let most = found.copies.values().max().copied().unwrap_or(1).max(1);
    let side = names.len() * SIDE;
    html! {
        svg .chart viewBox={ "0 0 " (LEFT + side.max(330)) " " (side + 120) } role="img"
            aria-label="Who writes to whom; the table below has the numbers" {
            @for (row, from) in names.iter().enumerate() {
                text x=(LEFT - 8) y=(row * SIDE + 26) text-anchor="end" { (short(from)) }
                @for (column, to) in names.iter().enumerate() {
                    @let count = count_of(found, from, to);
                    @if count > 0 {
                        rect .(colour(from)) x=(column * SIDE + LEFT) y=(row * SIDE + 8) width=(SIDE - 3) height=(SIDE - 3)
                            rx="4" fill-opacity=(format!("{:.2}", 0.25 + 0.75 * count as f64 / most as f64)) {
                            title { (text(from)) " to " (text(to)) ": " (count) }
                        }
                    }
                }
            }
            @for (column, to) in names.iter().enumerate() {
                @let (x, y) = (column * SIDE + LEFT + 18, side + 20);
                text x=(x) y=(y) transform={ "rotate(-45 " (x) " " (y) ")" } text-anchor="end" { (short(to)) }
            }
            text x="4" y=(side + 26) { "from ↑  to →" }
        }
    }
}

fn short(name: &str) -> String {
    const LETTERS: usize = 16;
    let shown: String = name.chars().take(LETTERS).collect();
    let mark = if name.chars().count() > LETTERS {
        "…"
    } else {
        ""
    };
    format!("{}{mark}", text(&shown))
}

fn count_of(found: &MailActivity, from: &str, to: &str) -> u64 {
    let pair = (Arc::from(from), Arc::from(to));
    found.copies.get(&pair).copied().unwrap_or(0)
}

fn hours(found: &MailActivity) -> Markup {
    html! {
        table {
            thead { tr { th { "Agent" } th { "Messages" } th { "Hours with messages, from 24 hours ago to now" } } }
            tbody {
                @for sender in &found.senders {
                    tr {
                        td { (agent(&sender.id)) }
                        td { (sender.total()) }
                        td {
                            @for (hour, count) in sender.hours.iter().enumerate() {
                                @if *count > 0 { (HOURS - hour) " h ago: " (count) "; " }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn pairs(found: &MailActivity) -> Markup {
    html! {
        table {
            thead { tr { th { "From" } th { "To" } th { "Copies" } } }
            tbody {
                @for ((from, to), count) in &found.copies {
                    tr { td { (agent(from)) } td { (agent(to)) } td { (count) } }
                }
            }
        }
    }
}
