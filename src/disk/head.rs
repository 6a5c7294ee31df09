//! Reading the start of a file, for listings.

use super::Dir;
use crate::base::error::{Error, ErrorContext, Result};
use rustix::fs::FileType;
use std::io::Read;
use std::path::Path;

impl Dir {
    /// The first `most` bytes of a regular file, and whether they are the whole file. `None` if it does not exist.
    pub fn read_head(&self, name: impl AsRef<Path>, most: u64) -> Result<Option<(Vec<u8>, bool)>> {
        let name = name.as_ref();
        let Some(file) = self.look_if_exists(name)? else {
            return Ok(None);
        };
        let meta = file.meta().doing_in("look at", self.path(), name)?;
        if meta.kind != FileType::RegularFile {
            return Err(Error::state(
                self.at(name),
                "is not a regular file",
                "move it to another place",
            ));
        }
        let mut bytes = Vec::with_capacity(meta.size.min(most) as usize + 1);
        file.take(most)
            .read_to_end(&mut bytes)
            .doing_in("read", self.path(), name)?;
        let whole = meta.size <= bytes.len() as u64;
        Ok(Some((bytes, whole)))
    }
}
