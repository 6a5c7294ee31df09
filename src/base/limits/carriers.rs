//! The limits of the carriers that bring mail to other machines.

use std::time::Duration;

/// The number of items that a carrier sends before the other room has committed them.
pub const FLYING_ITEMS: u64 = 1_000;
/// The size in bytes of several items that a carrier sends before the other room has committed them.
pub const FLYING_BYTES: u64 = 16 << 20;
/// The largest frame. No item is larger, so that the router can reject a message that is larger than its room takes.
pub const FRAME_BYTES: u64 = 4 << 20;
/// The interval of a carrier's reports of the state of its room if nothing changes.
pub const CARRIER_BEAT: Duration = Duration::from_secs(15);
/// A carrier ends the connection if its peer is silent for this time.
pub const CARRIER_SILENCE: Duration = Duration::from_secs(60);
const _: () = assert!(CARRIER_SILENCE.as_secs() >= 4 * CARRIER_BEAT.as_secs());
/// The pause before the first attempt to connect again. It doubles up to [`RECONNECT_MOST`].
pub const RECONNECT: Duration = Duration::from_secs(1);
/// The longest pause between two attempts to connect.
pub const RECONNECT_MOST: Duration = Duration::from_secs(60);
/// How often the settings and the person's consent are read again.
pub const LINKS_LOOK: Duration = Duration::from_secs(2);
/// The longest reason that a carrier sends to its peer, in characters.
pub const BYE_CHARS: usize = 400;
/// The time limit for the end of the carriers.
pub const CARRIERS_END: Duration = Duration::from_secs(5);
/// The time limit for a carrier that ends to publish the state of its room on the NATS servers.
pub const NATS_END: Duration = Duration::from_secs(5);
/// The largest part of an item in one NATS message. The servers accept up to 1 MiB by default.
pub const NATS_PART: usize = 256 << 10;
/// The size of a NATS message in addition to a part.
pub const NATS_MORE: usize = 4 << 10;
