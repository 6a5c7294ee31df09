//! Tells whoever watches the timeline when the log may have grown.

use super::cannot;
use crate::base::error::Result;
use crate::disk::{Dir, layout};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Tells when the log may have grown.
pub struct LogWatch {
    _watcher: RecommendedWatcher,
}

impl LogWatch {
    /// Begins to watch the log's directory; `told` is called, by a thread of the watcher's, whenever a segment may have
    /// grown or come.
    pub fn new(room: &Dir, told: impl Fn() + Send + 'static) -> Result<LogWatch> {
        let path = room.make(layout::LOG)?.path().to_path_buf();
        // What was appended counts once the router has noted that it is committed.
        let spool = room.make(layout::SPOOL)?.path().to_path_buf();
        let (log, note) = (path.clone(), room.at(layout::COMMITTED));
        let handler = move |event: notify::Result<Event>| {
            // Whoever reads the log makes events of reading it, and must not be woken by them.
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
