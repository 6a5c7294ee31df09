//! The pages. The script asks for a page with the browser's secret, shows it, and keeps it up to date.
//!
//! [`text`], [`block`] and [`markdown`](markdown::markdown) show the text of agents: its markup is never markup of the page, and
//! invisible characters are made visible.

pub(super) mod room;
pub(super) mod enter;
mod markdown;
pub(super) mod message;
pub(super) mod needs;
pub(super) mod rejected;
pub(super) mod search;
pub(super) mod side;
pub(super) mod thread;
pub(super) mod timeline;
pub(super) mod write;

use super::app::{WebApp, run, run_in_turn};
use super::reply::{RequestFailure, is_page, typed};
use crate::base::clock::{Stamp, rough_span};
use crate::base::error::Result;
use crate::base::sanitize;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use maud::{DOCTYPE, Markup, html};
use side::SidebarContent;
use std::borrow::Cow;
use std::sync::Arc;

/// A page without its frame.
pub(super) struct PageContent {
    title: String,
    /// The address of its view.
    place: &'static str,
    content: Markup,
    /// The conversation that is open beside the list.
    open: Option<Markup>,
}

impl PageContent {
    pub(super) fn new(
        title: impl Into<String>,
        place: &'static str,
        content: Markup,
    ) -> PageContent {
        PageContent {
            title: title.into(),
            place,
            content,
            open: None,
        }
    }
}

/// The views with lists of mail. A conversation opens beside them.
const LISTS: [&str; 4] = ["/", "/inbox", "/all", "/search"];

/// Makes a page in a thread of its own, and frames it.
pub(super) async fn respond(
    app: &Arc<WebApp>,
    make: impl FnOnce(&WebApp) -> Result<PageContent> + Send + 'static,
) -> Response {
    finish(app, run(app, move |app| made(app, make)).await)
}

/// Like [`respond`], for a page that reads the whole log.
pub(super) async fn respond_in_turn(
    app: &Arc<WebApp>,
    make: impl FnOnce(&WebApp) -> Result<PageContent> + Send + 'static,
) -> Response {
    finish(app, run_in_turn(app, move |app| made(app, make)).await)
}

type BuiltPage = (Result<SidebarContent>, PageContent);

fn made(app: &WebApp, make: impl FnOnce(&WebApp) -> Result<PageContent>) -> Result<BuiltPage> {
    let page = make(app)?;
    Ok((SidebarContent::of(app), page))
}

fn finish(app: &WebApp, made: std::result::Result<BuiltPage, RequestFailure>) -> Response {
    match made {
        Ok((overview, page)) => framed(app, &page, overview.ok()),
        Err(failure) => failed(app, &failure),
    }
}

/// A part of a page, for the script.
pub(super) async fn part(
    app: &Arc<WebApp>,
    make: impl FnOnce(&WebApp) -> Result<Markup> + Send + 'static,
) -> Response {
    match run(app, make).await {
        Ok(part) => typed(HTML, part.into_string()),
        Err(failure) => failure.json(),
    }
}

/// An error as a page.
pub(super) fn failed(app: &WebApp, failure: &RequestFailure) -> Response {
    let content = html! {
        section .plain {
            h1 { "That did not work" }
            p .problem { (text(&failure.what)) }
            @for problem in &failure.problems { p .problem { (text(&problem.to_string())) } }
            p { (text(&failure.fix)) "." }
            p { a href="/" { "Back to the room" } }
        }
    };
    let mut response = framed(app, &PageContent::new("Error", "", content), None);
    *response.status_mut() = failure.status;
    response
}

/// Any other address.
pub(super) async fn missing(State(app): State<Arc<WebApp>>, uri: Uri) -> Response {
    if is_page(uri.path()) {
        return failed(&app, &RequestFailure::not_found("the page does not exist"));
    }
    let fix = "go back to the first page";
    RequestFailure::new(StatusCode::NOT_FOUND, "the address does not exist", fix).json()
}

/// An address with another method.
pub(super) async fn wrong_method() -> Response {
    RequestFailure::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "the address has no such method",
        "use the page itself, or read with GET",
    )
    .json()
}

const HTML: &str = "text/html; charset=utf-8";

fn framed(app: &WebApp, page: &PageContent, overview: Option<SidebarContent>) -> Response {
    let room = room_name(app);
    let needs = overview.as_ref().map_or(0, |overview| overview.needs);
    let count = if needs > 0 {
        format!("({needs}) ")
    } else {
        String::new()
    };
    let whole = html! {
        (head(&format!("{count}{} · {room}", page.title)))
        body .opened[page.open.is_some()] {
            a .skip href="#main" { "Skip to the content" }
            header .bar {
                a .brand href="/" { span .mark aria-hidden="true" {} "mailbag" span .room { (text(&room)) } }
                form .find action="/search" role="search" {
                    input type="search" name="q" id="find" placeholder="Search" aria-label="Search messages";
                }
            }
            @match &overview {
                Some(overview) => (overview.show(page.place)),
                None => nav #side { a href="/" { "Back to the room" } },
            }
            main #main tabindex="-1" {
                div #list { (page.content) }
                @match &page.open {
                    Some(open) => (open),
                    None if !LISTS.contains(&page.place) => {}
                    None => section #open aria-label="Conversation" { p .empty { "Select a message. " kbd { "?" } " lists the keys." } },
                }
            }
            (notices())
            (keys())
        }
    };
    typed(HTML, whole.into_string())
}

/// The keys, as a dialog.
fn keys() -> Markup {
    const KEYS: [(&str, &str); 11] = [
        ("?", "list the keys"),
        ("j k", "next and previous item"),
        ("Enter", "open it"),
        ("r", "reply"),
        ("1 to 9", "choose an option; Enter confirms"),
        ("e", "dismiss"),
        ("w", "write a message"),
        ("/", "search"),
        ("g i", "inbox"),
        ("g n", "what needs you"),
        ("Ctrl+Enter", "send"),
    ];
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl { @for (key, action) in KEYS { dt { kbd { (key) } } dd { (action) } } }
            form method="dialog" { button { "Close" } }
        }
    }
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
            // Without this, the browser finds them only when it has read `page.js`.
            @for module in ["/browser.js", "/needs.js"] { link rel="modulepreload" href=(module); }
        }
    }
}

/// The room's tag, else the directory of its project.
fn room_name(app: &WebApp) -> String {
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
    app: &Arc<WebApp>,
    word: &str,
    make: impl FnOnce(&WebApp, u64) -> Result<PageContent> + Send + 'static,
) -> Response {
    match number(word) {
        Ok(found) => respond(app, move |app| make(app, found)).await,
        Err(failure) => failed(app, &failure),
    }
}

/// A number in an address.
pub(super) fn number(word: &str) -> std::result::Result<u64, RequestFailure> {
    let number = word.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| RequestFailure::not_found("the address has no record number"))
}

/// Text of others in one line.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    sanitize::line(text)
}

/// Text of others in lines.
pub(super) fn block(text: &str) -> Cow<'_, str> {
    sanitize::block(text)
}

/// A name of the protocol as words.
pub(super) fn words(name: &str) -> String {
    text(name).replace('_', " ")
}

/// A relative time. The script adds the exact one, which is shown on hover.
pub(super) fn time(at: &str) -> Markup {
    let Some(stamp) = Stamp::parse(at) else {
        return html! { span { (text(at)) } };
    };
    let micros = Stamp::now().micros() - stamp.micros();
    let words = if micros < 0 {
        format!("in {}", rough_span(-micros))
    } else {
        format!("{} ago", rough_span(micros))
    };
    html! { time datetime=(at) { (words) } }
}

/// An agent's name, which leads to its mail.
pub(super) fn agent(name: &str) -> Markup {
    let shade = crate::query::timeline::shade(name, SHADES);
    html! { a .(format!("agent shade{shade}")) href={ "/all?agent=" (encoded(name)) } { bdi { (text(name)) } } }
}

/// Number of colours for agents in the style sheet.
const SHADES: usize = 12;

/// The initials of an agent, in its colour.
pub(super) fn initials(name: &str) -> Markup {
    let shade = crate::query::timeline::shade(name, SHADES);
    let parts = name.split(['_', '-', '.', '/', '@', ' ']);
    let letters: String = parts
        .filter_map(|part| part.chars().next())
        .take(2)
        .collect();
    html! { span .(format!("initials shade{shade}")) aria-hidden="true" { (text(&letters.to_uppercase())) } }
}

/// A list of agents.
pub(super) fn agents<'n>(names: impl IntoIterator<Item = &'n str>) -> Markup {
    html! { span { @for (n, name) in names.into_iter().enumerate() { @if n > 0 { ", " } (agent(name)) } } }
}

/// A message by its number, which leads to it.
pub(super) fn seq(number: u64) -> Markup {
    html! { a .seq href={ "/message/" (number) } { "#" (number) } }
}

/// The text of an empty list, with the next command.
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
