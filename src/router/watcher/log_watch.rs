//! Tells a reader of the timeline when the log may have grown.

use super::{add, start};
use crate::base::error::Result;
use crate::disk::{Dir, layout};
use notify::{Event, EventKindMask, RecommendedWatcher};

/// Tells when the log may have grown.
pub struct LogWatch {
    _watcher: RecommendedWatcher,
}

impl LogWatch {
    /// Starts to watch the log's directory. A thread of the watcher calls `told` when a segment may have grown or
    /// appeared.
    pub fn new(room: &Dir, told: impl Fn() + Send + 'static) -> Result<LogWatch> {
        let path = room.make(layout::LOG)?.path().to_path_buf();
        // Appended lines count once the router has noted that they are committed.
        let spool = room.make(layout::SPOOL)?.path().to_path_buf();
        let (log, note) = (path.clone(), room.at(layout::COMMITTED));
        let handler = move |event: notify::Result<Event>| {
            let is_of_log = |event: &Event| {
                event
                    .paths
                    .iter()
                    .any(|path| path.starts_with(&log) || *path == note)
            };
            if event
                .as_ref()
                .map_or(true, |event| event.need_rescan() || is_of_log(event))
            {
                told();
            }
        };
        // Reading the log must not wake the reader.
        let mut watcher = start(&path, EventKindMask::CORE, handler)?;
        for path in [path, spool] {
            add(&mut watcher, &path)?;
        }
        Ok(LogWatch { _watcher: watcher })
    }
}
