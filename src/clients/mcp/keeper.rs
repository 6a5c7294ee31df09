//! Routing while the server lives, where nobody else does.

use super::session::Session;
use crate::base::error::{Doing, Result};
use crate::base::limits;
use crate::commands::wait::Routing;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

/// Routes until it is dropped, which waits until what is in hand is done.
pub(super) struct Keeper {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Begins to look, again and again, whether somebody routes.
pub(super) fn start(session: Arc<Session>) -> Result<Keeper> {
    let (end, ended) = channel();
    let keep = move || keep(&session, &ended);
    let thread = std::thread::Builder::new().name("keeper".into()).spawn(keep).doing("start", "a thread")?;
    Ok(Keeper { end: Some(end), thread: Some(thread) })
}

fn keep(session: &Session, ended: &Receiver<()>) {
    let mut routing: Option<(PathBuf, Routing)> = None;
    let mut said = None;
    loop {
        // The room may come later, or another one take its place.
        let room = session.room();
        room.iter().for_each(|room| session.renew_holds(room));
        match room {
            Ok(room) if routing.as_ref().is_some_and(|(path, _)| path == room.dir.path()) => {}
            Ok(room) => routing = Some((room.dir.path().to_path_buf(), Routing::new(&room))),
            Err(_) => routing = None,
        }
        if let Some(Err(e)) = routing.as_mut().map(|(_, routing)| routing.tend()) {
            let complaint = e.to_string();
            if said.as_ref() != Some(&complaint) {
                tracing::warn!("what waits is not routed: {complaint}");
                said = Some(complaint);
            }
        }
        if ended.recv_timeout(limits::TAKE_OVER) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
