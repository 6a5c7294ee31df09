//! The head of the log: a line that a person keeps elsewhere to prove later that the log was not rolled back.

use crate::base::error::{Error, Problem, Result};
use crate::base::hash::{Hash, hex, unhex};
use crate::log::state;
use crate::room::Room;
use serde::Serialize;
use std::fmt;

/// The last record of the log, and the room that the log belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogHead {
    /// The record's number.
    pub seq: u64,
    /// The hash of its line.
    pub hash: String,
    /// The room's id.
    pub room: String,
}

/// `42 9f86…0a08 01931f2e-…`
impl fmt::Display for LogHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.seq, self.hash, self.room)
    }
}

/// The current head of the log. A power cut cannot change it.
pub fn head(room: &Room) -> Result<LogHead> {
    let state = state::synced(&room.dir)?;
    match state.room {
        Some(room) => Ok(LogHead {
            seq: state.seq,
            hash: hex(&state.prev),
            room,
        }),
        None => Err(Error::not_found(
            format!("the log of {} has no records", room.dir.path().display()),
            "send a message first",
        )),
    }
}

impl LogHead {
    /// Parses the output of [`head`], a line or JSON.
    pub fn parse(text: &str) -> Result<LogHead> {
        LogHead::read(text.trim()).ok_or_else(|| {
            let problem = Problem::new(
                "bad_head",
                "a head consists of a record number, the hash of its line and a room id",
            );
            Error::Rejected(vec![
                problem.fix("pass the line that `mailbag log head` printed, in quotes"),
            ])
        })
    }

    fn read(text: &str) -> Option<LogHead> {
        let fields: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let words: Vec<String> = if fields.is_object() {
            vec![
                fields["seq"].to_string(),
                fields["hash"].as_str()?.into(),
                fields["room"].as_str()?.into(),
            ]
        } else {
            text.split_whitespace().map(str::to_owned).collect()
        };
        let [seq, hash, room] = <[String; 3]>::try_from(words).ok()?;
        unhex(&hash)?;
        Some(LogHead {
            seq: seq.parse().ok().filter(|&seq| seq > 0)?,
            hash,
            room,
        })
    }

    /// The hash of the record's line.
    pub fn hash(&self) -> Option<Hash> {
        unhex(&self.hash)
    }
}
