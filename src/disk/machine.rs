//! Users, processes and signals of the machine.
//!
//! A function returns `None` if the system does not report the value. Callers do not treat that as a failure.

use super::{Dir, File, paths};
use crate::base::error::{ErrorContext, Result};
use crate::base::test_variable;
use crate::disk::paths::PathQuestions;
use signal_hook::low_level::{emulate_default_handler, pipe};
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The interval of checks whether the client of a watched session still runs, if the system does not report its end.
const WATCH_CLIENT: Duration = Duration::from_millis(500);

/// The interval of checks whether a child still runs, if the system does not report its end.
const WATCH_CHILD: Duration = Duration::from_millis(10);

/// The working directory of this process.
pub fn here() -> Result<PathBuf> {
    std::env::current_dir().doing("find the working directory", ".")
}

/// The id of the system's current boot. `None` if the system does not report it.
pub fn boot() -> Option<String> {
    let id = paths::read_text(Path::new("/proc/sys/kernel/random/boot_id")).ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// A user for display: the number, and the name if there is one.
pub fn user(uid: u32) -> String {
    let found = nix::unistd::User::from_uid(uid.into()).ok().flatten();
    found.map_or_else(
        || format!("user {uid}"),
        |user| format!("user {uid} ({})", user.name),
    )
}

/// The number of the user who runs this process.
pub fn real_user() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Replaces this process of root by the same command of another user, without the groups of root, and with the home
/// directory of that user. Returns without an error, and without an effect, if this process may not become that user.
pub fn run_as(uid: u32, gid: u32) -> Result<()> {
    let program = std::env::current_exe().doing("find", "this program")?;
    let known = nix::unistd::User::from_uid(uid.into()).ok().flatten();
    let mut words = std::env::args_os();
    let mut again = Command::new(&program);
    again
        .arg0(words.next().unwrap_or_default())
        .args(words)
        .uid(uid)
        .gid(known.map_or(gid, |user| user.gid.as_raw()))
        .env_remove("HOME")
        .envs(home_of(uid).map(|home| ("HOME", home)));
    let failure = again.exec();
    // A user namespace may lack this user, and a container the right to change users.
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(failure).doing("run, as the owner of the room,", &program)
}

/// The home directory of a user in the user database. Variables such as HOME do not change it.
pub fn home_of(uid: u32) -> Option<PathBuf> {
    if let Some(home) = test_variable("MAILBAG_TEST_HOME") {
        return Some(home.into());
    }
    let found = nix::unistd::User::from_uid(uid.into()).ok().flatten();
    found.map(|user| user.dir).filter(|home| home.is_absolute())
}

/// The shells of this machine and of this user, without symbolic links.
pub fn shells() -> Vec<PathBuf> {
    let listed = paths::read_text(Path::new("/etc/shells")).unwrap_or_default();
    let own = nix::unistd::User::from_uid(real_user().into())
        .ok()
        .flatten();
    let listed = listed.lines().filter(|line| line.starts_with('/'));
    listed
        .map(PathBuf::from)
        .chain(own.map(|user| user.shell))
        .map(|shell| shell.real_path().unwrap_or(shell))
        .collect()
}

/// The value of an environment variable that is set and not empty.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The program that a shell would run for this name: the first executable on the `PATH`.
pub fn program(name: &str) -> Option<PathBuf> {
    which::which(name).ok()
}

/// The process that holds the lock (flock) on a file, if this process can see it. Only for messages: no decision
/// depends on it.
pub fn lock_holder(file: &File) -> Option<u32> {
    let meta = file.meta().ok()?;
    let device = (
        rustix::fs::major(meta.device as _),
        rustix::fs::minor(meta.device as _),
    );
    let locks = paths::read_text(&proc().join("locks")).ok()?;
    let holders: Vec<((u32, u32), u32)> = locks
        .lines()
        .filter_map(|line| flock(line, meta.inode))
        .collect();
    match holders.as_slice() {
        // Some file systems report a different device here. Then the inode alone decides, if it is unique in the list.
        [(_, pid)] => Some(*pid),
        many => many
            .iter()
            .find(|(of, _)| *of == device)
            .map(|(_, pid)| *pid),
    }
}

/// The device and the holder, if this line reports a lock on this inode: proc_locks(5).
fn flock(line: &str, inode: u64) -> Option<((u32, u32), u32)> {
    let mut fields = line
        .split_whitespace()
        .skip_while(|field| *field != "FLOCK");
    let (pid, file) = (fields.nth(3)?.parse().ok()?, fields.next()?);
    let (major, rest) = file.split_once(':')?;
    let (minor, found) = rest.split_once(':')?;
    let device = (
        u32::from_str_radix(major, 16).ok()?,
        u32::from_str_radix(minor, 16).ok()?,
    );
    (found.parse() == Ok(inode)).then_some((device, pid))
}

/// A process. Its start time distinguishes it from a later process with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Process {
    /// The process number.
    pub pid: u32,
    /// The start time, in clock ticks since the machine started.
    pub started: u64,
    /// The PID namespace of the number, unless it is the machine's own namespace: pid_namespaces(7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<u64>,
}

impl Process {
    /// The current process. `None` if the system does not report it.
    pub fn own() -> Option<Process> {
        own().map(|own| own.process)
    }

    /// Returns true if the process is still running. `None` if the system does not report it, as for a process in another
    /// namespace.
    pub fn lives(self) -> Option<bool> {
        let proc = Dir::open(&proc()).ok()?;
        proc.stat("self").ok()??;
        if !numbers_are_ours() || self.namespace != namespace() {
            return None;
        }
        Some(running(self.pid).is_some_and(|there| there.process == self))
    }
}

/// Returns true if this process is known to be stopped, by a signal or a debugger.
pub fn is_stopped(pid: u32) -> bool {
    numbers_are_ours() && stat_of(pid).is_some_and(|stat| ["T", "t"].contains(&&*stat.state))
}

impl Process {
    /// Waits until the process has ended, at most for `time`. Returns true if it is still running, as
    /// [`Process::lives`].
    pub fn runs_for(self, time: Duration) -> Option<bool> {
        if self.lives()? {
            wait_for_end(self.pid, time, WATCH_CLIENT);
        }
        self.lives()
    }
}

/// Waits for a child, at most for `time`. `None` if it is still running. It installs no signal handler, because a
/// sandbox may forbid the write that wakes this process.
pub fn wait_for_child(child: &mut Child, time: Duration) -> std::io::Result<Option<ExitStatus>> {
    let until = Instant::now() + time;
    loop {
        let status = child.try_wait()?;
        let left = until.saturating_duration_since(Instant::now());
        if status.is_some() || left.is_zero() {
            return Ok(status);
        }
        wait_for_end(child.id(), left, WATCH_CHILD);
    }
}

/// Waits for the end of a process, or where the system does not report it, for `pause`.
#[cfg(target_os = "linux")]
fn wait_for_end(pid: u32, time: Duration, pause: Duration) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let process =
        Pid::from_raw(pid as i32).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    match (process, Timespec::try_from(time)) {
        (Some(process), Ok(time)) => {
            let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&time));
        }
        // Kernels before 5.3, and some sandboxes, have no such files.
        _ => std::thread::sleep(pause.min(time)),
    }
}

#[cfg(not(target_os = "linux"))]
fn wait_for_end(_: u32, time: Duration, pause: Duration) {
    std::thread::sleep(pause.min(time));
}

/// The parent processes, nearest first, each with its name: at most `most`. Empty if the system does not report them.
pub fn ancestors(most: usize) -> Vec<(Process, String)> {
    let above = std::iter::successors(own(), |child| running(child.parent));
    above
        .skip(1)
        .take(most)
        .map(|there| (there.process, there.name))
        .collect()
}

/// The state of a process in `/proc`.
pub(super) struct ProcessStat {
    pub(super) process: Process,
    pub(super) parent: u32,
    /// Its process group.
    pub(super) group: u32,
    /// The process that began its session.
    pub(super) session: u32,
    /// The process group in the foreground of its terminal. `None` without a terminal.
    pub(super) foreground: Option<u32>,
    pub(super) name: String,
    /// The letter of its state: proc_pid_stat(5).
    pub(super) state: String,
}

/// Reads the state of a process that has not ended.
fn running(pid: u32) -> Option<ProcessStat> {
    stat_of(pid).filter(|stat| stat.state != "Z")
}

/// Reads the state of a process, which may be a zombie.
pub(super) fn stat_of(pid: u32) -> Option<ProcessStat> {
    let stat = paths::read_text(&proc().join(pid.to_string()).join("stat")).ok()?;
    // The program's name may contain spaces and brackets: proc_pid_stat(5).
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let mut fields = tail.split_whitespace();
    let state = fields.next()?.to_owned();
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let foreground = fields.nth(1)?.parse().ok().filter(|group| *group > 0);
    let started = fields.nth(13)?.parse().ok()?;
    Some(ProcessStat {
        process: Process {
            pid,
            started,
            namespace: namespace(),
        },
        parent,
        group,
        session,
        foreground,
        name,
        state,
    })
}

fn own() -> Option<ProcessStat> {
    if numbers_are_ours() {
        running(std::process::id())
    } else {
        None
    }
}

/// The machine's own namespace: PROC_PID_INIT_INO of linux/proc_ns.h.
const OF_THE_MACHINE: u64 = 0xEFFF_FFFC;

/// The namespace of process numbers here. `None` for the machine's own namespace, or if it is not known.
pub fn namespace() -> Option<u64> {
    let link = paths::read_link(&proc().join("self/ns/pid")).ok()?;
    let number = link
        .to_str()?
        .strip_prefix("pid:[")?
        .strip_suffix(']')?
        .parse()
        .ok()?;
    Some(number).filter(|number| *number != OF_THE_MACHINE)
}

/// Returns true if `/proc` uses the process numbers of this namespace. A sandbox may see the host's `/proc`.
pub(super) fn numbers_are_ours() -> bool {
    let status = paths::read_text(&proc().join("self/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_none_or(|numbers| numbers.split_whitespace().count() == 1)
}

/// The signals that this process ignores since its start, such as SIGHUP under `nohup`.
fn ignored_signals() -> Vec<i32> {
    let status = paths::read_text(&proc().join("self/status")).unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let mask = mask.unwrap_or_default();
    (1..=63)
        .filter(|signal| mask & (1 << (signal - 1)) != 0)
        .collect()
}

/// Selects the signals that this process should handle. A parent that ignores SIGINT or SIGHUP, such as `nohup`, wants
/// the process to continue. SIGTERM is always handled, so that the process can be ended cleanly.
pub fn unignored_signals(signals: &[i32]) -> Vec<i32> {
    let ignored = ignored_signals();
    signals
        .iter()
        .copied()
        .filter(|signal| *signal == libc::SIGTERM || !ignored.contains(signal))
        .collect()
}

/// The signals that ask a process to end.
pub const END_SIGNALS: [i32; 2] = [libc::SIGINT, libc::SIGTERM];

/// Calls `handle` at each of these signals that this process does not ignore, in a separate thread. If `handle` returns
/// true because the end was already requested, the signal ends the process immediately.
pub fn at_signals(
    signals: &[i32],
    mut handle: impl FnMut(i32) -> bool + Send + 'static,
) -> Result<()> {
    // A pipe, because a sandbox may forbid writing to a socket.
    let (mut woken, wake) = std::io::pipe().doing("make", "a pipe")?;
    let mut flags = Vec::new();
    for signal in unignored_signals(signals) {
        let flag = Arc::new(AtomicBool::new(false));
        // The flag is set before the thread is woken.
        signal_hook::flag::register(signal, flag.clone())
            .and_then(|_| pipe::register(signal, wake.try_clone()?))
            .doing("listen to", "signals")?;
        flags.push((signal, flag));
    }
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            while woken.read_exact(&mut [0]).is_ok() {
                for (signal, flag) in &flags {
                    if flag.swap(false, Ordering::SeqCst) && handle(*signal) {
                        let _ = emulate_default_handler(*signal);
                    }
                }
            }
        })
        .map(drop)
        .doing("listen to", "signals")
}

/// Ends a command by SIGTERM when the thread that starts it ends, if the system supports it.
pub fn end_with_us(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
        let parent: Pid = getpid();
        // SAFETY: between fork and exec only two system calls are made, and no memory is allocated.
        #[allow(unsafe_code)]
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(command, move || {
                set_parent_process_death_signal(Some(Signal::TERM))?;
                // The parent may have ended before this request.
                if getppid() == Some(parent) {
                    Ok(())
                } else {
                    Err(std::io::Error::from_raw_os_error(libc::ESRCH))
                }
            });
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// The directory `/proc`. Test builds can replace it, to set the machine's limits.
pub(super) fn proc() -> PathBuf {
    test_variable("MAILBAG_TEST_PROC").map_or_else(|| PathBuf::from("/proc"), PathBuf::from)
}
