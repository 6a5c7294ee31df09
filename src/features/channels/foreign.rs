//! Foreign lines in a conversation, which are kept in `rejected/` before they are cut out.
//!
//! A note in `spool/cut/` is written before each cut and stays until the log has the notices about it, so that no
//! kill can separate the cut from the notices.

use super::paths;
use super::tail::LineClassifier;
use crate::base::clock::Stamp;
use crate::base::error::{Problem, Result};
use crate::base::hash::{hash, hex};
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::message::id;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Gathered lines are written in pieces of this size, in bytes.
const HELD: usize = 8 << 20;

/// Lines that were cut out of a conversation, and kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RemovedLines {
    /// The channel.
    pub(super) channel: Arc<str>,
    /// The registered agent that the lines name as their sender.
    pub(super) writer: Option<Arc<str>>,
    /// The path of the kept lines, relative to the room.
    pub(super) kept: PathBuf,
    /// The number of lines.
    pub(super) lines: usize,
    /// The number of lines that show delivered messages, such as a line of the router in a second place.
    pub(super) delivered: usize,
    /// The message that the writer should have dropped instead of the first line.
    pub(super) example: Value,
    /// Identifies this cut.
    pub(super) digest: String,
}

/// Reads the notes about cuts. Their notices may not be in the log.
pub(super) fn read_notes(room: &Dir) -> Result<Vec<RemovedLines>> {
    let Some(notes) = room.sub_if_exists(paths::CUT)? else {
        return Ok(Vec::new());
    };
    let mut cuts = Vec::new();
    for entry in notes.list()? {
        let name = entry?.name;
        // A temporary file of a killed router, which did not make its cut.
        if name.as_encoded_bytes().starts_with(b".") {
            notes.remove(&name)?;
            continue;
        }
        let note = notes
            .read(&name, limits::MESSAGE_BYTES_MOST)?
            .unwrap_or_default();
        match serde_json::from_slice(&note) {
            Ok(cut) => cuts.push(cut),
            Err(e) => tracing::warn!(
                "{} is not a note about cut lines: {e}",
                notes.at(&name).display()
            ),
        }
    }
    Ok(cuts)
}

/// Finds the registered agent of a name.
pub(super) type AgentFinder<'a> = &'a dyn Fn(&str) -> Option<Arc<str>>;

/// Gathers the foreign lines of one conversation by writer.
pub(super) struct ForeignLines<'a> {
    judge: &'a LineClassifier<'a>,
    after: u64,
    find: AgentFinder<'a>,
    held: BTreeMap<Option<Arc<str>>, WriterLines>,
    size: usize,
    cut: Vec<RemovedLines>,
}

/// Lines of one writer.
#[derive(Default)]
struct WriterLines {
    bytes: Vec<u8>,
    lines: usize,
    delivered: usize,
}

impl<'a> ForeignLines<'a> {
    /// Begins after the line of record `after`.
    pub(super) fn new(
        judge: &'a LineClassifier<'a>,
        after: u64,
        find: AgentFinder<'a>,
    ) -> ForeignLines<'a> {
        ForeignLines {
            judge,
            after,
            find,
            held: BTreeMap::new(),
            size: 0,
            cut: Vec::new(),
        }
    }

    /// Takes a line. Blank lines and lines with a zero byte, which is the rest of a hole, are dropped.
    pub(super) fn add(&mut self, line: &[u8]) -> Result<()> {
        if line.iter().all(u8::is_ascii_whitespace) || line.contains(&0) {
            return Ok(());
        }
        let writer =
            writer(line).and_then(|name| (self.find)(name.strip_prefix('@').unwrap_or(&name)));
        let is_delivered = self.judge.is_delivered(line)?;
        let held = self.held.entry(writer).or_default();
        held.bytes.extend(line);
        held.lines += 1;
        held.delivered += usize::from(is_delivered);
        self.size += line.len();
        if self.size >= HELD {
            self.keep()
        } else {
            Ok(())
        }
    }

    /// Returns the lines that were taken. They are durable in `rejected/`.
    pub(super) fn kept(mut self) -> Result<Vec<RemovedLines>> {
        self.keep()?;
        Ok(self.cut)
    }

    // Writes the gathered lines. After a kill, the same files are written again.
    fn keep(&mut self) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        self.judge.check_log()?;
        let LineClassifier { room, channel, .. } = *self.judge;
        let drafts = room.make(layout::SPOOL)?;
        self.size = 0;
        for (writer, held) in std::mem::take(&mut self.held) {
            let WriterLines {
                bytes,
                lines,
                delivered,
            } = held;
            let owner = writer.as_deref().unwrap_or(id::HUMAN);
            let directory = layout::rejected(owner);
            let digest = hex(&hash(
                [&self.after.to_le_bytes(), bytes.as_slice()].concat(),
            ))[..12]
                .to_owned();
            let name = paths::cut_out(channel, &digest);
            let example = example(&bytes, channel);
            let dir = room.make(&directory)?;
            dir.replace_from(&drafts, paths::CUT_DRAFT, &name, &bytes)?;
            let explained = self.explain(owner, &directory.join(&name), lines, example.clone());
            dir.replace_from(
                &drafts,
                paths::CUT_DRAFT,
                layout::explaining(&name),
                (pretty(&explained) + "\n").as_bytes(),
            )?;
            let kept = directory.join(&name);
            let cut = RemovedLines {
                channel: channel.into(),
                writer,
                kept,
                lines,
                delivered,
                example,
                digest,
            };
            let note = serde_json::to_vec(&cut).expect("a note prints");
            let notes = room.make(paths::CUT)?;
            notes.replace_from(&drafts, paths::CUT_DRAFT, &name, &note)?;
            self.cut.push(cut);
        }
        Ok(())
    }

    fn explain(&self, owner: &str, kept: &std::path::Path, lines: usize, example: Value) -> Value {
        let file = paths::conversation(self.judge.channel);
        let what = format!(
            "another program than the router wrote to {}",
            file.display()
        );
        let problem = Problem::new("foreign_line", what)
            .fix("drop each message as a file of its own in your outbox, or all of them as one .ndjson file there");
        json!({
            "code": problem.code,
            "agent": owner,
            "file": file,
            "kept": kept,
            "lines": lines,
            "rejected_at": Stamp::now().to_string(),
            "problems": [problem.example(example)],
        })
    }
}

/// The sender that a line names.
fn writer(line: &[u8]) -> Option<String> {
    let fields: Map<String, Value> = serde_json::from_slice(line).ok()?;
    ["sender", "from", "from_agent", "actor"]
        .iter()
        .find_map(|field| {
            let value = fields.get(*field)?;
            let name = value.as_str().or_else(|| value.get("id")?.as_str());
            name.map(str::to_owned)
        })
}

/// The message that should have been dropped instead of the first line.
fn example(lines: &[u8], channel: &str) -> Value {
    let first = lines
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let fields = serde_json::from_slice::<Map<String, Value>>(first).unwrap_or_default();
    let [body, to] = [["content", "body"], ["addressed", "to"]]
        .map(|names| names.iter().find_map(|name| fields.get(*name)).cloned());
    let body = body.unwrap_or_else(|| Value::from(cut(&String::from_utf8_lossy(first))));
    let to = to
        .filter(|to| !to.as_array().is_some_and(Vec::is_empty))
        .unwrap_or(json!("all"));
    json!({"channel": channel, "to": to, "body": body})
}

fn cut(text: &str) -> String {
    text.trim().chars().take(200).collect()
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("JSON values print")
}
