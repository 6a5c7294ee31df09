//! The dropped files: valid and invalid messages, and other files.

use super::people::{Address, Name};
use serde_json::{Map, Value, json};
use std::fmt;

/// The year that times are counted from: later than every real clock, so that only a set clock
/// reaches it.
pub(super) const YEAR: i32 = 2100;

/// The content of a file.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Letter {
    Mail(Mail),
    /// Subscribes its sender to a topic, or unsubscribes it.
    Follow {
        topic: Name,
        follow: bool,
    },
    Broken(Broken),
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mail {
    pub(super) to: Vec<Address>,
    pub(super) id: Option<u8>,
    pub(super) body: u8,
    pub(super) expires: Option<Expires>,
    pub(super) flaw: Option<Flaw>,
    /// Written in another spelling, which changes nothing.
    pub(super) spelled: bool,
}

/// The expiry of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expires {
    LongAgo,
    /// This many hours into the year [`YEAR`].
    At(u32),
}

/// A flaw of a message besides its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    Spoofed,
    SaysNothing,
}

/// Files without a valid message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    NotJson,
    List,
    KeyTwice,
    Empty,
    Truncated,
}

impl Letter {
    /// The bytes of the file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let value = match self {
            Letter::Mail(mail) => mail.value(),
            Letter::Follow { topic, follow } => {
                json!({"type": if *follow { "subscribe" } else { "unsubscribe" }, "topic": topic})
            }
            Letter::Broken(Broken::NotJson) => return b"{\"to\": bob}".to_vec(),
            Letter::Broken(Broken::List) => json!([{"to": "bob", "body": "hi"}]),
            Letter::Broken(Broken::KeyTwice) => {
                return br#"{"to": "bob", "body": "hi", "to": "carol"}"#.to_vec();
            }
            Letter::Broken(Broken::Empty) => return Vec::new(),
            Letter::Broken(Broken::Truncated) => return br#"{"to": "bob", "body": "h"#.to_vec(),
        };
        serde_json::to_vec_pretty(&value).expect("JSON prints")
    }

    /// The mail in it.
    pub(super) fn mail(&self) -> Option<&Mail> {
        match self {
            Letter::Mail(mail) => Some(mail),
            _ => None,
        }
    }

    /// Returns true if it is truncated, so that its writer may not have finished.
    pub(super) fn is_unfinished(&self) -> bool {
        matches!(self, Letter::Broken(Broken::Empty | Broken::Truncated))
    }
}

impl Mail {
    /// The message as it was written.
    fn value(&self) -> Value {
        let mut fields = self.fields();
        if self.spelled {
            for (field, other) in [("body", "content"), ("to", "addressed")] {
                if let Some(value) = fields.shift_remove(field) {
                    fields.insert(other.to_owned(), value);
                }
            }
        }
        Value::Object(fields)
    }

    /// The fields that its copies must have, but for `to`, which becomes `addressed_to` in them.
    pub(super) fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        let texts: Vec<String> = self.to.iter().map(Address::text).collect();
        fields.insert(
            "to".into(),
            if let [one] = &*texts {
                json!(one)
            } else {
                json!(texts)
            },
        );
        fields.extend(self.id.map(|id| ("id".into(), json!(format!("m-{id}")))));
        if self.flaw != Some(Flaw::SaysNothing) {
            fields.insert(
                "body".into(),
                json!(format!("No. {}: \"käse\" 🧀\n", self.body)),
            );
        }
        if self.flaw == Some(Flaw::Spoofed) {
            fields.insert("from".into(), json!("mallory"));
        }
        fields.extend(
            self.expires
                .map(|expires| ("expires_at".into(), json!(expires.text()))),
        );
        fields
    }

    /// Returns true for the same message in another spelling.
    pub(super) fn is_same(&self, other: &Mail) -> bool {
        let plain = |mail: &Mail| Mail {
            spelled: false,
            ..mail.clone()
        };
        plain(self) == plain(other)
    }
}

impl Expires {
    fn text(self) -> String {
        match self {
            Expires::LongAgo => "2001-01-01T00:00:00Z".into(),
            Expires::At(hours) => instant(hours),
        }
    }
}

/// This many hours into the year [`YEAR`].
pub(super) fn instant(hours: u32) -> String {
    format!("{YEAR}-01-{:02}T{:02}:00:00Z", 1 + hours / 24, hours % 24)
}

impl fmt::Debug for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy(&self.bytes()).into_owned();
        match serde_json::from_str::<Value>(&text) {
            Ok(value) if *self != Letter::Broken(Broken::KeyTwice) => write!(f, "{value}"),
            _ => write!(f, "{text:?}"),
        }
    }
}
