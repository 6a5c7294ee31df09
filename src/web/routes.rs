//! The addresses of the page, each with what answers.

use super::app::WebApp;
use super::{assets, forms, guard, live, views};
use crate::base::limits;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};
use std::sync::Arc;

/// All routes, protected by the gate.
pub(super) fn routes(app: Arc<WebApp>) -> Router {
    Router::new()
        .route("/", get(views::needs::show))
        .route("/inbox", get(views::timeline::inbox))
        .route("/all", get(views::timeline::all))
        .route("/more", get(views::side::more))
        .route("/message/{seq}", get(views::message::show))
        .route("/thread/{seq}", get(views::thread::show))
        .route("/rejected", get(views::rejected::list))
        .route(
            "/rejected/{seq}",
            get(views::rejected::show).post(forms::fix),
        )
        .route("/search", get(views::search::show))
        .route("/room", get(views::room::show))
        .route("/write", get(views::write::show).post(forms::send))
        .route("/answer", post(forms::answer))
        .route("/dismiss", post(forms::dismiss))
        .route("/read", post(forms::mark_read))
        .route("/part/needs", get(views::needs::list_part))
        .route("/part/side", get(views::side::show))
        .route("/part/thread/{seq}", get(views::thread::part))
        .route("/part/timeline", get(views::timeline::part))
        .route("/part/reaches", get(views::write::reaches_part))
        .route(
            guard::ENTER,
            post(forms::enter).layer(DefaultBodyLimit::max(limits::WEB_ENTER_BYTES)),
        )
        .route("/events", get(live::events))
        .route("/style.css", get(assets::style))
        .route("/page.js", get(assets::page))
        .route("/browser.js", get(assets::browser))
        .route("/needs.js", get(assets::needs))
        .route("/icon.svg", get(assets::icon))
        .fallback(views::missing)
        .method_not_allowed_fallback(views::wrong_method)
        .layer(DefaultBodyLimit::max(limits::WEB_BODY_BYTES))
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}
