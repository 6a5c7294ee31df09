//! Appending to the log: append-only NDJSON segments, one complete batch at a time.
//!
//! Another program can restore, replace, shorten, extend or move the log at any time. So the log is compared before each
//! batch with the log that the previous batch left, and again between the append and the first effect of the batch.

use super::tip::TipFile;
use super::{LogPosition, LogTip};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::test_sizes;
use crate::disk::{self, AppendFile, Dir, Meta, layout};
use std::io::Read;
use std::path::Path;

/// The open end of the log. Only the holder of the room's lock may have one.
pub struct Log {
    room: Dir,
    dir: Dir,
    append: AppendFile,
    tip_file: TipFile,
    /// True if the segment's name is durable.
    named: bool,
    /// The segment that the next batch is appended to.
    segment: u32,
    /// The last committed record.
    tip: LogTip,
    /// The directory `log/` as the last batch left it.
    home: Meta,
    /// The segment as the last batch left it.
    left: Meta,
}

impl Log {
    /// Opens the log to append after `tip`, the last record. Fails if the log does not end there.
    pub fn open(room: &Dir, tip: LogTip) -> Result<Log> {
        let dir = room.make(layout::LOG)?;
        let LogPosition { segment, offset } = tip.end;
        let append = AppendFile::open(&dir, &layout::segment(segment), None)?;
        let (home, left) = (dir.meta()?, append.meta()?);
        if left.size != offset || tip.seq > 0 && !tip.is_in(room)? {
            return Err(moved(
                &dir.at(layout::segment(segment)),
                "was changed while the router started",
            ));
        }
        // The content of the segment was made durable together with its name.
        Ok(Log {
            room: room.clone(),
            dir,
            append,
            tip_file: TipFile::open(room),
            named: offset > 0,
            segment,
            tip,
            home,
            left,
        })
    }

    /// Writes the last record to `spool/tip`. It must be durable.
    pub fn write_tip(&self) {
        self.tip_file.write(&self.tip);
    }

    /// Fails if the log at its path is not the log that the last batch left. Needs two `fstatat` calls while nothing
    /// has changed.
    pub fn check(&mut self) -> Result<()> {
        let home = self.room.stat(layout::LOG)?.filter(Meta::is_directory);
        let home = home.filter(|home| self.is_same(&self.home, home));
        let home =
            home.ok_or_else(|| moved(&self.room.at(layout::LOG), "was removed or replaced"))?;
        if home.modified != self.home.modified {
            self.check_newest()?;
            self.home = home;
        }
        let there = self.there()?;
        if there.size != self.left.size {
            return Err(self.resized(there.size, self.left.size));
        }
        if there.modified != self.left.modified || !there.is_same_file(&self.left) {
            self.check_last_line()?;
            self.left = there;
        }
        Ok(())
    }

    /// Fails if there is a newer segment. An empty one is left by a router that was killed before its first batch in it.
    fn check_newest(&self) -> Result<()> {
        for number in super::live(&self.room)?
            .into_iter()
            .filter(|&number| number > self.segment)
        {
            let name = layout::segment(number);
            if self.dir.stat(&name)?.is_some_and(|meta| meta.size > 0) {
                return Err(moved(&self.dir.at(name), "was written by another program"));
            }
        }
        Ok(())
    }

    /// The newest segment at its path. Fails if that is not the file that this router writes to.
    fn there(&self) -> Result<Meta> {
        let there = self.room.stat(layout::live_segment(self.segment))?;
        let there = there.filter(|there| self.is_same(&self.left, there));
        there.ok_or_else(|| self.moved("was removed or replaced"))
    }

    /// Returns true if this can still be the same file. On a file system that gives a file another inode number at any
    /// time, length and content decide.
    fn is_same(&self, left: &Meta, there: &Meta) -> bool {
        left.is_same_file(there) || !disk::has_stable_inodes(&self.dir) && left.kind == there.kind
    }

    /// For a segment of the same length that was written to, or that has another inode number.
    fn check_last_line(&self) -> Result<()> {
        if self.append.meta()?.links == 0 {
            return Err(self.moved("was replaced"));
        }
        if self.tip.seq > 0
            && self.tip.end.segment == self.segment
            && !self.tip.is_in(&self.room)?
        {
            return Err(self.moved("was changed: its last line is another one"));
        }
        Ok(())
    }

    fn resized(&self, is: u64, was: u64) -> Error {
        let how = if is < was {
            "was shortened"
        } else {
            "was written to by another program"
        };
        self.moved(&format!("{how}: it has {is} bytes instead of {was}"))
    }

    fn moved(&self, how: &str) -> Error {
        moved(&self.dir.at(layout::segment(self.segment)), how)
    }

    /// The position of the next batch. If the current segment has exceeded its size limit, this starts a new one and
    /// makes its name durable: otherwise a durable batch could be lost with the segment's name.
    pub fn end(&mut self) -> Result<LogPosition> {
        if self.append.length() >= test_sizes::segment_bytes() {
            let name = layout::segment(self.segment + 1);
            let append = AppendFile::open(&self.dir, &name, None)?;
            if append.length() > 0 {
                return Err(moved(&self.dir.at(name), "was written by another program"));
            }
            self.dir.sync()?;
            (self.segment, self.append, self.named) = (self.segment + 1, append, true);
            (self.home, self.left) = (self.dir.meta()?, self.append.meta()?);
        }
        Ok(LogPosition {
            segment: self.segment,
            offset: self.append.length(),
        })
    }

    /// Appends the lines of a batch. A failure can leave a part of them, which recovery cuts off. Fails for good if the
    /// log at its path did not grow by these lines: another program wrote to it at the same time, or the file is no
    /// longer the log.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        self.append.append(lines)?;
        self.left = self.check_appended()?;
        Ok(())
    }

    /// The newest segment after an append. Fails if another program changed it since [`Log::check`]. A change that
    /// keeps the length shows in the last line before the batch.
    fn check_appended(&self) -> Result<Meta> {
        let there = self.there()?;
        if there.size != self.append.length() {
            return Err(self.resized(there.size, self.append.length()));
        }
        self.check_last_line()?;
        Ok(there)
    }

    /// The commit point of a batch that ends with `tip`: makes the appended lines durable, and then writes
    /// `spool/tip`.
    pub fn commit(&mut self, tip: LogTip) -> Result<()> {
        self.append.sync()?;
        if !self.named {
            self.dir.sync()?;
            self.named = true;
        }
        self.tip = tip;
        self.write_tip();
        Ok(())
    }
}

fn moved(path: &Path, how: &str) -> Error {
    Error::moved(
        format!("{} {how}", path.display()),
        "nothing more was delivered; run `mailbag log verify`, then start the router again",
    )
}

/// Replaces the newest segment by a new file with its complete batches, and makes that durable. Bytes after them go.
///
/// After a failed sync, the system keeps the bytes in memory and marks them as written: reads return them, and the next
/// sync succeeds without writing them. Only another file gets them to the disk.
pub fn renew(room: &Dir, end: LogPosition) -> Result<()> {
    let dir = room.make(layout::LOG)?;
    // A later segment has no complete batch.
    for later in super::live(room)? {
        if later > end.segment {
            dir.remove(layout::segment(later))?;
        }
    }
    let name = layout::segment(end.segment);
    let Some(old) = dir.look_if_exists(&name)? else {
        return Ok(());
    };
    let mut bytes = Vec::with_capacity(end.offset as usize);
    let read = old.take(end.offset).read_to_end(&mut bytes);
    read.doing_in("read", dir.path(), &name)?;
    dir.replace_by(name.as_ref(), layout::SEGMENT_DRAFT.as_ref(), &bytes)
}
