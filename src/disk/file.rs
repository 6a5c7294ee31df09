//! An open file, with a place for reading and writing.

use super::fs::{Fs, Lock, Meta, ReadLeaseResult, Sync};
use rustix::io::Errno;
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// An open file. A clone is the same open file with its own place; so it shares the lock.
#[derive(Debug, Clone)]
pub struct File {
    pub(super) fs: Arc<dyn Fs>,
    /// The place of the next read or write, in bytes.
    at: u64,
}

impl From<Arc<dyn Fs>> for File {
    fn from(fs: Arc<dyn Fs>) -> File {
        File { fs, at: 0 }
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> File {
        super::real::given(fd).into()
    }
}

impl File {
    /// The metadata of the file.
    pub fn meta(&self) -> Result<Meta> {
        self.fs.meta()
    }

    /// Fills `bytes` from this place of the file. A shorter file is an error.
    pub fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.fs.read_at(&mut bytes[done..], at + done as u64) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(more) => done += more,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Writes all bytes at this place. A failure or a kill can leave a part of them.
    pub fn write_all_at(&self, bytes: &[u8], at: u64) -> Result<()> {
        let mut file = File {
            fs: Arc::clone(&self.fs),
            at,
        };
        file.write_all(bytes)
    }

    /// Cuts the file, or extends it by zeros.
    pub fn set_len(&self, length: u64) -> Result<()> {
        self.fs.set_len(length)
    }

    /// Sets the modification time; `None` is now.
    pub fn set_modified(&self, time: Option<i128>) -> Result<()> {
        self.fs.set_modified(time)
    }

    /// Sets the permissions.
    pub fn set_mode(&self, mode: u32) -> Result<()> {
        self.fs.set_mode(mode & 0o777)
    }

    /// Takes the lock of the file, unless another open file has it.
    pub fn try_lock(&self) -> Result<bool> {
        self.fs.lock(Lock::Exclusive)
    }

    /// Takes the lock of the file together with others that share it.
    pub fn try_lock_shared(&self) -> Result<bool> {
        self.fs.lock(Lock::Shared)
    }

    /// Gives the lock back.
    pub fn unlock(&self) -> Result<()> {
        self.fs.lock(Lock::Free).map(drop)
    }

    /// Asks for a read lease to find out whether another process has this file open for writing. The lease is released
    /// immediately.
    pub fn lease(&self) -> ReadLeaseResult {
        self.fs.lease()
    }

    /// Makes the content, the times and the permissions durable.
    pub fn sync(&self) -> Result<()> {
        self.fs.sync(Sync::Full)
    }

    /// Makes the content durable.
    pub fn sync_data(&self) -> Result<()> {
        self.fs.sync(Sync::Data)
    }
}

impl Read for File {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let read = self.fs.read_at(bytes, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let written = self.fs.write_at(bytes, self.at)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(by) => (self.at, by),
            SeekFrom::End(by) => (self.meta()?.size, by),
        };
        self.at = from.checked_add_signed(by).ok_or(Errno::INVAL)?;
        Ok(self.at)
    }
}
