//! The style sheet, the script and the icon.

use super::reply::typed;
use axum::response::Response;

pub(super) async fn style() -> Response {
    typed("text/css; charset=utf-8", include_str!("assets/style.css"))
}

pub(super) async fn script() -> Response {
    typed("text/javascript; charset=utf-8", include_str!("assets/page.js"))
}

pub(super) async fn icon() -> Response {
    typed("image/svg+xml", include_str!("assets/icon.svg"))
}
