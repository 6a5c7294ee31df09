//! How an agent is woken when mail comes while it idles: the object `wake` of its entry.

use crate::base::{clock, limits};
use crate::message::record::hex;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// How an agent is woken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// By what.
    pub by: By,
    /// At most once in this time.
    pub every: Duration,
    /// How long the program that wakes it may take.
    pub within: Duration,
    /// The object as it stands in the file, with what this version does not know.
    pub document: Map<String, Value>,
}

/// By what an agent is woken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// Its own hook, in Claude Code: `mailbag wait --rewake`.
    Claude,
    /// A message into its session, in Codex.
    Codex,
    /// A program of the user's, with its arguments; no shell reads them.
    Command(Vec<String>),
    /// Nothing: it looks by itself.
    Nobody,
}

/// A program that a router starts, as a person agrees to it: with each of its arguments, before anything is filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program(Value);

impl Program {
    /// Its arguments, or the word that stands for a program that this one knows.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// As a person reads it, each argument in quotation marks.
    pub fn text(&self) -> String {
        self.0.to_string()
    }

    /// What it is known by. JSON keeps the arguments apart, whatever is in them.
    pub fn sha256(&self) -> String {
        hex(&Sha256::digest(self.text()).into())
    }
}

impl By {
    /// The words for those without arguments.
    pub const WORDS: [&str; 3] = ["claude", "codex", "nobody"];
}

impl Wake {
    /// Reads the object, or says what is wanted instead.
    pub fn read(value: &Value) -> Result<Wake, String> {
        let Value::Object(document) = value else { return Err("an object such as {\"by\": \"codex\"}".into()) };
        let by = match (document.get("by").map(|by| by.as_str()), document.get("argv")) {
            (Some(Some("claude")), None) => By::Claude,
            (Some(Some("codex")), None) => By::Codex,
            (Some(Some("nobody")) | None, None) => By::Nobody,
            (None, Some(argv)) => By::Command(words(argv)?),
            (Some(_), None) => return Err(format!("\"by\" as one of {}", By::WORDS.join(", "))),
            (Some(_), Some(_)) => return Err("either \"by\" or \"argv\"".into()),
        };
        let every = span(document, "every", limits::WAKE_EVERY)?;
        let within = span(document, "within", limits::WAKE_WITHIN)?;
        Ok(Wake { by, every, within: within.min(limits::WAKE_WITHIN_MOST), document: document.clone() })
    }

    /// The program that a router starts for it, if it starts one.
    pub fn program(&self) -> Option<Program> {
        match &self.by {
            By::Codex => Some(Program(Value::from("codex"))),
            By::Command(argv) => Some(Program(Value::from(argv.clone()))),
            By::Claude | By::Nobody => None,
        }
    }

    /// Reads what a person writes for it: one of [`By::WORDS`], or an object, or the array of a program and its
    /// arguments.
    pub fn parse(text: &str) -> Result<Wake, String> {
        let word = || Value::Object(Map::from_iter([("by".to_owned(), Value::from(text))]));
        let value = match serde_json::from_str::<Value>(text) {
            Ok(argv @ Value::Array(_)) => Value::Object(Map::from_iter([("argv".to_owned(), argv)])),
            Ok(value) => value,
            Err(_) => word(),
        };
        Wake::read(&value)
    }
}

fn words(argv: &Value) -> Result<Vec<String>, String> {
    let words: Option<Vec<String>> =
        argv.as_array().and_then(|words| words.iter().map(|word| word.as_str().map(str::to_owned)).collect());
    words.filter(|words| words.first().is_some_and(|program| !program.is_empty())).ok_or_else(|| {
        "\"argv\" as an array of a program and its arguments, such as [\"notify-send\", \"{text}\"]".to_owned()
    })
}

fn span(document: &Map<String, Value>, key: &str, default: Duration) -> Result<Duration, String> {
    match document.get(key) {
        None => Ok(default),
        Some(value) => value
            .as_str()
            .and_then(clock::span)
            .filter(|span| *span <= limits::BUDGET_WINDOW_MOST)
            .ok_or_else(|| format!("\"{key}\" as a span such as \"30s\", at most 24h")),
    }
}
