//! `mailbag link serve`: the end of a link on the machine that another machine connects to.

use super::mirror::{ConnectionPolicy, LinkProgress, mirror};
use crate::base::error::{Error, ErrorContext, Result};
use crate::commands::wait::StandbyRouter;
use crate::room::Room;
use crate::room::settings::Carrier;
use crate::router::daemon;
use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

/// The time that the far end of a connection waits for the end of the previous connection.
const SERVE_WAIT: Duration = Duration::from_secs(5);

/// Serves one link over standard input and output, until the peer ends the connection. Routes mail if no router runs.
pub fn serve(room: &Room, tag: &str) -> Result<()> {
    let at = room.dir.path().display();
    match room.settings()?.links.get(tag).map(|link| link.carrier) {
        None => {
            return Err(Error::not_found(
                format!("the room at {at} has no link {tag}"),
                format!("in that room, add a table [links.{tag}] to settings.toml"),
            ));
        }
        Some(Carrier::Dir) => {
            return Err(Error::usage(
                format!("the link {tag} of the room at {at} is within that machine"),
                format!("in that room, set `carrier = \"none\"` in [links.{tag}]"),
            ));
        }
        Some(Carrier::Nats) => {
            return Err(Error::usage(
                format!("the link {tag} of the room at {at} is over NATS"),
                "in that room, run `mailbag link run`",
            ));
        }
        Some(Carrier::Ssh | Carrier::None) => {}
    }
    // The process of an earlier connection can need some time to notice its end.
    let _held = room.lock_link(tag, SERVE_WAIT)?;
    // The first state that the peer gets must be the present one.
    daemon::pass(room)?;
    let (from, to) = (std::io::stdin(), std::io::stdout());
    let own = |end: std::os::fd::BorrowedFd<'_>| end.try_clone_to_owned().map(File::from);
    let from = own(from.as_fd()).doing("read from", "standard input")?;
    let to = own(to.as_fd()).doing("write to", "standard output")?;
    let done = mirror(
        room,
        tag,
        from,
        to,
        &mut ServingEnd(StandbyRouter::new(room)),
    );
    daemon::pass(room)?;
    done
}

struct ServingEnd(StandbyRouter);

impl ConnectionPolicy for ServingEnd {
    fn continues(&mut self, _: &LinkProgress) -> Result<bool> {
        // If routing fails, the items wait in `in/`, as they do without this process.
        let _ = self.0.tend().inspect_err(|e| tracing::debug!("{e}"));
        Ok(true)
    }
}
