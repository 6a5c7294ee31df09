//! Holds every request to the rules of the gate before its body is read, and adds the headers that bind the browser.

use super::app::WebApp;
use super::connections::WebConnection;
use super::gate::Requester;
use super::reply::{RequestFailure, is_page};
use super::views;
use crate::base::limits;
use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;

/// The time limit of a form, with its action.
const WEB_FORM: Duration = Duration::from_secs(60);

/// Nothing from elsewhere, no code and no style in the page itself, no frame around it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The address that takes the token of the printed URL.
pub(super) const ENTER: &str = "/enter";

/// Files of the page, which have nothing of the room.
const ASSETS: [&str; 5] = [
    "/style.css",
    "/page.js",
    "/browser.js",
    "/needs.js",
    "/icon.svg",
];

/// The result of the check.
enum RequestVerdict {
    /// The request is answered.
    Admit,
    /// A browser asks for a page without its secret: it gets a page without content, with the script that adds the secret.
    Shell,
    Reject(RequestFailure),
}

/// Checks a request, and adds the headers that bind the browser.
pub(super) async fn guard(
    State(app): State<Arc<WebApp>>,
    Extension(connection): Extension<Arc<WebConnection>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match judge(&app, &connection, &request) {
        RequestVerdict::Reject(failure) => failure.json(),
        RequestVerdict::Shell => views::enter::shell(),
        RequestVerdict::Admit => answered(request, next).await,
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

/// A form must be complete within a time, or its connection ends.
async fn answered(request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    match tokio::time::timeout(WEB_FORM, next.run(request)).await {
        Ok(response) => response,
        Err(_) => RequestFailure::new(
            StatusCode::REQUEST_TIMEOUT,
            "the form came too slowly",
            "send it again",
        )
        .json(),
    }
}

fn judge(app: &WebApp, connection: &WebConnection, request: &Request) -> RequestVerdict {
    let (gate, headers, path) = (&app.gate, request.headers(), request.uri().path());
    if !gate.has_host(headers) {
        let fix = "use the URL that `mailbag web` printed";
        return reject(
            StatusCode::MISDIRECTED_REQUEST,
            "this page does not have that name",
            fix,
        );
    }
    let only_reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !only_reads && !gate.is_own_origin(headers) {
        return reject(
            StatusCode::FORBIDDEN,
            "the request comes from another page",
            "use the page itself",
        );
    }
    let most = if path == ENTER {
        limits::WEB_ENTER_BYTES
    } else {
        limits::WEB_BODY_BYTES
    };
    let length = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > most) {
        return reject(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the form is too large",
            "send less",
        );
    }
    if only_reads && ASSETS.contains(&path) || !only_reads && path == ENTER {
        return RequestVerdict::Admit;
    }
    let caller = gate.caller(headers);
    if caller == Requester::Person {
        connection.set_entered();
    }
    match caller {
        Requester::Person => RequestVerdict::Admit,
        Requester::Stranger if only_reads && is_page(path) => RequestVerdict::Shell,
        Requester::Stranger | Requester::Impostor => {
            let fix = "use the URL that `mailbag web` printed; if it was used already, start `mailbag web` again";
            reject(
                StatusCode::UNAUTHORIZED,
                "this browser has not entered",
                fix,
            )
        }
    }
}

fn reject(status: StatusCode, what: &str, fix: &str) -> RequestVerdict {
    RequestVerdict::Reject(RequestFailure::new(status, what, fix))
}
