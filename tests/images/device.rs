//! A separate file system for power cuts at any instant: an image on a loop device. ext4 and xfs are shut down by an
//! ioctl. btrfs has no such ioctl: its image is copied at that instant, and the copy is mounted in its place.
#![allow(unsafe_code)] // mount, umount2 and the shutdown ioctl: hundreds of them in a run are too many for programs.

use crate::world::lossy;
use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The time that a file system may be busy with open files of killed programs.
const UNMOUNT_WAIT: Duration = Duration::from_secs(10);
/// Administrators' programs are not always on the path of a test run.
const PROGRAMS: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";

/// A file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ext4,
    Xfs,
    Btrfs,
}

/// All that there are.
pub(crate) const KINDS: [Kind; 3] = [Kind::Ext4, Kind::Xfs, Kind::Btrfs];

/// The content of the journal at the power cut: the values of the ioctl, the same for both file systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Only synced data, and data written back by chance.
    Hard = 2,
    /// A commit in the background has just ended: renames may be durable although the files' bytes were never written.
    AfterCommit = 1,
}

/// A mounted image. Dropping it takes everything away again.
pub(crate) struct PowerDevice {
    kind: Kind,
    home: TempDir,
    device: Option<PathBuf>,
    mounted: bool,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Ext4 => "ext4",
            Kind::Xfs => "xfs",
            Kind::Btrfs => "btrfs",
        })
    }
}

impl Kind {
    /// Why there can be no such device here.
    pub(crate) fn unavailable(self) -> Option<String> {
        if !rustix::process::geteuid().is_root() {
            return Some("it needs root".into());
        }
        if let Err(error) = program("losetup", &["-f"]) {
            return Some(format!("no loop device can be had: {error}"));
        }
        let mkfs = self.mkfs()[0];
        program(mkfs, &["-V"])
            .err()
            .map(|error| format!("there is no {mkfs}: {error}"))
    }

    fn mkfs(self) -> &'static [&'static str] {
        match self {
            // Lazy initialisation would go on writing in the background, long after the mount.
            Kind::Ext4 => &[
                "mkfs.ext4",
                "-q",
                "-F",
                "-E",
                "lazy_itable_init=0,lazy_journal_init=0",
            ],
            Kind::Xfs => &["mkfs.xfs", "-q", "-f"],
            Kind::Btrfs => &["mkfs.btrfs", "-q", "-f"],
        }
    }

    /// Commits of its own accord would come at other moments in each run.
    fn options(self) -> &'static CStr {
        match self {
            Kind::Xfs => c"",
            Kind::Ext4 | Kind::Btrfs => c"commit=300",
        }
    }

    /// The image is sparse, so what mkfs insists on costs nothing.
    fn bytes(self) -> u64 {
        match self {
            Kind::Ext4 => 96 << 20,
            Kind::Xfs => 320 << 20,
            Kind::Btrfs => 128 << 20,
        }
    }
}

/// Hides the mounts of this thread from all but its threads and programs. Otherwise the sandbox of another test, which
/// has a copy of the mounts, would keep the old file system alive after a cut.
pub(crate) fn hide_mounts() -> io::Result<()> {
    thread_local! {
        static HIDDEN: Cell<bool> = const { Cell::new(false) };
    }
    if HIDDEN.replace(true) {
        return Ok(());
    }
    // SAFETY: this call has no pointers.
    done(unsafe { libc::unshare(libc::CLONE_FS | libc::CLONE_NEWNS) })?;
    let (nothing, flags) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
    // SAFETY: a string that lives through the call, and null where nothing is needed.
    done(unsafe { libc::mount(nothing, c"/".as_ptr(), nothing, flags, nothing.cast()) })
}

impl PowerDevice {
    /// A new, empty, mounted file system.
    pub(crate) fn new(kind: Kind) -> io::Result<Self> {
        hide_mounts()?;
        // A cut loses only the file system's memory, so the image itself may also be in memory.
        let memory = Path::new("/dev/shm");
        let home = if memory.is_dir() {
            TempDir::new_in(memory)?
        } else {
            TempDir::new()?
        };
        let mut new = PowerDevice {
            kind,
            home,
            device: None,
            mounted: false,
        };
        File::create(new.image())?.set_len(kind.bytes())?;
        new.attach()?;
        let device = new
            .device
            .as_deref()
            .unwrap_or(Path::new(""))
            .to_string_lossy()
            .into_owned();
        let [mkfs, options @ ..] = kind.mkfs() else {
            unreachable!("mkfs has a name")
        };
        program(mkfs, &[options, &[&device]].concat())?;
        fs::create_dir(new.path())?;
        new.mount()?;
        Ok(new)
    }

    /// Where it is mounted.
    pub(crate) fn path(&self) -> PathBuf {
        self.home.path().join("mnt")
    }

    fn image(&self) -> PathBuf {
        self.home.path().join("image")
    }

    /// Where what stood on the disk when the power went is kept until it returns.
    fn as_cut(&self) -> PathBuf {
        self.home.path().join("as-cut")
    }

    fn attach(&mut self) -> io::Result<()> {
        let device = program(
            "losetup",
            &["-f", "--show", &self.image().to_string_lossy()],
        )?;
        self.device = Some(device.trim().into());
        Ok(())
    }

    /// Cuts the power: whatever is not on the disk by now never will be.
    pub(crate) fn cut(&self, cut: Cut) -> io::Result<()> {
        const EXT4_IOC_SHUTDOWN_AND_XFS_IOC_GOINGDOWN: u32 = 0x8004_587d;
        if self.kind == Kind::Btrfs {
            if cut == Cut::AfterCommit {
                commit_btrfs(&File::open(self.path())?)?;
            }
            let (from, to) = (self.image(), self.as_cut());
            return program(
                "cp",
                &[
                    "--sparse=always",
                    &from.to_string_lossy(),
                    &to.to_string_lossy(),
                ],
            )
            .map(drop);
        }
        let root = File::open(self.path())?;
        let flags = cut as u32;
        // SAFETY: this ioctl reads one u32 through the pointer.
        done(unsafe {
            libc::ioctl(
                root.as_raw_fd(),
                EXT4_IOC_SHUTDOWN_AND_XFS_IOC_GOINGDOWN as _,
                &raw const flags,
            )
        })
    }

    /// Switches it on again: unmounts the old file system, and replays the journal.
    pub(crate) fn remount(&mut self) -> io::Result<()> {
        self.unmount()?;
        if self.as_cut().exists() {
            // A new device, so that nothing of the old one is left in the system's memory.
            if let Some(device) = self.device.take() {
                program("losetup", &["-d", &device.to_string_lossy()])?;
            }
            fs::rename(self.as_cut(), self.image())?;
            self.attach()?;
        }
        self.mount()
    }

    fn mount(&mut self) -> io::Result<()> {
        let device = self
            .device
            .as_deref()
            .ok_or_else(|| io::Error::other("there is no device"))?;
        let (device, path) = (c_string(device)?, c_string(&self.path())?);
        let kind = CString::new(self.kind.to_string())?;
        let options = self.kind.options().as_ptr().cast();
        // SAFETY: four strings that live through the call.
        done(unsafe { libc::mount(device.as_ptr(), path.as_ptr(), kind.as_ptr(), 0, options) })?;
        self.mounted = true;
        Ok(())
    }

    fn unmount(&mut self) -> io::Result<()> {
        let path = c_string(&self.path())?;
        let deadline = Instant::now() + UNMOUNT_WAIT;
        loop {
            // SAFETY: a string that lives through the call.
            match done(unsafe { libc::umount2(path.as_ptr(), 0) }) {
                // A program that another test is just starting holds a copy of every descriptor until its exec.
                Err(error)
                    if error.kind() == ErrorKind::ResourceBusy && Instant::now() < deadline =>
                {
                    thread::yield_now()
                }
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        self.mounted = false;
        Ok(())
    }
}

impl Drop for PowerDevice {
    fn drop(&mut self) {
        if self.mounted
            && let Ok(path) = c_string(&self.path())
        {
            // SAFETY: the string outlives the call. Open files do not prevent detaching.
            unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
        }
        if let Some(device) = &self.device
            && let Err(error) = program("losetup", &["-d", &device.to_string_lossy()])
        {
            eprintln!("{} is left over: {error}", device.display());
        }
    }
}

pub(crate) fn program(name: &str, arguments: &[&str]) -> io::Result<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new(name)
        .args(arguments)
        .env("PATH", format!("{path}:{PROGRAMS}"))
        .output()?;
    if output.status.success() {
        return Ok(lossy(&output.stdout));
    }
    Err(io::Error::other(format!(
        "{name} {}: {}",
        arguments.join(" "),
        lossy(&output.stderr).trim()
    )))
}

/// Commits what btrfs holds, without the bytes that it would have written back in its own time.
fn commit_btrfs(root: &File) -> io::Result<()> {
    const BTRFS_IOC_START_SYNC: u32 = 0x8008_9418;
    const BTRFS_IOC_WAIT_SYNC: u32 = 0x4008_9416;
    let mut transaction = 0u64;
    // SAFETY: this ioctl writes one u64 through the pointer.
    done(unsafe {
        libc::ioctl(
            root.as_raw_fd(),
            BTRFS_IOC_START_SYNC as _,
            &raw mut transaction,
        )
    })?;
    // SAFETY: this one reads it.
    done(unsafe {
        libc::ioctl(
            root.as_raw_fd(),
            BTRFS_IOC_WAIT_SYNC as _,
            &raw const transaction,
        )
    })
}

fn c_string(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
