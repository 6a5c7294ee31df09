//! Files outside any room on which a connection depends. Consent holds for their content, because a repository can bring
//! another content to the same path.

use crate::base::error::{Error, Result};
use crate::base::hash::{hash, hex};
use crate::base::limits;
use crate::disk::{UserFile, layout};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A file with credentials or certificates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyFile {
    /// Its path, as the settings have it.
    pub path: String,
    /// The digest of its content. Absent if it could not be read.
    pub sha256: Option<String>,
}

impl KeyFile {
    /// The file as it is now.
    pub fn look(path: &str) -> KeyFile {
        let content = content(path).ok().flatten();
        KeyFile { path: path.to_owned(), sha256: content.map(|content| digest(&content)) }
    }

    /// Its path in full.
    pub fn place(&self) -> PathBuf {
        layout::of_person(&self.path)
    }

    /// May other users of this machine read it?
    pub fn is_open_to_others(&self) -> bool {
        let file = UserFile::read(&self.place(), limits::KEY_FILE);
        file.is_ok_and(|file| file.mode().is_some_and(|mode| mode & 0o077 != 0))
    }

    /// Its content, if that is still the same.
    pub fn read(&self) -> Result<Vec<u8>> {
        let wrong =
            |what: &str, cure: &str| Error::Usage { what: format!("the file {} {what}", self.path), cure: cure.into() };
        let content = content(&self.path)?.ok_or_else(|| wrong("is missing", "put it there, or change the link"))?;
        match self.sha256.as_ref() == Some(&digest(&content)) {
            true => Ok(content),
            false => Err(wrong("has changed", "`mailbag trust` asks again")),
        }
    }
}

fn content(path: &str) -> Result<Option<Vec<u8>>> {
    Ok(UserFile::read(&layout::of_person(path), limits::KEY_FILE)?.bytes().map(<[u8]>::to_vec))
}

fn digest(content: &[u8]) -> String {
    hex(&hash(content))
}
