//! Tells a reader of the timeline when the log may have grown.

use super::cannot;
use crate::base::error::Result;
use crate::disk::{Dir, layout};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

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
            // Reading the log makes events too, which must not wake the reader.
            let matters = |event: &Event| {
                let is_of_log = event.paths.iter().any(|path| path.starts_with(&log) || *path == note);
                event.need_rescan() || is_of_log && !matches!(event.kind, EventKind::Access(_))
            };
            if event.as_ref().map_or(true, matters) {
                told();
            }
        };
        let mut watcher = notify::recommended_watcher(handler).map_err(|e| cannot(&path, e))?;
        for path in [path, spool] {
            watcher.watch(&path, RecursiveMode::NonRecursive).map_err(|e| cannot(&path, e))?;
        }
        Ok(LogWatch { _watcher: watcher })
    }
}
