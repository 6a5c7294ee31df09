//! `settings.toml`: the settings of a room. The file and all its keys are optional.
//!
//! One table, `KEYS`, defines each key: name, purpose, parsing and display. So parsing, listing and docs always agree.
//! [`Settings::default`] contains the defaults.

mod escalation;
mod guards;
mod keys;
mod links;
mod nats;
mod ssh;
mod values;

pub use escalation::Escalation;
pub use links::{Accept, Carrier, LinkSettings, LinkTags, is_tag};
pub use nats::{NatsAddress, NatsSettings, REPLICAS_MOST, stream_of, token};
pub use ssh::SshAddress;

use crate::base::error::{Problem, nearest};
use crate::base::limits;
pub use crate::disk::Durability;
use crate::message;
use crate::message::address::quoted;
use keys::{KEYS, Key};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use toml::de::DeTable;

/// The display names that `agent add --name auto` assigns, in this order.
const NAMES: [&str; 40] = [
    "Sintra", "Porto", "Evora", "Tavira", "Lagos", "Braga", "Tomar", "Obidos", "Aveiro", "Nazare",
    "Siena", "Lucca", "Parma", "Turin", "Genoa", "Trento", "Como", "Ravello", "Bled", "Piran",
    "Zadar", "Split", "Kotor", "Ohrid", "Delft", "Leiden", "Ghent", "Bruges", "Namur", "Malmo",
    "Visby", "Bergen", "Oslo", "Turku", "Tartu", "Riga", "Gdansk", "Krakow", "Brno", "Graz",
];

/// The agents that may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Admission {
    /// Registered agents.
    #[default]
    Registered,
    /// Every agent that creates an outbox. The router then registers it.
    Open,
}

/// What the guard does about files that another agent owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Guard {
    /// Nothing.
    Off,
    /// It warns.
    Warn,
    /// It stops edits and commits of registered agents, and warns others.
    #[default]
    Deny,
}

/// What a hook tells a session at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Brief {
    /// Its claims and its mail.
    #[default]
    Mail,
    /// The same, and its context.
    Context,
}

/// The time limits for answers, by priority as in [`message::PRIORITIES`]. Zero means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerWithin([Duration; 4]);

impl AnswerWithin {
    /// The limit for this priority. `None` for no limit.
    pub fn of(&self, priority: &str) -> Option<Duration> {
        let at = message::PRIORITIES
            .iter()
            .position(|known| *known == priority)?;
        Some(self.0[at]).filter(|within| !within.is_zero())
    }
}

impl Default for AnswerWithin {
    fn default() -> AnswerWithin {
        AnswerWithin([limits::ANSWER_WITHIN; 4])
    }
}

/// The settings of a room.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The room's name in addresses from other rooms.
    pub tag: Option<String>,
    /// The events that a commit survives.
    pub durability: Durability,
    /// The agents that may send.
    pub admission: Admission,
    /// The directory of shared files: absolute, or relative to the room.
    pub context: String,
    /// The largest message file.
    pub message_bytes: u64,
    /// Directories whose files may be attached by the output of a command or by a model.
    pub attach_from: Vec<String>,
    /// Display names to assign, in order.
    pub names: Vec<String>,
    /// The time limit for the answer to a question or an urgent message, before another agent is notified.
    pub answer_within: AnswerWithin,
    /// After this time without activity, an agent with unread mail or with status online is stale. Zero means never.
    pub stale_after: Duration,
    /// The limit of messages per sender and `budget_window`; 0 for no limit.
    pub sender_budget: u32,
    /// The limit of copies per sender and `budget_window`; 0 for no limit.
    pub copies_budget: u32,
    /// The limit of replies to replies per conversation and `budget_window`; 0 for no limit.
    pub loop_hops: u32,
    /// The window of the three budgets above.
    pub budget_window: Duration,
    /// The lease duration of a session after its last call.
    pub session_lease: Duration,
    /// The default lease of a claim after the owner's last activity.
    pub claim_lease: Duration,
    /// The time for the human's decision on a permission request of a client.
    pub permission_within: Duration,
    /// The limit of lines that hooks show per agent and `announce_window`. The rest becomes a digest.
    pub announce_budget: u32,
    /// The window of `announce_budget`.
    pub announce_window: Duration,
    /// What happens to edits and commits of files that another agent owns.
    pub guard: Guard,
    /// Does the router write `MAILBOX.md`?
    pub mailbox: bool,
    /// Does the router write `queue/to-<agent>.md`?
    pub queue: bool,
    /// Does the router write a worklog?
    pub worklog: bool,
    /// The worklog, relative to the room's parent directory.
    pub worklog_path: String,
    /// What happens to proposals that meet objections. `None` for nothing.
    pub escalation: Option<Escalation>,
    /// The links to other rooms, by tag.
    pub links: BTreeMap<String, LinkSettings>,
    /// What a hook tells a session at its start.
    pub brief: Brief,
    /// The budget of the context, in tokens.
    pub context_budget: usize,
    /// Does a session without a name get one?
    pub session_names: bool,
    /// The role of sessions without a name.
    pub session_role: Option<String>,
    /// The keys in the file, to distinguish them from defaults in the listing.
    pub given: Vec<&'static str>,
    /// The settings that do not take effect, because the person has not agreed to them.
    pub withheld: Vec<GuardedSetting>,
}

/// A setting that leads out of the room, with its value as TOML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GuardedSetting {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// A setting with its current value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Setting {
    /// Its key in `settings.toml`.
    pub key: &'static str,
    /// The value as TOML. Empty if there is none.
    pub value: String,
    /// `default` or `settings.toml`.
    pub source: &'static str,
    /// Its purpose.
    pub doc: &'static str,
}

impl Settings {
    /// Reads `settings.toml`, or returns all problems with their lines.
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
                Err(wanted) => {
                    problems.push(wrong(key.key, &wanted, &settings_default(key)).at(place))
                }
            }
        }
        problems.truncate(limits::PROBLEMS);
        if problems.is_empty() {
            Ok(settings)
        } else {
            Err(problems)
        }
    }

    /// The tags of the links, each with the kinds of addresses that mail from there may have.
    pub fn link_tags(&self) -> Arc<LinkTags> {
        Arc::new(
            self.links
                .iter()
                .map(|(tag, link)| (tag.clone(), link.accept.clone()))
                .collect(),
        )
    }

    /// Returns true if `context` names a directory outside of the room.
    pub fn has_context_outside(&self) -> bool {
        let path = &self.context;
        path.starts_with('/') || path.split('/').any(|part| part == "..")
    }

    /// Gives each setting that leads out of the room its default value, and lets no link write into another room of this
    /// machine, unless the person has agreed to exactly this value.
    pub(super) fn withhold(&mut self, is_agreed: impl Fn(&GuardedSetting) -> bool) {
        for key in KEYS {
            let setting = GuardedSetting {
                key: key.key.to_owned(),
                value: (key.show)(self),
            };
            if self.given.contains(&key.key)
                && guards::leads_out(key.key, self)
                && !is_agreed(&setting)
            {
                self.withheld.push(setting);
            }
        }
        for setting in self.withheld.clone() {
            guards::reset(&setting.key, self);
        }
        for (tag, link) in &mut self.links {
            let setting = GuardedSetting {
                key: link_key(tag),
                value: link.show(),
            };
            // A link to another machine has consent of its own, because the router does not connect.
            if link.carrier == Carrier::Dir && !is_agreed(&setting) {
                link.is_withheld = true;
                self.withheld.push(setting);
            }
        }
    }

    /// Returns true if `settings.toml` has names of its own.
    pub fn has_own_names(&self) -> bool {
        self.given.contains(&"names")
    }

    /// Every setting with its current value and the source of the value.
    pub fn listing(&self) -> Vec<Setting> {
        let source = |key| {
            if self.given.contains(&key) {
                "settings.toml"
            } else {
                "default"
            }
        };
        KEYS.iter()
            .map(|k| Setting {
                key: k.key,
                value: (k.show)(self),
                source: source(k.key),
                doc: k.doc,
            })
            .collect()
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
            claim_lease: limits::CLAIM_LEASE,
            permission_within: limits::PERMISSION,
            announce_budget: limits::ANNOUNCE_BUDGET,
            announce_window: limits::ANNOUNCE_WINDOW,
            guard: Guard::default(),
            mailbox: false,
            queue: false,
            worklog: false,
            worklog_path: "WORKLOG.md".into(),
            escalation: None,
            links: BTreeMap::new(),
            brief: Brief::default(),
            context_budget: limits::CONTEXT_TOKENS,
            session_names: true,
            session_role: None,
            given: Vec::new(),
            withheld: Vec::new(),
        }
    }
}

/// The key of a link as a setting that needs consent.
pub(crate) fn link_key(tag: &str) -> String {
    format!("links.{tag}")
}

fn line(text: &str, offset: usize) -> String {
    format!(
        "line {}",
        1 + text.bytes().take(offset).filter(|b| *b == b'\n').count()
    )
}

fn not_toml(text: &str, error: &toml::de::Error) -> Problem {
    let place = error
        .span()
        .map(|s| line(text, s.start))
        .unwrap_or_default();
    let what = format!(
        "settings.toml is not TOML here: {}",
        error.message().lines().next().unwrap_or_default()
    );
    Problem::new("not_toml", what)
        .at(place)
        .fix("write `key = value`, with strings in quotes; `mailbag settings` lists the keys")
}

fn unknown(key: &str) -> Problem {
    let near = nearest(key, KEYS.iter().map(|k| k.key));
    let fix = match near.as_slice() {
        [] => format!(
            "use one of {}",
            KEYS.iter().map(|k| k.key).collect::<Vec<_>>().join(", ")
        ),
        near => format!("did you mean {}?", near.join(", ")),
    };
    Problem::new(
        "unknown_setting",
        format!("unknown setting {}", quoted(key)),
    )
    .fix(fix)
}

fn wrong(key: &str, wanted: &str, default: &str) -> Problem {
    let or_default = if default.is_empty() {
        String::new()
    } else {
        format!(", such as the default {default}")
    };
    let cut = if or_default.len() > 100 {
        ""
    } else {
        or_default.as_str()
    };
    Problem::new("bad_setting", format!("{key} has an invalid value"))
        .fix(format!("give {wanted}{cut}"))
}

fn settings_default(key: &Key) -> String {
    (key.show)(&Settings::default())
}
