//! `mailbag run --links`: the process of the carriers beside that of the router. What breaks a carrier does not end the router.

use super::connect::Stop;
use crate::base::error::{Doing, Result};
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
use wait_timeout::ChildExt;

/// A process `mailbag link run`, which is started again whenever it ends, until this is dropped.
pub struct Carriers {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Carriers {
    /// Starts the carriers of a room, with these options of `mailbag link run`.
    pub fn start(room: &Room, options: &[&str]) -> Result<Carriers> {
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
            // A key that ends the router at a terminal ends the carriers through the router only.
            command
                .args(&words)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .process_group(0);
            machine::end_with_us(&mut command);
            command.spawn()
        };
        let stop = Arc::new(Stop::default());
        let asked = stop.clone();
        // The system ends the process with the thread that started it.
        let thread = std::thread::Builder::new()
            .name("links".into())
            .spawn(move || keep(&start, &asked));
        Ok(Carriers {
            stop,
            thread: Some(thread.doing("start the carriers of", room.dir.path())?),
        })
    }
}

impl Drop for Carriers {
    fn drop(&mut self) {
        self.stop.ask();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts the process whenever none runs, and ends it when asked to.
fn keep(start: &dyn Fn() -> io::Result<Child>, stop: &Stop) {
    loop {
        match start() {
            Ok(mut child) => match wait(&mut child, stop) {
                Some(how) => tracing::warn!("the carriers ended ({how}); starting them again"),
                None => return end(&mut child),
            },
            Err(e) => tracing::warn!("cannot start the carriers: {e}; trying again"),
        }
        if stop.wait(limits::LINKS_LOOK) {
            return;
        }
    }
}

/// How the process ended; `None` if it is to end now.
fn wait(child: &mut Child, stop: &Stop) -> Option<String> {
    loop {
        match child.try_wait() {
            Ok(None) if stop.wait(limits::LINKS_LOOK) => return None,
            Ok(None) => {}
            Ok(Some(status)) => return Some(status.to_string()),
            Err(e) => return Some(e.to_string()),
        }
    }
}

/// Asks the process to end. It may be killed at any instant.
fn end(child: &mut Child) {
    signal(Pid::from_child(child), SIGTERM);
    if !matches!(child.wait_timeout(2 * limits::CARRIERS_END), Ok(Some(_))) {
        let _ = child.kill().and_then(|()| child.wait());
    }
}
