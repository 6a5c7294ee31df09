//! The recording in the README matches the program: it is made again and compared.

use crate::world::skip;
use std::path::Path;
use std::process::Command;

#[test]
fn the_recording_of_the_readme_is_what_two_terminals_show() {
    if let Err(e) = Command::new("tmux").arg("-V").output() {
        return skip(format_args!("tmux does not start: {e}"));
    }
    let program = Path::new(env!("CARGO_BIN_EXE_mailbag"))
        .parent()
        .expect("a directory")
        .display();
    let output = Command::new("docs/recording/record")
        .arg("--check")
        .env(
            "PATH",
            format!("{program}:{}", std::env::var("PATH").unwrap_or_default()),
        )
        .output()
        .expect("python3 runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_recording_is_small_and_shown() {
    let picture = "docs/recording/two-sessions.svg";
    assert!(
        super::read("README.md").contains(picture),
        "the README does not show {picture}"
    );
    let size = std::fs::metadata(picture).expect("the recording").len();
    assert!(size < 60_000, "{picture} has {size} bytes");
}
