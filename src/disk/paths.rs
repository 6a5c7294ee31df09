//! Questions about paths outside a room. Symbolic links in them are followed.

use super::File;
use super::fs::{Meta, Open, make_new_directory};
use super::root::root;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::io::{Read, Result};
use std::path::{Path, PathBuf};

/// Questions about a path.
pub trait PathQuestions {
    /// The absolute path without symbolic links.
    fn real_path(&self) -> Result<PathBuf>;

    /// Returns true if something is at the end of this path.
    fn is_there(&self) -> bool;

    /// Returns true if this is the path of a directory.
    fn leads_to_directory(&self) -> bool;

    /// Returns true if this is the path of a regular file.
    fn leads_to_file(&self) -> bool;

    /// Returns true if the last name of this path exists, even as a dangling link.
    fn is_named(&self) -> bool;
}

impl PathQuestions for Path {
    fn real_path(&self) -> Result<PathBuf> {
        root().canonical(self)
    }

    fn is_there(&self) -> bool {
        meta(self).is_ok()
    }

    fn leads_to_directory(&self) -> bool {
        meta(self).is_ok_and(|meta| meta.is_directory())
    }

    fn leads_to_file(&self) -> bool {
        meta(self).is_ok_and(|meta| meta.kind == FileType::RegularFile)
    }

    fn is_named(&self) -> bool {
        root().stat(self).is_ok()
    }
}

/// The metadata at the end of a path.
pub fn meta(path: &Path) -> Result<Meta> {
    let meta = root().stat(path)?;
    if meta.kind == FileType::Symlink {
        return root().stat(&path.real_path()?);
    }
    Ok(meta)
}

/// The target of a symbolic link.
pub fn read_link(path: &Path) -> Result<PathBuf> {
    root().read_link(path)
}

/// The whole content of a file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let file = match root().open(path, Open::Look) {
        // The last name is a link.
        Err(e) if e.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            root().open(&path.real_path()?, Open::Look)
        }
        opened => opened,
    };
    let mut bytes = Vec::new();
    File::from(file?).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The whole content of a text file.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).map_err(std::io::Error::other)
}

/// Creates a directory outside rooms, and missing parents.
pub fn make_directory(path: &Path) -> Result<()> {
    let there = path.ancestors().find(|above| above.is_there());
    let missing = path
        .strip_prefix(there.unwrap_or(Path::new("")))
        .unwrap_or(path);
    let mut at = there.map(Path::to_path_buf).unwrap_or_default();
    for part in missing {
        at.push(part);
        make_new_directory(&*root(), &at, super::directory::OUTSIDE_DIRECTORY)?;
    }
    Ok(())
}
