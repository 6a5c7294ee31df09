//! Wakes a session of Codex by `codex queue`. Codex accepts each message for a known session, also one that it holds back.

use super::program::{self, ProgramOutcome};
use crate::base::error::Error;
use crate::base::limits;
use crate::room::Room;
use crate::room::sessions::{self, IDLE};
use std::time::{Duration, Instant};

/// The command that sends a message to a session.
pub(in crate::clients) const ARGV: [&str; 6] = [
    "codex",
    "queue",
    "--thread",
    "{session}",
    "--message",
    "{text}",
];

/// Returns true for such a command.
fn is_queue(argv: &[String]) -> bool {
    argv.len() >= 2 && argv[..2] == ARGV[..2]
}

/// Runs a program that wakes a session. If it is the command of Codex, waits until the session shows that it has the
/// message.
pub(in crate::clients) fn run(
    argv: &[String],
    room: &Room,
    agent: &str,
    within: Duration,
    started: impl FnOnce(),
) -> ProgramOutcome {
    if !is_queue(argv) {
        return program::run(argv, room, agent, within, started);
    }
    let before = last_call(room, agent);
    let ran = program::run(argv, room, agent, within, started);
    confirm(ran, room, agent, before.as_deref())
}

/// The last call of the agent's session, apart from its background process.
fn last_call(room: &Room, agent: &str) -> Option<String> {
    sessions::of(room, agent)
        .ok()
        .flatten()
        .filter(|lease| lease.event != IDLE)
        .map(|lease| lease.last)
}

/// The result of the command. It fails if the session calls no hook after it, because then Codex holds the message.
fn confirm(ran: ProgramOutcome, room: &Room, agent: &str, before: Option<&str>) -> ProgramOutcome {
    let until = Instant::now() + limits::WAKE_REACTION;
    while ran.is_well() && Instant::now() < until {
        if last_call(room, agent).is_some_and(|last| Some(&*last) != before) {
            return ran;
        }
        std::thread::sleep(limits::WAKE_QUIET);
    }
    if ran.is_well() {
        ProgramOutcome {
            outcome: held().to_string(),
            output: String::new(),
        }
    } else {
        ran
    }
}

/// The reason why the session is not woken.
pub(super) fn held() -> Error {
    Error::busy(
        "Codex holds messages for this session, as after Esc",
        "type a prompt in its terminal; it announces the mail",
    )
}
