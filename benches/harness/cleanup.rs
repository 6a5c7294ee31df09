//! Whatever happens, nothing stays behind: processes, mounts and files are undone on return, on panic and on SIGINT.

use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

/// The actions to undo, in reverse order.
static TO_UNDO: Mutex<Vec<Undo>> = Mutex::new(Vec::new());

/// One thing to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undo {
    /// A child that this process started, and that is not reaped yet.
    Kill(i32),
    /// A file system that this process mounted.
    Unmount(PathBuf),
    /// The benchmark's own directory.
    Remove(PathBuf),
}

/// Remembers something to undo.
pub(crate) fn remember(undo: Undo) {
    list().push(undo);
}

/// Forgets it, since it is done.
pub(crate) fn forget(undo: &Undo) {
    list().retain(|other| other != undo);
}

fn list() -> std::sync::MutexGuard<'static, Vec<Undo>> {
    TO_UNDO
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Undoes everything when it goes out of scope.
pub(crate) struct Guard;

impl Guard {
    /// Also undoes everything on SIGINT, SIGTERM and SIGHUP, and ends the process.
    pub(crate) fn new() -> std::io::Result<Guard> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                undo_all();
                std::process::exit(128 + signal);
            }
        });
        Ok(Guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        undo_all();
    }
}

// The lock is held throughout, so that after a signal the main thread can't start anything new: it would remember it.
fn undo_all() {
    let mut list = list();
    while let Some(undo) = list.pop() {
        match undo {
            Undo::Kill(pid) => {
                if let Some(pid) = Pid::from_raw(pid) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            Undo::Unmount(path) => unmount(&path),
            Undo::Remove(path) => {
                let _ = std::fs::remove_dir_all(path);
            }
        }
    }
}

/// Unmounts; a process that has just been killed may hold it for a moment more.
pub(crate) fn unmount(path: &Path) {
    for _ in 0..20 {
        if Command::new("umount")
            .arg(path)
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let _ = Command::new("umount").arg("-l").arg(path).status();
}
