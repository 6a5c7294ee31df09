//! The page for a browser that has not entered, and the step that lets it in.

use super::{HTML, head, text};
use crate::web::app::App;
use crate::web::reply::{Failure, typed};
use axum::response::Response;
use maud::{DOCTYPE, html};

/// Asks for the password, or says where the URL is.
pub(in crate::web) fn page(app: &App, failure: &Failure) -> Response {
    let whole = html! {
        (head("mailbag"))
        body .enter {
            main #main {
                h1 { "mailbag" }
                p .problem { (text(&failure.what)) "." }
                p { (text(&failure.cure)) "." }
                @if app.gate.has_password() {
                    form method="post" action="/enter" {
                        label { "Password" input type="password" name="password" autocomplete="current-password" autofocus required; }
                        button { "Enter" }
                    }
                }
            }
        }
    };
    answered(failure, whole.into_string())
}

/// A refusal that tells nothing of the room.
pub(in crate::web) fn refused(failure: &Failure) -> Response {
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            title { "mailbag" }
            p { (failure.what) ": " (failure.cure) }
        }
    };
    answered(failure, whole.into_string())
}

fn answered(failure: &Failure, whole: String) -> Response {
    let mut response = typed(HTML, whole);
    *response.status_mut() = failure.status;
    response
}

/// Leads into the room from this page itself: a browser that came from another site sends the new cookie only then.
pub(in crate::web) fn entered() -> Response {
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            meta charset="utf-8";
            meta http-equiv="refresh" content="0;url=/";
            title { "mailbag" }
            link rel="icon" href="/icon.svg";
            p { a href="/" { "Go to the room" } }
        }
    };
    typed(HTML, whole.into_string())
}
