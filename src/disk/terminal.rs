//! The controlling terminal, and signals to processes and their groups.

pub use rustix::process::Pid;
use rustix::process::{Signal, kill_process, kill_process_group};
use std::fs::File;

/// Returns true if this process has a controlling terminal, even if its input and output are not a terminal.
pub fn has_controlling_terminal() -> bool {
    File::open("/dev/tty").is_ok()
}

/// Sends a signal to a process. Does nothing if the process has ended.
pub fn signal(process: Pid, number: i32) {
    if let Some(signal) = Signal::from_named_raw(number) {
        let _ = kill_process(process, signal);
    }
}

/// Sends a signal to the group of a process, as [`signal`].
pub fn signal_group(process: Pid, number: i32) {
    if let Some(signal) = Signal::from_named_raw(number) {
        let _ = kill_process_group(process, signal);
    }
}
