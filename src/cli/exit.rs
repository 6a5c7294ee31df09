//! The exit statuses.

use crate::base::error::Error;
use crate::clients::git_hooks::STOPPED;
use crate::disk::layout;
use crate::disk::paths::PathQuestions;
use std::process::ExitCode;

/// The exit status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Ok = 0,
    /// An error of the program, the room or the machine.
    Error = 1,
    /// Wrong use of the command line. For a background hook: wake the session.
    Usage = 2,
    /// An object does not exist, such as an agent, a message, a channel or a room.
    NotFound = 3,
    /// Timeout.
    Timeout = 4,
    /// A hook of git stops a commit.
    Stopped = STOPPED as isize,
    /// The input is invalid, and trying again does not help.
    BadData = 65,
    /// A temporary failure: try again later.
    TryAgain = 75,
}

impl Exit {
    /// The status of an error.
    pub fn of(error: &Error) -> Exit {
        match error {
            error if error.is_not_found() => Exit::NotFound,
            error if error.is_usage() => Exit::Usage,
            Error::Timeout { .. } => Exit::Timeout,
            Error::Rejected(_) => Exit::BadData,
            // A missing file is damage of the room, not invalid input.
            Error::State { path, .. } if layout::is_edited(path) && path.is_there() => {
                Exit::BadData
            }
            error if error.is_passing() => Exit::TryAgain,
            _ => Exit::Error,
        }
    }
}

/// A command that cannot end with another status returns nothing.
impl From<()> for Exit {
    fn from((): ()) -> Exit {
        Exit::Ok
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
