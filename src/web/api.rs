//! JSON for programs, in the form of the commands' `--json` output.

use super::app::{App, run, run_in_turn};
use super::reply::{Failure, json_of};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::commands::dry_run::DryRun;
use crate::commands::follow::let_router_process;
use crate::commands::rejected::{self, Which};
use crate::doctor;
use crate::message::id;
use crate::query::history::{Criteria, Filter};
use crate::query::newest::last_of;
use crate::query::search::Pattern;
use crate::query::{self, identity, time};
use crate::room::Room;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// The filters of a list, as the options of `mailbag list` and `mailbag search`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    words: Option<String>,
    regex: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    from: Option<String>,
    to: Option<String>,
    r#type: Option<String>,
    channel: Option<String>,
    since: Option<String>,
    until: Option<String>,
    last: Option<usize>,
}

impl Asked {
    fn filter(&self, room: &Room) -> Result<Filter> {
        let time = |text: &Option<String>| text.as_deref().map(time::past).transpose();
        let criteria = Criteria {
            from: self.from.clone(),
            to: self.to.clone(),
            kind: self.r#type.clone(),
            channel: self.channel.clone(),
            since: time(&self.since)?,
            until: time(&self.until)?,
            ..Criteria::default()
        };
        Filter::new(room, criteria)
    }

    fn most(&self) -> usize {
        self.last
            .unwrap_or(limits::API_MESSAGES)
            .min(limits::API_MESSAGES)
    }
}

/// The message that is meant, as commands take it.
#[derive(Debug, Deserialize)]
pub(super) struct Meant {
    id: String,
}

/// Addresses, with blanks between them.
#[derive(Debug, Deserialize)]
pub(super) struct To {
    to: String,
}

async fn answer<T: Serialize + Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce(&App) -> Result<T> + Send + 'static,
) -> Response {
    let work = |app: &App| {
        let_router_process(&app.room, limits::READER_WAIT);
        work(app)
    };
    respond(run(app, work).await)
}

fn respond<T: Serialize>(made: std::result::Result<T, Failure>) -> Response {
    made.map_or_else(|failure| failure.json(), |data| json_of(&data))
}

pub(super) async fn pending(State(app): State<Arc<App>>) -> Response {
    answer(&app, App::pending).await
}

pub(super) async fn who(State(app): State<Arc<App>>) -> Response {
    answer(&app, App::everybody).await
}

pub(super) async fn status(State(app): State<Arc<App>>) -> Response {
    answer(&app, |app| query::status::status(&app.room)).await
}

pub(super) async fn list(State(app): State<Arc<App>>, Query(asked): Query<Asked>) -> Response {
    let work = move |app: &App| {
        let filter = asked.filter(&app.room)?;
        let messages = query::list::list(&app.room, filter, Some(asked.most()))?;
        Ok(json!({ "messages": messages.collect::<Result<Vec<_>>>()? }))
    };
    answer(&app, work).await
}

pub(super) async fn search(State(app): State<Arc<App>>, Query(asked): Query<Asked>) -> Response {
    let work = move |app: &App| {
        let pattern = match (&asked.regex, &asked.words) {
            (Some(regex), _) => Pattern::regex(regex, asked.ignore_case, None)?,
            (None, Some(words)) => Pattern::words(words, None)?,
            (None, None) => {
                return Err(Error::Usage {
                    what: "no words to search for".into(),
                    cure: "add `?words=TEXT` or `?regex=PATTERN`".into(),
                });
            }
        };
        let filter = asked.filter(&app.room)?;
        let hits = query::search::newest(&app.room, pattern, filter, asked.most())?;
        Ok(json!({ "messages": hits }))
    };
    let work = move |app: &App| {
        let_router_process(&app.room, limits::READER_WAIT);
        work(app)
    };
    respond(run_in_turn(&app, work).await)
}

pub(super) async fn thread(State(app): State<Arc<App>>, Query(meant): Query<Meant>) -> Response {
    let work = move |app: &App| {
        let viewer = identity::viewer(&app.room, id::HUMAN)?;
        let messages = query::thread::thread(&app.room, &viewer, &meant.id, None)?;
        let messages: Vec<_> = query::thread::whole(&messages).collect();
        Ok(json!({ "messages": messages }))
    };
    answer(&app, work).await
}

pub(super) async fn trace(State(app): State<Arc<App>>, Query(meant): Query<Meant>) -> Response {
    answer(&app, move |app| {
        query::trace::trace(&app.room, None, &meant.id)
    })
    .await
}

pub(super) async fn rejected(State(app): State<Arc<App>>) -> Response {
    answer(&app, |app| {
        Ok(json!({ "rejected": rejected::list(&app.room, &Which::All)? }))
    })
    .await
}

pub(super) async fn claims(State(app): State<Arc<App>>) -> Response {
    answer(&app, |app| query::claims::list(&app.room, None)).await
}

pub(super) async fn links(State(app): State<Arc<App>>) -> Response {
    answer(&app, |app| {
        Ok(json!({ "links": query::links::links(&app.room, None)? }))
    })
    .await
}

pub(super) async fn events(State(app): State<Arc<App>>, Query(asked): Query<Asked>) -> Response {
    let work = move |app: &App| {
        let since = asked.since.as_deref().map(time::past).transpose()?;
        let filter = query::events::Filter {
            since,
            kind: asked.r#type.clone(),
        };
        let events = query::events::Events::of(&app.room, filter)?;
        let all = events
            .each()?
            .map(|envelope| envelope.map(|envelope| events.event(envelope)));
        Ok(json!({ "events": last_of(all, asked.most())? }))
    };
    answer(&app, work).await
}

pub(super) async fn explain(State(app): State<Arc<App>>, Query(To { to }): Query<To>) -> Response {
    let work = move |app: &App| {
        let addresses: Vec<String> = to.split_whitespace().map(str::to_owned).collect();
        query::explain::explain(&app.room, Some(id::HUMAN), &addresses).map(DryRun::of_addresses)
    };
    answer(&app, work).await
}

pub(super) async fn doctor(State(app): State<Arc<App>>) -> Response {
    let work = |app: &App| {
        let room = app.room.dir.path();
        doctor::examine(&doctor::Request {
            room: Some(room),
            from: room,
            agent: None,
        })
    };
    answer(&app, work).await
}
