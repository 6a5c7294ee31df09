//! Stands for the servers of NATS in a build without them.

use crate::harness::child::Programs;
use anyhow::{Result, bail};
use std::path::Path;

/// Servers that this build cannot speak with.
pub(super) enum Servers {}

impl Servers {
    pub(super) fn start(_: &Path, _: &Programs) -> Result<Servers> {
        bail!("this was built without the feature `nats`")
    }

    pub(super) fn address(&self) -> &str {
        match *self {}
    }

    pub(super) fn clear(&self) -> Result<()> {
        match *self {}
    }
}
