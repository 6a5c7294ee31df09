//! What can go wrong, sorted by who must act: temporary waits, permanent is refused, a bug stops.

use crate::base::limits;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

/// The result of everything that can fail with an [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Who must act on an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Nobody, or whoever frees the disk: the message waits and the router tries again.
    Temporary,
    /// Whoever gave the input: trying again changes nothing.
    Permanent,
    /// Whoever maintains the program or the room: stop, and change nothing more.
    Bug,
}

/// A failure of the program or of its surroundings. What is wrong with a *message* is a [`Problem`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file call failed.
    #[error("can't {verb} {}: {source}{}", path.display(), next_step(source))]
    Io {
        /// What was being done, such as `deliver to`.
        verb: &'static str,
        /// What it was being done to.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A sync failed: what the disk holds is unknown, so nothing may go on.
    #[error("can't make {} durable: {source}; stopped, and recovery starts from what is on disk", path.display())]
    Sync {
        /// What was being synced.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// State that cannot be read. It is never replaced.
    #[error("{}{}: {what}; {cure}", path.display(), line.map(|n| format!(" line {n}")).unwrap_or_default())]
    State {
        /// The file.
        path: PathBuf,
        /// The line in it, from 1.
        line: Option<u64>,
        /// What is wrong with it.
        what: String,
        /// What to do.
        cure: String,
    },
    /// The room was moved, replaced or cleaned under the router's feet.
    #[error("the room changed under the router: {what}; {cure}")]
    Moved {
        /// What was seen.
        what: String,
        /// What to do.
        cure: String,
    },
    /// Somebody else holds what was asked for.
    #[error("{what}; {cure}")]
    Busy {
        /// What is held, and by whom.
        what: String,
        /// What to do.
        cure: String,
    },
    /// The command line asks for something that makes no sense.
    #[error("{what}; {cure}")]
    Usage {
        /// What is wrong with it.
        what: String,
        /// What to write instead.
        cure: String,
    },
    /// What was waited for did not come in time.
    #[error("{what}; {cure}")]
    Timeout {
        /// What did not come, and how long it was waited for.
        what: String,
        /// What to do.
        cure: String,
    },
    /// What was asked for was done, and something behind it failed: doing it again would do it twice.
    #[error("{what}, but {why}; {cure}")]
    Done {
        /// What was done.
        what: String,
        /// What failed then.
        why: String,
        /// What not to do.
        cure: String,
    },
    /// What was named does not exist.
    #[error("{what}; {cure}")]
    NotFound {
        /// What was sought, and where.
        what: String,
        /// What to do.
        cure: String,
    },
    /// The room belongs to somebody else, and the person did not agree to use it.
    #[error("{what}; {cure}")]
    Untrusted {
        /// Which room, and whose.
        what: String,
        /// What to do.
        cure: String,
    },
    /// A message, an address or a registry was refused.
    #[error("{}", list(.0))]
    Refused(Vec<Problem>),
}

impl Error {
    /// Who must act on this.
    pub fn class(&self) -> Class {
        match self {
            Error::Io { source, .. } if is_temporary(source) => Class::Temporary,
            Error::Busy { .. } | Error::Timeout { .. } => Class::Temporary,
            Error::Io { .. } | Error::Sync { .. } | Error::State { .. } | Error::Moved { .. } | Error::Done { .. } => {
                Class::Bug
            }
            Error::Usage { .. } | Error::NotFound { .. } | Error::Untrusted { .. } | Error::Refused(_) => {
                Class::Permanent
            }
        }
    }

    /// The system's error number, where a file call is behind this.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Error::Io { source, .. } | Error::Sync { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

/// Full disks, missing descriptors, missing permissions and directories on other file systems all pass once somebody
/// acts on the machine, without a change to the message.
fn is_temporary(source: &io::Error) -> bool {
    const PASSING: &[i32] = &[
        libc::ENOSPC,
        libc::EDQUOT,
        libc::EMFILE,
        libc::ENFILE,
        libc::ENOMEM,
        libc::EACCES,
        libc::EPERM,
        libc::EROFS,
        libc::EXDEV,
        libc::EEXIST,
        libc::EIO,
        libc::EINTR,
        libc::EAGAIN,
        libc::EBUSY,
        libc::ENOENT,
        libc::ENOTDIR,
        libc::ELOOP,
        libc::ESTALE,
        libc::ENFILE,
    ];
    source.raw_os_error().is_some_and(|n| PASSING.contains(&n))
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Adds to a failed file call what was being done, and to which file.
pub trait Doing<T> {
    /// `fs::rename(a, b).doing("deliver to", b)?`
    fn doing(self, verb: &'static str, path: impl AsRef<Path>) -> Result<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for std::result::Result<T, E> {
    fn doing(self, verb: &'static str, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|e| Error::Io { verb, path: path.as_ref().to_path_buf(), source: e.into() })
    }
}

/// One thing that is wrong with an input, where it stands, and how to mend it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// A short, stable word for programs, such as `unknown_recipient`.
    pub code: String,
    /// Where: a JSON pointer such as `/to/1`, `line 3 column 7`, or empty for the whole.
    #[serde(rename = "where", default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// What is wrong, in one sentence without a full stop.
    pub what: String,
    /// How to mend it, as an instruction.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fix: String,
    /// A corrected value or message, where one can be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
}

impl Problem {
    /// A problem with its code and what is wrong; the rest is added with the methods below.
    pub fn new(code: &str, what: impl Into<String>) -> Problem {
        Problem { code: code.into(), place: String::new(), what: what.into(), fix: String::new(), example: None }
    }

    /// Says where the problem stands.
    pub fn at(mut self, place: impl Into<String>) -> Problem {
        self.place = place.into();
        self
    }

    /// Says how to mend it.
    pub fn fix(mut self, fix: impl Into<String>) -> Problem {
        self.fix = fix.into();
        self
    }

    /// Gives a corrected value or message, unless it is too large to be one: made of what a sender wrote, it stands in
    /// the log, in the explanation and in the bounce.
    pub fn example(mut self, example: Value) -> Problem {
        self.example = Some(example).filter(|example| example.to_string().len() <= limits::EXAMPLE_BYTES);
        self
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        write!(f, "{}", self.what)?;
        if !self.fix.is_empty() {
            write!(f, "; {}", self.fix)?;
        }
        Ok(())
    }
}

/// The candidates nearest to `word`, best first, at most [`crate::base::limits::SUGGESTIONS`]: what a "did you mean" names.
/// Letter case is ignored; a candidate counts when it is within a third of the word's length, or one contains the other.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_ascii_lowercase();
    let allowed = (word.chars().count() / 3).max(1);
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|c| {
            let lower = c.to_ascii_lowercase();
            let distance = strsim::osa_distance(&word, &lower);
            let contained = word.len() >= 3 && (lower.contains(&word) || word.contains(&lower) && lower.len() >= 3);
            (distance <= allowed || contained).then_some((distance, c))
        })
        .collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().take(crate::base::limits::SUGGESTIONS).map(|(_, c)| c).collect()
}
/// What to do about a failure that no retry cures, where the cause is known to be outside.
fn next_step(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EROFS) => "; if this is a sandbox, let it write to the whole room, or run the command outside of it",
        _ => "",
    }
}
