//! The helper files for other languages, one file each.

use crate::base::error::{Error, Result};
use crate::disk::Dir;
use crate::message::address::quoted;
use std::path::Path;

/// A language with a helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelperLanguage {
    /// Python 3.9 or later.
    Python,
    /// TypeScript for Node 20 or later.
    TypeScript,
    /// Any POSIX shell.
    Shell,
}

/// The helper's source.
pub fn source(language: HelperLanguage) -> &'static str {
    match language {
        HelperLanguage::Python => include_str!("mailbag.py"),
        HelperLanguage::TypeScript => include_str!("mailbag.ts"),
        HelperLanguage::Shell => include_str!("mailbag.sh"),
    }
}

/// Writes the helper to a file atomically. Replaces an earlier helper, but no other file.
pub fn write(language: HelperLanguage, file: &Path) -> Result<()> {
    let parent = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let shown = quoted(&file.display().to_string());
    let Some(name) = file.file_name() else {
        let what = format!("{shown} is not a file path");
        return Err(Error::usage(what, "pass a path such as -o DIR/mailbag.py"));
    };
    let dir = Dir::open(parent)?;
    let source = source(language);
    let is_helper =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("`mailbag generate helper ");
    match dir.read(name, 1 << 20) {
        Ok(None) => {}
        Ok(Some(bytes)) if is_helper(&bytes) => {}
        Ok(Some(_)) | Err(Error::State { .. }) => {
            let what = format!("{shown} already exists and is not a helper");
            return Err(Error::usage(
                what,
                "choose another name, or remove the file",
            ));
        }
        Err(e) => return Err(e),
    }
    dir.replace(name, source.as_bytes())
}
