//! A router in a thread of a waiting command. It routes if no other router runs.

use super::{RouterEvent, RouterEvents, RouterOptions, RouterTotals, RunningRouter, pass, watch};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use crate::room::outbox::UnreadyFiles;
use crate::room::{LockAttempt, Room, RouterLock, RouterMode};
use crate::router::recover::recover;
use crate::router::watcher::RouterWaker;
use std::thread::JoinHandle;

/// Routes until it is dropped. The drop waits until the present batch is done and settled.
pub struct BackgroundRouter {
    router: RouterWaker,
    thread: Option<JoinHandle<Result<RouterTotals>>>,
}

/// Starts to route in a thread of this process, unless another router runs.
pub fn alongside(room: &Room) -> Result<Option<BackgroundRouter>> {
    // The caller tries again later instead of waiting for another process's single pass.
    if room.running_router()?.is_some() || room.is_wanted() {
        return Ok(None);
    }
    let lock = match room.lock(RouterMode::Alongside, limits::PASS_WAIT)? {
        LockAttempt::Ours(lock) => lock,
        LockAttempt::Theirs(_) => return Ok(None),
    };
    let notice = watch(room, &RouterOptions::default());
    let (router, there) = (notice.caller(), room.clone());
    let thread = std::thread::Builder::new()
        .name("router".into())
        .spawn(move || route(&there, lock, notice))
        .doing("start a router for", room.dir.path())?;
    Ok(Some(BackgroundRouter {
        router,
        thread: Some(thread),
    }))
}

/// Like [`super::run`], but without signals.
fn route(room: &Room, lock: RouterLock, notice: RouterEvents) -> Result<RouterTotals> {
    let router = recover(room.clone(), lock, UnreadyFiles::new(None))?;
    let mut life = RunningRouter::new(router, notice);
    let tally = life.live(&RouterOptions::default(), |_| {})?;
    drop(life);
    // Commands that saw this router running have left their mail to it.
    pass(room)?;
    Ok(tally)
}

impl BackgroundRouter {
    /// The error that ended the router. Nothing is routed after that.
    pub fn failure(&mut self) -> Option<Error> {
        if !self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            return None;
        }
        match self.thread.take()?.join() {
            Ok(Ok(_)) => None,
            Ok(Err(e)) => Some(e),
            Err(_) => Some(Error::busy("the router of this process broke", "report it")),
        }
    }
}

impl Drop for BackgroundRouter {
    fn drop(&mut self) {
        self.router.call(RouterEvent::End);
        if let Some(Ok(Err(e))) = self.thread.take().map(JoinHandle::join) {
            tracing::warn!("the router of this process ended: {e}");
        }
    }
}
