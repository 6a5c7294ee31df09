//! Writes the template of a charter.

use crate::base::error::{Error, Result};
use crate::base::written_path::write_path;
use crate::disk::{self, layout};
use crate::message::id;
use crate::room::Room;
use crate::room::actor::require_person;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A charter that people complete. Its examples are comments, so that no agent works on them.
const TEMPLATE: &str = "\
# Charter

What this room works on, and who answers for what. `mailbag context` shows it to
the agents. Each change is recorded and told to the human.

## Goals

<!-- - Users can sign in with a passkey -->

## Lanes

<!-- One line for each lane: its name, its owners, and its paths. Mail to lane:web, or to
     @web, reaches the owners.
- web: alice, bob (src/web/**)
- review: all_reviewers
-->

## Acceptance criteria

<!-- - All tests pass on Linux and macOS -->

## Settings

<!-- What the agents agree on. Settings of the program are in settings.toml.
- branch: main
-->
";

/// The written file.
#[derive(Debug, Serialize)]
pub struct CharterTemplate {
    /// Its path.
    #[serde(serialize_with = "write_path")]
    pub path: PathBuf,
}

/// Writes the template, never over another file.
pub fn init(room: &Room) -> Result<CharterTemplate> {
    require_person("write the charter")?;
    let path = room.dir.at(layout::CHARTER);
    if room.dir.stat(layout::CHARTER)?.is_some() {
        return Err(exists_already(&path));
    }
    let trouble = disk::put(
        &room.dir,
        layout::CHARTER,
        &layout::charter_draft(&id::mint()),
        TEMPLATE.as_bytes(),
    );
    match trouble {
        Err(e) if e.errno() == Some(libc::EEXIST) => Err(exists_already(&path)),
        Err(e) | Ok(Some(e)) => Err(e),
        Ok(None) => Ok(CharterTemplate { path }),
    }
}

fn exists_already(path: &Path) -> Error {
    Error::usage(
        format!("{} exists already", path.display()),
        "edit it; `mailbag charter` shows it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::charter::Charter;

    #[test]
    fn the_template_says_nothing_until_it_is_completed() {
        assert_eq!(Charter::parse(TEMPLATE), Charter::default());
        let completed = TEMPLATE.replace("<!--", "").replace("-->", "");
        let charter = Charter::parse(&completed);
        assert_eq!(
            (
                charter.problems,
                charter.lanes.len(),
                charter.settings.len()
            ),
            (Vec::new(), 2, 1)
        );
    }
}
