//! The program that hooks call.

use super::notes;
use crate::base::error::{Error, Result};
use crate::disk::machine;
use std::path::Path;

/// The program to call: by name if the PATH leads to this program, else by path.
pub(in crate::clients) fn program(asked: Option<&Path>) -> Result<String> {
    let plain = |path: &Path| path.to_str().map(str::to_owned);
    let unusable = |path: &Path| Error::Usage {
        what: format!("cannot use {} in client settings", path.display()),
        cure: "use an absolute UTF-8 path that ends in /mailbag".into(),
    };
    if let Some(path) = asked {
        let fits = path.is_absolute() && path.file_name().is_some_and(|name| name == notes::NAME);
        return plain(path).filter(|_| fits).ok_or_else(|| unusable(path));
    }
    let this = std::env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let found = machine::program(notes::NAME).and_then(|path| path.canonicalize().ok());
    match this {
        Some(this) if found.as_ref() != Some(&this) => {
            let is_named = this.file_name().is_some_and(|name| name == notes::NAME);
            plain(&this).filter(|_| is_named).ok_or_else(|| unusable(&this))
        }
        _ => Ok(notes::NAME.to_owned()),
    }
}
