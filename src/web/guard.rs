//! Holds every request to the rules of the gate, and adds the headers that bind the browser.

use super::app::App;
use super::reply::Failure;
use super::views;
use crate::base::limits;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Nothing from elsewhere, no code and no style in the page itself, no frame around it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What answers everybody.
const OPEN: [&str; 4] = ["/enter", "/style.css", "/page.js", "/icon.svg"];

/// Checks a request, and adds the headers that bind the browser.
pub(super) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = match refusal(&app, &request) {
        Some(failure) if is_for_programs(request.uri().path()) => failure.json(),
        Some(failure) if failure.status == StatusCode::UNAUTHORIZED => views::enter::page(&app, &failure),
        Some(failure) => views::enter::refused(&failure),
        None => answered(request, next).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer` a browser would send the origin `null` with a form.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
        headers.insert(name, HeaderValue::from_static("same-origin"));
    }
    response
}

/// A form comes within a time, or its connection ends.
async fn answered(request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let late = || Failure::new(StatusCode::REQUEST_TIMEOUT, "the form came too slowly", "send it again").json();
    tokio::time::timeout(limits::WEB_FORM, next.run(request)).await.unwrap_or_else(|_| late())
}

fn refusal(app: &App, request: &Request) -> Option<Failure> {
    let (gate, headers) = (&app.gate, request.headers());
    if !gate.knows_host(headers) {
        let cure = "use the URL that `mailbag web` printed; for another name, pass --public URL";
        return Some(Failure::new(StatusCode::MISDIRECTED_REQUEST, "this page does not have that name", cure));
    }
    let only_reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !only_reads && !gate.is_own_origin(headers) {
        return Some(Failure::new(StatusCode::FORBIDDEN, "the request comes from another page", "use the page itself"));
    }
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > limits::WEB_BODY_BYTES) {
        return Some(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "the form is too large", "send less"));
    }
    let path = request.uri().path();
    if OPEN.contains(&path) || gate.is_admitted(headers) {
        return None;
    }
    let cure = match gate.has_password() {
        true => "enter the password, or use the URL that `mailbag web` printed",
        false => "use the URL that `mailbag web` printed",
    };
    Some(Failure::new(StatusCode::UNAUTHORIZED, "this browser has not entered", cure))
}

fn is_for_programs(path: &str) -> bool {
    path == "/events" || path.starts_with("/api/")
}

/// Takes the token or the password, and gives the browser its cookie.
pub(super) async fn admit(app: &Arc<App>, word: &str) -> Response {
    if !app.gate.admits(word).await {
        let failure = Failure::new(StatusCode::UNAUTHORIZED, "that is not right", "try again");
        return views::enter::page(app, &failure);
    }
    let mut response = views::enter::entered().into_response();
    if let Ok(cookie) = HeaderValue::from_str(&app.gate.cookie()) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
