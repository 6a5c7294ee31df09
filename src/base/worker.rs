//! A thread that works until its owner is dropped.

use super::error::{ErrorContext, Result};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A thread with a channel. The drop closes the channel and waits for the end of the thread.
pub struct WorkerThread<T> {
    calls: Option<Sender<T>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> WorkerThread<T> {
    /// Starts `work`, which ends when the channel is closed.
    pub fn start(
        name: &str,
        work: impl FnOnce(&Receiver<T>) + Send + 'static,
    ) -> Result<WorkerThread<T>> {
        let (calls, called) = channel();
        let thread = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || work(&called))
            .doing("start the thread", name)?;
        Ok(WorkerThread {
            calls: Some(calls),
            thread: Some(thread),
        })
    }

    /// Sends a call to the thread.
    pub fn call(&self, call: T) {
        // A thread that has ended needs no calls.
        let _ = self.calls.as_ref().map(|calls| calls.send(call));
    }
}

impl<T> Drop for WorkerThread<T> {
    fn drop(&mut self) {
        self.calls = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
