//! `charter.md`: the goals, lanes and acceptance criteria of a room, in Markdown that people write.
//!
//! A charter that has mistakes is still read: each mistake is a [`Problem`] with its line, and the rest counts.

use crate::base::error::{Problem, Result};
use crate::base::hash::{hash, hex};
use crate::disk::Dir;
use crate::room::registry::Lane;
use rustix::fs::FileType;
use serde::Serialize;

/// The charter.
pub const CHARTER: &str = "charter.md";

/// The largest `charter.md`. It is text that a person reads.
const CHARTER_BYTES: u64 = 64 << 10;

/// The word before the name of a lane in an address.
pub(super) const LANE: &str = "lane:";

/// The content of a charter.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Charter {
    /// The goals of the room.
    pub goals: Vec<String>,
    /// The areas of work with their owners.
    pub lanes: Vec<CharterLane>,
    /// When the work is done.
    pub criteria: Vec<String>,
    /// The agreements of the room's agents.
    pub settings: Vec<CharterSetting>,
    /// Mistakes, each with its line.
    pub problems: Vec<Problem>,
}

/// An area of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CharterLane {
    /// Its name.
    pub name: String,
    /// The addresses of its owners, as written.
    pub owners: Vec<String>,
    /// The paths that belong to it.
    pub paths: Vec<String>,
    /// Its line in the file.
    pub line: usize,
    /// Its address, `lane:<name>`.
    #[serde(skip)]
    pub address: String,
}

/// A line of the section `Settings`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CharterSetting {
    /// The text before the colon.
    pub name: String,
    /// The text after it.
    pub value: String,
}

/// The current file `charter.md`.
#[derive(Debug, Clone, PartialEq)]
pub enum CharterFile {
    /// There is none.
    Missing,
    /// Its text.
    Text(String),
    /// Something else has its name, or it is not a text.
    Unreadable(Problem),
}

fn unreadable(code: &str, what: String, fix: &str) -> CharterFile {
    CharterFile::Unreadable(Problem::new(code, what).fix(fix))
}

impl CharterFile {
    /// Reads the file. Only a file that cannot be read now, but perhaps later, is an error.
    pub fn read(room: &Dir) -> Result<CharterFile> {
        let Some(meta) = room.stat(CHARTER)? else {
            return Ok(CharterFile::Missing);
        };
        let kind = match meta.kind {
            FileType::RegularFile => None,
            FileType::Symlink => Some(("symlink", "a symbolic link")),
            FileType::Directory => Some(("not_a_file", "a directory")),
            FileType::Fifo => Some(("not_a_file", "a FIFO")),
            _ => Some(("not_a_file", "not a regular file")),
        };
        if let Some((code, kind)) = kind {
            let fix = "move it away, and write the charter as a regular file";
            return Ok(unreadable(code, format!("{} is {kind}", CHARTER), fix));
        }
        if meta.size > CHARTER_BYTES {
            let what = format!(
                "{} has {} bytes; the limit is {}",
                CHARTER, meta.size, CHARTER_BYTES
            );
            return Ok(unreadable(
                "too_large",
                what,
                "move long texts to files in context/, and name the files in the charter",
            ));
        }
        let bytes = room.read(CHARTER, CHARTER_BYTES)?;
        Ok(match bytes.map(String::from_utf8) {
            None => CharterFile::Missing,
            Some(Ok(text)) => CharterFile::Text(text),
            Some(Err(e)) => {
                let line =
                    1 + memchr::memchr_iter(b'\n', &e.as_bytes()[..e.utf8_error().valid_up_to()])
                        .count();
                let what = format!("{} is not UTF-8 in line {line}", CHARTER);
                unreadable("invalid_utf8", what, "save it as UTF-8")
            }
        })
    }

    /// The lanes of the file, as names for addresses; none without a text.
    pub fn lanes(&self) -> Vec<Lane> {
        match self {
            CharterFile::Text(text) => Charter::parse(text).names(),
            CharterFile::Missing | CharterFile::Unreadable(_) => Vec::new(),
        }
    }

    /// The id of this version in the log: the SHA-256 of the text, or the reason why the text is missing.
    pub fn version(&self) -> String {
        match self {
            CharterFile::Missing => MISSING.to_owned(),
            CharterFile::Text(text) => hex(&hash(text.as_bytes())),
            CharterFile::Unreadable(_) => "unreadable".to_owned(),
        }
    }
}

/// The version of a charter that does not exist.
pub(super) const MISSING: &str = "missing";
