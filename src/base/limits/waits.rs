//! The limits of commands that wait for a running router.

use std::time::Duration;

/// How long a command that reads waits for the running router to process the outboxes. A hook waits as long.
pub const READER_WAIT: Duration = Duration::from_millis(200);
/// How long a command that writes waits for the running router to process its message.
pub const WRITER_WAIT: Duration = Duration::from_secs(2);
/// The longest interval between two looks whether the router has answered. The first looks come sooner.
pub const ROUTER_LOOK: Duration = Duration::from_millis(4);
/// Of how many recipients a command that sends says how each will receive the message.
pub const REACHED: usize = 100;
/// The most requests for a pass that a scan of an outbox keeps.
pub const PASS_REQUESTS: usize = 1000;
