//! The limits of commands that wait for a running router, and of loops of agents that answer each other without content.

use std::time::Duration;

/// The longest time that a reading command or a hook waits for the running router to process the outboxes.
pub const READER_WAIT: Duration = Duration::from_millis(200);
/// The longest time that a writing command waits for the running router to process its message.
pub const WRITER_WAIT: Duration = Duration::from_secs(2);
/// The longest interval between two looks whether the router has answered. The first looks come sooner.
pub const ROUTER_LOOK: Duration = Duration::from_millis(4);
/// A sending command reports the way of delivery for at most this number of recipients.
pub const REACHED: usize = 100;
/// The most requests for a pass that a scan of an outbox keeps.
pub const PASS_REQUESTS: usize = 1000;

/// The longest text of a message that can be an acknowledgement without content, in characters.
pub const LOOP_TEXT: usize = 240;
/// The number of such messages that may answer each other before their announcements are delayed.
pub const LOOP_MESSAGES: u32 = 8;
/// The number of equal texts to the same recipients before the sender's announcements are delayed.
pub const LOOP_REPEATS: u32 = 3;
/// The time after a message, or after its delayed announcement, until its chain ends.
pub const LOOP_WINDOW: Duration = Duration::from_secs(5 * 60);
/// The first delay of an announcement. Each further message of the loop doubles it.
pub const LOOP_DELAY: Duration = Duration::from_secs(30);
/// The longest delay of an announcement.
pub const LOOP_DELAY_MOST: Duration = Duration::from_secs(15 * 60);
/// The number of remembered agents and texts of a chain.
pub const LOOP_MEMORY: usize = 16;
/// The largest number of recipients of a message that continues a chain without a reference.
pub const LOOP_RECIPIENTS: usize = 3;
/// The number of remembered agents. With more, all are forgotten.
pub const LOOP_AGENTS: usize = 10_000;
