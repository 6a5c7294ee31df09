//! The limits of the carriers that bring mail to other machines.

use super::ITEMS_AHEAD;
use std::time::Duration;

/// The number of items that a carrier sends before the other room has committed them.
pub const FLYING_ITEMS: u64 = 1_000;
const _: () = assert!(FLYING_ITEMS <= ITEMS_AHEAD);
/// The size of these items in bytes, if there are several.
pub const FLYING_BYTES: u64 = 16 << 20;
/// The largest frame. No item is larger, so that the router can reject a message that is larger than its room takes.
pub const FRAME_BYTES: u64 = 4 << 20;
/// The interval of a carrier's checks of the files of its link if no event reports a change.
pub const CARRIER_LOOK: Duration = Duration::from_millis(500);
/// The interval of a carrier's reports of the state of its room if nothing changes.
pub const CARRIER_BEAT: Duration = Duration::from_secs(15);
/// A carrier ends the connection if its peer is silent for this time.
pub const CARRIER_SILENCE: Duration = Duration::from_secs(60);
const _: () = assert!(CARRIER_SILENCE.as_secs() >= 4 * CARRIER_BEAT.as_secs());
/// An item that is missing for this time is asked for again.
pub const CARRIER_AGAIN: Duration = Duration::from_secs(10);
/// The pause before the first attempt to connect again. It doubles up to [`RECONNECT_MOST`].
pub const RECONNECT: Duration = Duration::from_secs(1);
/// The longest pause between two attempts to connect.
pub const RECONNECT_MOST: Duration = Duration::from_secs(60);
/// How often the settings and the person's consent are read again.
pub const LINKS_LOOK: Duration = Duration::from_secs(2);
/// `mailbag link run --once` gives up if nothing crossed a link for this time.
pub const ONCE_PATIENCE: Duration = Duration::from_secs(60);
/// It gives up earlier, after this time, if a link has stopped: until then a router can have read a newer state.
pub const ONCE_STOPPED: Duration = Duration::from_secs(2);
/// The size of the SSH client's messages that is kept.
pub const SAID_BYTES: usize = 4 << 10;
/// The longest reason that a carrier sends to its peer, in characters.
pub const BYE_CHARS: usize = 400;
/// The number of bytes of frames that are collected before they are written to the peer.
pub const HELD_SAYING: usize = 64 << 10;
/// The number of bytes in one write to a peer that can read: a pipe accepts them without a wait.
pub const SAID_AT_ONCE: usize = 4096;
/// The time that the far end of a connection waits for the end of the previous connection.
pub const SERVE_WAIT: Duration = Duration::from_secs(5);
/// The time limit for the end of the carriers.
pub const CARRIERS_END: Duration = Duration::from_secs(5);
/// The time limit for the end of the SSH client after its input was closed.
pub const SSH_END: Duration = Duration::from_secs(1);
/// The largest file with credentials or certificates.
pub const KEY_FILE: u64 = 1 << 20;
/// The time limit for a connection to NATS servers and the setup there.
pub const NATS_CONNECT: Duration = Duration::from_secs(30);
/// The time limit for one answer of a NATS server.
pub const NATS_ANSWER: Duration = Duration::from_secs(5);
/// The time limit for a carrier that ends to publish the state of its room on the NATS servers.
pub const NATS_END: Duration = Duration::from_secs(5);
/// The largest part of an item in one NATS message. The servers accept up to 1 MiB by default.
pub const NATS_PART: usize = 256 << 10;
/// The size of a NATS message in addition to a part.
pub const NATS_MORE: usize = 4 << 10;
/// The number of messages that a carrier sends to NATS servers before they confirm them.
pub const NATS_FLYING: usize = 256;
/// The number of messages in one request.
pub const NATS_BATCH: usize = 100;
/// The number of messages that NATS servers send before this room has committed them.
pub const NATS_OPEN: i64 = 4 * FLYING_ITEMS as i64;
/// NATS servers send uncommitted messages again after this time.
pub const NATS_REPEAT: Duration = Duration::from_secs(300);
/// If the other room speaks, and commits nothing for this time, everything is sent to it again. It doubles up to
/// [`NATS_STUCK_MOST`].
pub const NATS_STUCK: Duration = Duration::from_secs(60);
/// The longest such time.
pub const NATS_STUCK_MOST: Duration = Duration::from_secs(1024);
/// The default number of NATS servers that keep a stream.
pub const NATS_REPLICAS: u8 = 3;
