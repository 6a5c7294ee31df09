//! An open directory, and the file operations in it.
//!
//! No operation follows a symbolic link below its directory. The comment of each operation says what survives a kill
//! and what survives a power cut.

use super::file::File;
use super::fs::{DirectoryEntry, Existing, Fs, Meta, Open, Sync, make_new_directory};
use super::root::root;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::{process, test_variable};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The permissions of a new directory outside rooms. The umask decides who may read it, and no other user may write to
/// it: files of clients name programs to run.
pub(super) const OUTSIDE_DIRECTORY: u32 = 0o755;

/// An open directory, with its path for error messages. It is cheap to clone.
#[derive(Debug, Clone)]
pub struct Dir {
    pub(super) fs: Arc<dyn Fs>,
    pub(super) path: Arc<Path>,
    /// In a room, new files are for their owner only. Elsewhere the umask decides.
    pub(super) is_private: bool,
}

impl Dir {
    /// Opens a directory outside a room, and follows symbolic links. New files in it get the permissions that the umask
    /// allows.
    pub fn open(path: &Path) -> Result<Dir> {
        Ok(Dir {
            fs: root().open(path, Open::Outside).doing("open", path)?,
            path: path.into(),
            is_private: false,
        })
    }

    /// Opens a directory below this one. A symbolic link in the path is an error.
    pub fn sub(&self, below: impl AsRef<Path>) -> Result<Dir> {
        let path = self.path.join(&below);
        let opened = self.fs.open(below.as_ref(), Open::Directory);
        Ok(Dir {
            fs: opened.doing("open", &path)?,
            path: path.into(),
            is_private: self.is_private,
        })
    }

    /// Opens a directory below this one, and creates missing directories. Survives a kill and a power cut, because the
    /// parents of new directories are synced.
    pub fn make(&self, below: impl AsRef<Path>) -> Result<Dir> {
        self.make_each(below.as_ref(), &mut Dir::sync)
    }

    /// As [`Dir::make`], but a power cut can remove the new directory. For a directory in an inbox: on btrfs a sync of
    /// the inbox alone would leave a just delivered file under two names.
    pub fn make_loose(&self, below: impl AsRef<Path>) -> Result<Dir> {
        self.make_each(below.as_ref(), &mut |_| Ok(()))
    }

    pub(super) fn make_each(
        &self,
        below: &Path,
        made_in: &mut dyn FnMut(&Dir) -> Result<()>,
    ) -> Result<Dir> {
        if let Ok(dir) = self.sub(below) {
            return Ok(dir);
        }
        // In one step: a sandbox may let a directory on the way be passed, and not be opened.
        let (mut at, there) = below
            .ancestors()
            .skip(1)
            .find_map(|above| Some((self.sub(above).ok()?, above)))
            .unwrap_or_else(|| (self.clone(), Path::new("")));
        for part in below.strip_prefix(there).unwrap_or(below).components() {
            let made = make_new_directory(&*at.fs, part.as_ref(), self.directory_mode());
            let is_new = made.doing("create the directory", at.path.join(part))?;
            let inner = at.sub(part)?;
            if is_new {
                made_in(&at)?;
            }
            at = inner;
        }
        Ok(at)
    }

    /// The path that this directory was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in this directory, for messages.
    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// The metadata of a file below this directory. `None` if the file does not exist.
    pub fn stat(&self, name: impl AsRef<Path>) -> Result<Option<Meta>> {
        match self.fs.stat(name.as_ref()) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            stat => stat.map(Some).doing_in("look at", self.path(), name),
        }
    }

    /// The metadata of this directory.
    pub fn meta(&self) -> Result<Meta> {
        self.fs.meta().doing("look at", &self.path)
    }

    /// The names in this directory, in the file system's order, without `.` and `..`. The listing is read in parts, so
    /// a directory with a million files needs little memory.
    pub fn list(&self) -> Result<impl Iterator<Item = Result<DirectoryEntry>> + use<>> {
        let (entries, path) = (self.fs.list().doing("list", &self.path)?, self.path.clone());
        Ok(entries.map(move |entry| entry.doing("list", &path)))
    }

    /// The names in this directory that are UTF-8, in the file system's order.
    pub fn names(&self) -> Result<Vec<String>> {
        let names = self.list()?.map(|entry| Ok(entry?.name.into_string().ok()));
        names.filter_map(Result::transpose).collect()
    }

    fn directory_mode(&self) -> u32 {
        if self.is_private {
            0o700
        } else {
            OUTSIDE_DIRECTORY
        }
    }

    /// The permissions of a new file, before the umask.
    pub(super) fn file_mode(&self) -> u32 {
        if self.is_private { 0o600 } else { 0o644 }
    }

    pub(super) fn open_file(
        &self,
        name: impl AsRef<Path>,
        how: Open,
        verb: &'static str,
    ) -> Result<File> {
        let opened = self.fs.open(name.as_ref(), how);
        Ok(opened.doing_in(verb, self.path(), name)?.into())
    }

    /// Opens a file in this directory for reading. Never blocks and never follows a link.
    pub fn look(&self, name: impl AsRef<Path>) -> Result<File> {
        self.open_file(name, Open::Look, "open")
    }

    /// As [`Dir::sub`]. `None` if the directory does not exist.
    pub fn sub_if_exists(&self, below: impl AsRef<Path>) -> Result<Option<Dir>> {
        none_if_missing(self.sub(below))
    }

    /// As [`Dir::look`]. `None` if the file does not exist.
    pub fn look_if_exists(&self, name: impl AsRef<Path>) -> Result<Option<File>> {
        none_if_missing(self.look(name))
    }

    /// The whole content of a regular file of at most `most` bytes. `None` if the file does not exist.
    pub fn read(&self, name: impl AsRef<Path>, most: u64) -> Result<Option<Vec<u8>>> {
        let name = name.as_ref();
        match self.read_head(name, most)? {
            Some((_, false)) => Err(Error::state(
                self.at(name),
                "is too large",
                "move it to another place",
            )),
            read => Ok(read.map(|(bytes, _)| bytes)),
        }
    }

    /// The first `most` bytes of a regular file, and whether they are the whole file. `None` if it does not exist.
    pub fn read_head(&self, name: impl AsRef<Path>, most: u64) -> Result<Option<(Vec<u8>, bool)>> {
        let name = name.as_ref();
        let Some(file) = self.look_if_exists(name)? else {
            return Ok(None);
        };
        let meta = file.meta().doing_in("look at", self.path(), name)?;
        meta.check_regular(&self.at(name))?;
        let mut bytes = Vec::with_capacity(meta.size.min(most) as usize + 1);
        file.take(most)
            .read_to_end(&mut bytes)
            .doing_in("read", self.path(), name)?;
        let is_whole = meta.size <= bytes.len() as u64;
        Ok(Some((bytes, is_whole)))
    }

    /// The last bytes of a file, at most `most`. The file may grow at the same time.
    pub fn read_end(&self, name: impl AsRef<Path>, most: u64) -> Result<Vec<u8>> {
        let name = name.as_ref();
        let file = self.look(name)?;
        let size = file.meta().doing_in("look at", self.path(), name)?.size;
        let length = size.min(most);
        let mut end = vec![0; length as usize];
        file.read_exact_at(&mut end, size - length)
            .doing_in("read", self.path(), name)?;
        Ok(end)
    }

    /// Creates a file with this content, never over another file. A kill can leave a partial file, which the caller
    /// recognizes by its name and its records. A failure leaves no file. A power cut preserves the file only after a
    /// sync.
    pub fn create(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<File> {
        let name = name.as_ref();
        let mut file = self.open_file(name, Open::Make(self.file_mode()), "make")?;
        if let Err(e) = file.write_all(bytes) {
            let _ = self.remove(name);
            return Err(e).doing_in("write", self.path(), name);
        }
        Ok(file)
    }

    /// Replaces the content of a file in one step: readers see the old content or the new content. Survives a kill, and
    /// after it returns, a power cut.
    pub fn replace(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
        let name = name.as_ref();
        let mut temporary = OsString::from(".");
        temporary.push(name.file_name().unwrap_or_default());
        temporary.push(format!(".{}.tmp", process::id()));
        self.replace_by(name, &name.with_file_name(temporary), bytes)
    }

    /// As [`Dir::replace`], with a given name for the temporary file in the same directory. A kill can leave a part of
    /// the temporary file.
    pub fn replace_by(&self, name: &Path, temporary: &Path, bytes: &[u8]) -> Result<()> {
        self.put_draft(self, temporary, name, bytes)?;
        match name.parent().filter(|p| !p.as_os_str().is_empty()) {
            Some(parent) => self.sub(parent)?.sync(),
            None => self.sync(),
        }
    }

    /// As [`Dir::replace`], with a temporary file of this name in another directory of the same file system.
    pub fn replace_from(
        &self,
        drafts: &Dir,
        draft: &str,
        name: impl AsRef<Path>,
        bytes: &[u8],
    ) -> Result<()> {
        self.put_draft(drafts, draft.as_ref(), name.as_ref(), bytes)?;
        drafts.sync()?;
        self.sync()
    }

    fn put_draft(&self, drafts: &Dir, draft: &Path, name: &Path, bytes: &[u8]) -> Result<()> {
        drafts.remove(draft)?;
        let file = drafts.create(draft, bytes)?;
        synced(file.sync(), || drafts.at(draft))?;
        drafts.put_over(draft, self, name)
    }

    /// As [`Dir::replace`], for content that can be generated again. Nothing is synced, so a power cut can leave any
    /// part of it. Only one process at a time may call it.
    pub fn show(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> Result<()> {
        let name = name.as_ref();
        let temporary = [OsStr::new("."), name, OsStr::new(".tmp")]
            .into_iter()
            .collect::<OsString>();
        let file = match self.create(&temporary, bytes) {
            // A kill has left it.
            Err(e) if e.errno() == Some(libc::EEXIST) => {
                self.remove(&temporary)?;
                self.create(&temporary, bytes)?
            }
            file => file?,
        };
        // The file is closed before it gets its name, so a reader never finds it open for writing.
        drop(file);
        self.put_over(&temporary, self, name)
    }

    /// Creates a symbolic link in one step, and replaces an existing file unless it is the same link. As with
    /// [`Dir::show`], nothing is synced, and only one process at a time may call it.
    pub fn link(&self, name: &str, target: &str) -> Result<()> {
        if self
            .fs
            .read_link(name.as_ref())
            .is_ok_and(|there| there == Path::new(target))
        {
            return Ok(());
        }
        let temporary = format!(".{name}.tmp");
        self.remove(&temporary)?;
        let made = self.fs.make_link(temporary.as_ref(), target.as_ref());
        made.doing_in("create a link", self.path(), &temporary)?;
        self.put_over(&temporary, self, name)
    }

    /// Moves a file in one step, and replaces a file with the new name.
    pub fn put_over(&self, name: impl AsRef<Path>, to: &Dir, new: impl AsRef<Path>) -> Result<()> {
        let new = new.as_ref();
        let done = self
            .fs
            .rename(name.as_ref(), &*to.fs, new, Existing::Replace);
        done.doing_in("replace", to.path(), new)
    }

    /// Moves a file, never over another file. After a kill, the file is complete under one of the two names. It
    /// survives a power cut once both directories are synced, the source first: if only the target is synced, btrfs can
    /// keep both names. If the file already has both names, the old name is removed.
    pub fn rename(
        &self,
        name: impl AsRef<Path>,
        to: &Dir,
        new: impl AsRef<Path>,
        verb: &'static str,
    ) -> Result<()> {
        let (name, new) = (name.as_ref(), new.as_ref());
        match self.fs.rename(name, &*to.fs, new, Existing::Keep) {
            Err(e)
                if e.kind() == ErrorKind::AlreadyExists
                    && self.is_second_name(name, to, new)? =>
            {
                self.remove(name)
            }
            done => done.doing_in(verb, to.path(), new),
        }
    }

    /// Returns true if both are names of the same file.
    fn is_second_name(&self, name: &Path, to: &Dir, new: &Path) -> Result<bool> {
        let (Some(one), Some(other)) = (self.stat(name)?, to.stat(new)?) else {
            return Ok(false);
        };
        let is_same_name = name == new && self.meta()?.is_same_file(&to.meta()?);
        Ok(one.is_same_file(&other) && one.links > 1 && !is_same_name)
    }

    /// Removes a file. A missing file is not an error.
    pub fn remove(&self, name: impl AsRef<Path>) -> Result<()> {
        match self.fs.remove(name.as_ref()) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            done => done.doing_in("remove", self.path(), name),
        }
    }

    /// Removes a file if its metadata is still the same. Returns `false` and removes nothing if the file has changed. A
    /// missing file is not an error. A write between the check and the removal is lost.
    pub fn remove_if_same(&self, name: impl AsRef<Path>, then: &Meta) -> Result<bool> {
        match self.stat(&name)? {
            Some(now) if now != *then => Ok(false),
            Some(_) => self.remove(&name).map(|()| true),
            None => Ok(true),
        }
    }

    /// Removes an empty directory. A missing or non-empty directory is not an error.
    pub fn remove_empty(&self, name: impl AsRef<Path>) -> Result<()> {
        let stays = [
            ErrorKind::NotFound,
            ErrorKind::DirectoryNotEmpty,
            ErrorKind::AlreadyExists,
        ];
        match self.fs.remove_directory(name.as_ref()) {
            Err(e) if stays.contains(&e.kind()) => Ok(()),
            done => done.doing_in("remove", self.path(), name),
        }
    }

    /// Returns true if this process may create and remove names in this directory.
    pub fn is_writable(&self) -> bool {
        self.fs.may_write()
    }

    /// Makes the names in this directory durable.
    pub fn sync(&self) -> Result<()> {
        synced(self.fs.sync(Sync::Full), || self.path.to_path_buf())
    }
}

/// The error of a failed sync. The system's cache can then have bytes that no later sync writes.
pub(super) fn synced<T>(done: io::Result<T>, path: impl FnOnce() -> PathBuf) -> Result<T> {
    done.map_err(|source| Error::Sync {
        path: path(),
        source,
    })
}

fn none_if_missing<T>(opened: Result<T>) -> Result<Option<T>> {
    match opened {
        Err(e) if e.is_missing() => Ok(None),
        opened => opened.map(Some),
    }
}

/// File systems that translate another file system. They may invent inode numbers. The magic numbers are in statfs(2).
const TRANSLATED: [i64; 6] = [
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x517b,      // SMB
    0x6573_5546, // FUSE
    0x0102_1997, // 9P, which WSL and some virtual machines use
    0x786f_4256, // VirtualBox shared folders
];

/// File systems of other machines. Their changes cause no event.
const SILENT: [i64; 3] = [
    0x6969,      // NFS
    0x00c3_6400, // Ceph
    0x5346_414f, // AFS
];

/// Returns true if file events report all changes in a directory. They do not on file systems that other machines can
/// write to.
pub fn events_work(dir: &Dir) -> bool {
    let magic = dir.fs.volume().map(|volume| volume.magic);
    test_variable("MAILBAG_TEST_SILENT").is_none()
        && magic.is_some_and(|magic| !SILENT.contains(&magic) && !TRANSLATED.contains(&magic))
}

/// Returns true if a file in this directory keeps its inode number. Some file systems in user space change it at any
/// time.
pub fn has_stable_inodes(dir: &Dir) -> bool {
    let magic = dir.fs.volume().map(|volume| volume.magic);
    test_variable("MAILBAG_TEST_INODES").is_none()
        && magic.is_some_and(|magic| !TRANSLATED.contains(&magic))
}
