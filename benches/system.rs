//! The few system calls that the benchmark needs and that neither std nor rustix (as built here) offers safely.

use anyhow::{Context, Result, ensure};
use rustix::fd::{AsRawFd, BorrowedFd};
use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

/// Nanoseconds of the monotonic clock, which all processes of a machine share (std's `Instant` can't be passed on).
#[allow(
    unsafe_code,
    reason = "clock_gettime only fills the timespec it is given"
)]
pub(crate) fn monotonic() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec that lives through the call; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    nanoseconds(time)
}

/// The processor time that a living process has used, all its threads, ended ones included.
#[allow(unsafe_code, reason = "both calls only fill what they are given")]
pub(crate) fn cpu_of(pid: i32) -> Result<Duration> {
    let mut clock = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointers are to locals that live through the calls; a wrong pid is an error code.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut time) != 0
    };
    ensure!(
        !failed,
        "no processor clock for process {pid}: has it ended?"
    );
    Ok(Duration::from_nanos(nanoseconds(time)))
}

fn nanoseconds(time: libc::timespec) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// The usage of a child process: its wait status, its processor time in user and in system mode,
/// and its peak memory in bytes.
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    pub(crate) peak: u64,
}

/// Reaps a child that was started by this process.
#[allow(unsafe_code, reason = "std's wait gives no resource usage")]
pub(crate) fn reap(pid: i32) -> Result<Ended> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are to locals that live through the call.
    while unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) } == -1 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error).context("wait4");
        }
    }
    // SAFETY: all zeros is a valid rusage, and wait4 has filled it.
    let usage = unsafe { usage.assume_init() };
    let time = |t: libc::timeval| {
        Duration::from_micros(
            u64::try_from(t.tv_sec).unwrap_or(0) * 1_000_000
                + u64::try_from(t.tv_usec).unwrap_or(0),
        )
    };
    let peak = u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024;
    Ok(Ended {
        status,
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        peak,
    })
}

/// Waits until the descriptor can be read, or the time is up: false.
#[allow(
    unsafe_code,
    reason = "rustix's poll would need one more feature, and with it a second build of everything"
)]
pub(crate) fn readable(fd: BorrowedFd<'_>, within: Duration) -> Result<bool> {
    let mut poll = libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    loop {
        // SAFETY: the pointer is to one pollfd that lives through the call, and the count says one.
        match unsafe { libc::poll(&raw mut poll, 1, i32::try_from(within.as_millis())?) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => continue,
            -1 => return Err(io::Error::last_os_error()).context("poll"),
            ready => return Ok(ready > 0),
        }
    }
}
