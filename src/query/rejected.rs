//! Lists an agent's rejected files: matches files with explanations, and lines with the file that contains them.

use crate::base::error::{Problem, Result};
use crate::base::limits;
use crate::base::written_path::write_path;
use crate::disk::{Dir, layout};
use crate::log::find;
use crate::message::record::{Event, Record};
use crate::room::Room;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A rejected file.
#[derive(Debug, Clone, Serialize)]
pub struct ListedRejection {
    /// Number of the record that rejected it.
    pub seq: u64,
    /// Sender.
    pub agent: String,
    /// Name of the dropped file.
    pub name: String,
    /// The file, relative to the room; `None` if it was removed.
    #[serde(serialize_with = "write_path")]
    pub file: Option<PathBuf>,
    /// Its explanation, relative to the room; `None` if it was removed.
    #[serde(serialize_with = "write_path")]
    pub explanation: Option<PathBuf>,
    /// The line, for a file with one message per line. The explanation then has the line's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The code of the first problem.
    pub code: String,
    /// The first problem.
    pub what: String,
    /// When it was rejected.
    pub rejected_at: String,
    /// All problems.
    #[serde(skip)]
    pub problems: Vec<Problem>,
    /// For a line: its text in the explanation.
    #[serde(skip)]
    pub text: Option<String>,
    /// For a line: the file that contains it, if none of its lines was accepted.
    #[serde(skip)]
    pub kept_in: Option<PathBuf>,
}

impl ListedRejection {
    /// Returns true if both are the same rejection.
    pub fn is_same(&self, other: &ListedRejection) -> bool {
        (self.seq, &self.agent) == (other.seq, &other.agent)
    }
}

/// The number of an agent's rejected files that still exist.
pub fn count(room: &Room, agent: &str) -> Result<usize> {
    let dir = room.dir.sub(layout::rejected(agent))?;
    Ok(existing(&dir)?.len())
}

/// The rejected files of an agent, oldest first, also the files that were removed without their explanation.
pub fn of(room: &Room, agent: &str) -> Result<Vec<ListedRejection>> {
    let by_seq = names_by_seq(&room.dir.sub(layout::rejected(agent))?)?;
    listed(room, agent, by_seq)
}

/// The number of an agent's rejected files that still exist, and at most `most` of them, the newest last.
pub fn newest(room: &Room, agent: &str, most: usize) -> Result<(usize, Vec<ListedRejection>)> {
    let mut by_seq = existing(&room.dir.sub(layout::rejected(agent))?)?;
    let files = by_seq.len();
    let older = files.saturating_sub(most);
    if let Some(first) = by_seq.keys().nth(older).copied() {
        by_seq = by_seq.split_off(&first);
    }
    Ok((files, listed(room, agent, by_seq)?))
}

/// The rejected files and lines that still exist. A sender that moves its file back into the outbox leaves the explanation.
fn existing(dir: &Dir) -> Result<BTreeMap<u64, Vec<String>>> {
    let mut by_seq = names_by_seq(dir)?;
    by_seq.retain(|_, names| !matches!(&names[..], [only] if is_left_over(dir, only)));
    Ok(by_seq)
}

/// Returns true for the explanation of a whole file. The explanation of a line has the text of the line.
fn is_left_over(dir: &Dir, name: &str) -> bool {
    name.ends_with(layout::EXPLAINED)
        && !layout::is_explanation_of_line(name)
        && explain(dir, name).is_some()
}

fn listed(
    room: &Room,
    agent: &str,
    by_seq: BTreeMap<u64, Vec<String>>,
) -> Result<Vec<ListedRejection>> {
    let directory = layout::rejected(agent);
    let dir = room.dir.sub(&directory)?;
    let each = by_seq.into_iter().map(|(seq, names)| {
        let (file, explanation) = tell_apart(&dir, seq, names);
        let why = explanation.as_ref().and_then(|name| explain(&dir, name));
        let why = why
            .or_else(|| recorded(room, seq))
            .unwrap_or_else(|| ParsedExplanation {
                what: "cannot read its explanation; the record in log/*.ndjson has the reason"
                    .into(),
                ..ParsedExplanation::default()
            });
        let kept = file
            .as_deref()
            .or(explanation.as_deref())
            .and_then(layout::read_original)
            .unwrap_or_default();
        ListedRejection {
            seq,
            agent: agent.to_owned(),
            name: if why.file.is_empty() {
                kept.to_owned()
            } else {
                why.file
            },
            file: file.map(|name| directory.join(name)),
            explanation: explanation.map(|name| directory.join(name)),
            line: why.line,
            code: why.code,
            what: why.what,
            rejected_at: why.rejected_at,
            problems: why.problems,
            text: why.text,
            kept_in: None,
        }
    });
    let mut all: Vec<ListedRejection> = each.collect();
    join_lines(room, &mut all)?;
    Ok(all)
}

/// The names in a directory by record number. A rejected file and its explanation share one.
fn names_by_seq(dir: &Dir) -> Result<BTreeMap<u64, Vec<String>>> {
    let mut by_seq: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for entry in dir.list()? {
        let Ok(name) = entry?.name.into_string() else {
            continue;
        };
        if let Some(seq) = layout::read_retired(&name)
            && !name.starts_with('.')
        {
            by_seq.entry(seq).or_default().push(name);
        }
    }
    Ok(by_seq)
}

/// If no line of a file was accepted, the file is next to the explanation of its first line. It belongs to all its lines.
fn join_lines(room: &Room, all: &mut [ListedRejection]) -> Result<()> {
    for first in 0..all.len() {
        if all[first].line.is_none() || all[first].file.is_none() {
            continue;
        }
        let (kept, name) = (all[first].file.take(), all[first].name.clone());
        let claim = claim_of(room, all[first].seq)?;
        all[first].kept_in = kept.clone();
        for other in all[first + 1..]
            .iter_mut()
            .filter(|other| other.line.is_some() && other.name == name)
        {
            if claim.is_some() && claim_of(room, other.seq)? == claim {
                other.kept_in = kept.clone();
            }
        }
    }
    Ok(())
}

/// The name of the file in `spool/claim` for a rejection. The lines of one file share it.
pub fn claim_of(room: &Room, seq: u64) -> Result<Option<String>> {
    Ok(find::record_by_seq(&room.dir, seq)?.and_then(|record| record.claim().map(str::to_owned)))
}

/// Distinguishes the file from its explanation. A sender may choose a file name that looks like an explanation's.
fn tell_apart(dir: &Dir, seq: u64, mut names: Vec<String>) -> (Option<String>, Option<String>) {
    names.sort_by_key(String::len);
    let explains = |name: &String, file: &String| {
        layout::read_original(file)
            .is_some_and(|original| *name == layout::explanation(seq, original))
    };
    let explains_line = |name: &String, file: &String| {
        let line = explain(dir, name).and_then(|why| u32::try_from(why.line?).ok());
        line.zip(layout::read_original(file))
            .is_some_and(|(line, original)| {
                *name == layout::explanation_of_line(seq, original, line)
            })
    };
    for file in &names {
        if let Some(explanation) = names
            .iter()
            .find(|name| *name != file && (explains(name, file) || explains_line(name, file)))
        {
            return (Some(file.clone()), Some(explanation.clone()));
        }
    }
    match names.into_iter().next() {
        Some(name) if name.ends_with(layout::EXPLAINED) && explain(dir, &name).is_some() => {
            (None, Some(name))
        }
        other => (other, None),
    }
}

/// A parsed explanation.
#[derive(Default, Deserialize)]
struct ParsedExplanation {
    #[serde(default)]
    code: String,
    #[serde(skip)]
    what: String,
    #[serde(default)]
    rejected_at: String,
    #[serde(default)]
    file: String,
    line: Option<u64>,
    text: Option<String>,
    problems: Vec<Problem>,
}

/// The explanation as the log has it, for a rejection without a file of its own.
fn recorded(room: &Room, seq: u64) -> Option<ParsedExplanation> {
    let Record {
        event: Event::Rejected(rejected),
        at,
        ..
    } = find::record_by_seq(&room.dir, seq).ok()??
    else {
        return None;
    };
    let (origin, problems) = (rejected.origin, rejected.problems);
    let (code, what) = problems
        .first()
        .map(|one| (one.code.clone(), one.what.clone()))
        .unwrap_or_default();
    Some(ParsedExplanation {
        code,
        what,
        rejected_at: at,
        file: String::new(),
        line: origin.line.map(u64::from),
        text: None,
        problems,
    })
}

fn explain(dir: &Dir, name: &str) -> Option<ParsedExplanation> {
    let bytes = dir.read(name, limits::MESSAGE_BYTES_MOST).ok()??;
    let why: ParsedExplanation = serde_json::from_slice(&bytes).ok()?;
    let what = why
        .problems
        .first()
        .map(|problem| problem.what.clone())
        .unwrap_or_default();
    Some(ParsedExplanation { what, ..why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_without_its_file_is_not_counted() {
        let directory = tempfile::tempdir().expect("a directory");
        let (room, _) = Room::init(directory.path()).expect("a room");
        room.dir.make("rejected/alice").expect("a directory");
        let put = |name: &str, text: &str| {
            let path = format!("rejected/alice/{name}");
            room.dir.replace(path, text.as_bytes()).expect("a file");
        };
        let counts = || {
            let (files, newest) = newest(&room, "alice", 9).expect("a listing");
            let all = of(&room, "alice").expect("a listing");
            (
                count(&room, "alice").expect("a number"),
                files,
                newest.len(),
                all.len(),
            )
        };
        put("2~a.error.json", r#"{"problems": []}"#);
        assert_eq!(counts(), (0, 0, 0, 1));
        put("2~a.json", "{");
        assert_eq!(counts(), (1, 1, 1, 1));
        put("3~b.line4.error.json", r#"{"problems": [], "line": 4}"#);
        put(
            "5~c.error.json",
            "a file that its sender named like an explanation",
        );
        assert_eq!(counts(), (3, 3, 3, 3));
    }
}
