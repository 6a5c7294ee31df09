//! Real file systems on images. A test can cut their power.
//!
//! [`device`] makes them, and [`device_itself`] shows that synced data stays and other data is lost.

pub(crate) mod device;
mod device_itself;
