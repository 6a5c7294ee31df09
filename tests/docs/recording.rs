//! The recordings in the docs. The recording of two terminals is made again and compared. The recording of two clients
//! needs the clients' own programs.

use crate::world::skip;
use std::path::Path;
use std::process::Command;

#[test]
fn the_recording_of_the_tutorial_is_what_two_terminals_show() {
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
fn the_recordings_are_small_and_shown() {
    for (page, picture) in [
        ("README.md", "docs/recording/two-agents.svg"),
        ("docs/tutorial.md", "recording/two-sessions.svg"),
    ] {
        assert!(
            super::read(page).contains(picture),
            "{page} does not show {picture}"
        );
        let file = Path::new(page).parent().expect("a directory").join(picture);
        let size = std::fs::metadata(&file).expect("the recording").len();
        assert!(size < 60_000, "{picture} has {size} bytes");
    }
}
