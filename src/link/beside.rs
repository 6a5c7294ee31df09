//! `mailbag run --links`: the carriers run in their own process, so a failure of a carrier does not end the router.

use super::connect::StopRequest;
use crate::base::error::{ErrorContext, Result};
use crate::base::limits;
use crate::disk::machine;
use crate::disk::terminal::{Pid, signal};
use crate::room::Room;
use signal_hook::consts::SIGTERM;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A process `mailbag link run`. It is restarted whenever it ends, until this value is dropped.
pub struct CarrierProcess {
    stop: Arc<StopRequest>,
    thread: Option<JoinHandle<()>>,
}

impl CarrierProcess {
    /// Starts the carriers of a room. `options` are options of `mailbag link run`.
    pub fn start(room: &Room, options: &[&str]) -> Result<CarrierProcess> {
        let program = std::env::current_exe().doing("find", "this program")?;
        let mut words: Vec<OsString> = vec![
            "--room".into(),
            room.dir.path().into(),
            "link".into(),
            "run".into(),
        ];
        words.extend(options.iter().map(OsString::from));
        let start = move || {
            let mut command = Command::new(&program);
            // Ctrl-C at a terminal must reach only the router, which then ends the carriers.
            command
                .args(&words)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .process_group(0);
            machine::end_with_us(&mut command);
            command.spawn()
        };
        let stop = Arc::new(StopRequest::default());
        let asked = stop.clone();
        // If this thread dies, the system kills the process (`machine::end_with_us`).
        let thread = std::thread::Builder::new()
            .name("links".into())
            .spawn(move || supervise(&start, &asked));
        Ok(CarrierProcess {
            stop,
            thread: Some(thread.doing("start the carriers of", room.dir.path())?),
        })
    }
}

impl Drop for CarrierProcess {
    fn drop(&mut self) {
        self.stop.ask();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Restarts the process whenever it ends, until a stop is requested.
fn supervise(start: &dyn Fn() -> io::Result<Child>, stop: &StopRequest) {
    loop {
        match start() {
            Ok(mut child) => match wait_for_end(&mut child, stop) {
                Some(how) => tracing::warn!("the carriers ended ({how}); restarting them"),
                None => return terminate(&mut child),
            },
            Err(e) => tracing::warn!("cannot start the carriers: {e}; trying again"),
        }
        if stop.wait(limits::LINKS_LOOK) {
            return;
        }
    }
}

/// Waits until the process ends, and returns how. `None` if a stop is requested.
fn wait_for_end(child: &mut Child, stop: &StopRequest) -> Option<String> {
    loop {
        match child.try_wait() {
            Ok(None) if stop.wait(limits::LINKS_LOOK) => return None,
            Ok(None) => {}
            Ok(Some(status)) => return Some(status.to_string()),
            Err(e) => return Some(e.to_string()),
        }
    }
}

/// Ends the process with SIGTERM, and kills it after a time limit. A kill at any instant is safe.
fn terminate(child: &mut Child) {
    signal(Pid::from_child(child), SIGTERM);
    if !matches!(
        machine::wait_for_child(child, 2 * limits::CARRIERS_END),
        Ok(Some(_))
    ) {
        let _ = child.kill().and_then(|()| child.wait());
    }
}
