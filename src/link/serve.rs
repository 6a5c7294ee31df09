//! `mailbag link serve`: the end of a link on the machine to which another one connects.

use super::mirror::{Conduct, Standing, mirror};
use crate::base::error::{Doing, Error, Result};
use crate::base::limits;
use crate::commands::wait::Routing;
use crate::room::Room;
use crate::room::settings::Carrier;
use crate::router::daemon;
use std::fs::File;
use std::os::fd::AsFd;

/// Serves one link over standard input and output, until the peer ends the connection. Meanwhile it delivers mail if no
/// router runs.
pub fn serve(room: &Room, tag: &str) -> Result<()> {
    let at = room.dir.path().display();
    match room.settings()?.links.get(tag).map(|link| link.carrier) {
        None => {
            return Err(Error::NotFound {
                what: format!("the room at {at} has no link {tag}"),
                cure: format!("in that room, add a table [links.{tag}] to settings.toml"),
            });
        }
        Some(Carrier::Dir) => {
            return Err(Error::Usage {
                what: format!("the link {tag} of the room at {at} is within that machine"),
                cure: format!("in that room, set `carrier = \"none\"` in [links.{tag}]"),
            });
        }
        Some(Carrier::Nats) => {
            return Err(Error::Usage {
                what: format!("the link {tag} of the room at {at} is over NATS"),
                cure: "in that room, run `mailbag link run`".into(),
            });
        }
        Some(Carrier::Ssh | Carrier::None) => {}
    }
    // A connection before this one may have to notice that it is over.
    let _held = room.lock_link(tag, limits::SERVE_WAIT)?;
    // So that the first thing that the peer hears is what is so now.
    daemon::pass(room)?;
    let (from, to) = (std::io::stdin(), std::io::stdout());
    let own = |end: std::os::fd::BorrowedFd<'_>| end.try_clone_to_owned().map(File::from);
    let from = own(from.as_fd()).doing("read from", "standard input")?;
    let to = own(to.as_fd()).doing("write to", "standard output")?;
    let done = mirror(room, tag, (from, to), &mut Far(Routing::new(room)));
    daemon::pass(room)?;
    done
}

struct Far(Routing);

impl Conduct for Far {
    fn goes_on(&mut self, _: &Standing) -> Result<bool> {
        // Without a router the items wait in `in/`, as they would without this process.
        let _ = self.0.tend().inspect_err(|e| tracing::debug!("{e}"));
        Ok(true)
    }
}
