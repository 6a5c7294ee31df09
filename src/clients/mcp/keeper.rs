//! Delivers mail while the server runs, if no router does.

use super::session::McpSession;
use crate::base::error::{ErrorContext, Result};
use crate::base::limits;
use crate::commands::wait::StandbyRouter;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

/// Delivers until it is dropped. The drop waits for the end of the current batch.
pub(super) struct DeliveryThread {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts to check regularly whether a router runs.
pub(super) fn start(session: Arc<McpSession>) -> Result<DeliveryThread> {
    let (end, ended) = channel();
    let keep = move || keep(&session, &ended);
    let thread = std::thread::Builder::new()
        .name("keeper".into())
        .spawn(keep)
        .doing("start", "a thread")?;
    Ok(DeliveryThread {
        end: Some(end),
        thread: Some(thread),
    })
}

fn keep(session: &McpSession, ended: &Receiver<()>) {
    let mut routing: Option<(PathBuf, StandbyRouter)> = None;
    let mut said = None;
    loop {
        // The room may be created later or replaced.
        let room = session.room();
        if let Ok(room) = &room {
            session.renew_holds(room);
        }
        match room {
            Ok(room)
                if routing
                    .as_ref()
                    .is_some_and(|(path, _)| path == room.dir.path()) => {}
            Ok(room) => routing = Some((room.dir.path().to_path_buf(), StandbyRouter::new(&room))),
            Err(_) => routing = None,
        }
        if let Some(Err(e)) = routing.as_mut().map(|(_, routing)| routing.tend()) {
            let complaint = e.to_string();
            if said.as_ref() != Some(&complaint) {
                tracing::warn!("cannot deliver pending messages: {complaint}");
                said = Some(complaint);
            }
        }
        if ended.recv_timeout(limits::TAKE_OVER) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

impl Drop for DeliveryThread {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
