//! Reading the end of a file that another program writes.

use super::{Dir, charge_read};
use crate::base::error::{ErrorContext, Result};
use std::path::Path;

impl Dir {
    /// The last bytes of a file, at most `most`. The file may grow at the same time.
    pub fn read_end(&self, name: impl AsRef<Path>, most: u64) -> Result<Vec<u8>> {
        let name = name.as_ref();
        let file = self.look(name)?;
        let size = file.meta().doing_in("look at", self.path(), name)?.size;
        let length = size.min(most);
        charge_read(length).doing_in("read", self.path(), name)?;
        let mut end = vec![0; length as usize];
        file.read_exact_at(&mut end, size - length)
            .doing_in("read", self.path(), name)?;
        Ok(end)
    }
}
