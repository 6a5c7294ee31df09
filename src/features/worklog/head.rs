//! The beginning of the worklog: the status of the agents, and the newest decisions. It ends with a mark that
//! identifies the router's own text.

use crate::base::clock::Stamp;
use crate::base::hash::{hash, hex};
use crate::base::text::{count_of, to_the_second};
use crate::base::{limits, markdown};
use crate::features::claims;
use crate::features::presence::{self, WorkReport};
use crate::log::state::{OpenQuestion, RoomState};
use crate::room::registry::{Agent, Registry};
use memchr::memmem;
use std::collections::HashMap;
use std::fmt::Write;

/// The most agents in the status block.
const WORKLOG_AGENTS: usize = 100;

const TITLE: &str = "\
# Worklog

mailbag writes this file from the log of the room. To add an entry, send a message: `mailbag send TEXT --type milestone`. If
another program or person changes the file, the changed file is kept under another name.

## Status

";

/// The text before the entries.
const ENTRIES: &[u8] = b"-->\n\n## Entries\n\n";

/// The beginning of the worklog of a room.
pub(super) fn head(
    room: &str,
    registry: &Registry,
    state: &RoomState,
    decisions: &[String],
) -> Vec<u8> {
    let mut text = TITLE.to_owned();
    status(&mut text, registry, state);
    questions(&mut text, state);
    text.push_str("\n## Decisions\n\n");
    if decisions.is_empty() {
        text.push_str("None yet.\n");
    }
    text.extend(decisions.iter().map(String::as_str));
    let digest = digest(text.as_bytes());
    let mut bytes = text.into_bytes();
    bytes.extend(format!("\n<!-- mailbag {room} {digest} ").as_bytes());
    bytes.extend(ENTRIES);
    bytes
}

/// The beginning of a file.
pub(super) enum WorklogHead {
    /// The router of this room wrote it. The entries begin at this byte.
    Ours(usize),
    /// Another router wrote it.
    OfRoom(String),
    /// Another program changed or made the file.
    Foreign,
}

/// Reads the beginning of a file for the room with this id.
pub(super) fn read(room: &str, bytes: &[u8]) -> WorklogHead {
    let Some(mark) = memmem::find(bytes, b"\n<!-- mailbag ") else {
        return WorklogHead::Foreign;
    };
    let Some(end) = memmem::find(&bytes[mark..], ENTRIES).map(|at| mark + at) else {
        return WorklogHead::Foreign;
    };
    let words = String::from_utf8_lossy(&bytes[mark..end]).into_owned();
    let words: Vec<&str> = words.split_whitespace().skip(2).collect();
    match words[..] {
        [id, own] if own == digest(&bytes[..mark]) && id == room => {
            WorklogHead::Ours(end + ENTRIES.len())
        }
        [id, own] if own == digest(&bytes[..mark]) => WorklogHead::OfRoom(id.to_owned()),
        _ => WorklogHead::Foreign,
    }
}

/// The probable beginning of the entries, even if the text before them was changed.
pub(super) fn entries_at(bytes: &[u8]) -> usize {
    memmem::find(bytes, ENTRIES).map_or(0, |at| at + ENTRIES.len())
}

fn digest(bytes: &[u8]) -> String {
    hex(&hash(bytes))[..12].to_owned()
}

/// The newest open questions.
fn questions(text: &mut String, state: &RoomState) {
    text.push_str("\n## Open questions\n\n");
    let all = state.questions();
    if all.is_empty() {
        text.push_str("None.\n");
    }
    let older = all.len().saturating_sub(limits::WORKLOG_DECISIONS);
    for OpenQuestion {
        seq,
        at,
        from,
        waiting_for,
        text: about,
        ..
    } in &all[older..]
    {
        let [from, waiting_for] = [from, &waiting_for.join(", ")]
            .map(|names| markdown::brief(names, limits::WORKLOG_TEXT));
        let (at, about) = (
            to_the_second(at),
            markdown::brief(about, limits::WORKLOG_TEXT),
        );
        let _ = writeln!(text, "- #{seq} {at} {from} asks {waiting_for}: {about}");
    }
    if older > 0 {
        let _ = writeln!(text, "\n{} more: `mailbag list --type question`.", older);
    }
}

/// A table of the agents with capabilities, with activity, or with work that they own or wait for.
fn status(text: &mut String, registry: &Registry, state: &RoomState) {
    let mut owned: HashMap<&str, Vec<String>> = HashMap::new();
    for held in claims::of(state).held() {
        let subjects = owned.entry(&held.owner).or_default();
        subjects.push(held.subject.to_string());
    }
    let mut waits: HashMap<String, Vec<String>> = HashMap::new();
    let questions = state.questions().into_iter();
    for open in questions.filter(|question| question.kind == "approval") {
        let wait = format!("{}: {}", open.waiting_for.join(", "), open.text);
        waits.entry(open.from).or_default().push(wait);
    }
    let agents = registry.agents().iter().filter(|agent| !agent.is_retired());
    let rows: Vec<[String; 6]> = agents
        .clone()
        .filter_map(|agent| {
            let owned = owned.remove(&*agent.id).unwrap_or_default();
            let waits = waits.remove(&*agent.id).unwrap_or_default();
            row(agent, state, owned, waits)
        })
        .take(WORKLOG_AGENTS)
        .collect();
    if !rows.is_empty() {
        text.push_str(
            "| agent | capabilities | last activity | does | owns | waits for |\n|---|---|---|---|---|---|\n",
        );
    }
    for row in &rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    let others = agents.count() - rows.len();
    if others > 0 {
        let (gap, more) = if rows.is_empty() {
            ("", "")
        } else {
            ("\n", "more ")
        };
        let _ = writeln!(
            text,
            "{gap}{}; `mailbag who` shows who is there.",
            count_of(others, &format!("{more}agent"))
        );
    }
}

fn row(
    agent: &Agent,
    state: &RoomState,
    owned: Vec<String>,
    waits: Vec<String>,
) -> Option<[String; 6]> {
    let report = presence::of(state).report_of(&agent.id);
    let blocked = report
        .into_iter()
        .flat_map(|report| report.waiting_for.iter().cloned());
    let name = agent.name.as_ref().map_or_else(
        || agent.id.to_string(),
        |name| format!("{} ({name})", agent.id),
    );
    let active = state.last_seen(&agent.id).map(to_the_minute);
    let row = [
        markdown::brief(&name, limits::WORKLOG_TEXT),
        listed(agent.capabilities.clone()),
        active.unwrap_or_default(),
        report.map(does).unwrap_or_default(),
        listed(owned),
        listed(blocked.chain(waits).collect()),
    ];
    row[1..].iter().any(|cell| !cell.is_empty()).then_some(row)
}

/// The time without its seconds, so that the activity of an agent changes the file at most once a minute.
fn to_the_minute(at: Stamp) -> String {
    let text = at.to_string();
    text.get(..16)
        .map_or(text.clone(), |minute| format!("{minute}Z"))
}

fn does(report: &WorkReport) -> String {
    let progress = report
        .percent()
        .map(|percent| format!(" {percent}"))
        .unwrap_or_default();
    let text = if report.text.is_empty() {
        String::new()
    } else {
        format!(": {}", report.text)
    };
    let at = to_the_second(&Stamp::from_micros(report.at).to_string());
    markdown::brief(
        &format!("{}{progress}{text} ({at})", report.kind),
        limits::WORKLOG_TEXT,
    )
}

fn listed(mut all: Vec<String>) -> String {
    let more = all.len().saturating_sub(limits::IN_SENTENCE);
    all.truncate(limits::IN_SENTENCE);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    markdown::brief(&all.join("; "), limits::WORKLOG_TEXT)
}
