//! JSON for programs, in the form of the commands' `--json` output.

use super::app::{WebApp, run, run_in_turn};
use super::reply::{RequestFailure, json_of};
use super::request::{EmptyQuery, Query};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::commands::dry_run::DryRun;
use crate::commands::follow::let_router_process;
use crate::commands::rejected::{self, RejectedSelection};
use crate::doctor;
use crate::message::id;
use crate::query::history::{MessageCriteria, MessageFilter};
use crate::query::newest::last_of;
use crate::query::search::SearchPattern;
use crate::query::{self, identity};
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// The number of messages or events in an answer for programs.
const API_MESSAGES: usize = 1000;

/// The filters of a list, as the options of `mailbag list`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    last: Option<usize>,
    #[serde(flatten)]
    criteria: MessageCriteria,
}

/// A search, as the options of `mailbag search`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchQuery {
    words: Option<String>,
    regex: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    last: Option<usize>,
    #[serde(flatten)]
    criteria: MessageCriteria,
}

/// The filters of events, as the options of `mailbag log events`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventQuery {
    #[serde(rename = "type")]
    kind: Option<String>,
    since: Option<String>,
    last: Option<usize>,
}

/// The number of messages or events to answer with.
fn most(last: Option<usize>) -> usize {
    last.unwrap_or(API_MESSAGES).min(API_MESSAGES)
}

/// The message that is meant, as commands take it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageQuery {
    id: String,
}

/// Addresses, with blanks between them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddressQuery {
    to: String,
}

async fn answer<T: Serialize + Send + 'static>(
    app: &Arc<WebApp>,
    work: impl FnOnce(&WebApp) -> Result<T> + Send + 'static,
) -> Response {
    let work = |app: &WebApp| {
        let_router_process(&app.room, limits::READER_WAIT);
        work(app)
    };
    respond(run(app, work).await)
}

fn respond<T: Serialize>(made: std::result::Result<T, RequestFailure>) -> Response {
    made.map_or_else(|failure| failure.json(), |data| json_of(&data))
}

pub(super) async fn pending(State(app): State<Arc<WebApp>>, _: Query<EmptyQuery>) -> Response {
    answer(&app, WebApp::pending).await
}

pub(super) async fn who(State(app): State<Arc<WebApp>>, _: Query<EmptyQuery>) -> Response {
    answer(&app, WebApp::everybody).await
}

pub(super) async fn status(State(app): State<Arc<WebApp>>, _: Query<EmptyQuery>) -> Response {
    answer(&app, |app| query::status::status(&app.room)).await
}

pub(super) async fn list(
    State(app): State<Arc<WebApp>>,
    Query(asked): Query<ListQuery>,
) -> Response {
    let work = move |app: &WebApp| {
        let most = most(asked.last);
        let filter = MessageFilter::new(&app.room, asked.criteria)?;
        let messages = query::list::list(&app.room, filter, Some(most))?;
        Ok(json!({ "messages": messages.collect::<Result<Vec<_>>>()? }))
    };
    answer(&app, work).await
}

pub(super) async fn search(
    State(app): State<Arc<WebApp>>,
    Query(asked): Query<SearchQuery>,
) -> Response {
    let work = move |app: &WebApp| {
        let pattern = match (&asked.regex, &asked.words) {
            (Some(regex), _) => SearchPattern::regex(regex, asked.ignore_case)?,
            (None, Some(words)) => SearchPattern::words(words)?,
            (None, None) => {
                return Err(Error::usage(
                    "no words to search for",
                    "add `?words=TEXT` or `?regex=PATTERN`",
                ));
            }
        };
        let most = most(asked.last);
        let filter = MessageFilter::new(&app.room, asked.criteria)?;
        let hits = query::search::newest(&app.room, pattern, filter, most, &|_| {})?;
        Ok(json!({ "messages": hits }))
    };
    let work = move |app: &WebApp| {
        let_router_process(&app.room, limits::READER_WAIT);
        work(app)
    };
    respond(run_in_turn(&app, work).await)
}

pub(super) async fn thread(
    State(app): State<Arc<WebApp>>,
    Query(meant): Query<MessageQuery>,
) -> Response {
    let work = move |app: &WebApp| {
        let viewer = identity::viewer(&app.room, id::HUMAN)?;
        let messages = query::thread::thread(&app.room, &viewer, &meant.id, None)?;
        let messages: Vec<_> = query::thread::whole(&messages).collect();
        Ok(json!({ "messages": messages }))
    };
    answer(&app, work).await
}

pub(super) async fn trace(
    State(app): State<Arc<WebApp>>,
    Query(meant): Query<MessageQuery>,
) -> Response {
    answer(&app, move |app| {
        query::trace::trace(&app.room, None, &meant.id)
    })
    .await
}

pub(super) async fn rejected(State(app): State<Arc<WebApp>>, _: Query<EmptyQuery>) -> Response {
    answer(&app, |app| {
        Ok(json!({ "rejected": rejected::list(&app.room, &RejectedSelection::All)? }))
    })
    .await
}

pub(super) async fn claims(State(app): State<Arc<WebApp>>, _: Query<EmptyQuery>) -> Response {
    answer(&app, |app| query::claims::list(&app.room, None)).await
}

pub(super) async fn links(State(app): State<Arc<WebApp>>, _: Query<EmptyQuery>) -> Response {
    answer(&app, |app| {
        Ok(json!({ "links": query::links::links(&app.room, None)? }))
    })
    .await
}

pub(super) async fn events(
    State(app): State<Arc<WebApp>>,
    Query(asked): Query<EventQuery>,
) -> Response {
    let work = move |app: &WebApp| {
        let filter = query::events::EventFilter::new(asked.since.as_deref(), asked.kind)?;
        let events = query::events::LogEventReader::of(&app.room, filter)?;
        let all = events
            .each()?
            .map(|envelope| envelope.map(|envelope| events.event(envelope)));
        Ok(json!({ "events": last_of(all, most(asked.last))? }))
    };
    answer(&app, work).await
}

pub(super) async fn explain(
    State(app): State<Arc<WebApp>>,
    Query(AddressQuery { to }): Query<AddressQuery>,
) -> Response {
    let work = move |app: &WebApp| {
        let addresses: Vec<String> = to.split_whitespace().map(str::to_owned).collect();
        let registry = app.room.registry()?;
        query::explain::explain(&app.room, &registry, Some(id::HUMAN), &addresses)
            .map(DryRun::of_addresses)
    };
    answer(&app, work).await
}

pub(super) async fn doctor(State(app): State<Arc<WebApp>>, _: Query<EmptyQuery>) -> Response {
    let work = |app: &WebApp| {
        let room = app.room.dir.path();
        doctor::examine(&doctor::DoctorRequest {
            room: Some(room),
            from: room,
            agent: None,
        })
    };
    answer(&app, work).await
}
