//! The progress of the process that routes in a room. It marks each step by the modification time of its lock file, which
//! works on a full disk as well. A process that was stopped, or that hangs, keeps the lock: other commands must say so.

use super::{Room, RouterHolder};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::{count_of, to_the_second};
use crate::disk::{layout, machine};
use rustix::fs::FileType;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// The longest time between two steps of a router before commands report it. A router that works makes a step at least every
/// [`limits::SWEEP_TRUSTED`].
const ROUTER_SILENT: Duration = Duration::from_secs(60);
const _: () = assert!(limits::SWEEP_TRUSTED.as_millis() * 2 <= ROUTER_SILENT.as_millis());

/// A router that holds the lock and makes no progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StalledRouter {
    /// Its process number, a hint; 0 if unknown.
    pub pid: u32,
    /// Its last sign of progress, RFC 3339.
    pub since: String,
    /// True if a signal or a debugger has stopped the process. False if it hangs, or if this cannot be seen.
    pub stopped: bool,
    /// The number of files that wait for it, up to a limit.
    pub files: usize,
}

impl StalledRouter {
    /// A description for people.
    pub fn describe(&self) -> String {
        let state = if self.stopped {
            "is stopped"
        } else {
            "does not respond"
        };
        let files = match self.files {
            1 => "1 file waits".to_owned(),
            files => format!("{} wait", count_of(files, "file")),
        };
        let pid = self.pid;
        let since = to_the_second(&self.since);
        format!(
            "the router, process {pid}, {state}: it holds the lock and has made no progress since {since}; {files}"
        )
    }

    /// The command that lets mail be delivered again.
    pub fn fix(&self) -> String {
        let signal = if self.stopped { "-CONT " } else { "" };
        format!("kill {signal}{}", self.pid)
    }
}

impl Room {
    /// The router of this room, if one holds the lock and makes no progress. A router that a backup has paused waits on
    /// purpose.
    pub fn stalled(&self) -> Result<Option<StalledRouter>> {
        let Some(RouterHolder { pid, .. }) = self.running_router()? else {
            return Ok(None);
        };
        let Some(lock) = self.dir.stat(layout::LOCK)? else {
            return Ok(None);
        };
        let since = lock.modified_at();
        let stopped = machine::is_stopped(pid);
        let is_silent = !since.is_within(ROUTER_SILENT, Stamp::now());
        if !stopped && (!is_silent || self.is_paused()) {
            return Ok(None);
        }
        Ok(Some(StalledRouter {
            pid,
            since: since.to_string(),
            stopped,
            files: self.waiting_files(limits::LISTED)?,
        }))
    }

    /// Fails if mail waits for a router that makes no progress.
    pub fn check_progress(&self) -> Result<()> {
        match self.stalled()?.filter(|stalled| stalled.files > 0) {
            Some(stalled) => Err(Error::busy(
                stalled.describe(),
                format!("let it continue or end it: `{}`", stalled.fix()),
            )),
            None => Ok(()),
        }
    }

    /// The number of files in outboxes, in the spool and from links that no router has finished, at most `most`.
    pub fn waiting_files(&self, most: usize) -> Result<usize> {
        let mut count = self.picked_up(most)?;
        for tag in self.directories(layout::LINKS)? {
            if let Ok(came) = self.dir.sub(layout::link_in(&tag)) {
                count += super::links::items(&came)?.len();
            }
        }
        // A pass of this user cannot read these outboxes either.
        let Ok(outboxes) = self.dir.sub(layout::OUTBOXES) else {
            return Ok(count.min(most));
        };
        for entry in outboxes.list()? {
            let name = entry?.name;
            if count >= most {
                break;
            }
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let Ok(outbox) = outboxes.sub(&name) else {
                continue;
            };
            let names = outbox
                .list()?
                .flatten()
                .filter(|entry| layout::is_message_file(&entry.name));
            count += names.take(most.saturating_sub(count)).count();
        }
        Ok(count.min(most))
    }

    /// The number of files that a router has picked up, and of copies that it has not delivered, at most `most`.
    pub fn picked_up(&self, most: usize) -> Result<usize> {
        let claims = self.count_names(layout::CLAIM, most)?;
        if claims > 0 {
            Ok(claims)
        } else {
            self.count_names(layout::STAGE, most)
        }
    }

    fn count_names(&self, directory: &str, most: usize) -> Result<usize> {
        match self.dir.sub_if_exists(directory)? {
            Some(dir) => Ok(dir.list()?.take(most).count()),
            None => Ok(0),
        }
    }

    /// The subdirectories of a directory of the room, sorted by name. Empty only if the directory does not exist.
    pub(crate) fn directories(&self, of: impl AsRef<Path>) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let Some(dir) = self.dir.sub_if_exists(of)? else {
            return Ok(names);
        };
        for entry in dir.list()? {
            let entry = entry?;
            let is_dir = matches!(entry.kind, FileType::Directory | FileType::Unknown);
            names.extend(
                entry
                    .name
                    .into_string()
                    .ok()
                    .filter(|name| is_dir && !name.starts_with('.')),
            );
        }
        names.sort_unstable();
        Ok(names)
    }

    fn is_paused(&self) -> bool {
        self.is_locked(layout::TURN_WANTED)
    }
}
