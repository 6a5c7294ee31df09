//! A line of a pack. Each line stores one file, which can be restored byte for byte.

use crate::base::clock::Stamp;
use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A file in a pack.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PackEntry {
    /// Its original path, relative to the room. If the path is not UTF-8, an approximation.
    path: String,
    /// The exact path, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_base64: Option<String>,
    /// The modification time of its content.
    modified: String,
    /// Its content, if it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// Its content, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl PackEntry {
    /// An entry for a file with this content.
    pub(super) fn new(path: &Path, modified: Stamp, bytes: Vec<u8>) -> PackEntry {
        let (content, base64) = match String::from_utf8(bytes) {
            Ok(text) => (Some(text), None),
            Err(e) => (None, Some(BASE64.encode(e.as_bytes()))),
        };
        let raw = path.as_os_str().as_bytes();
        let path_base64 = path.to_str().is_none().then(|| BASE64.encode(raw));
        PackEntry {
            path: path.to_string_lossy().into_owned(),
            path_base64,
            modified: modified.to_string(),
            content,
            base64,
        }
    }

    /// The line with its newline.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("an entry is only text");
        line.push(b'\n');
        line
    }

    /// Reads the output of [`PackEntry::line`].
    pub(super) fn read(line: &[u8]) -> Result<PackEntry, String> {
        serde_json::from_slice(line).map_err(|e| e.to_string())
    }

    /// The original path of the file.
    pub(super) fn path(&self) -> Option<PathBuf> {
        match &self.path_base64 {
            Some(raw) => {
                Some(std::ffi::OsString::from_vec(BASE64.decode(raw.as_bytes()).ok()?).into())
            }
            None => Some(OsStr::new(&self.path).into()),
        }
    }

    /// The content of the file.
    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        match (self.content, self.base64) {
            (Some(text), None) => Some(text.into_bytes()),
            (None, Some(raw)) => BASE64.decode(raw.as_bytes()).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_back_byte_for_byte() {
        let odd = PathBuf::from(std::ffi::OsString::from_vec(
            b"sent/alice/7~\xff\n.json".to_vec(),
        ));
        for (path, bytes) in [
            (
                Path::new("sent/alice/7~x.json"),
                "{\"body\": \"käse 🧀\u{2028}\r\n\"}".as_bytes(),
            ),
            (&odd, b"\xfe\x00\xff".as_slice()),
            (Path::new("rejected/alice/8~empty.json"), b""),
        ] {
            let line = PackEntry::new(path, Stamp::default(), bytes.to_vec()).line();
            assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
            let again = PackEntry::read(&line).expect("its own line");
            assert_eq!(again.path().as_deref(), Some(path));
            assert_eq!(again.into_bytes().as_deref(), Some(bytes));
        }
    }
}
