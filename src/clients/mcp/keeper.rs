//! Delivers mail while the server runs, if no router does.

use super::session::McpSession;
use crate::base::limits;
use crate::commands::wait::StandbyRouter;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

/// Checks regularly whether a router runs, and delivers if none does, until the channel is closed.
pub(super) fn keep(session: &McpSession, ended: &Receiver<()>) {
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
