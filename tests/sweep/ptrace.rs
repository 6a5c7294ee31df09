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
use std::path::Path;
use std::process::Command;
use std::thread::{self, JoinHandle};

/// From linux/ptrace.h; libc has it for other C libraries only.
const PTRACE_EVENT_STOP: c_int = 128;
/// The smallest page of any machine.
const PAGE: usize = 4096;

/// The report of a traced program that stops or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// It ended by itself.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It enters a call that was asked for, or leaves one that was entered with [`into_call`].
    Syscall,
    /// A stop signal took effect: it has to stay stopped until a SIGCONT.
    GroupStop,
    /// A signal is about to be delivered.
    Signal(i32),
    /// Something only a tracer hears of, such as a new thread.
    Event,
}

/// The entry or the exit of a system call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Syscall {
    Entry { number: c_long, args: [u64; 6] },
    Exit { result: i64 },
}

/// A program that was started, and the thread that learns whether it could be.
pub(crate) struct Started {
    pub(crate) pid: pid_t,
    spawning: JoinHandle<io::Result<()>>,
}

impl Started {
    /// Whether there was such a program at all: to be asked when it has ended.
    pub(crate) fn could_be(self) -> io::Result<()> {
        self.spawning.join().unwrap_or_else(|_| Err(io::Error::other("it could not be started")))
    }
}

/// Starts `command` in a process group of its own, traced from its first instruction by the calling thread, which is
/// notified of the calls with these numbers. A filter in the kernel selects them, so that all others cost nothing.
///
/// The child waits before its `exec` until it is seized; `spawn` returns only after that `exec`, so a second thread
/// has to call `spawn`.
pub(crate) fn start(mut command: Command, calls: &[c_long]) -> io::Result<Started> {
    // A child that has nothing to become is waited for by std and by the tracer, and only one of them finds it.
    let program = Path::new(command.get_program());
    if program.is_absolute() && !program.exists() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("there is no {}", program.display())));
    }
    let (mut born, mut cry) = io::pipe()?;
    let (mut wait, mut go) = io::pipe()?;
    let mut filter = filter(calls);
    command.process_group(0);
    // SAFETY: the closure makes plain system calls on descriptors and memory that it owns, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            cry.write_all(&std::process::id().to_ne_bytes())?;
            wait.read_exact(&mut [0])?;
            install(&mut filter)
        });
    }
    // The command, and with it the child's ends of the pipes, has to be gone before anything is awaited from them.
    let spawning = thread::spawn(move || command.spawn().map(drop));
    let mut pid = [0; 4];
    if let Err(error) = born.read_exact(&mut pid) {
        return spawning.join().expect("spawning does not panic").and(Err(error));
    }
    let pid = pid_t::from_ne_bytes(pid);
    // Without its byte the child gives up by itself, so a failure to seize leaves nothing behind.
    seize(pid)?;
    go.write_all(&[1])?;
    Ok(Started { pid, spawning })
}

/// Stops at these calls, lets all others through.
fn filter(calls: &[c_long]) -> Vec<libc::sock_filter> {
    let step = |code: u32, k: u32, jt: usize| libc::sock_filter { code: code as u16, jt: jt as u8, jf: 0, k };
    assert!(calls.len() < 255, "a jump in a filter reaches no further");
    let mut filter = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for (n, call) in calls.iter().enumerate() {
        filter.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, *call as u32, calls.len() - n));
    }
    filter.push(step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0));
    filter.push(step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_TRACE, 0));
    filter
}

fn install(filter: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: plain integers, and a filter that lives through the call.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn seize(pid: pid_t) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACESECCOMP
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
        (_, libc::PTRACE_EVENT_SECCOMP) => Report::Syscall,
        (signal, 0) => Report::Signal(signal),
        (libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU, PTRACE_EVENT_STOP) => Report::GroupStop,
        _ => Report::Event,
    }
}

/// Lets it go on, delivering `signal` if that is not 0.
pub(crate) fn resume(pid: pid_t, signal: c_int) {
    // A program that was killed in the meantime no longer exists; the next wait reports it.
    let _ = request(libc::PTRACE_CONT, pid, 0, signal as usize);
}

/// Lets it go on into the call that it is entering, to report when it leaves it.
pub(crate) fn into_call(pid: pid_t) {
    let _ = request(libc::PTRACE_SYSCALL, pid, 0, 0);
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
    // SAFETY: plain integers. A process that no longer exists is not an error.
    let _ = unsafe { libc::kill(pid, signal) };
}

/// The call that it stopped at. `None` if it was killed in the meantime.
pub(crate) fn syscall(pid: pid_t) -> Option<Syscall> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    request(libc::PTRACE_GET_SYSCALL_INFO, pid, size, info.as_mut_ptr() as usize).ok()?;
    // SAFETY: all zero is a valid value, the kernel wrote at most `size` bytes, and `op` says which variant is filled.
    unsafe {
        let info = info.assume_init();
        match info.op {
            libc::PTRACE_SYSCALL_INFO_SECCOMP => {
                Some(Syscall::Entry { number: info.u.seccomp.nr as c_long, args: info.u.seccomp.args })
            }
            libc::PTRACE_SYSCALL_INFO_EXIT => Some(Syscall::Exit { result: info.u.exit.sval }),
            _ => None,
        }
    }
}

/// Bytes from its memory, fewer than asked for where its memory ends.
pub(crate) fn read(pid: pid_t, at: u64, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0_u8; most];
    // The kernel reads nothing of a piece that crosses into a missing page; it stops only between pieces.
    let first = (PAGE - at as usize % PAGE).min(most);
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: most };
    let there = [(at as usize, first), (at as usize + first, most - first)]
        .map(|(at, length)| libc::iovec { iov_base: at as *mut libc::c_void, iov_len: length });
    // SAFETY: `here` is all of `bytes`; the kernel checks the other side.
    let read = unsafe { libc::process_vm_readv(pid, &raw const here, 1, there.as_ptr(), 2, 0) };
    bytes.truncate(usize::try_from(read).map_err(|_| io::Error::last_os_error())?);
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

/// Sets the result for the program at the exit of a call.
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

/// Sets the result for the program at the exit of a call.
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
