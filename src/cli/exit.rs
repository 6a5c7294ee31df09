//! The statuses with which the program ends.

use crate::base::error::{Class, Error};
use std::process::ExitCode;

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// As asked.
    Ok = 0,
    /// The program or the room is in trouble.
    Error = 1,
    /// The command line makes no sense. Of a background hook: the session is to be woken.
    Usage = 2,
    /// What was named does not exist.
    NotFound = 3,
    /// The time was over first.
    Timeout = 4,
    /// What was given is wrong, and trying again changes nothing.
    BadData = 65,
    /// Try again later.
    TryAgain = 75,
}

impl Exit {
    /// The status of an error.
    pub fn of(error: &Error) -> Exit {
        match error {
            Error::Usage { .. } => Exit::Usage,
            Error::NotFound { .. } => Exit::NotFound,
            Error::Timeout { .. } => Exit::Timeout,
            Error::Rejected(_) => Exit::BadData,
            error if error.class() == Class::Temporary => Exit::TryAgain,
            _ => Exit::Error,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
