//! The log of a room about its mail: the effect of each record, and the status of each copy.

use super::story::Play;
use mailbag::Room;
use mailbag::disk::layout;
use mailbag::log;
use mailbag::message::status::CopyStatus;
use mailbag::query::trace::{MessageTrace, StatusChange, trace};
use regex::Regex;
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

/// Things that must be the same with and without a crash, and everything that is wrong in any room.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    pub(super) things: Vec<String>,
    pub(super) wrong: Vec<String>,
}

/// The outcomes in a room.
pub(super) fn outcomes(play: &mut Play, room: &Path) -> Outcomes {
    let found = play.as_process(|| outcomes_in(&Room::open(room)?));
    found.unwrap_or_else(|e| Outcomes {
        wrong: vec![format!("the log cannot be traced: {e}")],
        ..Outcomes::default()
    })
}

/// Fails if a copy stands in an inbox that it is said to have left. For the middle of a story.
pub(super) fn receipts_are_true(room: &Room) -> mailbag::Result<()> {
    let wrong = outcomes_in(room)?.wrong;
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(mailbag::Error::state(room.dir.path(), wrong.join(", "), ""))
    }
}

fn outcomes_in(room: &Room) -> mailbag::Result<Outcomes> {
    let mut found = Outcomes::default();
    let unread = unread(room)?;
    let mut told = HashSet::new();
    for line in log::lines(&room.dir, log::START)? {
        let record = flat(&line?.bytes);
        if record["about"].is_string() && !told.insert(record["about"].to_string()) {
            found.wrong.push(format!("told twice: {}", record["about"]));
        }
        let event = text(&record, "event");
        if !["accepted", "notice", "rejected", "duplicate"].contains(&event) {
            continue;
        }
        let name = name_of(&record);
        found.things.push(format!("{name}{}", effects_of(&record)));
        if ["accepted", "notice"].contains(&event) {
            let traced = trace(room, None, &format!("#{}", record["seq"]))?;
            found.things.extend(copies(&name, &traced));
            found.wrong.extend(impossible(&name, &traced, &unread));
        }
    }
    Ok(found)
}

/// A line of the log, with the parts of its event beside its header, and with the event as a word.
fn flat(line: &[u8]) -> Value {
    let mut record: Value = serde_json::from_slice(line).unwrap_or_default();
    let parts = record["event"].take();
    let event = parts.as_object().and_then(|event| event.iter().next());
    if let Some((word, event)) = event {
        record["event"] = word.as_str().into();
        for (name, part) in event.as_object().into_iter().flatten() {
            if ["origin", "name", "times"].contains(&name.as_str()) {
                for (name, part) in part.as_object().into_iter().flatten() {
                    record[name] = part.clone();
                }
            } else {
                record[name] = part.clone();
            }
        }
    }
    record
}

/// The unread copies: the agent and the number of the message.
fn unread(room: &Room) -> mailbag::Result<HashSet<(String, u64)>> {
    let mut unread = HashSet::new();
    for agent in room.registry()?.agents() {
        let Some(inbox) = room.dir.sub_if_exists(layout::inbox(&agent.id))? else {
            continue;
        };
        for name in inbox.names()?.iter().filter(|name| name.ends_with(".json")) {
            let bytes = inbox.read(name, u64::MAX)?.unwrap_or_default();
            let mail: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let number = mail["delivery"]["seq"].as_u64();
            unread.extend(number.map(|number| (agent.id.to_string(), number)));
        }
    }
    Ok(unread)
}

fn text<'r>(record: &'r Value, field: &str) -> &'r str {
    record[field].as_str().unwrap_or_default()
}

/// The name of a record: the same with and without a crash.
fn name_of(record: &Value) -> String {
    match text(record, "event") {
        "notice" => stable(&format!("notice of {}", text(record, "about"))),
        "rejected" => {
            let file = text(record, "claim").split_once('~').map_or("", |it| it.1);
            stable(&format!("rejected {file}, line {}", record["line"]))
        }
        event => stable(&format!(
            "{event} {} of {}",
            text(record, "id"),
            text(record, "from")
        )),
    }
}

/// The changes of a record, besides copies.
fn effects_of(record: &Value) -> String {
    let fields = [
        "facts",
        "act",
        "outcome",
        "answers",
        "announce_after",
        "expires_at",
        "answer_by",
        "ack_by",
    ];
    let mut effects: Vec<String> = fields
        .iter()
        .filter(|field| !record[**field].is_null())
        .map(|field| stable(&format!(", {field} {}", record[*field])))
        .collect();
    let problems = record["problems"].as_array().into_iter().flatten();
    effects.extend(problems.map(|problem| format!(", {}", text(problem, "code"))));
    effects.concat()
}

/// The copies of a message, its answers, and the notices about it.
fn copies(name: &str, traced: &MessageTrace) -> Vec<String> {
    let copies = traced.recipients.iter().map(|copy| {
        let mut steps: Vec<String> = copy.statuses.iter().map(step).collect();
        steps.sort();
        let (agent, via, status) = (&copy.agent, &copy.via, copy.status.as_str());
        let renamed = copy.renamed_to.as_deref().unwrap_or("nobody else");
        format!("{name} to {agent} by {via}, now of {renamed}: {status} after {steps:?}")
    });
    let answers = traced.answers.iter().map(|answer| {
        let (id, from, option) = (&answer.id, &answer.from, &answer.option);
        stable(&format!(
            "{name} is answered by {id} of {from} with {option:?}"
        ))
    });
    let notices = traced.notices.iter().map(|notice| {
        let (agent, event, outcome) = (&notice.agent, &notice.event, &notice.outcome);
        format!("{name}: {agent} is told {event} {outcome:?}")
    });
    copies.chain(answers).chain(notices).collect()
}

fn step(step: &StatusChange) -> String {
    let by = step.by.as_deref().unwrap_or("nobody");
    let note = step.note.as_deref().unwrap_or_default();
    stable(&format!("{} by {by} {note}", step.status.as_str()))
}

/// Copies that are said to have left their inbox, and stand in it.
fn impossible(name: &str, traced: &MessageTrace, unread: &HashSet<(String, u64)>) -> Vec<String> {
    let standing = traced.recipients.iter().filter(|copy| {
        let agent = copy.renamed_to.as_ref().unwrap_or(&copy.agent);
        let has_left =
            |step: &StatusChange| step.status.leaves_inbox() || step.status == CopyStatus::Expired;
        unread.contains(&(agent.clone(), traced.seq)) && copy.statuses.iter().any(has_left)
    });
    standing
        .map(|copy| {
            format!(
                "{name} stands in the inbox of {}, and is {:?}",
                copy.agent, copy.status
            )
        })
        .collect()
}

/// A text without times, numbers of records, and ids that mailbag chose.
pub(super) fn stable(text: &str) -> String {
    static PATTERNS: LazyLock<[(Regex, &str); 4]> = LazyLock::new(|| {
        let pattern = |pattern: &str| Regex::new(pattern).expect("a pattern");
        [
            (pattern(r"[0-9-]{10}T[0-9:]{8}(\.[0-9]+)?Z"), "TIME"),
            (pattern(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "ID"),
            (pattern(r"\b[0-9a-f]{64}\b"), "HASH"),
            (pattern(r"\b[0-9]+\b"), "N"),
        ]
    });
    PATTERNS
        .iter()
        .fold(text.to_owned(), |text, (pattern, with)| {
            pattern.replace_all(&text, *with).into_owned()
        })
}
