//! The limits of the carriers that bring mail to other machines.

use super::ITEMS_AHEAD;
use std::time::Duration;

/// How many items a carrier sends that the other room has not committed.
pub const FLYING_ITEMS: u64 = 1_000;
const _: () = assert!(FLYING_ITEMS <= ITEMS_AHEAD);
/// How many bytes of such items, if it is more than one.
pub const FLYING_BYTES: u64 = 16 << 20;
/// The largest frame. No item is larger, so that the router can reject a message that is larger than its room takes.
pub const FRAME_BYTES: u64 = 4 << 20;
/// How often a carrier looks at the files of its link where no event tells of a change.
pub const CARRIER_LOOK: Duration = Duration::from_millis(500);
/// How often a carrier says how far its room is, if nothing changes.
pub const CARRIER_BEAT: Duration = Duration::from_secs(15);
/// A carrier whose peer is silent for this time ends the connection.
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
/// How much of what the SSH client says is kept.
pub const SAID_BYTES: usize = 4 << 10;
/// The longest reason that a carrier tells its peer, in characters.
pub const BYE_CHARS: usize = 400;
/// How many bytes of frames are collected before they are written to the peer.
pub const HELD_SAYING: usize = 64 << 10;
/// How much is written at once to a peer that can read: a pipe takes it without a wait.
pub const SAID_AT_ONCE: usize = 4096;
/// How long the far end of a connection waits for the end of the connection before.
pub const SERVE_WAIT: Duration = Duration::from_secs(5);
/// How long the carriers have to end.
pub const CARRIERS_END: Duration = Duration::from_secs(5);
/// How long the SSH client has to end after its input was closed.
pub const SSH_END: Duration = Duration::from_secs(1);
/// The largest file with credentials or certificates.
pub const KEY_FILE: u64 = 1 << 20;
/// How long a connection to servers of NATS and what it needs there may take.
pub const NATS_CONNECT: Duration = Duration::from_secs(30);
/// How long a server of NATS has for one answer.
pub const NATS_ANSWER: Duration = Duration::from_secs(5);
/// How long a carrier has, at its end, to give the servers of NATS what its room has said.
pub const NATS_END: Duration = Duration::from_secs(5);
/// The largest part of an item in one message of NATS, whose servers accept up to 1 MiB by default.
pub const NATS_PART: usize = 256 << 10;
/// How much larger a message of NATS may be than a part.
pub const NATS_MORE: usize = 4 << 10;
/// How many messages a carrier sends to servers of NATS that have not confirmed them.
pub const NATS_FLYING: usize = 256;
/// How many messages it asks for at once.
pub const NATS_BATCH: usize = 100;
/// How many messages servers of NATS bring that this room has not committed.
pub const NATS_OPEN: i64 = 4 * FLYING_ITEMS as i64;
/// After this time, servers of NATS bring once more what this room has not committed.
pub const NATS_REPEAT: Duration = Duration::from_secs(300);
/// If the other room speaks, and commits nothing for this time, everything is sent to it again. It doubles up to
/// [`NATS_STUCK_MOST`].
pub const NATS_STUCK: Duration = Duration::from_secs(60);
/// The longest such time.
pub const NATS_STUCK_MOST: Duration = Duration::from_secs(1024);
/// On how many servers of NATS a stream is kept, unless a link says otherwise.
pub const NATS_REPLICAS: u8 = 3;
