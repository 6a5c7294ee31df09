//! Where a fuzz target makes its rooms: in memory where that can be had, removed when dropped.

use mailbag::room::Room;
use std::fs;
use std::path::{Path, PathBuf};

/// A temporary room.
pub(crate) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    /// A new room with this registry, which syncs nothing.
    pub(crate) fn new(registry: &str) -> Place {
        let memory = Path::new("/dev/shm");
        let mut builder = tempfile::Builder::new();
        builder.prefix("mailbag-fuzz-");
        let directory = if memory.is_dir() {
            builder.tempdir_in(memory)
        } else {
            builder.tempdir()
        };
        let place = Place {
            directory: directory.expect("a temporary directory"),
        };
        Room::init(&place.path("")).expect("a room");
        fs::write(place.path("registry.json"), registry).expect("a file");
        fs::write(place.path("settings.toml"), "").expect("a file");
        place
    }

    /// A path below the room.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join("room").join(below)
    }

    /// The room.
    pub(crate) fn room(&self) -> Room {
        Room::open(&self.path("")).expect("the room that was made")
    }
}
