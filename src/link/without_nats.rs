//! Stands for the carrier of NATS in a program that was built without it.

use crate::base::error::{Error, Result};
use crate::room::Room;
use crate::room::consent::Connection;
use std::fs::File;

/// A connection that this program cannot make.
pub(super) enum Client {}

impl Client {
    pub(super) fn start(
        _: &Room,
        connection: &Connection,
        _: &str,
    ) -> Result<(Client, (File, File))> {
        Err(Error::Usage {
            what: format!("the link {} is over NATS, and this program was built without it", connection.link),
            cure: "install mailbag from a package, or with `cargo install --path . --features nats` in a checkout"
                .into(),
        })
    }

    pub(super) fn end(self) -> String {
        match self {}
    }
}
