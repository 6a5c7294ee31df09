//! Virtual environments of Python with a package that a test needs: made in the target directory, once for all runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The environment with this package, such as `mcp==2.3.0`. `check` are a program of it and its words, which succeed if the
/// package is there.
pub(crate) fn install(package: &str, check: (&str, &[&str])) -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .ok_or("no target directory")?;
    let place = target.join(format!("python-{}", package.replace("==", "-")));
    let run = |program: &Path, words: &[&str]| {
        let output = Command::new(program)
            .args(words)
            .stdin(Stdio::null())
            .output();
        let output = output.map_err(|e| format!("{}: {e}", program.display()))?;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat())
            .trim()
            .to_owned();
        if output.status.success() {
            Ok(said)
        } else {
            Err(format!("{} {words:?}: {said}", program.display()))
        }
    };
    let is_there = || run(&place.join("bin").join(check.0), check.1);
    if is_there().is_err() {
        run(
            Path::new("python3"),
            &["-m", "venv", "--clear", &place.display().to_string()],
        )?;
        let words = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--retries",
            "1",
            "--timeout",
            "20",
            package,
        ];
        run(
            &place.join("bin/python"),
            &[&words[..], &["--disable-pip-version-check"]].concat(),
        )?;
        is_there()?;
    }
    Ok(place)
}
