//! `/events`: the timeline as a stream of server-sent events, without a gap, even after a reconnection.
//!
//! Each reader follows the log by itself, so the stream needs no queue: a slow reader is only further behind in the log.
//! Unread events are bounded for all streams together. A client that reads nothing for a while loses its
//! connection, and continues from the last number that it has.
//! Events: `entry` with an entry of the timeline (its id is the number of the record), `change` if something else has
//! changed or the room is back, `gone` if the room cannot be read, `reset` if the number to continue from is not in the log,
//! and `beat` after a time without an event, so that a reader detects a dead connection.

use super::app::{WebApp, run};
use super::reply::RequestFailure;
use super::request::Query;
use crate::base::limits;
use crate::query::timeline::{ChannelSelection, Timeline, newest};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// The longest silence of an event stream.
const WEB_BEAT: Duration = Duration::from_secs(15);
/// The largest number of records in one part of a stream of events.
const WEB_STREAM_RECORDS: usize = 64;

/// Where a reader begins.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamStart {
    since: Option<u64>,
}

/// Streams the entries behind `since`, or behind `Last-Event-ID` after a reconnection; without both, new ones only.
pub(super) async fn events(
    State(app): State<Arc<WebApp>>,
    headers: HeaderMap,
    Query(from): Query<StreamStart>,
) -> Response {
    let last = match headers
        .get("last-event-id")
        .map(|id| id.to_str().ok().and_then(|id| id.trim().parse().ok()))
    {
        Some(None) => {
            return RequestFailure::bad("Last-Event-ID is not a record number", "leave it out")
                .json();
        }
        Some(last) => last,
        None => None,
    };
    let Some(place) = app.stream_place() else {
        let what = "too many streams are open already";
        let fix = "close other pages";
        return RequestFailure::new(StatusCode::SERVICE_UNAVAILABLE, what, fix).json();
    };
    let since = last.or(from.since);
    let opened = run(&app, move |app| match since {
        Some(seq) => Timeline::after(&app.room, ChannelSelection::default(), seq),
        None => Timeline::after(&app.room, ChannelSelection::default(), newest(&app.room)?),
    });
    let timeline = match opened.await {
        Ok(timeline) => timeline,
        Err(failure) => return failure.json(),
    };
    let (parts, made) = mpsc::channel(1);
    tokio::spawn(async move {
        let _place = place;
        let mut feed = EventFeed {
            app,
            timeline,
            parts,
        };
        match feed.timeline {
            Some(_) => feed.run().await,
            None => drop(feed.send(event("reset", None, "{}")).await),
        }
    });
    let next = |mut made: mpsc::Receiver<Bytes>| async {
        let part = made.recv().await?;
        Some((Ok::<Bytes, Infallible>(part), made))
    };
    let body = Body::from_stream(stream::unfold(made, next));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// The stream of one reader.
struct EventFeed {
    app: Arc<WebApp>,
    timeline: Option<Timeline>,
    parts: mpsc::Sender<Bytes>,
}

/// Events that the client has not read yet, with their share of the memory for them.
struct UnreadEvents {
    text: String,
    _share: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for UnreadEvents {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl EventFeed {
    async fn run(&mut self) {
        let mut changes = self.app.changes.clone();
        let _ = self.send("retry: 1000\n\n".to_owned()).await;
        let mut was_gone = false;
        loop {
            let change = changes.borrow_and_update().clone();
            let read = match change.gone {
                Some(why) => Err(why),
                // The next change may come through.
                None => self.read().await.map_err(|failure| failure.what),
            };
            let is_back = std::mem::replace(&mut was_gone, read.is_err());
            let part = match read {
                Ok(has_changed) => (has_changed || is_back).then(|| event("change", None, "{}")),
                Err(what) => Some(event(
                    "gone",
                    None,
                    &serde_json::json!({ "what": what }).to_string(),
                )),
            };
            if let Some(part) = part
                && self.send(part).await.is_err()
            {
                return;
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(WEB_BEAT) => {
                    if self.send(event("beat", None, "{}")).await.is_err() { return }
                }
                () = self.parts.closed() => return,
            }
        }
    }

    /// Sends a part when there is memory for it. Fails if the client has closed the connection.
    async fn send(&self, text: String) -> Result<(), ClientDisconnected> {
        self.parts
            .send(self.keep(text).await?)
            .await
            .map_err(|_| ClientDisconnected)
    }

    /// Waits until there is memory for a part.
    async fn keep(&self, text: String) -> Result<Bytes, ClientDisconnected> {
        let size = text
            .len()
            .div_ceil(1 << 10)
            .try_into()
            .unwrap_or(u32::MAX)
            .min(limits::WEB_STREAM_KIB);
        tokio::select! {
            share = self.app.unread.clone().acquire_many_owned(size) => {
                Ok(Bytes::from_owner(UnreadEvents { text, _share: share.map_err(|_| ClientDisconnected)? }))
            }
            () = self.parts.closed() => Err(ClientDisconnected),
        }
    }

    /// Sends everything new, in parts. Returns true if there was anything.
    async fn read(&mut self) -> Result<bool, RequestFailure> {
        let app = self.app.clone();
        let mut has_changed = false;
        loop {
            // Only one stream at a time has records that do not count as unread yet.
            let turn = app.reading.lock().await;
            let Some(mut timeline) = self.timeline.take() else {
                return Err(RequestFailure::broken());
            };
            let read = tokio::task::spawn_blocking(move || {
                let part = timeline.read_some(WEB_STREAM_RECORDS);
                (timeline, part)
            });
            let (timeline, part) = read.await.map_err(|_| RequestFailure::broken())?;
            self.timeline = Some(timeline);
            let Some((_, entries)) = part? else {
                return Ok(has_changed);
            };
            has_changed = true;
            let part: String = entries
                .iter()
                .map(|entry| event("entry", Some(entry.message.seq), &text(entry)))
                .collect();
            if part.is_empty() {
                continue;
            }
            let kept = self.keep(part).await;
            drop(turn);
            // The caller notices if the client has closed the connection.
            let Ok(part) = kept else {
                return Ok(has_changed);
            };
            if self.parts.send(part).await.is_err() {
                return Ok(has_changed);
            }
        }
    }
}

/// The client has closed the connection.
struct ClientDisconnected;

fn text(entry: &crate::query::timeline::TimelineEntry) -> String {
    serde_json::to_string(&entry.line()).unwrap_or_default()
}

/// One event. JSON text has no line breaks.
fn event(name: &str, id: Option<u64>, data: &str) -> String {
    let mut text = format!("event: {name}\n");
    if let Some(id) = id {
        let _ = writeln!(text, "id: {id}");
    }
    let _ = write!(text, "data: {data}\n\n");
    text
}
