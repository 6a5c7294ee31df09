//! `settings.toml`: how a room behaves. The file is optional, and so is every key in it.
//!
//! One table, `KEYS`, holds for each key its name, what it is for, how it is read and how it is shown, so that the
//! reader, the listing and the docs cannot drift apart. The default is whatever [`Settings::default`] holds.

mod keys;

use crate::base::error::{Problem, nearest};
use crate::base::limits;
pub use crate::disk::Durability;
use crate::message;
use crate::message::address::quoted;
use keys::{KEYS, Key};
use serde::Serialize;
use std::time::Duration;
use toml::de::DeTable;

/// The display names handed out by `agent add --name auto`, in this order.
const NAMES: [&str; 40] = [
    "Sintra", "Porto", "Evora", "Tavira", "Lagos", "Braga", "Tomar", "Obidos", "Aveiro", "Nazare", "Siena", "Lucca",
    "Parma", "Turin", "Genoa", "Trento", "Como", "Ravello", "Bled", "Piran", "Zadar", "Split", "Kotor", "Ohrid",
    "Delft", "Leiden", "Ghent", "Bruges", "Namur", "Malmo", "Visby", "Bergen", "Oslo", "Turku", "Tartu", "Riga",
    "Gdansk", "Krakow", "Brno", "Graz",
];

/// Who may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Admission {
    /// Agents in the registry.
    #[default]
    Registered,
    /// Whoever makes an outbox: it is registered then.
    Open,
}

/// How long nobody may answer before somebody else is told, by priority as in [`message::PRIORITIES`]; zero for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerWithin([Duration; 4]);

impl AnswerWithin {
    /// For this priority; `None` for never.
    pub fn of(&self, priority: &str) -> Option<Duration> {
        let at = message::PRIORITIES.iter().position(|known| *known == priority)?;
        Some(self.0[at]).filter(|within| !within.is_zero())
    }
}

impl Default for AnswerWithin {
    fn default() -> AnswerWithin {
        AnswerWithin([limits::ANSWER_WITHIN; 4])
    }
}

/// How a room behaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The name under which other rooms know this one.
    pub tag: Option<String>,
    /// What a commit survives.
    pub durability: Durability,
    /// Who may send.
    pub admission: Admission,
    /// Where shared artifacts are: absolute, or relative to the room.
    pub context: String,
    /// The largest message file.
    pub message_bytes: u64,
    /// Directories below which files may be attached that a command's output or a model names.
    pub attach_from: Vec<String>,
    /// Display names to hand out, in order.
    pub names: Vec<String>,
    /// How long a question, or an urgent message, may stay without an answer before somebody else is told.
    pub answer_within: AnswerWithin,
    /// How long an agent may do nothing, with mail unread or while it is said to be online, before it is stale; zero for
    /// never.
    pub stale_after: Duration,
    /// How many messages a sender may send in `budget_window` before the next is delayed; 0: as many as it likes.
    pub sender_budget: u32,
    /// How many copies they may come to; 0: as many as it likes.
    pub copies_budget: u32,
    /// How many times a conversation may be answered to and fro in `budget_window` before the next answer is delayed;
    /// 0: as often as it likes.
    pub loop_hops: u32,
    /// The time that the three above are counted in.
    pub budget_window: Duration,
    /// How long a session that makes no calls still holds its agent.
    pub session_lease: Duration,
    /// How many lines hooks give an agent in an `announce_window`; the rest becomes a digest.
    pub announce_budget: u32,
    /// The time that they are counted in.
    pub announce_window: Duration,
    /// The keys that the file gave, so that the listing can tell them from defaults.
    pub given: Vec<&'static str>,
}

/// One setting as it is in force.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// Its key in `settings.toml`.
    pub key: &'static str,
    /// Its value, as TOML; empty if it has none.
    pub value: String,
    /// `default` or `settings.toml`.
    pub source: &'static str,
    /// What it is for.
    pub doc: &'static str,
}

impl Settings {
    /// Reads `settings.toml`, or says everything that is wrong with it, by line.
    pub fn parse(text: &str) -> Result<Settings, Vec<Problem>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut problems: Vec<Problem> = errors.iter().map(|e| not_toml(text, e)).collect();
        let mut settings = Settings::default();
        for (name, value) in table.get_ref() {
            let place = line(text, name.span().start);
            let Some(key) = KEYS.iter().find(|k| k.key == name.get_ref()) else {
                problems.push(unknown(name.get_ref()).at(place));
                continue;
            };
            match (key.read)(value.get_ref(), &mut settings) {
                Ok(()) => settings.given.push(key.key),
                Err(wanted) => problems.push(wrong(key.key, &wanted, &settings_default(key)).at(place)),
            }
        }
        problems.truncate(limits::PROBLEMS);
        if problems.is_empty() { Ok(settings) } else { Err(problems) }
    }

    /// Every setting with its value in force and where that comes from.
    pub fn listing(&self) -> Vec<Setting> {
        let source = |key| if self.given.contains(&key) { "settings.toml" } else { "default" };
        KEYS.iter().map(|k| Setting { key: k.key, value: (k.show)(self), source: source(k.key), doc: k.doc }).collect()
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            tag: None,
            durability: Durability::default(),
            admission: Admission::default(),
            context: "context".into(),
            message_bytes: limits::MESSAGE_BYTES,
            attach_from: Vec::new(),
            names: NAMES.map(String::from).to_vec(),
            answer_within: AnswerWithin::default(),
            stale_after: limits::STALE_AFTER,
            sender_budget: limits::SENDER_BUDGET,
            copies_budget: limits::COPIES_BUDGET,
            loop_hops: limits::LOOP_HOPS,
            budget_window: limits::BUDGET_WINDOW,
            session_lease: limits::SESSION_LEASE,
            announce_budget: limits::ANNOUNCE_BUDGET,
            announce_window: limits::ANNOUNCE_WINDOW,
            given: Vec::new(),
        }
    }
}

fn line(text: &str, offset: usize) -> String {
    format!("line {}", 1 + text.bytes().take(offset).filter(|b| *b == b'\n').count())
}

fn not_toml(text: &str, error: &toml::de::Error) -> Problem {
    let place = error.span().map(|s| line(text, s.start)).unwrap_or_default();
    let what = format!("settings.toml is not TOML here: {}", error.message().lines().next().unwrap_or_default());
    Problem::new("not_toml", what)
        .at(place)
        .fix("write `key = value`, texts in quotes; `mailbag settings` lists the keys")
}

fn unknown(key: &str) -> Problem {
    let near = nearest(key, KEYS.iter().map(|k| k.key));
    let fix = match near.as_slice() {
        [] => format!("take one of {}", KEYS.iter().map(|k| k.key).collect::<Vec<_>>().join(", ")),
        near => format!("did you mean {}?", near.join(", ")),
    };
    Problem::new("unknown_setting", format!("there is no setting {}", quoted(key))).fix(fix)
}

fn wrong(key: &str, wanted: &str, default: &str) -> Problem {
    let or_default = if default.is_empty() { String::new() } else { format!(", such as the default {default}") };
    let cut = if or_default.len() > 100 { "" } else { or_default.as_str() };
    Problem::new("bad_setting", format!("{key} has a value it can't have")).fix(format!("give {wanted}{cut}"))
}

fn settings_default(key: &Key) -> String {
    (key.show)(&Settings::default())
}
