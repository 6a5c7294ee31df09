//! Whose a room is, and what the person who uses it agreed to.
//!
//! A room of another user may be a trap: nothing in it is read or written before the person said that it may be used.

use super::Room;
use crate::base::error::{Doing, Error, Result};
use crate::disk::{Dir, machine};
use crate::room::consent::{self, Consents, Identity};
use crate::room::registry::Wake;

impl Room {
    /// The user that the room belongs to, asked of the opened directory: what stands at its path may be another by now.
    pub fn owner(&self) -> Result<u32> {
        Ok(self.dir.meta()?.uid)
    }

    /// Does it belong to the user that runs this program?
    pub fn is_own(&self) -> Result<bool> {
        Ok(self.owner()? == rustix::process::geteuid().as_raw())
    }

    /// What tells it from any other room, and from one that is put in its place.
    pub fn identity(&self) -> Result<Identity> {
        let path = self.dir.path().canonicalize().doing("find", self.dir.path())?;
        let (there, own) = (Dir::open_room(&path)?.meta()?, self.dir.meta()?);
        if (there.device, there.inode) != (own.device, own.inode) {
            return Err(Error::Moved {
                what: format!("{} is another directory than a moment ago", path.display()),
                cure: "run the command again".into(),
            });
        }
        // Others may not be let into spool/.
        Ok(Identity { path: consent::path_text(&path)?, room: self.id().unwrap_or_default(), owner: own.uid })
    }

    /// Did the person agree that this program is started? What starts no program needs no consent.
    pub fn agrees(&self, wake: &Wake) -> Result<bool> {
        let Some(program) = wake.program() else { return Ok(true) };
        Ok(Consents::read()?.agrees(&self.identity()?, &program.sha256()))
    }

    /// Fails if it belongs to somebody else, and the person didn't agree to use it.
    pub(super) fn check_trusted(&self) -> Result<()> {
        if self.is_own()? {
            return Ok(());
        }
        let identity = self.identity()?;
        let unread = match Consents::read() {
            Ok(consents) if consents.of(&identity).is_some() => return Ok(()),
            Ok(_) => String::new(),
            Err(e) => format!(" (what you agreed to can't be read: {e})"),
        };
        let path = self.dir.path().display();
        Err(Error::Untrusted {
            what: format!("the room {path} belongs to {}, not to you{unread}", machine::user(identity.owner)),
            cure: format!(
                "nothing in it was used; if you trust its owner, let a person run `mailbag trust {path}`, which shows \
                 what it brings"
            ),
        })
    }
}
