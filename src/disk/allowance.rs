//! The limit on reading rooms in this process. A hook runs in every room that it finds, even in a stranger's room with
//! sparse files and millions of names, and must not make its client wait for them.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The cost of opening a file or a directory, in bytes.
pub(super) const OPEN: u64 = 4 << 10;
/// The cost of a name in a directory, in bytes.
pub(super) const NAME: u64 = 64;

/// Bytes that may still be read. The highest value means no limit.
static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);
/// Half of the limit. Zero means no limit.
static HALF: AtomicU64 = AtomicU64::new(0);

/// Limits the bytes of rooms that this process reads from now on. Reading more fails.
pub fn limit_reads(bytes: u64) {
    LEFT.store(bytes, Ordering::Relaxed);
    HALF.store(bytes / 2, Ordering::Relaxed);
}

/// Returns true if more than half of the limit is used. The rest is for reads that the hook needs more.
pub fn is_half_used() -> bool {
    LEFT.load(Ordering::Relaxed) < HALF.load(Ordering::Relaxed)
}

/// Counts bytes, and fails if they exceed the limit.
pub fn charge_read(bytes: u64) -> io::Result<()> {
    let left = LEFT.load(Ordering::Relaxed);
    if left == u64::MAX {
        return Ok(());
    }
    // Two threads may charge at the same time. The limit need not be exact.
    LEFT.store(left.saturating_sub(bytes), Ordering::Relaxed);
    if left >= bytes {
        return Ok(());
    }
    Err(io::Error::other(
        "the room is too large for a hook, which reads only a part of it; run `mailbag doctor`",
    ))
}
