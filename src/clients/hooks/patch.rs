//! The files that a patch of Codex changes.

use std::path::PathBuf;

/// The lines that name a file.
const NAMES: [&str; 4] = [
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
    "*** Move to: ",
];

/// Every file that the patch adds, changes, deletes or moves.
pub(super) fn files(patch: &str) -> Vec<PathBuf> {
    patch
        .lines()
        .filter_map(|line| {
            NAMES.iter().find_map(|name| {
                line.trim()
                    .strip_prefix(name)
                    .map(|path| path.trim().into())
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_every_file_that_it_touches() {
        let patch = "*** Begin Patch\n*** Update File: a b.rs\n*** Move to: src/c.rs\n@@\n-x\n+*** y\n*** Delete File: d\n*** Add File: /e\n+*\n*** End Patch";
        let names: Vec<PathBuf> = ["a b.rs", "src/c.rs", "d", "/e"].map(PathBuf::from).into();
        assert_eq!((files(patch), files("")), (names, Vec::new()));
    }
}
