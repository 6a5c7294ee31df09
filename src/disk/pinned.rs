//! A file of the room's people with a beginning that changes, and with lines after it that only grow.

use super::{Dir, file_meta, system};
use crate::base::error::{Doing, Error, Result};
use rustix::fs::{FileType, Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

impl Dir {
    /// The directory that contains this one, wherever it was moved. `None` at the top of the file system. New files in it
    /// get the permissions that the umask allows.
    pub fn above(&self) -> Result<Option<Dir>> {
        let path = self.path.parent().map_or_else(|| self.path.to_path_buf(), Path::to_path_buf);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&*self.fd, "..", flags, Mode::empty()).doing("open", &path)?;
        let above = Dir { fd: Arc::new(fd), path: path.into(), access: super::access::Access::Umask };
        let is_top = above.meta()?.is_same_file(&self.meta()?);
        Ok((!is_top).then_some(above))
    }

    /// As [`Dir::show`], with the part of another file from a byte on after these bytes. With `is_durable`, no power cut
    /// leaves a part of the new file under the name.
    pub fn show_before(
        &self,
        name: &OsStr,
        head: &[u8],
        (rest, from): (&mut File, u64),
        is_durable: bool,
    ) -> Result<()> {
        let temporary = [OsStr::new("."), name, OsStr::new(".tmp")].into_iter().collect::<OsString>();
        self.remove(&temporary)?;
        let mut file = self.create(&temporary, head)?;
        let written = rest.seek(SeekFrom::Start(from)).and_then(|_| std::io::copy(rest, &mut file));
        let done = written.doing_in("write", self.path(), &temporary).and_then(|_| {
            self.keep_permissions(Path::new(name), &file)?;
            if is_durable {
                system::sync_data(file.as_fd()).doing_in("sync", self.path(), &temporary)?;
            }
            rustix::fs::renameat(&*self.fd, &temporary, &*self.fd, name).doing_in("replace", self.path(), name)
        });
        if done.is_err() {
            let _ = self.remove(&temporary);
        }
        done
    }

    /// Adds bytes to the end of a regular file. If the write fails halfway, the added part is removed. A kill can leave a
    /// part.
    pub fn add_to(&self, name: &OsStr, bytes: &[u8]) -> Result<()> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&*self.fd, name, flags | OFlags::NONBLOCK | OFlags::NOCTTY, Mode::empty());
        let mut file = File::from(fd.doing_in("open", self.path(), name)?);
        let length = file_meta(&file).doing_in("look at", self.path(), name)?.size;
        file.write_all(bytes).doing_in("append to", self.path(), name).inspect_err(|_| {
            let _ = rustix::fs::ftruncate(&file, length);
        })
    }

    /// Opens a regular file with one name for reading. `None` if there is none.
    pub fn look_regular(&self, name: &OsStr) -> Result<Option<File>> {
        let Some(meta) = self.stat(name)? else { return Ok(None) };
        let what = match (meta.kind, meta.links) {
            (FileType::RegularFile, 1) => return self.look(name).map(Some),
            (FileType::RegularFile, _) => "has another name (a hard link)",
            (FileType::Symlink, _) => "is a symbolic link",
            (FileType::Directory, _) => "is a directory",
            _ => "is not a regular file",
        };
        let what = format!("{} {what}, so the router does not write it", self.at(name).display());
        Err(Error::Busy { what, cure: "move it to another place, and the router makes the file".into() })
    }
}
