//! Error types, classified by who must act. A temporary error is retried, a permanent error is reported to the author
//! of the input, and a bug stops the program.

use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};

pub use crate::base::problem::{Problem, did_you_mean, in_words, nearest};

/// The code of a reference to a message that does not exist, or that the agent may not see.
pub const UNKNOWN_REFERENCE: &str = "unknown_reference";
/// The code of a reference that several messages match.
pub const AMBIGUOUS_REFERENCE: &str = "ambiguous_reference";

/// The result of an operation that can fail with an [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The class of an error, by the person who must act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// No action, or the person who can free the resource. The message is kept and retried.
    Temporary,
    /// The author of the input. Retrying does not help.
    Permanent,
    /// The maintainer of the program or the room. The program stops and changes nothing more.
    Bug,
}

/// The advice after a failed sync.
const AFTER_SYNC: &str = "the room is recovered from the disk before the next message";

/// A failure of the program or its environment. An invalid *message* is described by a [`Problem`] instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file call failed.
    #[error("cannot {verb} {}: {source}{}", path.display(), next_step(source))]
    Io {
        /// The operation, such as `deliver to`.
        verb: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A sync failed. The content of the disk is unknown, so the program must stop.
    #[error("cannot make {} durable: {source}; {AFTER_SYNC}", path.display())]
    Sync {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file of the room cannot be read. It is never replaced.
    #[error("{}{}: {what}; {}", path.display(), line.map(|n| format!(" line {n}")).unwrap_or_default(), fix)]
    State {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: Option<u64>,
        /// The damage of the file.
        what: String,
        /// The next step.
        fix: String,
    },
    /// The room was moved, replaced or changed while the router was running.
    #[error("the room changed while the router was running: {what}; {}", fix)]
    Moved {
        /// The change.
        what: String,
        /// The next step.
        fix: String,
    },
    /// Another process or session holds the resource.
    #[error("{what}; {}", fix)]
    Busy {
        /// The resource and its holder.
        what: String,
        /// The next step.
        fix: String,
    },
    /// The command line is not valid.
    #[error("{what}; {}", fix)]
    Usage {
        /// The invalid argument.
        what: String,
        /// A valid alternative.
        fix: String,
    },
    /// An expected event did not happen in time.
    #[error("{what}; {}", fix)]
    Timeout {
        /// The event, and the waiting time.
        what: String,
        /// The next step.
        fix: String,
    },
    /// The operation succeeded, but a later step failed. Repeating the operation would do it twice.
    #[error("{what}, but {reason}; {}", fix)]
    Done {
        /// The operation that succeeded.
        what: String,
        /// The error of the later step.
        reason: String,
        /// The next step, or a step that must not be repeated.
        fix: String,
    },
    /// The named object does not exist.
    #[error("{what}; {}", fix)]
    NotFound {
        /// The object, and where it was searched for.
        what: String,
        /// The next step.
        fix: String,
    },
    /// The room belongs to another user, or is reached by a link.
    #[error("{what}; {}", fix)]
    Untrusted {
        /// The room and its owner.
        what: String,
        /// The next step.
        fix: String,
    },
    /// A message, an address or a registry was rejected.
    #[error("{}", list(.0))]
    Rejected(Vec<Problem>),
    /// The router rejected a message about claims. The same message can be accepted later.
    #[error("{}", list(.0))]
    NotGranted(Vec<Problem>),
}

/// A stable word for an error, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The command line is not valid.
    Usage,
    /// The named object does not exist.
    NotFound,
    /// Another process or session holds the resource, or a limit was reached.
    Busy,
    /// An expected event did not happen in time.
    Timeout,
    /// The command did its work and failed afterwards. It must not be repeated.
    Done,
    /// The room was moved, replaced or changed.
    Moved,
    /// The room belongs to another user.
    Untrusted,
    /// A file of the room cannot be read.
    State,
    /// A file call failed.
    Io,
    /// A sync failed.
    Sync,
    /// A message, an address or a registry was rejected.
    Rejected,
}

/// An error as programs get it.
#[derive(Debug, Serialize)]
pub struct ErrorReport {
    /// The kind of error.
    pub code: ErrorCode,
    /// The failure.
    pub what: String,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The problems of the input, each with its correction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

impl From<&Error> for ErrorReport {
    fn from(error: &Error) -> ErrorReport {
        let problems = match error {
            Error::Rejected(problems) | Error::NotGranted(problems) => problems.clone(),
            _ => Vec::new(),
        };
        let (what, fix) = (error.to_string(), error.fix());
        ErrorReport {
            code: error.code(),
            what: what
                .strip_suffix(&format!("; {fix}"))
                .unwrap_or(&what)
                .to_owned(),
            fix: (!fix.is_empty()).then(|| fix.to_owned()),
            problems,
        }
    }
}

/// Defines a function for each error that has only a reason and a next step.
macro_rules! plain_errors {
    ($($doc:literal $name:ident $variant:ident;)*) => {$(
        #[doc = $doc]
        pub fn $name(what: impl Into<String>, fix: impl Into<String>) -> Error {
            Error::$variant {
                what: what.into(),
                fix: fix.into(),
            }
        }
    )*};
}

impl Error {
    /// A rejected input with one problem.
    #[allow(
        clippy::boxed_local,
        reason = "the checks return a boxed problem, because a result with a whole one is large"
    )]
    pub fn rejected(problem: Box<Problem>) -> Error {
        Error::Rejected(vec![*problem])
    }

    plain_errors! {
        "The command line is not valid: the invalid argument, and a valid alternative." usage Usage;
        "The object does not exist where it was searched for." not_found NotFound;
        "Another process or session holds the resource." busy Busy;
        "The event did not happen in time." timeout Timeout;
        "The room was moved, replaced or changed." moved Moved;
        "This user may not use the object: the object and the reason, and the next step." untrusted Untrusted;
    }

    /// A file of the room cannot be read: the file, its damage, and the next step.
    pub fn state(
        path: impl Into<PathBuf>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Error {
        Error::State {
            path: path.into(),
            line: None,
            what: what.into(),
            fix: fix.into(),
        }
    }

    fn code(&self) -> ErrorCode {
        match self {
            Error::Usage { .. } => ErrorCode::Usage,
            Error::NotFound { .. } => ErrorCode::NotFound,
            Error::Busy { .. } => ErrorCode::Busy,
            Error::Timeout { .. } => ErrorCode::Timeout,
            Error::Done { .. } => ErrorCode::Done,
            Error::Moved { .. } => ErrorCode::Moved,
            Error::Untrusted { .. } => ErrorCode::Untrusted,
            Error::State { .. } => ErrorCode::State,
            Error::Sync { .. } => ErrorCode::Sync,
            Error::Io { .. } => ErrorCode::Io,
            error if error.is_not_found() => ErrorCode::NotFound,
            error if error.is_usage() => ErrorCode::Usage,
            _ => ErrorCode::Rejected,
        }
    }

    /// The next step. Empty if there are several, or none.
    fn fix(&self) -> &str {
        match self {
            Error::Usage { fix, .. }
            | Error::NotFound { fix, .. }
            | Error::Busy { fix, .. }
            | Error::Timeout { fix, .. }
            | Error::Done { fix, .. }
            | Error::Moved { fix, .. }
            | Error::Untrusted { fix, .. }
            | Error::State { fix, .. } => fix,
            Error::Sync { .. } => AFTER_SYNC,
            Error::Io { source, .. } => next_step(source).trim_start_matches("; "),
            Error::Rejected(problems) | Error::NotGranted(problems) => match &problems[..] {
                [only] => &only.fix,
                _ => "",
            },
        }
    }

    /// The class of this error.
    pub fn class(&self) -> ErrorClass {
        match self {
            Error::Io { source, .. } if is_temporary(source) => ErrorClass::Temporary,
            Error::Busy { .. } | Error::Timeout { .. } => ErrorClass::Temporary,
            Error::Io { .. }
            | Error::Sync { .. }
            | Error::State { .. }
            | Error::Moved { .. }
            | Error::Done { .. } => ErrorClass::Bug,
            _ => ErrorClass::Permanent,
        }
    }

    /// Returns true if the same command can succeed later, although no person corrects anything.
    pub fn is_passing(&self) -> bool {
        match self {
            Error::Io { source, .. } => source
                .raw_os_error()
                .is_some_and(|number| PASSING.contains(&number)),
            error => error.class() == ErrorClass::Temporary,
        }
    }

    /// Returns true if the failure has no other cause than that an object of the command line does not exist.
    pub fn is_not_found(&self) -> bool {
        match self {
            Error::NotFound { .. } => true,
            Error::Rejected(problems) => {
                let mut problems = problems.iter();
                problems.len() > 0 && problems.all(|problem| problem.code == UNKNOWN_REFERENCE)
            }
            _ => false,
        }
    }

    /// Returns true if the command line is not valid: an argument, or a reference that several messages match.
    pub fn is_usage(&self) -> bool {
        let unclear = [UNKNOWN_REFERENCE, AMBIGUOUS_REFERENCE];
        match self {
            Error::Usage { .. } => true,
            Error::Rejected(problems) => {
                problems.iter().any(|one| one.code == AMBIGUOUS_REFERENCE)
                    && problems.iter().all(|one| unclear.contains(&&*one.code))
            }
            _ => false,
        }
    }

    /// Returns true if a file operation failed because the file or its directory does not exist.
    pub fn is_missing(&self) -> bool {
        self.errno() == Some(libc::ENOENT)
    }

    /// Returns true if a file operation failed because this user may not write there.
    pub fn is_forbidden(&self) -> bool {
        matches!(self.errno(), Some(libc::EACCES | libc::EPERM | libc::EROFS))
    }

    /// The system's error number, if a file operation failed.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Error::Io { source, .. } | Error::Sync { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

/// Errors of an exhausted or busy resource, which can end without a change of the room or the command.
const PASSING: [i32; 10] = [
    libc::ENOSPC,
    libc::EDQUOT,
    libc::EMFILE,
    libc::ENFILE,
    libc::ENOMEM,
    libc::EIO,
    libc::EINTR,
    libc::EAGAIN,
    libc::EBUSY,
    libc::ESTALE,
];

/// Errors that end when a person corrects a file, a directory or a permission.
const BLOCKING: [i32; 8] = [
    libc::EACCES,
    libc::EPERM,
    libc::EROFS,
    libc::EXDEV,
    libc::EEXIST,
    libc::ENOENT,
    libc::ENOTDIR,
    libc::ELOOP,
];

/// Returns true if the error ends when a person corrects the machine. The message need not change.
fn is_temporary(source: &io::Error) -> bool {
    let number = source.raw_os_error();
    number.is_some_and(|number| PASSING.contains(&number) || BLOCKING.contains(&number))
}

fn list(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Adds the operation and the file to the error of a file operation.
pub trait ErrorContext<T> {
    /// `fs::rename(a, b).doing("deliver to", b)?`
    fn doing(self, verb: &'static str, path: impl AsRef<Path>) -> Result<T>;

    /// As [`ErrorContext::doing`], for a file in a directory: the path is put together only if there is an error.
    fn doing_in(self, verb: &'static str, dir: &Path, name: impl AsRef<Path>) -> Result<T>;
}

impl<T, E: Into<io::Error>> ErrorContext<T> for std::result::Result<T, E> {
    fn doing(self, verb: &'static str, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|e| Error::Io {
            verb,
            path: path.as_ref().to_path_buf(),
            source: e.into(),
        })
    }

    fn doing_in(self, verb: &'static str, dir: &Path, name: impl AsRef<Path>) -> Result<T> {
        self.map_err(|e| Error::Io {
            verb,
            path: dir.join(name),
            source: e.into(),
        })
    }
}

/// The next step for an error that has a known cause outside the program.
fn next_step(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EROFS) => {
            "; if this is a sandbox, allow it to write to the whole room, or run the command outside the sandbox"
        }
        Some(libc::EXDEV) => {
            "; one of the two directories is on another mount, and all directories of a room belong on one: move it, or unmount it"
        }
        _ => "",
    }
}
