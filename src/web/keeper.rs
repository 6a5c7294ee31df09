//! Delivers mail while the page is served, if no router runs, and reports changes of the room.

use super::app::ChangeSignal;
use crate::commands::wait::{StandbyRouter, hold};
use crate::message::id;
use crate::query::timeline::Timeline;
use crate::room::Room;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use tokio::sync::watch;

/// The interval of the page's reads of a room without file events of the log.
const WEB_LOOK: Duration = Duration::from_secs(2);

/// Keeps the page up to date until the channel is closed. `is_watched` returns true if a browser has the page open: then
/// the person counts as online.
pub(super) fn keep(
    room: &Room,
    change: &watch::Sender<ChangeSignal>,
    is_watched: &dyn Fn() -> bool,
    ended: &Receiver<()>,
) {
    let grown = change.clone();
    let watch = Timeline::notify(room, move || count_growth(&grown));
    let (mut routing, mut presence) = (StandbyRouter::new(room), None);
    loop {
        // The page shows undelivered messages with the reason.
        let _ = routing.tend().inspect_err(|e| tracing::debug!("{e}"));
        let gone = room.check_place().err().map(|e| e.to_string());
        presence = if is_watched() {
            presence.take().or_else(|| hold(room, Some(id::HUMAN)))
        } else {
            None
        };
        if change
            .send_if_modified(|change| std::mem::replace(&mut change.gone, gone.clone()) != gone)
            && gone.is_none()
        {
            // A router that failed because the room was away would be tried again only after a while.
            routing = StandbyRouter::new(room);
            continue;
        }
        if watch.is_err() {
            // Without file events, the log may have grown at any time.
            count_growth(change);
        }
        if ended.recv_timeout(WEB_LOOK) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

fn count_growth(change: &watch::Sender<ChangeSignal>) {
    change.send_modify(|change| change.grown += 1);
}
