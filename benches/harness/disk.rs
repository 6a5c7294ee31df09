//! A fresh file system for every run: a journaled ext4 in an image on a loop device, or tmpfs.

use super::cleanup::{self, Undo};
use anyhow::{Context, Result, ensure};
use rustix::fs::{CWD, Mode, OFlags, openat, syncfs};
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The image's size; it is sparse, so only written blocks take space.
const IMAGE_BYTES: u64 = 4 << 30;
/// Inodes for 100,000 waiting files, their copies, and the directories of 10,000 agents.
const INODES: &str = "600000";

/// The file system of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ext4,
    Tmpfs,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Ext4 => "ext4",
            Kind::Tmpfs => "tmpfs",
        })
    }
}

/// The directory of all runs, and its mounts.
pub(crate) struct Disk {
    work: PathBuf,
    mounts: bool,
}

impl Disk {
    /// Below `work`, which is made and later removed. Without root nothing is mounted, and every case runs on what
    /// `work` is on.
    pub(crate) fn new(work: PathBuf) -> Result<Disk> {
        fs::create_dir_all(work.join("mount")).with_context(|| work.display().to_string())?;
        cleanup::remember(Undo::Remove(work.clone()));
        Ok(Disk {
            work,
            mounts: rustix::process::geteuid().is_root(),
        })
    }

    /// A file beside the mount.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    /// Returns true if file systems are mounted, false for one plain directory.
    pub(crate) fn mounts(&self) -> bool {
        self.mounts
    }

    /// Makes an empty file system of that kind in place of the previous one.
    pub(crate) fn fresh(&self, kind: Kind) -> Result<PathBuf> {
        let mount = self.work.join("mount");
        self.clear();
        if !self.mounts {
            fs::create_dir_all(mount.join("fresh"))?;
            return Ok(mount.join("fresh"));
        }
        cleanup::remember(Undo::Unmount(mount.clone()));
        match kind {
            Kind::Tmpfs => run(Command::new("mount")
                .args(["-t", "tmpfs", "-o", "size=8G,nr_inodes=2m", "bench"])
                .arg(&mount))?,
            Kind::Ext4 => {
                let image = self.work.join("image");
                if !image.exists() {
                    File::create(&image)?.set_len(IMAGE_BYTES)?;
                }
                // The blocks of the image that were once written are kept (nodiscard), so that only the first run pays
                // for them; and nothing is left for the kernel to initialise while a run is measured.
                let options = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
                run(Command::new("mkfs.ext4")
                    .args(["-q", "-F", "-E", options, "-N", INODES])
                    .arg(&image))?;
                run(Command::new("mount")
                    .args(["-o", "loop"])
                    .arg(&image)
                    .arg(&mount))?;
            }
        }
        Ok(mount)
    }

    /// Takes away what [`Disk::fresh`] made.
    pub(crate) fn clear(&self) {
        let mount = self.work.join("mount");
        let undo = Undo::Unmount(mount.clone());
        if self.mounts
            && fs::read_to_string("/proc/mounts")
                .is_ok_and(|all| all.contains(&*mount.to_string_lossy()))
        {
            cleanup::unmount(&mount);
        } else if !self.mounts {
            let _ = fs::remove_dir_all(mount.join("fresh"));
        }
        cleanup::forget(&undo);
    }
}

/// Writes out everything on the file system of `path`, so that a run pays only for its own.
pub(crate) fn settle(path: &Path) -> Result<()> {
    let directory = openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    Ok(syncfs(directory)?)
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
