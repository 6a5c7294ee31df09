//! The replacement for the NATS carrier in a program without the feature `nats`.

use crate::base::error::{Error, Result};
use crate::room::Room;
use crate::room::settings::LinkConnection;
use std::fs::File;

/// A connection that this program does not support.
pub(super) enum NatsClient {}

impl NatsClient {
    pub(super) fn start(
        _: &Room,
        connection: &LinkConnection,
        _: &str,
    ) -> Result<(NatsClient, (File, File))> {
        Err(Error::usage(
            format!(
                "the link {} is over NATS, and this program was built without it",
                connection.link
            ),
            "install mailbag from a package, or with `cargo install --path . --features nats` in a checkout",
        ))
    }

    pub(super) fn end(self) -> String {
        match self {}
    }
}
