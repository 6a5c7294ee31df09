//! A thread that works until its owner is dropped.

use super::error::{ErrorContext, Result};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A thread with a channel, which no value is sent on. The drop closes the channel and waits for the end of the thread.
pub struct WorkerThread {
    open: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WorkerThread {
    /// Starts `work`, which ends when the channel is closed.
    pub fn start(
        name: &str,
        work: impl FnOnce(&Receiver<()>) + Send + 'static,
    ) -> Result<WorkerThread> {
        let (open, ended) = channel();
        let thread = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || work(&ended))
            .doing("start the thread", name)?;
        Ok(WorkerThread {
            open: Some(open),
            thread: Some(thread),
        })
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        self.open = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
