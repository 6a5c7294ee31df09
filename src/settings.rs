//! `settings.toml`: how a room behaves. The file is optional, and so is every key in it.
//!
//! One table, `KEYS`, holds for each key its name, what it is for, how it is read and how it is shown, so that the
//! reader, the listing and the docs cannot drift apart. The default is whatever [`Settings::default`] holds.

use crate::address::{self, is_display_name, quoted};
pub use crate::disk::Durability;
use crate::error::{Problem, nearest};
use crate::{clock, id, limits, message};
use serde::Serialize;
use std::time::Duration;
use toml::de::{DeTable, DeValue};

/// The smallest bound on messages that still lets a message through.
const MESSAGE_BYTES_LEAST: u64 = 1 << 10;
const _: () =
    assert!(MESSAGE_BYTES_LEAST <= limits::MESSAGE_BYTES && limits::MESSAGE_BYTES <= limits::MESSAGE_BYTES_MOST);

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
            names: NAMES.map(String::from).to_vec(),
            answer_within: AnswerWithin::default(),
            stale_after: limits::STALE_AFTER,
            sender_budget: 0,
            copies_budget: 0,
            loop_hops: limits::LOOP_HOPS,
            budget_window: limits::BUDGET_WINDOW,
            given: Vec::new(),
        }
    }
}

/// All there is to know about one key.
struct Key {
    key: &'static str,
    doc: &'static str,
    /// Takes the value, or says what is wanted instead.
    read: fn(&DeValue<'_>, &mut Settings) -> Result<(), String>,
    /// The value in force as TOML.
    show: fn(&Settings) -> String,
}

const KEYS: &[Key] = &[
    Key {
        key: "tag",
        doc: "the name under which other rooms write to this one, as in `po:Sintra`",
        read: |value, settings| {
            let usable = |t: &&str| id::is_name(t) && !t.eq_ignore_ascii_case("cap") && address::reserved(t).is_none();
            let tag =
                value.as_str().filter(usable).ok_or("a name of letters, digits, . _ -, not reserved and not `cap`")?;
            settings.tag = Some(tag.to_owned());
            Ok(())
        },
        show: |settings| settings.tag.as_deref().map(shown).unwrap_or_default(),
    },
    Key {
        key: "durability",
        doc: "what an accepted message survives: `power` (kill and power cut) or `process` (kill)",
        read: |value, settings| {
            let words = [("power", Durability::Power), ("process", Durability::Process)];
            settings.durability = one_of(value, &words)?;
            Ok(())
        },
        show: |settings| word(&settings.durability),
    },
    Key {
        key: "admission",
        doc: "who may send: `registered` agents only, or `open` (a new outbox registers its agent)",
        read: |value, settings| {
            let words = [("registered", Admission::Registered), ("open", Admission::Open)];
            settings.admission = one_of(value, &words)?;
            Ok(())
        },
        show: |settings| word(&settings.admission),
    },
    Key {
        key: "context",
        doc: "where shared artifacts are: an absolute path, or one relative to the room",
        read: |value, settings| {
            let path =
                value.as_str().filter(|p| is_context(p)).ok_or("a path, not one of the room's own directories")?;
            settings.context = path.to_owned();
            Ok(())
        },
        show: |settings| shown(&settings.context),
    },
    Key {
        key: "message_bytes",
        doc: "the largest message file in bytes; anything larger is refused",
        read: |value, settings| {
            let allowed = MESSAGE_BYTES_LEAST..=limits::MESSAGE_BYTES_MOST;
            let given = integer(value).filter(|n| allowed.contains(n));
            let wanted = || format!("a whole number of bytes from {} to {}", allowed.start(), allowed.end());
            settings.message_bytes = given.ok_or_else(wanted)?;
            Ok(())
        },
        show: |settings| settings.message_bytes.to_string(),
    },
    Key {
        key: "names",
        doc: "display names that `mailbag agent add --name auto` hands out, in this order",
        read: |value, settings| {
            settings.names = pool(value).ok_or_else(|| {
                format!(
                    "an array of different names, each of 1 to {} ASCII letters, none reserved",
                    limits::DISPLAY_NAME
                )
            })?;
            Ok(())
        },
        show: |settings| format!("[{}]", settings.names.iter().map(|n| shown(n)).collect::<Vec<_>>().join(", ")),
    },
    Key {
        key: "answer_within",
        doc: "how long a question, or an urgent message, may wait before a supervisor is told, and again before the \
              human is: a span for all priorities, or a table of them; \"0\" for never",
        read: |value, settings| {
            let wanted = "a span such as \"30m\", or a table such as { urgent = \"5m\", low = \"0\" }";
            settings.answer_within = answer_within(value).ok_or(wanted)?;
            Ok(())
        },
        show: |settings| {
            let each = message::PRIORITIES.iter().zip(settings.answer_within.0);
            let each = each.map(|(priority, within)| format!("{priority} = {}", shown(&clock::span_text(within))));
            format!("{{ {} }}", each.collect::<Vec<_>>().join(", "))
        },
    },
    Key {
        key: "stale_after",
        doc: "how long an agent may do nothing, with mail unread or while the registry says that it is online, before it \
              is stale and the human is told; \"0\" for never",
        read: |value, settings| {
            let given = value.as_str().and_then(clock::span);
            settings.stale_after = given.ok_or("a span such as \"6h\", or \"0\" for never")?;
            Ok(())
        },
        show: |settings| shown(&clock::span_text(settings.stale_after)),
    },
    Key {
        key: "sender_budget",
        doc: "messages of one sender in a `budget_window`; what comes on top waits in its outbox; 0 is no bound",
        read: |value, settings| budget(value).map(|most| settings.sender_budget = most),
        show: |settings| settings.sender_budget.to_string(),
    },
    Key {
        key: "copies_budget",
        doc: "copies of one sender's messages in a `budget_window`, likewise; 0 is no bound",
        read: |value, settings| budget(value).map(|most| settings.copies_budget = most),
        show: |settings| settings.copies_budget.to_string(),
    },
    Key {
        key: "loop_hops",
        doc: "answers to answers in a `budget_window`, in one conversation; the next waits in its outbox; 0 is no bound",
        read: |value, settings| budget(value).map(|most| settings.loop_hops = most),
        show: |settings| settings.loop_hops.to_string(),
    },
    Key {
        key: "budget_window",
        doc: "the time that the three keys above count in, such as `60s`, `10m` or `1h`",
        read: |value, settings| {
            let allowed = limits::BUDGET_WINDOW_LEAST..=limits::BUDGET_WINDOW_MOST;
            let given = value.as_str().and_then(clock::span).filter(|span| allowed.contains(span));
            settings.budget_window = given.ok_or("a time from 1s to 24h, such as \"60s\", \"10m\" or \"1h\"")?;
            Ok(())
        },
        show: |settings| shown(&clock::span_text(settings.budget_window)),
    },
];

fn answer_within(value: &DeValue<'_>) -> Option<AnswerWithin> {
    let span = |value: &DeValue<'_>| clock::span(value.as_str()?);
    if let Some(all) = span(value) {
        return Some(AnswerWithin([all; 4]));
    }
    let mut within = AnswerWithin::default();
    for (priority, value) in value.as_table()? {
        let at = message::PRIORITIES.iter().position(|known| *known == priority.get_ref())?;
        within.0[at] = span(value.get_ref())?;
    }
    Some(within)
}

fn one_of<T: Copy>(value: &DeValue<'_>, words: &[(&str, T)]) -> Result<T, String> {
    let found = value.as_str().and_then(|v| words.iter().find(|(w, _)| *w == v));
    let wanted = || words.iter().map(|(w, _)| format!("\"{w}\"")).collect::<Vec<_>>().join(" or ");
    found.map(|(_, t)| *t).ok_or_else(wanted)
}

fn integer(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn budget(value: &DeValue<'_>) -> Result<u32, String> {
    let given = integer(value).and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= limits::BUDGET_MOST);
    given.ok_or_else(|| format!("a whole number from 0 (no bound) to {}", limits::BUDGET_MOST))
}

fn is_context(path: &str) -> bool {
    const OWN: [&str; 8] = ["inbox", "outbox", "sent", "rejected", "channels", "log", "archive", "spool"];
    let first = path.trim_start_matches("./").split('/').next().unwrap_or_default();
    !path.is_empty() && !path.contains('\0') && !matches!(path, "." | "./") && !OWN.contains(&first)
}

fn pool(value: &DeValue<'_>) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for item in value.as_array()?.iter() {
        let name = item.get_ref().as_str()?;
        let known = names.iter().any(|n| n.eq_ignore_ascii_case(name));
        if !is_display_name(name) || address::reserved(name).is_some() || known {
            return None;
        }
        names.push(name.to_owned());
    }
    Some(names)
}

fn shown(text: &str) -> String {
    // A JSON string is a TOML string as well.
    serde_json::to_string(text).unwrap_or_default()
}

fn word(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
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
