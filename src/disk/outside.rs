//! A person's file outside any room. It is read through symbolic links, and changed in one step with its permissions
//! kept.
//!
//! Unlike in a room, a link here is intended: settings that live elsewhere stay there.

use super::directory::synced;
use super::fs::{Meta, Open};
use super::root::root;
use super::{Dir, File, paths};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::process;
use crate::disk::paths::PathQuestions;
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The most symbolic links in a chain.
const LINKS: usize = 40;

/// A file as it was read, or the fact that it did not exist.
#[derive(Debug, Clone)]
pub struct UserFile {
    path: PathBuf,
    real: PathBuf,
    there: Option<ExistingFile>,
    /// True if a new file is a program.
    program: bool,
}

#[derive(Debug, Clone)]
struct ExistingFile {
    bytes: Vec<u8>,
    meta: Meta,
}

impl UserFile {
    /// Reads a file of at most `most` bytes. A missing file is not an error.
    pub fn read(path: &Path, most: u64) -> Result<UserFile> {
        let real = behind_links(path)?;
        let none = UserFile {
            path: path.to_path_buf(),
            real: real.clone(),
            there: None,
            program: false,
        };
        let Some((dir, name)) = place(&real)? else {
            return Ok(none);
        };
        let Some(meta) = dir.stat(&name)? else {
            return Ok(none);
        };
        let Some(bytes) = dir.read(&name, most)? else {
            return Ok(none);
        };
        let there = ExistingFile { bytes, meta };
        Ok(UserFile {
            there: Some(there),
            ..none
        })
    }

    /// The file as a program: if it is new, every user who may read it may also run it.
    pub fn as_program(self) -> UserFile {
        UserFile {
            program: true,
            ..self
        }
    }

    /// The permissions of the file, if it exists.
    pub fn mode(&self) -> Option<u32> {
        self.there.as_ref().map(|there| there.meta.mode & 0o777)
    }

    /// Fails if another user except root could have written or replaced the file.
    pub fn check_owner(&self) -> Result<()> {
        let Some(there) = &self.there else {
            return Ok(());
        };
        super::own::check(&there.meta, &self.path, "600", "use a file of your own")?;
        let Some((dir, _)) = place(&self.real)? else {
            return Ok(());
        };
        let mode = dir.meta()?.mode;
        if mode & 0o002 != 0 && mode & 0o1000 == 0 {
            return Err(Error::state(
                self.path.clone(),
                "is in a directory where all users can replace it, so its content is ignored",
                format!("check it, then run `chmod o-w {}`", dir.path().display()),
            ));
        }
        Ok(())
    }

    /// The path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path after links are resolved.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// The resolved path, if links lead it out of a directory.
    pub fn led_out_of(&self, directory: &Path) -> Result<Option<PathBuf>> {
        let inside = directory.real_path().doing("find", directory)?;
        let existing = self.real.ancestors().find_map(|above| {
            let rest = self.real.strip_prefix(above).ok()?;
            Some((above.real_path().ok()?, rest))
        });
        let (above, rest) = existing.unwrap_or((PathBuf::new(), Path::new("")));
        // The missing part of a path cannot contain links, but it can contain `..`.
        let leaves = rest.components().any(|part| part == Component::ParentDir);
        if above.starts_with(&inside) && !leaves {
            return Ok(None);
        }
        if rest.as_os_str().is_empty() {
            return Ok(Some(above));
        }
        Ok(Some(above.join(rest)))
    }

    /// The content, if the file exists.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.there.as_ref().map(|there| there.bytes.as_slice())
    }

    /// Fails if the file may not be changed. A read-only file is kept, although it could be replaced.
    pub fn check_writable(&self) -> Result<()> {
        if let Some(there) = &self.there
            && (there.meta.mode & 0o222 == 0 || root().open(&self.real, Open::Change).is_err())
        {
            return Err(not_writable("is read-only", &self.path));
        }
        let above = self
            .real
            .ancestors()
            .skip(1)
            .find(|above| above.as_os_str().is_empty() || above.is_there());
        let above = above
            .filter(|above| !above.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        if !above.leads_to_directory() {
            return Err(not_writable("is not a directory", above));
        }
        if Dir::open(above).is_ok_and(|above| above.is_writable()) {
            return Ok(());
        }
        let what = "is a directory without write permission for you";
        Err(not_writable(what, above))
    }

    /// Replaces the content in one step, and creates its directory if needed. If the file has changed since it was
    /// read, it fails and changes nothing. Survives a kill, and after it returns, a power cut.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        self.replace(bytes, self.there.as_ref())
    }

    /// As [`UserFile::write`], with the permissions of another file.
    fn replace(&self, bytes: &[u8], like: Option<&ExistingFile>) -> Result<()> {
        let parent = self
            .real
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        paths::make_directory(parent).doing("create the directory", parent)?;
        let Some((dir, name)) = place(&self.real)? else {
            return self.gone();
        };
        let mut temporary = OsString::from(".");
        temporary.push(&name);
        temporary.push(format!(".{}.tmp", process::id()));
        clear_drafts(&dir, &name)?;
        // The draft is locked until it has its name.
        let written = self
            .draft(&dir, &temporary, bytes, like)
            .and_then(|_locked| {
                if !self.is_same(&dir, &name)? {
                    return self.gone();
                }
                dir.put_over(&temporary, &dir, &name)
            });
        if written.is_err() {
            let _ = dir.remove(&temporary);
        }
        written.and_then(|()| dir.sync())
    }

    /// Saves the content in a backup file with the same permissions. A kill leaves the whole backup or none.
    pub fn keep(&self, backup: &Path) -> Result<()> {
        match &self.there {
            Some(there) => {
                UserFile::read(backup, u64::MAX >> 1)?.replace(&there.bytes, Some(there))
            }
            None => Ok(()),
        }
    }

    /// Removes the file. If the file has changed since it was read, it fails and removes nothing.
    pub fn remove(&self) -> Result<()> {
        let Some((dir, name)) = place(&self.real)? else {
            return Ok(());
        };
        match &self.there {
            Some(there) if !dir.remove_if_same(&name, &there.meta)? => self.gone(),
            Some(_) => dir.sync(),
            None => Ok(()),
        }
    }

    /// Removes empty directories above the file, up to the first one with a name that `is_own` rejects.
    pub fn remove_empty_directories(&self, mut is_own: impl FnMut(&str) -> bool) -> Result<()> {
        for above in self.real.ancestors().skip(1) {
            if !name_of(above).is_some_and(&mut is_own) {
                break;
            }
            let Ok(Some((dir, name))) = place(above) else {
                break;
            };
            dir.remove_empty(name)?;
        }
        Ok(())
    }

    /// Returns true if a killed process left drafts of this file or, if the file does not exist, an empty directory for
    /// it with a name that `is_own` accepts.
    pub fn has_remains(&self, is_own: impl Fn(&str) -> bool) -> Result<bool> {
        let has_drafts = match place(&self.real)? {
            Some((dir, name)) => !drafts(&dir, &name)?.is_empty(),
            None => false,
        };
        let above = self
            .real
            .ancestors()
            .skip(1)
            .take_while(|above| name_of(above).is_some_and(&is_own));
        let nearest = above.into_iter().find_map(|above| Dir::open(above).ok());
        let is_nearest_empty = nearest
            .and_then(|dir| dir.list().ok())
            .is_some_and(|mut entries| entries.next().is_none());
        Ok(has_drafts || self.there.is_none() && is_nearest_empty)
    }

    /// Removes the drafts that killed processes left.
    pub fn clear_drafts(&self) -> Result<()> {
        match place(&self.real)? {
            Some((dir, name)) => clear_drafts(&dir, &name),
            None => Ok(()),
        }
    }

    /// Writes a new file with the permissions of another. Its content is durable, its name is not. It is locked while it
    /// is open.
    fn draft(
        &self,
        dir: &Dir,
        name: &OsString,
        bytes: &[u8],
        like: Option<&ExistingFile>,
    ) -> Result<File> {
        let mut file = dir.create(name, b"")?;
        // Fails only on a file system without locks.
        let _ = file.try_lock();
        if self.program && like.is_none() {
            let mode = file.meta().doing_in("look at", dir.path(), name)?.mode;
            file.set_mode(mode | 0o100 | (mode & 0o044) >> 2).doing_in(
                "set the permissions of",
                dir.path(),
                name,
            )?;
        }
        if let Some(there) = like {
            file.set_mode(there.meta.mode)
                .doing_in("set the permissions of", dir.path(), name)?;
        }
        file.write_all(bytes).doing_in("write", dir.path(), name)?;
        synced(file.sync(), || dir.at(name))?;
        Ok(file)
    }

    fn is_same(&self, dir: &Dir, name: &OsString) -> Result<bool> {
        Ok(dir.stat(name)? == self.there.as_ref().map(|there| there.meta))
    }

    fn gone<T>(&self) -> Result<T> {
        Err(Error::busy(
            format!(
                "{} was changed by another program at the same time",
                self.path.display()
            ),
            "run the command again; the file was not changed",
        ))
    }
}

/// Resolves the symbolic links of a path, even if its last part does not exist.
fn behind_links(path: &Path) -> Result<PathBuf> {
    let mut at = path.to_path_buf();
    for _ in 0..LINKS {
        match paths::read_link(&at) {
            Ok(to) => at = at.parent().map_or(to.clone(), |parent| parent.join(&to)),
            Err(_) => return Ok(at),
        }
    }
    Err(Error::Io {
        verb: "follow the links of",
        path: path.to_path_buf(),
        source: Errno::LOOP.into(),
    })
}

fn not_writable(what: &str, path: &Path) -> Error {
    Error::state(
        path,
        what,
        "give yourself write permission there, or change it by hand; nothing was changed",
    )
}

/// The opened directory of a path, and the name in it. `None` if the directory does not exist.
fn place(path: &Path) -> Result<Option<(Dir, OsString)>> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let Some(name) = path.file_name() else {
        return Ok(None);
    };
    match Dir::open(parent) {
        Ok(dir) => Ok(Some((dir, name.to_owned()))),
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The last part of a path.
fn name_of(path: &Path) -> Option<&str> {
    path.file_name().and_then(OsStr::to_str)
}

/// Removes the drafts of a file that killed processes left.
fn clear_drafts(dir: &Dir, name: &OsStr) -> Result<()> {
    drafts(dir, name)?
        .into_iter()
        .try_for_each(|draft| dir.remove(draft))
}

/// The drafts of a file that killed processes left. A draft is locked while it is written.
fn drafts(dir: &Dir, name: &OsStr) -> Result<Vec<OsString>> {
    let mut left = Vec::new();
    for entry in dir.list()? {
        let draft = entry?.name;
        if is_draft(&draft, name)
            && let Ok(file) = dir.look(&draft)
            && file.try_lock().is_ok_and(|is_ours| is_ours)
        {
            left.push(draft);
        }
    }
    Ok(left)
}

fn is_draft(draft: &OsStr, name: &OsStr) -> bool {
    let rest = draft.as_bytes().strip_prefix(b".");
    let pid = rest.and_then(|rest| {
        let rest = rest.strip_prefix(name.as_bytes())?;
        rest.strip_prefix(b".")?.strip_suffix(b".tmp")
    });
    pid.is_some_and(|pid| !pid.is_empty() && pid.iter().all(u8::is_ascii_digit))
}
