//! The program that hooks call.

use super::notes;
use crate::base::error::{Error, Result};
use crate::disk::machine;
use crate::disk::paths::PathQuestions;
use std::path::Path;

/// The program to call: by name if the PATH leads to this program, else by path.
pub(in crate::clients) fn program(asked: Option<&Path>) -> Result<String> {
    if let Some(path) = asked {
        return program_at(path);
    }
    let this = std::env::current_exe()
        .ok()
        .and_then(|path| path.real_path().ok());
    let found = machine::program(notes::NAME).and_then(|path| path.real_path().ok());
    match this {
        Some(this) if !found.is_some_and(|found| found == this || starts(&found, &this)) => {
            program_at(&this)
        }
        _ => Ok(notes::NAME.to_owned()),
    }
}

/// The program at a path, as client settings name it.
fn program_at(path: &Path) -> Result<String> {
    let is_usable = path.is_absolute() && path.file_name().is_some_and(|name| name == notes::NAME);
    match path.to_str() {
        Some(program) if is_usable => Ok(program.to_owned()),
        _ => Err(Error::usage(
            format!("cannot use {} in client settings", path.display()),
            "use an absolute UTF-8 path that ends in /mailbag",
        )),
    }
}

/// Returns true for the script of an npm package that starts this program. npm installs the program of each system as a
/// package, beside or below the package with the script. Both are in `bin/` of their package.
fn starts(script: &Path, program: &Path) -> bool {
    let (Some(outer), Some(inner)) = (script.ancestors().nth(2), program.ancestors().nth(2)) else {
        return false;
    };
    let is_part = inner
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("mailbag-"));
    is_part
        && outer.ends_with("node_modules/mailbag")
        && inner.parent().is_some_and(|modules| {
            Some(modules) == outer.parent() || modules.parent() == Some(outer)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_by_name_if_the_path_leads_to_the_npm_package_that_starts_it() {
        let script = Path::new("/usr/lib/node_modules/mailbag/bin/mailbag");
        for (program, is_started) in [
            ("/usr/lib/node_modules/mailbag-linux-x64/bin/mailbag", true),
            (
                "/usr/lib/node_modules/mailbag/node_modules/mailbag-linux-x64/bin/mailbag",
                true,
            ),
            ("/home/a/node_modules/mailbag-linux-x64/bin/mailbag", false),
            ("/usr/lib/node_modules/other/bin/mailbag", false),
            ("/usr/bin/mailbag", false),
        ] {
            assert_eq!(starts(script, Path::new(program)), is_started, "{program}");
        }
    }
}
