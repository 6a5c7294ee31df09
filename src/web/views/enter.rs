//! The page without content, which a browser gets for each address of the page.

use super::{HTML, head, notices};
use crate::web::reply::typed;
use axum::response::Response;
use maud::html;

/// Has nothing of the room. Its script asks for the content with the browser's secret, or asks the person to enter.
pub(in crate::web) fn shell() -> Response {
    let whole = html! {
        (head("mailbag"))
        body .enter {
            main #main {
                h1 { "mailbag" }
                noscript {
                    p { "This page needs JavaScript: a secret that only its script can read proves that you act here." }
                    p { "Without it, run " code { "mailbag watch" } " in a terminal." }
                }
                p #stranger hidden {}
            }
            (notices())
        }
    };
    typed(HTML, whole.into_string())
}
