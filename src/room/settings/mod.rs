//! `settings.toml`: the settings of a room. The file and all its keys are optional.
//!
//! The macro `settings!` is the only list of keys. Each entry has a documentation text, a name, a type, a default, and the
//! rule that decides whether its value leads out of the room and so needs the person's consent.

mod connections;
mod links;
mod nats;
mod problems;
mod ssh;
mod tables;
#[cfg(test)]
mod tests;
mod values;

pub use connections::LinkConnection;
pub use links::{Carrier, LinkBudget, LinkSettings, is_tag};
pub use nats::{NatsAddress, NatsSettings, REPLICAS_MOST, stream_of, token};
pub use ssh::SshAddress;
pub use tables::{AnswerLimits, EscalationSettings, SenderBudget};

use crate::base::error::Problem;
use crate::base::hash::{hash, hex};
use crate::base::limits;
use crate::features;
use crate::message::address::{self, is_display_name};
use crate::room::registry::OtherRooms;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use toml::de::{DeTable, Deserializer};
use values::{
    read_attach_from, read_context, read_message_bytes, read_names, read_permission_within,
    read_stale_after, read_window, read_word, read_worklog, to_toml, write_span,
};

/// The agents that may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SenderAdmission {
    /// Registered agents.
    #[default]
    Registered,
    /// Every agent that creates an outbox. The router then registers it.
    Open,
}

/// The action of the guard for files that another agent owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GuardMode {
    /// No action.
    Off,
    /// A warning.
    Warn,
    /// Edits and commits of registered agents are stopped. Others get a warning.
    #[default]
    Deny,
}

impl GuardMode {
    /// The value of the setting.
    pub fn as_str(self) -> &'static str {
        match self {
            GuardMode::Off => "off",
            GuardMode::Warn => "warn",
            GuardMode::Deny => "deny",
        }
    }
}

/// The text that a hook shows at the start of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionBrief {
    /// Claims and mail.
    #[default]
    Mail,
    /// Claims, mail and the context.
    Context,
}

/// A setting in the list of settings.
struct SettingKey {
    key: &'static str,
    description: &'static str,
    /// Returns true if the present value leads out of the room.
    leads_out: fn(&Settings) -> bool,
    /// Sets the default.
    reset: fn(&mut Settings),
}

/// Defines [`Settings`], its defaults and [`KEYS`].
macro_rules! settings {
    ($($doc:literal $(#[$serde:meta])* $key:ident: $kind:ty = $default:expr, $leads_out:expr;)*) => {
        /// The settings of a room.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Settings {
            $(#[doc = $doc] $(#[$serde])* pub $key: $kind,)*
            /// The keys that the file contains.
            #[serde(skip)]
            given: Vec<&'static str>,
            /// The settings that do not take effect, because the person has not agreed to them.
            #[serde(skip)]
            pub withheld: Vec<GuardedSetting>,
            /// The hash of all that leads out of the room, as the file has it.
            #[serde(skip)]
            pub outward: Option<String>,
            /// True if the person has agreed to exactly that.
            #[serde(skip)]
            pub is_agreed: bool,
        }

        impl Default for Settings {
            fn default() -> Settings {
                Settings {
                    $($key: $default,)*
                    given: Vec::new(),
                    withheld: Vec::new(),
                    outward: None,
                    is_agreed: false,
                }
            }
        }

        /// All keys, in the order of the list.
        const KEYS: &[SettingKey] = &[$(SettingKey {
            key: stringify!($key),
            description: $doc,
            leads_out: $leads_out,
            reset: |settings| settings.$key = Settings::default().$key,
        }),*];
    };
}

settings! {
    "name of this room in addresses from other rooms, as in `po:Sintra`"
    #[serde(deserialize_with = "links::read_tag")]
    tag: Option<String> = None, stays_inside;

    "who may send: `registered` agents only, or `open` (a new outbox registers its agent)"
    #[serde(deserialize_with = "read_word")]
    admission: SenderAdmission = SenderAdmission::default(), stays_inside;

    "directory of shared files: an absolute path, or a path relative to the room"
    #[serde(deserialize_with = "read_context")]
    context: String = "context".into(), Settings::has_context_outside;

    "directories, by absolute path, from which a command's output (`mailbag exec`) and a model (MCP) may attach files, in \
     addition to the repository and the context"
    #[serde(deserialize_with = "read_attach_from")]
    attach_from: Vec<String> = Vec::new(), |settings| !settings.attach_from.is_empty();

    "largest message file in bytes; larger files are rejected"
    #[serde(deserialize_with = "read_message_bytes")]
    message_bytes: u64 = limits::MESSAGE_BYTES, stays_inside;

    "names for sessions without a name, and display names for `mailbag agent add --name auto`, in this order; [] to give \
     sessions no names"
    #[serde(deserialize_with = "read_names")]
    names: Vec<String> = NAMES.lines().map(String::from).collect(), stays_inside;

    "time limit for the answer to a question or an urgent message; then the supervisor is notified, and after the same time \
     the human: a duration, or a table of priorities; \"0\" for never"
    answer_within: AnswerLimits = AnswerLimits::default(), stays_inside;

    "time without activity after which an agent with unread mail, or with status online, is stale and the human is \
     notified; \"0\" for never"
    #[serde(serialize_with = "write_span", deserialize_with = "read_stale_after")]
    stale_after: Duration = Duration::from_secs(6 * 3600), stays_inside;

    "limits for each sender in a `window`, with delays for further mail: `messages`, `copies`, and `replies` to replies in \
     a conversation; and `announcements`, the lines about new mail that hooks show an agent in an hour; a table; 0 for no \
     limit, or for digests only"
    budget: SenderBudget = SenderBudget::default(), stays_inside;

    "lease duration of a session after its last call, from 1s to 24h"
    #[serde(serialize_with = "write_span", deserialize_with = "read_window")]
    session_lease: Duration = limits::SESSION_LEASE, stays_inside;

    "time for the human's decision on a permission request of a client, from 1s to 10m; then the client asks by itself"
    #[serde(serialize_with = "write_span", deserialize_with = "read_permission_within")]
    permission_within: Duration = Duration::from_secs(5 * 60), stays_inside;

    "edits and commits of files that another agent has claimed: `deny` (they stop), `warn` or `off`"
    #[serde(deserialize_with = "read_word")]
    guard: GuardMode = GuardMode::default(), stays_inside;

    "text of hooks at the start of a session: `mail` (claims and mail), or `context` (in addition, the output of `mailbag \
     context`)"
    #[serde(deserialize_with = "read_word")]
    brief: SessionBrief = SessionBrief::default(), stays_inside;

    "whether the router writes the newest mail to `MAILBOX.md` in the room, and the unread mail of each agent to \
     `queue/to-<agent>.md`: true or false"
    mailbox: bool = false, stays_inside;

    "Markdown file with milestones, decisions and session events, which the router writes: false, true for `WORKLOG.md`, or \
     a path relative to the room's parent directory"
    #[serde(serialize_with = "write_worklog", deserialize_with = "read_worklog")]
    worklog: Option<String> = None, |settings| settings.worklog.as_deref().is_some_and(|path| path != WORKLOG);

    "what happens to proposals that meet objections: after `attempts` rounds in a thread without a decision, the \
     `supervisor` is asked, and `within` this time the human; a table, also as `[escalation]`"
    escalation: Option<EscalationSettings> = None, stays_inside;

    "rooms to which there is a link, by tag: `carrier` (`dir`, `ssh`, `nats`, or `none` if the other room connects), \
     `address`, `as` (this room's tag there, if it is not `tag`), `accept`, the addresses that their mail may have here \
     (`agents`, `roles`, `all`, `topics`, `human`), and `budget`, if `messages` or `copies` differ from those of the room; a \
     table for each, also as `[links.<tag>]`"
    #[serde(deserialize_with = "links::read_links")]
    links: BTreeMap<String, LinkSettings> = BTreeMap::new(), stays_inside; // `Settings::withhold` checks each link.
}

/// The default names, one per line.
const NAMES: &str = include_str!("names.txt");

/// The worklog, unless `worklog` is another path.
const WORKLOG: &str = "WORKLOG.md";

/// The longest path of a worklog, in bytes.
const WORKLOG_PATH: usize = 1000;

/// The smallest limit that still allows a message.
const MESSAGE_BYTES_LEAST: u64 = 1 << 10;
const _: () = assert!(
    MESSAGE_BYTES_LEAST <= limits::MESSAGE_BYTES
        && limits::MESSAGE_BYTES <= limits::MESSAGE_BYTES_MOST
);

/// A setting that leads out of the room, with its value as TOML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardedSetting {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// A setting with its current value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// Its key in `settings.toml`.
    pub key: &'static str,
    /// The value as TOML. Empty if there is none.
    pub value: String,
    /// The default as TOML. Empty if there is none.
    pub default: String,
    /// `default` or `settings.toml`.
    pub source: &'static str,
    /// Its purpose.
    pub description: &'static str,
}

impl Settings {
    /// The tag of this room in the other room of a link.
    pub fn known_as<'a>(&'a self, link: &'a LinkSettings) -> Option<&'a str> {
        link.known_as.as_deref().or(self.tag.as_deref())
    }

    /// Reads `settings.toml`, or returns the first problem with its line.
    pub fn parse(text: &str) -> Result<Settings, Box<Problem>> {
        let table = DeTable::parse(text).map_err(|e| Box::new(problems::not_toml(text, &e)))?;
        let is_given = |key: &&str| table.get_ref().contains_key(*key);
        let given = KEYS.iter().map(|key| key.key).filter(is_given).collect();
        let settings = Settings::deserialize(Deserializer::from(table))
            .map_err(|e| Box::new(problems::bad_setting(text, &e)))?;
        Ok(Settings { given, ..settings })
    }

    /// The rooms that addresses can lead to.
    pub fn rooms(&self) -> Arc<OtherRooms> {
        let rooms = features::ALL.iter().map(|feature| feature.rooms(self));
        Arc::new(rooms.flatten().collect())
    }

    /// Returns true if `context` names a directory outside of the room.
    pub fn has_context_outside(&self) -> bool {
        let path = &self.context;
        path.starts_with('/') || path.split('/').any(|part| part == "..")
    }

    /// The settings that lead out of the room, and the links within this machine.
    fn guarded(&self) -> Vec<GuardedSetting> {
        let values = self.values();
        let keys = KEYS.iter().filter(|key| (key.leads_out)(self));
        let keys = keys.map(|key| (key.key.to_owned(), to_toml(&values[key.key])));
        let links = self
            .links
            .iter()
            .filter(|(_, link)| link.carrier == Carrier::Dir);
        let links = links.map(|(tag, link)| (link_key(tag), to_toml(link)));
        keys.chain(links)
            .map(|(key, value)| GuardedSetting { key, value })
            .collect()
    }

    /// The hash of all that leads out of the room, with the connections to other machines. `None` if nothing does.
    pub(super) fn hash_outward(&self) -> Option<String> {
        let connections = LinkConnection::of(self);
        let mut outward = self.guarded();
        outward.extend(connections.iter().map(LinkConnection::as_setting));
        let text = serde_json::to_vec(&outward).expect("plain data");
        (!outward.is_empty()).then(|| hex(&hash(text)))
    }

    /// The settings and connections that lead out of the room without consent.
    pub fn open(&self) -> Vec<GuardedSetting> {
        let mut open = self.withheld.clone();
        if !self.is_agreed {
            let connections = LinkConnection::of(self);
            open.extend(connections.iter().map(LinkConnection::as_setting));
        }
        open
    }

    /// Resets the settings that lead out of the room, and disables links within this machine.
    pub(super) fn withhold(&mut self) {
        self.withheld = self.guarded();
        for key in KEYS {
            if (key.leads_out)(self) {
                (key.reset)(self);
            }
        }
        for link in self.links.values_mut() {
            // A link to another machine stays, because the router does not connect.
            link.is_withheld = link.carrier == Carrier::Dir;
        }
    }

    /// All settings with their values, defaults and sources.
    pub fn listing(&self) -> Vec<Setting> {
        let (values, defaults) = (self.values(), Settings::default().values());
        KEYS.iter()
            .map(
                |&SettingKey {
                     key, description, ..
                 }| Setting {
                    key,
                    value: to_toml(&values[key]),
                    default: to_toml(&defaults[key]),
                    source: if self.given.contains(&key) {
                        "settings.toml"
                    } else {
                        "default"
                    },
                    description,
                },
            )
            .collect()
    }

    fn values(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The rule of a setting that never leads out of the room.
fn stays_inside(_: &Settings) -> bool {
    false
}

/// The key of a link as a setting that needs consent.
pub(crate) fn link_key(tag: &str) -> String {
    format!("links.{tag}")
}

fn is_context(path: &str) -> bool {
    const OWN: [&str; 10] = [
        "inbox", "outbox", "sent", "rejected", "channels", "log", "archive", "sessions", "spool",
        "queue",
    ];
    let first = path
        .trim_start_matches("./")
        .split('/')
        .next()
        .unwrap_or_default();
    !path.is_empty() && !path.contains('\0') && !matches!(path, "." | "./") && !OWN.contains(&first)
}

fn are_absolute(paths: &[String]) -> bool {
    paths
        .iter()
        .all(|path| path.starts_with('/') && path != "/" && !path.contains('\0'))
}

fn are_names(names: &[String]) -> bool {
    names.iter().enumerate().all(|(n, name)| {
        is_display_name(name)
            && address::reserved(name).is_none()
            && !names[..n]
                .iter()
                .any(|other| other.eq_ignore_ascii_case(name))
    })
}

/// The value of the setting `worklog`.
#[derive(Deserialize)]
#[serde(untagged)]
enum WorklogValue {
    Switch(bool),
    Path(String),
}

impl WorklogValue {
    fn is_valid(&self) -> bool {
        match self {
            WorklogValue::Switch(_) => true,
            WorklogValue::Path(path) => is_worklog(path),
        }
    }
}

impl From<WorklogValue> for Option<String> {
    fn from(value: WorklogValue) -> Option<String> {
        match value {
            WorklogValue::Switch(is_on) => is_on.then(|| WORKLOG.to_owned()),
            WorklogValue::Path(path) => Some(path),
        }
    }
}

fn is_worklog(path: &str) -> bool {
    path.len() <= WORKLOG_PATH && path.ends_with(".md") && path.split('/').all(is_worklog_name)
}

fn is_worklog_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.len() < limits::FILE_NAME - 32
        && !name.contains(char::is_control)
}

fn write_worklog<S: Serializer>(path: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    match path.as_deref() {
        None => serializer.serialize_bool(false),
        Some(WORKLOG) => serializer.serialize_bool(true),
        Some(path) => serializer.serialize_str(path),
    }
}
