//! The limits of commands that wait for a running router.

use std::time::Duration;

/// The longest time that a reading command or a hook waits for the running router to process the outboxes.
pub const READER_WAIT: Duration = Duration::from_millis(200);
/// The longest time that a writing command waits for the running router to process its message.
pub const WRITER_WAIT: Duration = Duration::from_secs(2);
/// The longest interval between two looks whether the router has answered. The first looks come sooner.
pub const ROUTER_LOOK: Duration = Duration::from_millis(4);
/// The most recipients for which a sending command reports how they will receive the message.
pub const REACHED: usize = 100;
/// The most requests for a pass that a scan of an outbox keeps.
pub const PASS_REQUESTS: usize = 1000;
