//! A thread that delivers mail if no router runs, and reports changes of the room.

use super::app::ChangeSignal;
use crate::base::error::{ErrorContext, Result};
use crate::base::limits;
use crate::commands::wait::{StandbyRouter, hold};
use crate::message::id;
use crate::query::timeline::Timeline;
use crate::room::Room;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Keeps the page up to date until dropped.
pub(super) struct PageUpdater {
    calls: Sender<UpdaterSignal>,
    thread: Option<JoinHandle<()>>,
}

enum UpdaterSignal {
    Grown,
    End,
}

impl PageUpdater {
    /// `is_watched` tells whether somebody has the page open: then the person counts as online.
    pub(super) fn start(
        room: &Room,
        change: watch::Sender<ChangeSignal>,
        is_watched: impl Fn() -> bool + Send + 'static,
    ) -> Result<PageUpdater> {
        let (calls, called) = channel();
        let (room, own) = (room.clone(), calls.clone());
        let keep = move || keep(&room, &change, own, &called, &is_watched);
        let thread = std::thread::Builder::new().name("room".into()).spawn(keep);
        Ok(PageUpdater {
            calls,
            thread: Some(thread.doing("watch the room in", "a thread")?),
        })
    }
}

impl Drop for PageUpdater {
    fn drop(&mut self) {
        let _ = self.calls.send(UpdaterSignal::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn keep(
    room: &Room,
    change: &watch::Sender<ChangeSignal>,
    calls: Sender<UpdaterSignal>,
    called: &Receiver<UpdaterSignal>,
    is_watched: &dyn Fn() -> bool,
) {
    let watch = Timeline::notify(room, move || {
        // The thread has ended.
        let _ = calls.send(UpdaterSignal::Grown);
    });
    let mut routing = StandbyRouter::new(room);
    let (mut next_look, mut presence) = (Instant::now(), None);
    loop {
        if next_look <= Instant::now() {
            // The page shows undelivered messages with the reason.
            let _ = routing.tend().inspect_err(|e| tracing::debug!("{e}"));
            let gone = room
                .still_exists()
                .and_then(|()| room.identity().map(drop))
                .err()
                .map(|e| e.to_string());
            presence = if is_watched() {
                presence.take().or_else(|| hold(room, Some(id::HUMAN)))
            } else {
                None
            };
            let tell = |change: &mut ChangeSignal| {
                std::mem::replace(&mut change.gone, gone.clone()) != gone
            };
            if change.send_if_modified(tell) && gone.is_none() {
                // A router that failed because the room was away would be tried again only after a while.
                routing = StandbyRouter::new(room);
                continue;
            }
            next_look = Instant::now() + limits::WEB_LOOK;
        }
        match called.recv_timeout(
            next_look
                .saturating_duration_since(Instant::now())
                .max(Duration::from_millis(1)),
        ) {
            Ok(UpdaterSignal::Grown) => change.send_modify(|change| change.grown += 1),
            // Without file events, the log may have grown at any time.
            Err(RecvTimeoutError::Timeout) if watch.is_err() => {
                change.send_modify(|change| change.grown += 1)
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(UpdaterSignal::End) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
