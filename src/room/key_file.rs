//! Files outside any room that a connection depends on. Consent holds for their content, because a repository can place
//! other content at the same path.

use crate::base::error::{Error, Result};
use crate::base::hash::{hash, hex};
use crate::disk::{UserFile, layout};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The largest file with credentials or certificates.
const KEY_FILE: u64 = 1 << 20;

/// A file with credentials or certificates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyFile {
    /// Its path, as the settings have it.
    pub path: String,
    /// The digest of its content. Absent if it could not be read.
    pub sha256: Option<String>,
}

impl KeyFile {
    /// Reads the current state of the file.
    pub fn look(path: &str) -> KeyFile {
        let content = content(path).ok().flatten();
        KeyFile {
            path: path.to_owned(),
            sha256: content.map(|content| digest(&content)),
        }
    }

    /// Its path in full.
    pub fn place(&self) -> PathBuf {
        layout::of_person(&self.path)
    }

    /// Returns true if other users of this machine may read it.
    pub fn is_open_to_others(&self) -> bool {
        let file = UserFile::read(&self.place(), KEY_FILE);
        file.is_ok_and(|file| file.mode().is_some_and(|mode| mode & 0o077 != 0))
    }

    /// Its content, if that is still the same.
    pub fn read(&self) -> Result<Vec<u8>> {
        let (what, fix) = match content(&self.path)? {
            Some(content) if self.sha256.as_ref() == Some(&digest(&content)) => {
                return Ok(content);
            }
            Some(_) => ("has changed", "`mailbag trust` asks again"),
            None => ("is missing", "put it there, or change the link"),
        };
        Err(Error::usage(format!("the file {} {what}", self.path), fix))
    }
}

fn content(path: &str) -> Result<Option<Vec<u8>>> {
    let file = UserFile::read(&layout::of_person(path), KEY_FILE)?;
    file.check_owner()?;
    Ok(file.bytes().map(<[u8]>::to_vec))
}

fn digest(content: &[u8]) -> String {
    hex(&hash(content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_that_others_can_write_or_replace_is_not_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("nats.creds");
        std::fs::write(&path, "secret").expect("a file");
        let name = path.to_str().expect("a name");
        let set = |path: &std::path::Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
        };
        set(&path, 0o600);
        let key = KeyFile::look(name);
        assert_eq!(key.read().expect("it is read"), b"secret");
        for mode in [0o666, 0o620, 0o602, 0o664] {
            set(&path, mode);
            let error = key.read().expect_err("others can write it").to_string();
            assert!(
                error.contains("can be written by other users") && error.contains("chmod 600"),
                "{error}"
            );
            assert_eq!(KeyFile::look(name).sha256, None);
        }
        set(&path, 0o644);
        for (mode, is_read) in [(0o777, false), (0o1777, true), (0o755, true)] {
            set(directory.path(), mode);
            assert_eq!(key.read().is_ok(), is_read, "{mode:o}");
        }
    }
}
