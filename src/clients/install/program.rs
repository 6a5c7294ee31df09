//! The program that hooks call.

use super::notes;
use crate::base::error::{Error, Result};
use crate::disk::machine;
use std::path::Path;

/// The program to call: by name if the PATH leads to this program, else by path.
pub(in crate::clients) fn program(asked: Option<&Path>) -> Result<String> {
    let plain = |path: &Path| path.to_str().map(str::to_owned);
    let unusable = |path: &Path| {
        Error::usage(
            format!("cannot use {} in client settings", path.display()),
            "use an absolute UTF-8 path that ends in /mailbag",
        )
    };
    if let Some(path) = asked {
        let fits = path.is_absolute() && path.file_name().is_some_and(|name| name == notes::NAME);
        return match plain(path) {
            Some(program) if fits => Ok(program),
            _ => Err(unusable(path)),
        };
    }
    let this = std::env::current_exe()
        .ok()
        .and_then(|path| path.canonicalize().ok());
    let found = machine::program(notes::NAME).and_then(|path| path.canonicalize().ok());
    match this {
        Some(this) if !found.is_some_and(|found| found == this || starts(&found, &this)) => {
            let is_named = this.file_name().is_some_and(|name| name == notes::NAME);
            match plain(&this) {
                Some(program) if is_named => Ok(program),
                _ => Err(unusable(&this)),
            }
        }
        _ => Ok(notes::NAME.to_owned()),
    }
}

/// Is this the script of an npm package that starts this program? npm installs the program of each system as a package,
/// beside or below the one with the script.
fn starts(script: &Path, program: &Path) -> bool {
    let package = |file: &Path| file.parent().and_then(Path::parent).map(Path::to_path_buf);
    let (Some(outer), Some(inner)) = (package(script), package(program)) else {
        return false;
    };
    let is_part = inner
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("mailbag-"));
    is_part
        && outer.ends_with("node_modules/mailbag")
        && inner.parent().is_some_and(|modules| {
            Some(modules) == outer.parent() || modules.parent() == Some(&outer)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_by_name_if_the_path_leads_to_the_npm_package_that_starts_it() {
        let script = Path::new("/usr/lib/node_modules/mailbag/bin/mailbag");
        let starts = |program: &str| starts(script, Path::new(program));
        assert!(starts(
            "/usr/lib/node_modules/mailbag-linux-x64/bin/mailbag"
        ));
        assert!(starts(
            "/usr/lib/node_modules/mailbag/node_modules/mailbag-linux-x64/bin/mailbag"
        ));
        assert!(!starts(
            "/home/a/node_modules/mailbag-linux-x64/bin/mailbag"
        ));
        assert!(!starts("/usr/lib/node_modules/other/bin/mailbag"));
        assert!(!starts("/usr/bin/mailbag"));
    }
}
