//! A router in a thread of a waiting command. It routes if no other router runs.

use super::{Caller, Notice, Options, RouterLife, Tally, Wake, pass, watch};
use crate::base::error::{Doing, Error, Result};
use crate::base::limits;
use crate::room::outbox::Patience;
use crate::room::{Lock, Locking, Mode, Room};
use crate::router::recover::{note_failed_sync, recover};
use std::thread::JoinHandle;

/// Routes until it is dropped. The drop waits until the present batch is done and settled.
pub struct Alongside {
    router: Caller,
    thread: Option<JoinHandle<Result<Tally>>>,
}

/// Starts to route in a thread of this process, unless another router runs.
pub fn alongside(room: &Room) -> Result<Option<Alongside>> {
    // The caller tries again later instead of waiting for another process's single pass.
    if room.holder()?.is_some() || room.is_wanted() {
        return Ok(None);
    }
    let lock = match room.lock(Mode::Alongside, limits::PASS_WAIT)? {
        Locking::Ours(lock) => lock,
        Locking::Theirs(_) | Locking::Closed(_) => return Ok(None),
    };
    let notice = watch(room, &Options::default());
    let (router, there) = (notice.caller(), room.clone());
    let thread = std::thread::Builder::new()
        .name("router".into())
        .spawn(move || note_failed_sync(&there.dir, route(&there, lock, notice)))
        .doing("start a router for", room.dir.path())?;
    Ok(Some(Alongside {
        router,
        thread: Some(thread),
    }))
}

/// Like [`super::run`], but without signals.
fn route(room: &Room, lock: Lock, notice: Notice) -> Result<Tally> {
    let router = recover(room.clone(), lock, Patience::new(None))?;
    let mut life = RouterLife::new(router, notice);
    let tally = life.live(&Options::default(), &mut ())?;
    drop(life);
    // Commands that saw this router running have left their mail to it.
    pass(room)?;
    Ok(tally)
}

impl Alongside {
    /// The error that ended the router. Nothing is routed after that.
    pub fn failure(&mut self) -> Option<Error> {
        if !self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            return None;
        }
        match self.thread.take()?.join() {
            Ok(Ok(_)) => None,
            Ok(Err(e)) => Some(e),
            Err(_) => Some(Error::Busy {
                what: "the router of this process broke".into(),
                cure: "report it".into(),
            }),
        }
    }
}

impl Drop for Alongside {
    fn drop(&mut self) {
        self.router.call(Wake::End);
        if let Some(Ok(Err(e))) = self.thread.take().map(JoinHandle::join) {
            tracing::warn!("the router of this process ended: {e}");
        }
    }
}
