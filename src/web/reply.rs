//! Answers that are not pages: errors, JSON and text.

use crate::base::error::{Error, ErrorClass, ErrorCode, ErrorReport, Problem};
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Why a request failed.
#[derive(Debug)]
pub(super) struct RequestFailure {
    pub(super) status: StatusCode,
    code: ErrorCode,
    pub(super) what: String,
    pub(super) fix: String,
    pub(super) problems: Vec<Problem>,
}

impl RequestFailure {
    pub(super) fn new(
        status: StatusCode,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> RequestFailure {
        let code = match status {
            StatusCode::NOT_FOUND => ErrorCode::NotFound,
            StatusCode::UNPROCESSABLE_ENTITY => ErrorCode::Rejected,
            StatusCode::INTERNAL_SERVER_ERROR => ErrorCode::Io,
            StatusCode::SERVICE_UNAVAILABLE => ErrorCode::Busy,
            _ => ErrorCode::Usage,
        };
        RequestFailure {
            status,
            code,
            what: what.into(),
            fix: fix.into(),
            problems: Vec::new(),
        }
    }

    pub(super) fn not_found(what: impl Into<String>) -> RequestFailure {
        RequestFailure::new(StatusCode::NOT_FOUND, what, "go back to the first page")
    }

    pub(super) fn bad(what: impl Into<String>, fix: impl Into<String>) -> RequestFailure {
        RequestFailure::new(StatusCode::BAD_REQUEST, what, fix)
    }

    pub(super) fn broken() -> RequestFailure {
        RequestFailure::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the page failed",
            "report it, with the output of `mailbag web -v`",
        )
    }

    /// As `--json` prints errors.
    pub(super) fn json(&self) -> Response {
        let error = json!({"code": self.code, "what": self.what, "fix": self.fix, "problems": self.problems});
        (
            self.status,
            json_text(json!({ "error": error }).to_string()),
        )
            .into_response()
    }
}

impl From<Error> for RequestFailure {
    fn from(error: Error) -> RequestFailure {
        let status = match (&error, error.class()) {
            (error, _) if error.is_not_found() => StatusCode::NOT_FOUND,
            (Error::Rejected(_) | Error::NotGranted(_), _) => StatusCode::UNPROCESSABLE_ENTITY,
            (Error::Moved { .. }, _) | (_, ErrorClass::Temporary) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            (_, ErrorClass::Permanent) => StatusCode::BAD_REQUEST,
            (_, ErrorClass::Bug) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let ErrorReport {
            code,
            what,
            fix,
            problems,
        } = ErrorReport::from(&error);
        let (what, fix) = if problems.is_empty() {
            (what, fix.unwrap_or_else(|| "run `mailbag doctor`".into()))
        } else {
            (
                "the message was rejected".into(),
                "correct it and send it again".into(),
            )
        };
        RequestFailure {
            status,
            code,
            what,
            fix,
            problems,
        }
    }
}

/// JSON text.
pub(super) fn json_text(text: String) -> Response {
    typed("application/json; charset=utf-8", text)
}

/// Data as JSON.
pub(super) fn json_of<T: serde::Serialize>(data: &T) -> Response {
    json_text(
        serde_json::to_value(data)
            .unwrap_or(Value::Null)
            .to_string(),
    )
}

/// Text of this type.
pub(super) fn typed(kind: &'static str, text: impl Into<Body>) -> Response {
    (
        [(header::CONTENT_TYPE, HeaderValue::from_static(kind))],
        text.into(),
    )
        .into_response()
}

/// Returns true if a browser shows this address, instead of a script or a program that reads it.
pub(super) fn is_page(path: &str) -> bool {
    path != "/events" && !path.starts_with("/part/")
}
