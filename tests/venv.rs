//! Virtual environments of Python with a package that a test needs: made in the target directory, once for all runs.

use crate::world::skip;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A program of an environment, or the reason why it cannot be installed.
pub(crate) type VenvProgram = OnceLock<Result<PathBuf, String>>;

/// The program in the environment with this package, such as `mcp==2.3.0`. `None` where the package cannot be installed; then
/// the test is skipped.
pub(crate) fn program(once: &VenvProgram, package: &str, file: &str) -> Option<PathBuf> {
    match once.get_or_init(|| install(package)) {
        Ok(place) => Some(place.join(file)),
        Err(why) => {
            skip(format_args!("{package} cannot be installed: {why}"));
            None
        }
    }
}

fn install(package: &str) -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .ok_or("no target directory")?;
    let place = target.join(format!("python-{}", package.replace("==", "-")));
    let complete = place.join("complete");
    if !complete.exists() {
        let place = place.display().to_string();
        // The pip of the system fills it: a pip of its own would take longer to install than the package.
        run(&["venv", "--clear", "--without-pip", &place])?;
        run(&[
            "pip",
            "--python",
            &format!("{place}/bin/python"),
            "--disable-pip-version-check",
            "install",
            "--quiet",
            "--no-compile",
            "--retries=1",
            "--timeout=20",
            package,
        ])?;
        std::fs::write(&complete, "").map_err(|e| e.to_string())?;
    }
    Ok(place)
}

fn run(module: &[&str]) -> Result<(), String> {
    let output = Command::new("python3")
        .arg("-m")
        .args(module)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("python3: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(format!(
        "{module:?}: {}",
        String::from_utf8_lossy(&said).trim()
    ))
}
