//! The style sheet, the scripts and the icon.

use super::reply::typed;
use axum::response::Response;

pub(super) async fn style() -> Response {
    typed("text/css; charset=utf-8", include_str!("assets/style.css"))
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

pub(super) async fn page() -> Response {
    typed(SCRIPT, include_str!("assets/page.js"))
}

pub(super) async fn browser() -> Response {
    typed(SCRIPT, include_str!("assets/browser.js"))
}

pub(super) async fn needs() -> Response {
    typed(SCRIPT, include_str!("assets/needs.js"))
}

pub(super) async fn icon() -> Response {
    typed("image/svg+xml", include_str!("assets/icon.svg"))
}
