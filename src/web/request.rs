//! The query and the form of a request. If one cannot be read, the answer has the form of all errors.

use super::app::WebApp;
use super::reply::{RequestFailure, is_page};
use super::views;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The query of an address.
#[derive(Debug)]
pub(super) struct Query<T>(pub(super) T);

/// The form of a request.
#[derive(Debug)]
pub(super) struct Form<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<WebApp>> for Query<T> {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &Arc<WebApp>,
    ) -> Result<Query<T>, Response> {
        match axum::extract::Query::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(query)) => Ok(Query(query)),
            Err(rejection) => {
                let reason = reason(rejection.body_text());
                let failure = RequestFailure::bad(
                    format!("cannot read the query of the address: {reason}"),
                    "correct the parameter",
                );
                Err(if is_page(parts.uri.path()) {
                    views::failed(app, &failure)
                } else {
                    failure.json()
                })
            }
        }
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Form<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Form<T>, Response> {
        match axum::Form::from_request(request, state).await {
            Ok(axum::Form(form)) => Ok(Form(form)),
            Err(rejection) => {
                let status = match rejection.status() {
                    StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
                    status => status,
                };
                let what = format!("cannot read the form: {}", reason(rejection.body_text()));
                Err(RequestFailure::new(status, what, "use the form of the page").json())
            }
        }
    }
}

/// The reason without the words that say that there is one.
fn reason(text: String) -> String {
    match text.split_once(": ") {
        Some((start, reason)) if start.starts_with("Failed to deserialize") => reason.to_owned(),
        _ => text,
    }
}
