//! The password's file and the person's browser, for `mailbag web`.

use super::files;
use crate::base::error::{Error, ErrorContext, Result};
use crate::disk::UserFile;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::NamedTempFile;

/// The shortest password.
const SHORTEST: usize = 12;
/// The largest file with a password.
const FILE_BYTES: u64 = 4096;

/// Reads the password, without the line break at its end.
pub fn password(file: &Path) -> Result<String> {
    let there = UserFile::read(&files::find(file)?, FILE_BYTES)?;
    there.check_owner()?;
    let text = String::from_utf8(there.bytes().unwrap_or_default().to_vec()).unwrap_or_default();
    let password = text.trim_end_matches(['\r', '\n']);
    if password.chars().count() < SHORTEST {
        return Err(Error::usage(
            format!(
                "the password in {} has fewer than {SHORTEST} characters",
                file.display()
            ),
            "write a longer one, such as `openssl rand -base64 18 > FILE`",
        ));
    }
    Ok(password.to_owned())
}

/// Opens a URL in the person's browser, and does not wait for it. The returned file redirects to the URL; it must live until the
/// browser has read it. Arguments of a process are visible to other users, so the URL with its token is not an argument.
pub fn open(url: &str) -> Result<NamedTempFile> {
    let file = tempfile::Builder::new()
        .prefix("mailbag-")
        .suffix(".html")
        .tempfile();
    let mut file = file.doing("make a file that opens", "the page")?;
    let text = format!(
        "<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>mailbag</title>\n"
    );
    file.write_all(text.as_bytes())
        .doing("write to", file.path())?;
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(program);
    command
        .arg(file.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().map_err(|e| {
        Error::busy(
            format!("cannot start `{program}`: {e}"),
            "open the printed URL yourself",
        )
    })?;
    Ok(file)
}
