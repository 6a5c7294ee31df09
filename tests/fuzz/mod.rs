//! Fuzzing: the functions of the targets in `fuzz/`, and an ordinary test that replays every kept
//! input.
//!
//! libFuzzer runs the targets (`fuzz/run`). Its finds are kept in `fuzz/corpus`. The test `replay`
//! passes them, and the inputs that `seeds` makes of the fixtures, to the same functions.

mod address;
mod log;
mod message;
pub(crate) mod outbox;
mod place;
mod registry;
mod replay;
mod seeds;
mod settings;

/// A target in `fuzz/` includes these files without the other files of the tests.
#[test]
fn the_files_of_a_target_import_no_file_of_the_tests() {
    for target in walkdir::WalkDir::new("fuzz/fuzz_targets")
        .into_iter()
        .flatten()
    {
        if !target.file_type().is_file() {
            continue;
        }
        let text = crate::files::read_text(target.path());
        let paths: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split('"').nth(1))
            .collect();
        assert!(!paths.is_empty(), "{}", target.path().display());
        for path in paths {
            let included =
                crate::files::read_text(std::path::Path::new("fuzz/fuzz_targets").join(path));
            assert!(!included.contains("use crate::"), "{path}");
        }
    }
}
