//! The library on a real room in the thread of the test, where the test can stop before each call on files.

use crate::sim::{CallName, watched};
use crate::world::World;
use mailbag::Room;
use mailbag::base::set_test_variable;
use mailbag::router::daemon::pass;
use std::path::PathBuf;

impl World {
    /// Routes the waiting mail in one pass, without a process. It knows no consent, so no mail crosses a link.
    #[track_caller]
    pub(crate) fn pass_here(&self) {
        self.watched(|_, _| Ok(()), pass).expect("a pass");
    }

    /// The room, for calls of the library in the thread of the test.
    pub(crate) fn room_here(&self) -> Room {
        let home = self.trust().to_str().expect("a plain path");
        set_test_variable("MAILBAG_TEST_HOME", home);
        set_test_variable("MAILBAG_TEST_ANCESTRY", "person");
        set_test_variable("MAILBAG_TEST_KEEPS", "all");
        Room::open(&self.room("")).expect("a room")
    }

    /// Calls `act` on the room in the thread of the test, with a hook before each call on files, as [`watched`] does.
    pub(crate) fn watched<T>(
        &self,
        hook: impl FnMut(CallName, &[PathBuf]) -> std::io::Result<()> + Send + 'static,
        act: impl FnOnce(&Room) -> T,
    ) -> T {
        watched(hook, || act(&self.room_here()))
    }
}
