//! The raw side of the tracer: starting a program under `ptrace`, waiting for it, and reading and changing its calls.
//!
//! Everything is by `PTRACE_SEIZE`, since only a seized program can be stopped and continued by SIGSTOP and SIGCONT
//! as it would be without a tracer.
#![allow(unsafe_code)] // There is no other way to ptrace(2); nothing outside this file needs it.

use libc::{c_int, c_long, pid_t};
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::{MaybeUninit, size_of};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

/// From linux/ptrace.h; libc has it for other C libraries only.
const PTRACE_EVENT_STOP: c_int = 128;

/// What a traced program reports when it stops or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// It ended by itself.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It enters or leaves a system call.
    Syscall,
    /// A stop signal took effect: it has to stay stopped until a SIGCONT.
    GroupStop,
    /// A signal is about to be delivered.
    Signal(i32),
    /// Something only a tracer hears of, such as a new thread.
    Event,
}

/// A system call as the program makes it, or what came of it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Syscall {
    Entry { number: c_long, args: [u64; 6] },
    Exit { result: i64 },
}

/// Starts `command` in a process group of its own, traced from its first instruction by the calling thread.
///
/// The child waits before its `exec` until it is seized; `spawn` returns only after that `exec`, so a second thread
/// has to be the one that spawns.
pub(crate) fn start(mut command: Command) -> io::Result<pid_t> {
    let (mut born, mut cry) = io::pipe()?;
    let (mut wait, mut go) = io::pipe()?;
    command.process_group(0);
    // SAFETY: the closure makes two plain system calls on descriptors that it owns, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            cry.write_all(&std::process::id().to_ne_bytes())?;
            wait.read_exact(&mut [0])
        });
    }
    thread::scope(|scope| {
        // The command, and with it the child's ends of the pipes, has to be gone before anything is awaited from them.
        let spawned = scope.spawn(move || command.spawn().map(drop));
        let mut pid = [0; 4];
        let seized = born.read_exact(&mut pid).and_then(|()| seize(pid_t::from_ne_bytes(pid)));
        // Without this byte the child gives up by itself, so a failure to seize leaves nothing behind.
        if seized.is_ok() {
            go.write_all(&[1])?;
        }
        drop(go);
        spawned.join().expect("spawning does not panic")?;
        seized.map(|()| pid_t::from_ne_bytes(pid))
    })
}

fn seize(pid: pid_t) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    request(libc::PTRACE_SEIZE, pid, 0, options as usize).map(drop)
}

/// Waits for the next report of any program that the calling thread traces; `None` once there is none left.
///
/// `__WNOTHREAD` keeps it away from the children of the tests that run beside this one.
pub(crate) fn wait() -> io::Result<Option<(pid_t, Report)>> {
    let mut status = 0;
    // SAFETY: `status` is a valid place for an int.
    let pid = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
    match pid {
        -1 => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ECHILD) => Ok(None),
            error => Err(error),
        },
        pid => Ok(Some((pid, report(status)))),
    }
}

fn report(status: c_int) -> Report {
    if libc::WIFEXITED(status) {
        return Report::Exited(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return Report::Signalled(libc::WTERMSIG(status));
    }
    let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
    match (signal, event) {
        (signal, 0) if signal == libc::SIGTRAP | 0x80 => Report::Syscall,
        (signal, 0) => Report::Signal(signal),
        (libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU, PTRACE_EVENT_STOP) => Report::GroupStop,
        _ => Report::Event,
    }
}

/// Lets it go on to its next system call, delivering `signal` if that is not 0.
pub(crate) fn resume(pid: pid_t, signal: c_int) {
    // One that was killed meanwhile is no longer there; the next wait says so.
    let _ = request(libc::PTRACE_SYSCALL, pid, 0, signal as usize);
}

/// Leaves it stopped, but open to a SIGCONT.
pub(crate) fn stay_stopped(pid: pid_t) {
    let _ = request(libc::PTRACE_LISTEN, pid, 0, 0);
}

/// Kills a whole process group, or one process.
pub(crate) fn kill(pid: pid_t, group: bool) {
    signal(if group { -pid } else { pid }, libc::SIGKILL);
}

/// Asks the process of this thread to end.
pub(crate) fn end(pid: pid_t) {
    signal(pid, libc::SIGTERM);
}

fn signal(pid: pid_t, signal: c_int) {
    // SAFETY: plain integers. That there is no such process any more is fine.
    let _ = unsafe { libc::kill(pid, signal) };
}

/// The call at which it stands; `None` if it was killed meanwhile.
pub(crate) fn syscall(pid: pid_t) -> Option<Syscall> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    request(libc::PTRACE_GET_SYSCALL_INFO, pid, size, info.as_mut_ptr() as usize).ok()?;
    // SAFETY: all zero is a valid value, the kernel wrote at most `size` bytes, and `op` says which variant is filled.
    unsafe {
        let info = info.assume_init();
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => {
                Some(Syscall::Entry { number: info.u.entry.nr as c_long, args: info.u.entry.args })
            }
            libc::PTRACE_SYSCALL_INFO_EXIT => Some(Syscall::Exit { result: info.u.exit.sval }),
            _ => None,
        }
    }
}

/// Bytes from its memory, fewer than asked for where its memory ends.
pub(crate) fn read(pid: pid_t, at: u64, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let read = File::open(format!("/proc/{pid}/mem"))?.read_at(&mut bytes, at)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Puts bytes into its memory.
pub(crate) fn write(pid: pid_t, at: u64, bytes: &[u8]) -> io::Result<()> {
    File::options().write(true).open(format!("/proc/{pid}/mem"))?.write_all_at(bytes, at)
}

/// At the entry of a call: another value for its argument, from 0.
#[cfg(target_arch = "x86_64")]
pub(crate) fn set_argument(pid: pid_t, argument: usize, value: u64) -> io::Result<()> {
    change(pid, |r| {
        *[&mut r.rdi, &mut r.rsi, &mut r.rdx, &mut r.r10, &mut r.r8, &mut r.r9][argument] = value;
    })
}

/// At the entry of a call: makes it not happen.
#[cfg(target_arch = "x86_64")]
pub(crate) fn cancel(pid: pid_t) -> io::Result<()> {
    change(pid, |r| r.orig_rax = u64::MAX)
}

/// At the exit of a call: what the program gets for it.
#[cfg(target_arch = "x86_64")]
pub(crate) fn set_result(pid: pid_t, result: i64) -> io::Result<()> {
    change(pid, |r| r.rax = result as u64)
}

/// At the entry of a call: another value for its argument, from 0.
#[cfg(target_arch = "aarch64")]
pub(crate) fn set_argument(pid: pid_t, argument: usize, value: u64) -> io::Result<()> {
    change(pid, |r| r.regs[argument] = value)
}

/// At the entry of a call: makes it not happen. The number of the call is a register set of its own here.
#[cfg(target_arch = "aarch64")]
pub(crate) fn cancel(pid: pid_t) -> io::Result<()> {
    const NT_ARM_SYSTEM_CALL: usize = 0x404;
    let mut none: c_int = -1;
    let mut place = libc::iovec { iov_base: (&raw mut none).cast(), iov_len: size_of::<c_int>() };
    request(libc::PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &raw mut place as usize).map(drop)
}

/// At the exit of a call: what the program gets for it.
#[cfg(target_arch = "aarch64")]
pub(crate) fn set_result(pid: pid_t, result: i64) -> io::Result<()> {
    change(pid, |r| r.regs[0] = result as u64)
}

fn change(pid: pid_t, with: impl FnOnce(&mut libc::user_regs_struct)) -> io::Result<()> {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
    let mut place =
        libc::iovec { iov_base: registers.as_mut_ptr().cast(), iov_len: size_of::<libc::user_regs_struct>() };
    let place = &raw mut place as usize;
    request(libc::PTRACE_GETREGSET, pid, libc::NT_PRSTATUS as usize, place)?;
    // SAFETY: registers are plain integers; all zero is a valid value and the kernel filled them.
    with(unsafe { registers.assume_init_mut() });
    request(libc::PTRACE_SETREGSET, pid, libc::NT_PRSTATUS as usize, place).map(drop)
}

fn request(request: libc::c_uint, pid: pid_t, address: usize, data: usize) -> io::Result<c_long> {
    // SAFETY: every caller passes what ptrace(2) asks for with this request, alive for the length of the call.
    match unsafe { libc::ptrace(request, pid, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}
