//! TEMPORARY stub, to compile the command line against.

use crate::error::Result;
use crate::room::{Holder, Room};
use std::path::PathBuf;

/// How to run.
pub struct Options {
    /// Route what is there and end.
    pub once: bool,
    /// Use no file events.
    pub poll: bool,
}

/// Reported once, when the router watches.
pub struct Ready {
    /// The room.
    pub room: PathBuf,
    /// How many agents are registered.
    pub agents: usize,
    /// How many outboxes are watched.
    pub outboxes: usize,
    /// By file events, or by looking.
    pub events: bool,
}

/// What was done.
pub struct Tally {
    /// Accepted messages.
    pub accepted: u64,
    /// Copies of them.
    pub copies: u64,
    /// Refused files.
    pub refused: u64,
    /// Messages that came again.
    pub duplicates: u64,
    /// Files that wait.
    pub waiting: usize,
}

/// What came of a pass.
pub enum Passed {
    /// This process routed.
    Routed(Tally),
    /// A router runs.
    RouterRuns(Holder),
}

/// Until SIGINT or SIGTERM, or once.
pub fn run(_room: &Room, _options: &Options, _ready: &mut dyn FnMut(&Ready)) -> Result<Tally> {
    todo!()
}

/// One pass, if no router runs.
pub fn pass(_room: &Room) -> Result<Passed> {
    todo!()
}
