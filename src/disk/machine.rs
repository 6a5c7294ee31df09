//! What the machine allows, and who runs on it: free space, the bounds on watches, other processes of this user.
//!
//! Where a system doesn't tell, there is no answer, and nobody takes that for a bad one.

use super::Dir;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is free on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Free {
    /// Bytes that this user may still write.
    pub bytes: u64,
    /// Files that this user may still make; `None` where the file system has no such bound.
    pub files: Option<u64>,
}

/// What is free where a directory stands.
#[allow(clippy::unnecessary_cast)] // The fields' types differ between systems.
pub fn free(dir: &Dir) -> Option<Free> {
    let stat = rustix::fs::fstatvfs(dir.as_fd()).ok()?;
    let files = (stat.f_files > 0).then_some(stat.f_favail as u64);
    Some(Free { bytes: stat.f_bavail as u64 * stat.f_frsize as u64, files })
}

/// How many directories this user may watch.
pub fn watches() -> Option<u64> {
    number("sys/fs/inotify/max_user_watches")
}

/// How many programs of this user may watch directories.
pub fn watchers() -> Option<u64> {
    number("sys/fs/inotify/max_user_instances")
}

/// How many files a process started from here may hold open.
pub fn open_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// A user, for people: the number, and the name where there is one.
pub fn user(uid: u32) -> String {
    let found = nix::unistd::User::from_uid(uid.into()).ok().flatten();
    found.map_or_else(|| format!("user {uid}"), |user| format!("user {uid} ({})", user.name))
}

/// The program that a name leads to, as a shell finds it: the first on the `PATH` that may be run.
pub fn program(name: &str) -> Option<PathBuf> {
    let may_run = |path: &PathBuf| {
        let access =
            rustix::fs::accessat(rustix::fs::CWD, path, rustix::fs::Access::EXEC_OK, rustix::fs::AtFlags::EACCESS);
        path.is_file() && access.is_ok()
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(may_run);
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|directory| directory.join(name)).find(may_run)
}

/// A process, told from a later one of the same number by when it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it was started, in clock ticks since the machine was.
    pub started: u64,
}

impl Process {
    /// This one; `None` where the system doesn't tell.
    pub fn own() -> Option<Process> {
        ancestry(std::process::id()).map(|own| own.process)
    }

    /// Does it still run? `None` where the system doesn't tell.
    pub fn lives(self) -> Option<bool> {
        let proc = Dir::open(&proc()).ok()?;
        proc.stat("self").ok()??;
        Some(ancestry(self.pid).is_some_and(|there| there.process == self))
    }
}

/// The processes above this one, nearest first, each with its name: at most `most`, and none where the system doesn't
/// tell.
pub fn ancestors(most: usize) -> Vec<(Process, String)> {
    let parent = |child: &Ancestry| ancestry(child.parent);
    let above = std::iter::successors(ancestry(std::process::id()), parent).skip(1).take(most);
    above.map(|there| (there.process, there.name)).collect()
}

/// What the system says of a process, living or not yet waited for.
struct Ancestry {
    process: Process,
    parent: u32,
    name: String,
}

fn ancestry(pid: u32) -> Option<Ancestry> {
    let stat = std::fs::read_to_string(proc().join(pid.to_string()).join("stat")).ok()?;
    // The program's name may hold anything, also blanks and brackets: proc_pid_stat(5).
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let mut fields = tail.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    (state != "Z").then_some(Ancestry { process: Process { pid, started }, parent, name })
}

/// A process of this user, and what it was started with.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Its number.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Its session: a terminal, or what a harness has started on its own.
    pub session: u32,
    /// Where it is.
    pub directory: PathBuf,
    /// The values of the variables that were asked for, as it was started.
    pub variables: Vec<Option<String>>,
}

/// All processes of this user whose environment can be read, with these variables.
pub fn processes(variables: &[&str]) -> Vec<Environment> {
    let Some(listing) = Dir::open(&proc()).ok().and_then(|proc| proc.list().ok()) else { return Vec::new() };
    let pids = listing.flatten().filter_map(|entry| entry.name.to_str()?.parse().ok());
    pids.filter_map(|pid| process(pid, variables)).collect()
}

fn process(pid: u32, variables: &[&str]) -> Option<Environment> {
    let at = proc().join(pid.to_string());
    let environment = std::fs::read(at.join("environ")).ok()?;
    let value = |name: &&str| {
        let mut entries = environment.split(|&byte| byte == 0);
        let value = entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(String::from_utf8_lossy(value).into_owned()).filter(|value| !value.is_empty())
    };
    let variables: Vec<Option<String>> = variables.iter().map(value).collect();
    let stat = std::fs::read_to_string(at.join("stat")).ok()?;
    // The program's name may hold anything, also blanks and brackets: proc_pid_stat(5).
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let directory = std::fs::read_link(at.join("cwd")).ok()?;
    (state != "Z").then_some(Environment { pid, parent, session, directory, variables })
}

/// The signals that whoever started this process lets it ignore, such as SIGHUP under `nohup`.
pub fn ignored_signals() -> Vec<i32> {
    let status = std::fs::read_to_string(proc().join("self/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let mask = mask.unwrap_or_default();
    (1..=63).filter(|signal| mask & (1 << (signal - 1)) != 0).collect()
}

/// Has a command end, by SIGTERM, when the thread that starts it ends in whatever way; where the system can do that.
pub fn end_with_us(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
        let parent: Pid = getpid();
        let bind = move || {
            set_parent_process_death_signal(Some(Signal::TERM))?;
            // Whoever started it may have ended before that was asked for.
            if getppid() == Some(parent) { Ok(()) } else { Err(std::io::Error::from_raw_os_error(libc::ESRCH)) }
        };
        // SAFETY: between fork and exec only two system calls are made, and no memory is taken.
        #[allow(unsafe_code)]
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(command, bind);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

fn number(name: &str) -> Option<u64> {
    std::fs::read_to_string(proc().join(name)).ok()?.trim().parse().ok()
}

/// Builds for tests may have another one, so that the bounds of the machine can be what the test needs.
fn proc() -> PathBuf {
    let other = std::env::var_os("MAILBAG_TEST_PROC").filter(|_| cfg!(any(debug_assertions, feature = "faults")));
    other.map_or_else(|| Path::new("/proc").to_path_buf(), PathBuf::from)
}
