//! A person's file outside any room. It is read through symbolic links, and changed in one step with its permissions
//! kept.
//!
//! Unlike in a room, a link here is intended: settings that live elsewhere stay there.

use super::directory::synced;
use super::fs::{Meta, Open};
use super::git::resolved;
use super::root::root;
use super::{Dir, paths};
use crate::base::error::{Error, ErrorContext, Result};
use crate::disk::paths::PathQuestions;
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

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
        let mut there = None;
        if let Some((dir, name)) = place(&real)?
            && let Some(meta) = dir.stat(&name)?
            && let Some(bytes) = dir.read(&name, most)?
        {
            there = Some(ExistingFile { bytes, meta });
        }
        Ok(UserFile {
            path: path.to_path_buf(),
            real,
            there,
            program: false,
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
        self.meta().map(|meta| meta.mode & 0o777)
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
        let real = resolved(&self.real);
        Ok((!real.starts_with(&inside)).then_some(real))
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
            .map(or_here)
            .find(|above| above.is_there())
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
        let parent = parent_of(&self.real);
        paths::make_directory(parent).doing("create the directory", parent)?;
        let Some((dir, name)) = place(&self.real)? else {
            return self.gone();
        };
        let draft = draft_of(&name);
        dir.remove(&draft)?;
        let written = self.write_draft(&dir, &draft, bytes, like).and_then(|()| {
            if dir.stat(&name)? != self.meta() {
                return self.gone();
            }
            dir.put_over(&draft, &dir, &name)
        });
        if written.is_err() {
            let _ = dir.remove(&draft);
        }
        written.and_then(|()| dir.sync())
    }

    fn meta(&self) -> Option<Meta> {
        self.there.as_ref().map(|there| there.meta)
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

    /// Removes the file, and the draft that a killed process left. If the file has changed since it was read, it fails and
    /// removes nothing.
    pub fn remove(&self) -> Result<()> {
        let Some((dir, name)) = place(&self.real)? else {
            return Ok(());
        };
        if let Some(meta) = self.meta()
            && !dir.remove_if_same(&name, &meta)?
        {
            return self.gone();
        }
        dir.remove(draft_of(&name))?;
        dir.sync()
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

    /// Returns true if a killed process left a draft of this file or, if the file does not exist, an empty directory for
    /// it with a name that `is_own` accepts.
    pub fn has_remains(&self, is_own: impl Fn(&str) -> bool) -> Result<bool> {
        let place = place(&self.real)?;
        if let Some((dir, name)) = &place
            && dir.stat(draft_of(name))?.is_some()
        {
            return Ok(true);
        }
        let mut above = self
            .real
            .ancestors()
            .skip(1)
            .take_while(|above| name_of(above).is_some_and(&is_own));
        let nearest = above.find_map(|above| Dir::open(above).ok());
        let mut entries = nearest.and_then(|dir| dir.list().ok());
        let is_empty = entries
            .as_mut()
            .is_some_and(|entries| entries.next().is_none());
        Ok(self.there.is_none() && is_empty)
    }

    /// Writes a new file with the permissions of another. Its content is durable, its name is not.
    fn write_draft(
        &self,
        dir: &Dir,
        name: &OsString,
        bytes: &[u8],
        like: Option<&ExistingFile>,
    ) -> Result<()> {
        let mut file = dir.create(name, b"")?;
        let new = file.meta().doing_in("look at", dir.path(), name)?.mode;
        let mode = match like {
            Some(there) => there.meta.mode,
            None if self.program => new | 0o100 | (new & 0o044) >> 2,
            None => new,
        };
        file.set_mode(mode)
            .doing_in("set the permissions of", dir.path(), name)?;
        file.write_all(bytes).doing_in("write", dir.path(), name)?;
        synced(file.sync(), || dir.at(name))
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
    let Some(name) = path.file_name() else {
        return Ok(None);
    };
    match Dir::open(parent_of(path)) {
        Ok(dir) => Ok(Some((dir, name.to_owned()))),
        Err(e) if e.is_missing() => Ok(None),
        Err(e) => Err(e),
    }
}

fn parent_of(path: &Path) -> &Path {
    or_here(path.parent().unwrap_or(path))
}

/// The directory, which is the working directory if the path is empty.
fn or_here(directory: &Path) -> &Path {
    if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    }
}

/// The last part of a path.
fn name_of(path: &Path) -> Option<&str> {
    path.file_name().and_then(OsStr::to_str)
}

/// The name of the new version of a file while it is written.
fn draft_of(name: &OsStr) -> OsString {
    [OsStr::new("."), name, OsStr::new(".mailbag.tmp")]
        .into_iter()
        .collect()
}
