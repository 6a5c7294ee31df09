//! What `mailbag web` needs of the machine: the password's file, and the person's browser.

use super::{attach, files};
use crate::base::error::{Error, Result};
use std::path::Path;
use std::process::{Command, Stdio};

/// The shortest password.
const SHORTEST: usize = 12;
/// The largest file with a password.
const FILE_BYTES: u64 = 4096;

/// Reads the password, without the line break at its end.
pub fn password(file: &Path) -> Result<String> {
    let bytes = attach::read(&files::find(file)?, FILE_BYTES)?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let password = text.trim_end_matches(['\r', '\n']);
    if password.chars().count() < SHORTEST {
        return Err(Error::Usage {
            what: format!("the password in {} has fewer than {SHORTEST} characters", file.display()),
            cure: "write a longer one, such as `openssl rand -base64 18 > FILE`".into(),
        });
    }
    Ok(password.to_owned())
}

/// Opens a URL in the person's browser, and does not wait for it.
pub fn open(url: &str) -> Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).map_err(|e| Error::Busy {
        what: format!("cannot start `{program}`: {e}"),
        cure: "open the printed URL yourself".into(),
    })
}
