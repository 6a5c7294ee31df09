//! Files that the router writes and people edit.

use super::fs::{Meta, Open, ReadLeaseResult};
use super::{Dir, File};
use crate::base::error::{Error, ErrorContext, Result};
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// The new content of a file that other programs may also write.
pub struct SharedFileContent<'a> {
    /// Its first bytes.
    pub head: &'a [u8],
    /// The rest: a file, from this byte on.
    pub rest: Option<(&'a mut File, u64)>,
    /// True if a power cut must leave the old file or the complete new file.
    pub is_durable: bool,
}

impl Dir {
    /// Opens the directory that contains this one, even after a move. `None` at the top of the file system. New files in
    /// it get the permissions that the umask allows.
    pub fn above(&self) -> Result<Option<Dir>> {
        let path = self
            .path
            .parent()
            .map_or_else(|| self.path.to_path_buf(), Path::to_path_buf);
        let opened = self.fs.open(Path::new(".."), Open::Outside);
        let above = Dir {
            fs: opened.doing("open", &path)?,
            path: path.into(),
            is_private: false,
        };
        let is_top = above.meta()?.is_same_file(&self.meta()?);
        Ok((!is_top).then_some(above))
    }

    /// Replaces a file that other programs may also write, in one step, and returns the metadata of the new file. Returns
    /// `None` and changes nothing if the file exists and differs from `before`. Only one process at a time may call it.
    ///
    /// Fails while a program has the file open for writing. If a program opens the file in the last microseconds before
    /// the replacement, its write is lost.
    pub fn put_shared(
        &self,
        name: &OsStr,
        text: SharedFileContent<'_>,
        before: Option<&Meta>,
    ) -> Result<Option<Meta>> {
        let temporary = [OsStr::new("."), name, OsStr::new(".tmp")]
            .into_iter()
            .collect::<OsString>();
        self.remove(&temporary)?;
        let mut file = self.create(&temporary, text.head)?;
        let written = match text.rest {
            Some((rest, from)) => rest
                .seek(SeekFrom::Start(from))
                .and_then(|_| std::io::copy(rest, &mut file))
                .map(drop),
            None => Ok(()),
        };
        let done = written
            .doing_in("write", self.path(), &temporary)
            .and_then(|()| {
                self.keep_permissions(name, &file)?;
                if text.is_durable {
                    file.sync_data().doing_in("sync", self.path(), &temporary)?;
                }
                let draft = file.meta().doing_in("look at", self.path(), &temporary)?;
                // The file is closed before it has its name.
                drop(file);
                if !self.is_free(name, before)? {
                    return Ok(None);
                }
                self.put_over(&temporary, self, name)?;
                // The rename changed one of the times. Another program may have written since.
                let left = self.stat(name)?.filter(|left| left.has_content_of(&draft));
                Ok(Some(left.unwrap_or(draft)))
            });
        if !matches!(done, Ok(Some(_))) {
            let _ = self.remove(&temporary);
        }
        done
    }

    /// Gives the next version of a file the permissions of the existing one.
    fn keep_permissions(&self, name: &OsStr, file: &File) -> Result<()> {
        let Some(there) = self
            .stat(name)?
            .filter(|there| there.kind == FileType::RegularFile)
        else {
            return Ok(());
        };
        file.set_mode(there.mode)
            .doing_in("set the permissions of", self.path(), name)
    }

    /// Returns true if the file is missing, or if it is unchanged and not open for writing.
    fn is_free(&self, name: &OsStr, before: Option<&Meta>) -> Result<bool> {
        let Some(now) = self.stat(name)? else {
            return Ok(true);
        };
        if Some(&now) != before {
            return Ok(false);
        }
        if now.kind == FileType::RegularFile {
            self.check_closed(name)?;
        }
        Ok(true)
    }

    /// Fails while a program has a regular file open for writing.
    pub fn check_closed(&self, name: &OsStr) -> Result<()> {
        if self.look(name)?.lease() == ReadLeaseResult::Writer {
            let what = format!(
                "a program has {} open for writing, so the router does not replace it",
                self.at(name).display()
            );
            return Err(Error::busy(what, "close it there"));
        }
        Ok(())
    }

    /// Adds bytes to the end of a regular file. A failed write leaves no part of them, a kill can.
    pub fn add_to(&self, name: &OsStr, bytes: &[u8]) -> Result<()> {
        let mut file = self.open_file(name, Open::Append, "open")?;
        let length = file.meta().doing_in("look at", self.path(), name)?.size;
        file.write_all(bytes)
            .doing_in("append to", self.path(), name)
            .inspect_err(|_| {
                let _ = file.set_len(length);
            })
    }

    /// Opens a regular file without other hard links for reading. `None` if it does not exist.
    pub fn look_regular(&self, name: &OsStr) -> Result<Option<File>> {
        let Some(meta) = self.stat(name)? else {
            return Ok(None);
        };
        let what = match (meta.kind, meta.links) {
            (FileType::RegularFile, 1) => return self.look(name).map(Some),
            (FileType::RegularFile, _) => "has another name (a hard link)",
            (FileType::Symlink, _) => "is a symbolic link",
            (FileType::Directory, _) => "is a directory",
            _ => "is not a regular file",
        };
        let what = format!(
            "{} {what}, so the router does not write it",
            self.at(name).display()
        );
        Err(Error::busy(
            what,
            "move it to another place, and the router makes the file",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::real::linux_calls;

    fn text(head: &str) -> SharedFileContent<'_> {
        SharedFileContent {
            head: head.as_bytes(),
            rest: None,
            is_durable: false,
        }
    }

    #[test]
    fn a_shared_file_is_replaced_only_if_it_is_unchanged() -> Result<()> {
        let temporary = tempfile::tempdir().expect("a directory");
        let (path, dir) = (temporary.path().join("x"), Dir::open(temporary.path())?);
        let name = OsStr::new("x");
        let read = || std::fs::read_to_string(&path).expect("a text");
        let first = dir
            .put_shared(name, text("one"), None)?
            .expect("it is written");
        assert_eq!((read(), dir.stat(name)?), ("one".into(), Some(first)));
        std::fs::write(&path, "by hand").expect("it is written");
        assert_eq!(dir.put_shared(name, text("two"), Some(&first))?, None);
        assert_eq!(dir.put_shared(name, text("two"), None)?, None);
        assert_eq!(
            (read(), dir.list()?.count()),
            ("by hand".into(), 1),
            "no draft is left"
        );
        let judged = dir.stat(name)?;
        let second = dir.put_shared(name, text("two"), judged.as_ref())?;
        assert_eq!((read(), dir.stat(name)?), ("two".into(), second));
        std::fs::remove_file(&path).expect("it is there");
        assert!(
            dir.put_shared(name, text("three"), second.as_ref())?
                .is_some(),
            "a missing file has no text of others"
        );
        Ok(())
    }

    #[test]
    fn a_shared_file_that_is_open_for_writing_stays() -> Result<()> {
        if !linux_calls() {
            return Ok(()); // Other systems cannot tell.
        }
        let temporary = tempfile::tempdir().expect("a directory");
        let (path, dir) = (temporary.path().join("x"), Dir::open(temporary.path())?);
        let mut writer = std::fs::File::create(&path).expect("it is made");
        let judged = dir.stat("x")?;
        let refused = dir
            .put_shared(OsStr::new("x"), text("new"), judged.as_ref())
            .expect_err("it is open");
        assert!(
            refused.to_string().contains("open for writing"),
            "{refused}"
        );
        writer.write_all(b"whole").expect("it is written");
        drop(writer);
        let judged = dir.stat("x")?;
        assert!(
            dir.put_shared(OsStr::new("x"), text("new"), judged.as_ref())?
                .is_some()
        );
        Ok(())
    }
}
