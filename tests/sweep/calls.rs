//! The system calls that count, and the paths of each.
//!
//! A call **changes** something when a kill before it and a kill after it can leave different files: creating or
//! truncating opens, writes and copies, renames, links, removals, directories, lengths, modes, owners, times,
//! attributes, and every kind of sync. The others listed here only **look**; they are there for errors to be injected.
//! Only calls on paths inside the watched directory count, and on pipes if a sweep wants them; terminals and event
//! descriptors never do.
//! Memory maps and io_uring would go unseen; the program uses neither for files that it writes.

use super::ptrace;
use libc::{AT_FDCWD, O_CREAT, O_TRUNC, c_int, c_long, pid_t};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One system call on the watched directory.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Its place among the calls that change something, over all threads, from 1; `None` for one that only looks.
    pub(crate) number: Option<usize>,
    /// The calling thread.
    pub(crate) thread: pid_t,
    /// The kernel's name of the call.
    pub(crate) name: &'static str,
    /// Its absolute paths: one path, or source and target.
    pub(crate) paths: Vec<PathBuf>,
    /// The number of bytes to write or copy.
    pub(crate) bytes: Option<u64>,
    /// The given position of a write, or the new length of a truncated file.
    pub(crate) at: Option<u64>,
    /// The result for the program: negative for an error, `None` if the program ended before, or if the call changes nothing.
    pub(crate) result: Option<i64>,
}

impl Call {
    /// Its paths relative to `room`; `from -> to` if there are two.
    pub(crate) fn shown(&self, room: &Path) -> String {
        let shown = self.paths.iter().map(|path| path.strip_prefix(room).unwrap_or(path).display().to_string());
        shown.collect::<Vec<_>>().join(" -> ")
    }
}

/// A call as decoded at its entry, with the data to cut it in half.
pub(crate) struct Decoded {
    pub(crate) name: &'static str,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) changes: bool,
    pub(crate) bytes: Option<u64>,
    pub(crate) at: Option<u64>,
    length: Length,
    args: [u64; 6],
}

/// The place of the number of bytes in the arguments of a call.
#[derive(Clone, Copy)]
enum Length {
    None,
    /// In this argument.
    Argument(usize),
    /// In a list of buffers: its address in argument 1, their number in argument 2.
    Buffers,
}

/// The arguments with the paths of a call.
enum Target {
    /// A descriptor.
    Fd(usize),
    /// A directory's descriptor and a path.
    At(usize, usize),
    /// Two of them.
    AtAt(usize, usize, usize, usize),
    /// A path.
    Path(usize),
    /// Two of them.
    Paths(usize, usize),
    /// Every file system there is.
    All,
}

/// Whether a call changes something.
enum Effect {
    Changes,
    Looks,
    /// It does if the flags in this argument create or truncate.
    Flags(usize),
    /// The same, with the flags in the memory that this argument points to.
    FlagsBehind(usize),
    /// It does if this argument is the advice to drop cached pages.
    Advice(usize),
}

struct Rule(&'static str, Target, Effect, Length);

/// Decodes the call that `pid` is entering. `None` if it does not concern the directory `room`, or a pipe if pipes count.
pub(crate) fn decode(pid: pid_t, number: c_long, args: [u64; 6], (room, pipes): (&Path, bool)) -> Option<Decoded> {
    let Rule(name, target, effect, length) = rule(number)?;
    let paths = touched(pid, &target, &args, (room, pipes))?;
    let creates = |flags: u64| flags & (O_CREAT | O_TRUNC) as u64 != 0;
    let changes = match effect {
        Effect::Changes => true,
        Effect::Looks => false,
        Effect::Flags(at) => creates(args[at]),
        Effect::Advice(at) => args[at] == libc::POSIX_FADV_DONTNEED as u64,
        Effect::FlagsBehind(at) => word(pid, args[at]).is_some_and(creates),
    };
    let bytes = match length {
        Length::None => None,
        Length::Argument(at) => Some(args[at]),
        Length::Buffers => Some(buffers(pid, &args).iter().map(|(_, length)| length).sum()),
    };
    let at = match name {
        "pwrite64" => Some(args[3]),
        "ftruncate" => Some(args[1]),
        _ => Option::None,
    };
    Some(Decoded { name, paths, changes, bytes, at, length, args })
}

impl Decoded {
    /// Makes the call that `pid` is entering write half of its bytes. Returns false for a call without a half.
    pub(crate) fn halve(&self, pid: pid_t) -> bool {
        let half = self.bytes.unwrap_or_default() / 2;
        match self.length {
            Length::None => false,
            Length::Argument(at) => ptrace::set_argument(pid, at, half).is_ok(),
            Length::Buffers => {
                let mut left = half;
                for (place, length) in buffers(pid, &self.args) {
                    // The program does not live to see that its list was changed.
                    let _ = ptrace::write(pid, place, &length.min(left).to_ne_bytes());
                    left -= length.min(left);
                }
                true
            }
        }
    }
}

/// The numbers of all calls that count.
pub(crate) fn numbers() -> Vec<c_long> {
    (0..1024).filter(|number| rule(*number).is_some()).collect()
}

fn rule(number: c_long) -> Option<Rule> {
    use {Effect::*, Length::*, Target::*};
    Some(match number {
        libc::SYS_openat => Rule("openat", At(0, 1), Flags(2), None),
        libc::SYS_openat2 => Rule("openat2", At(0, 1), FlagsBehind(2), None),
        libc::SYS_read => Rule("read", Fd(0), Looks, None),
        libc::SYS_pread64 => Rule("pread64", Fd(0), Looks, None),
        libc::SYS_readv => Rule("readv", Fd(0), Looks, None),
        libc::SYS_getdents64 => Rule("getdents64", Fd(0), Looks, None),
        libc::SYS_write => Rule("write", Fd(0), Changes, Argument(2)),
        libc::SYS_pwrite64 => Rule("pwrite64", Fd(0), Changes, Argument(2)),
        libc::SYS_writev => Rule("writev", Fd(0), Changes, Buffers),
        libc::SYS_pwritev => Rule("pwritev", Fd(0), Changes, Buffers),
        libc::SYS_pwritev2 => Rule("pwritev2", Fd(0), Changes, Buffers),
        libc::SYS_copy_file_range => Rule("copy_file_range", Fd(2), Changes, Argument(4)),
        libc::SYS_sendfile => Rule("sendfile", Fd(0), Changes, Argument(3)),
        libc::SYS_splice => Rule("splice", Fd(2), Changes, Argument(4)),
        libc::SYS_renameat => Rule("renameat", AtAt(0, 1, 2, 3), Changes, None),
        libc::SYS_renameat2 => Rule("renameat2", AtAt(0, 1, 2, 3), Changes, None),
        libc::SYS_linkat => Rule("linkat", AtAt(0, 1, 2, 3), Changes, None),
        libc::SYS_symlinkat => Rule("symlinkat", At(1, 2), Changes, None),
        libc::SYS_unlinkat => Rule("unlinkat", At(0, 1), Changes, None),
        libc::SYS_mkdirat => Rule("mkdirat", At(0, 1), Changes, None),
        libc::SYS_mknodat => Rule("mknodat", At(0, 1), Changes, None),
        libc::SYS_truncate => Rule("truncate", Path(0), Changes, None),
        libc::SYS_ftruncate => Rule("ftruncate", Fd(0), Changes, None),
        libc::SYS_fallocate => Rule("fallocate", Fd(0), Changes, None),
        libc::SYS_fsync => Rule("fsync", Fd(0), Changes, None),
        libc::SYS_fdatasync => Rule("fdatasync", Fd(0), Changes, None),
        libc::SYS_fadvise64 => Rule("fadvise64", Fd(0), Advice(3), None),
        libc::SYS_syncfs => Rule("syncfs", Fd(0), Changes, None),
        libc::SYS_sync => Rule("sync", All, Changes, None),
        libc::SYS_fchmod => Rule("fchmod", Fd(0), Changes, None),
        libc::SYS_fchmodat => Rule("fchmodat", At(0, 1), Changes, None),
        libc::SYS_fchown => Rule("fchown", Fd(0), Changes, None),
        libc::SYS_fchownat => Rule("fchownat", At(0, 1), Changes, None),
        libc::SYS_utimensat => Rule("utimensat", At(0, 1), Changes, None),
        libc::SYS_setxattr => Rule("setxattr", Path(0), Changes, None),
        libc::SYS_fsetxattr => Rule("fsetxattr", Fd(0), Changes, None),
        other => return old_rule(other),
    })
}

/// The calls that newer machines no longer have.
#[cfg(target_arch = "x86_64")]
fn old_rule(number: c_long) -> Option<Rule> {
    use {Effect::*, Length::*, Target::*};
    Some(match number {
        libc::SYS_open => Rule("open", Path(0), Flags(1), None),
        libc::SYS_creat => Rule("creat", Path(0), Changes, None),
        libc::SYS_rename => Rule("rename", Paths(0, 1), Changes, None),
        libc::SYS_link => Rule("link", Paths(0, 1), Changes, None),
        libc::SYS_symlink => Rule("symlink", Path(1), Changes, None),
        libc::SYS_unlink => Rule("unlink", Path(0), Changes, None),
        libc::SYS_mkdir => Rule("mkdir", Path(0), Changes, None),
        libc::SYS_rmdir => Rule("rmdir", Path(0), Changes, None),
        libc::SYS_chmod => Rule("chmod", Path(0), Changes, None),
        libc::SYS_chown => Rule("chown", Path(0), Changes, None),
        libc::SYS_utimes => Rule("utimes", Path(0), Changes, None),
        _ => return Option::None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn old_rule(_: c_long) -> Option<Rule> {
    None
}

/// The paths of a call, if one of them is inside the room or is a pipe that counts.
fn touched(pid: pid_t, target: &Target, args: &[u64; 6], (room, pipes): (&Path, bool)) -> Option<Vec<PathBuf>> {
    let here = AT_FDCWD as u64;
    let paths = match *target {
        Target::Fd(fd) => vec![descriptor(pid, args[fd])?],
        Target::At(dir, path) => vec![at(pid, args[dir], args[path])?],
        Target::AtAt(dir, path, to_dir, to_path) => {
            vec![at(pid, args[dir], args[path])?, at(pid, args[to_dir], args[to_path])?]
        }
        Target::Path(path) => vec![at(pid, here, args[path])?],
        Target::Paths(path, to) => vec![at(pid, here, args[path])?, at(pid, here, args[to])?],
        Target::All => vec![room.to_path_buf()],
    };
    paths.iter().any(|path| path.starts_with(room) || pipes && path.to_string_lossy().starts_with("pipe:")).then_some(paths)
}

fn at(pid: pid_t, dir: u64, path: u64) -> Option<PathBuf> {
    // A null path means the descriptor itself (`utimensat`), as an empty one does.
    let path = if path == 0 { PathBuf::new() } else { text(pid, path)? };
    if path.is_absolute() {
        return Some(path);
    }
    let dir = if dir as c_int == AT_FDCWD { fs::read_link(format!("/proc/{pid}/cwd")).ok()? } else { descriptor(pid, dir)? };
    Some(if path.as_os_str().is_empty() { dir } else { dir.join(path) })
}

/// The path of a descriptor, or a text such as `pipe:[…]`, which is inside no directory.
fn descriptor(pid: pid_t, fd: u64) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/fd/{}", fd as c_int)).ok()
}

fn text(pid: pid_t, at: u64) -> Option<PathBuf> {
    let mut bytes = ptrace::read(pid, at, libc::PATH_MAX as usize).ok()?;
    bytes.truncate(bytes.iter().position(|byte| *byte == 0)?);
    Some(OsString::from_vec(bytes).into())
}

fn word(pid: pid_t, at: u64) -> Option<u64> {
    ptrace::read(pid, at, 8).ok()?.try_into().ok().map(u64::from_ne_bytes)
}

/// For each buffer of a `writev`: where its length stands, and the length.
fn buffers(pid: pid_t, args: &[u64; 6]) -> Vec<(u64, u64)> {
    let places = (0..args[2]).map(|n| args[1] + 16 * n + 8);
    places.filter_map(|place| Some((place, word(pid, place)?))).collect()
}
