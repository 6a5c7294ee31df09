//! The person's browser, for `mailbag web`.

use crate::base::error::{Error, ErrorContext, Result};
use std::io::Write;
use std::process::{Command, Stdio};
use tempfile::NamedTempFile;

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
