//! Reports growth of the log to readers of the timeline.

use super::{add, start};
use crate::base::error::Result;
use crate::disk::{Dir, layout};
use notify::{Event, EventKindMask, RecommendedWatcher};

/// Reports that the log may have grown.
pub struct LogWatch {
    _watcher: RecommendedWatcher,
}

impl LogWatch {
    /// Starts to watch the log's directory. A thread of the watcher calls `on_change` when a segment may have grown
    /// or appeared.
    pub fn new(room: &Dir, on_change: impl Fn() + Send + 'static) -> Result<LogWatch> {
        let path = room.make(layout::LOG)?.path().to_path_buf();
        // Reading the log must not wake the reader.
        let mut watcher = start(
            &path,
            EventKindMask::CORE,
            move |_: notify::Result<Event>| on_change(),
        )?;
        add(&mut watcher, &path)?;
        Ok(LogWatch { _watcher: watcher })
    }
}
