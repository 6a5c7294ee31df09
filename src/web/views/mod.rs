//! The pages. The script asks for a page with the browser's secret, shows it, and keeps it up to date.
//!
//! Everything that an agent wrote goes through [`text`] or [`block`]: it is text, never markup, and what no reader would
//! see is made visible.

pub(super) mod claims;
pub(super) mod enter;
pub(super) mod health;
pub(super) mod home;
pub(super) mod links;
pub(super) mod message;
mod needs;
pub(super) mod rejected;
pub(super) mod search;
pub(super) mod thread;
pub(super) mod timeline;
pub(super) mod worklog;
pub(super) mod write;

use super::app::{App, run};
use super::reply::{Failure, typed};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::sanitize;
use crate::base::text::to_the_second;
use crate::message::id;
use crate::query::pending::rough;
use crate::query::status;
use axum::extract::State;
use axum::response::Response;
use maud::{DOCTYPE, Markup, html};
use std::borrow::Cow;
use std::sync::Arc;

/// A page without its frame.
pub(super) struct Page {
    pub(super) title: String,
    /// The address in the menu to which it belongs.
    pub(super) place: &'static str,
    pub(super) content: Markup,
}

const MENU: [(&str, &str); 7] = [
    ("/", "Room"),
    ("/rejected", "Rejected"),
    ("/claims", "Claims"),
    ("/worklog", "Worklog"),
    ("/links", "Links"),
    ("/health", "Health"),
    ("/write", "Write"),
];

/// Makes a page in a thread of its own, and frames it.
pub(super) async fn respond(
    app: &Arc<App>,
    make: impl FnOnce(&App) -> Result<Page> + Send + 'static,
) -> Response {
    let made = run(app, move |app| {
        let page = make(app)?;
        Ok((counts(app), page))
    });
    match made.await {
        Ok((counts, page)) => framed(app, &page, counts),
        Err(failure) => failed(app, &failure),
    }
}

/// A part of a page, for the script.
pub(super) async fn part(
    app: &Arc<App>,
    make: impl FnOnce(&App) -> Result<Markup> + Send + 'static,
) -> Response {
    match run(app, make).await {
        Ok(part) => typed(HTML, part.into_string()),
        Err(failure) => failure.json(),
    }
}

/// An error as a page.
pub(super) fn failed(app: &App, failure: &Failure) -> Response {
    let content = html! {
        section .plain {
            h1 { "That did not work" }
            p .problem { (text(&failure.what)) }
            @for problem in &failure.problems { p .problem { (text(&problem.to_string())) } }
            p { (text(&failure.cure)) "." }
            p { a href="/" { "Back to the room" } }
        }
    };
    let page = Page {
        title: "Error".into(),
        place: "",
        content,
    };
    let mut response = framed(app, &page, html! {});
    *response.status_mut() = failure.status;
    response
}

/// Any other address.
pub(super) async fn missing(State(app): State<Arc<App>>) -> Response {
    failed(&app, &Failure::not_found("there is no such page"))
}

const HTML: &str = "text/html; charset=utf-8";

fn framed(app: &App, page: &Page, counts: Markup) -> Response {
    let room = room_name(app);
    let whole = html! {
        (head(&format!("{} · {room}", page.title)))
        body {
            a .skip href="#main" { "Skip to the content" }
            header .bar {
                a .brand href="/" { span .mark aria-hidden="true" {} "mailbag" span .room { (text(&room)) } }
                nav aria-label="Pages" {
                    @for (place, name) in MENU {
                        a href=(place) aria-current=[(place == page.place).then_some("page")] { (name) }
                    }
                }
                form .find action="/search" role="search" {
                    input type="search" name="q" id="find" placeholder="Search" aria-label="Search messages";
                }
            }
            (counts)
            main #main tabindex="-1" { (page.content) }
            (notices())
            footer {
                p { kbd { "/" } " search · " kbd { "w" } " write · " kbd { "j" } " " kbd { "k" } " next and previous" }
            }
        }
    };
    typed(HTML, whole.into_string())
}

/// Reports of the script. They are above the page, so that they move nothing.
fn notices() -> Markup {
    html! {
        div .notices {
            p #connection role="status" hidden {}
            p #note role="status" hidden {}
        }
    }
}

fn head(title: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en";
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (text(title)) }
            link rel="icon" href="/icon.svg";
            link rel="stylesheet" href="/style.css";
            script type="module" src="/page.js" {}
        }
    }
}

/// What is wrong in the room, in one line, if anything is.
fn counts(app: &App) -> Markup {
    let Ok(glance) = status::glance(&app.room, id::HUMAN) else {
        return html! { p #counts hidden {} };
    };
    let facts = [
        (glance.own_unread, "unread", "/?agent=human"),
        (glance.waiting, "pending", "/health"),
        (glance.blocked, "blocked", "/health"),
        (glance.rejected, "rejected", "/rejected"),
    ];
    let shown = facts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .collect::<Vec<_>>();
    html! {
        p #counts data-live="/part/counts" hidden[shown.is_empty()] {
            @for (count, word, place) in shown { a href=(place) { b { (count) } " " (word) } }
        }
    }
}

/// The line of counts, for the script.
pub(super) async fn counts_part(State(app): State<Arc<App>>) -> Response {
    part(&app, |app| Ok(counts(app))).await
}

/// The room's tag, else the directory of its project.
fn room_name(app: &App) -> String {
    if let Some(tag) = app.room.settings().ok().and_then(|settings| settings.tag) {
        return tag;
    }
    let path = app.room.dir.path();
    let directory = if path.ends_with(crate::disk::layout::ROOM) {
        path.parent().unwrap_or(path)
    } else {
        path
    };
    directory.file_name().map_or_else(
        || directory.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// As [`respond`], for an address with a record number in it.
pub(super) async fn respond_about(
    app: &Arc<App>,
    word: &str,
    make: impl FnOnce(&App, u64) -> Result<Page> + Send + 'static,
) -> Response {
    match number(word) {
        Ok(found) => respond(app, move |app| make(app, found)).await,
        Err(failure) => failed(app, &failure),
    }
}

/// A number in an address.
pub(super) fn number(word: &str) -> std::result::Result<u64, Failure> {
    let number = word.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Failure::not_found("the address has no record number"))
}

/// Text of others in one line.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    sanitize::line(text)
}

/// Text of others in lines.
pub(super) fn block(text: &str) -> Cow<'_, str> {
    sanitize::block(text)
}

/// A time, relative; the exact one on hover.
pub(super) fn time(at: &str) -> Markup {
    let Some(stamp) = Stamp::parse(at) else {
        return html! { span { (text(at)) } };
    };
    let micros = Stamp::now().micros() - stamp.micros();
    let words = if micros < 0 {
        format!("in {}", rough(-micros))
    } else {
        format!("{} ago", rough(micros))
    };
    html! { time datetime=(at) title=(to_the_second(at)) { (words) } }
}

/// An agent's name, which leads to its mail.
pub(super) fn agent(name: &str) -> Markup {
    let shade = crate::query::timeline::shade(name, SHADES);
    html! { a .(format!("agent shade{shade}")) href={ "/?agent=" (encoded(name)) } { bdi { (text(name)) } } }
}

/// How many colours the style sheet has for agents.
const SHADES: usize = 8;

/// A list of agents.
pub(super) fn agents<'n>(names: impl IntoIterator<Item = &'n str>) -> Markup {
    html! { @for (n, name) in names.into_iter().enumerate() { @if n > 0 { ", " } (agent(name)) } }
}

/// A message by its number, which leads to it.
pub(super) fn seq(number: u64) -> Markup {
    html! { a .seq href={ "/message/" (number) } { "#" (number) } }
}

/// What to say where there is nothing, with the command that comes next.
pub(super) fn nothing(what: &str, next: &str) -> Markup {
    html! { p .empty { (what) @if !next.is_empty() { " " code { (next) } } } }
}

/// Text for the query of an address.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~:".contains(byte);
    text.bytes()
        .map(|byte| {
            if plain(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
