//! Two sessions under one id, as far as they can be seen.

use super::{codes, examined, finding, says};
use crate::world::World;
use std::process::{Child, Command, Stdio};

/// A session of an agent until it is dropped: a process without a parent that names a session.
struct Session(Child);

impl Session {
    fn of(world: &World, agent: &str) -> Session {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("MAILBAG_AGENT={agent} cat; :")])
            .current_dir(world.path());
        command
            .env_remove("MAILBAG_AGENT")
            .env_remove("MAILBAG_ROOM")
            .env_remove("MAOS_AGENT_ID");
        Session(
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .expect("a shell"),
        )
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_reports_two_processes_that_run_as_one_agent() {
    let (world, elsewhere) = (World::alice_and_bob(), World::with("bob"));
    let is_told = || codes(&examined(&world, "")).contains(&"two_sessions".to_owned());
    let _sessions = [
        Session::of(&world, "alice"),
        Session::of(&world, "bob"),
        Session::of(&elsewhere, "bob"),
    ];
    assert!(!is_told(), "each is the only one of its agent and room");
    let second = Session::of(&world, "bob");
    world.wait("both have begun", is_told);
    let found = finding(&examined(&world, ""), "two_sessions");
    says(
        &found,
        "warning",
        &[
            "2 sessions act as bob at the same time",
            "ps -o pid,lstart,cmd -p ",
        ],
    );
    drop(second);
    world.wait("the second has ended", || !is_told());
}
