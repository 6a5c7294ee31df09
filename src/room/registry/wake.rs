//! How an agent is woken for new mail while it is idle: the object `wake` of its registry entry.

use crate::base::hash::{hash, hex};
use crate::base::{clock, limits};
use serde_json::{Map, Value};
use std::time::Duration;

/// The default shortest interval between two wakes of an agent.
const WAKE_EVERY: Duration = Duration::from_secs(60);
/// The highest time limit that the registry may set for a program that wakes an agent.
const WAKE_WITHIN_MOST: Duration = Duration::from_secs(10 * 60);
const _: () = assert!(limits::WAKE_WITHIN.as_secs() <= WAKE_WITHIN_MOST.as_secs());

/// How an agent is woken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeSettings {
    /// The means.
    pub by: AgentWakeMethod,
    /// With [`AgentWakeMethod::Codex`], the program to start where Codex cannot wake the session.
    pub otherwise: Option<Vec<String>>,
    /// The shortest interval between two wakes.
    pub every: Duration,
    /// The time limit of the program.
    pub within: Duration,
    /// The object in the file, with unknown fields.
    pub document: Map<String, Value>,
}

/// The way to wake an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentWakeMethod {
    /// Its own hook in Claude Code: `mailbag wait --rewake`.
    Claude,
    /// A message to its session in Codex.
    Codex,
    /// A program of the user with its arguments, started without a shell.
    Command(Vec<String>),
    /// Nothing: the agent checks its mail itself.
    Nobody,
}

/// A program that the router starts. A person consents to this form: with all arguments, before placeholders are
/// replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeProgram(Value);

impl WakeProgram {
    /// Its arguments, or the word for a built-in program.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// A display form, with each argument in quotation marks.
    pub fn text(&self) -> String {
        self.0.to_string()
    }

    /// Its identity. JSON keeps the arguments separate, whatever they contain.
    pub fn sha256(&self) -> String {
        hex(&hash(self.text()))
    }
}

/// Returns true if the arguments of a program contain the session id. Without a known session it is not started.
pub fn wants_session(argv: &[String]) -> bool {
    argv.iter().any(|word| word.contains("{session}"))
}

impl AgentWakeMethod {
    /// The words for means without arguments.
    pub const WORDS: [&str; 3] = ["claude", "codex", "nobody"];
}

impl WakeSettings {
    /// Reads the object, or returns a description of the expected form.
    pub fn read(value: &Value) -> Result<WakeSettings, String> {
        let Value::Object(document) = value else {
            return Err("an object such as {\"by\": \"codex\"}".into());
        };
        let by = match (
            document.get("by").map(|by| by.as_str()),
            document.get("argv"),
        ) {
            (Some(Some("claude")), None) => AgentWakeMethod::Claude,
            (Some(Some("codex")), None) => AgentWakeMethod::Codex,
            (Some(Some("nobody")) | None, None) => AgentWakeMethod::Nobody,
            (None, Some(argv)) => AgentWakeMethod::Command(words("argv", argv)?),
            (Some(_), None) => {
                return Err(format!(
                    "\"by\" as one of {}",
                    AgentWakeMethod::WORDS.join(", ")
                ));
            }
            (Some(_), Some(_)) => return Err("either \"by\" or \"argv\"".into()),
        };
        let otherwise = document
            .get("else")
            .map(|argv| words("else", argv))
            .transpose()?;
        if otherwise.is_some() && by != AgentWakeMethod::Codex {
            return Err("\"else\" only beside {\"by\": \"codex\"}".into());
        }
        let every = span(document, "every", WAKE_EVERY)?;
        let within = span(document, "within", limits::WAKE_WITHIN)?;
        Ok(WakeSettings {
            by,
            otherwise,
            every,
            within: within.min(WAKE_WITHIN_MOST),
            document: document.clone(),
        })
    }

    /// The programs that the router starts.
    pub fn programs(&self) -> Vec<WakeProgram> {
        let first = match &self.by {
            AgentWakeMethod::Codex => Some(WakeProgram(Value::from("codex"))),
            AgentWakeMethod::Command(argv) => Some(WakeProgram(Value::from(argv.clone()))),
            AgentWakeMethod::Claude | AgentWakeMethod::Nobody => None,
        };
        first
            .into_iter()
            .chain(
                self.otherwise
                    .iter()
                    .map(|argv| WakeProgram(Value::from(argv.clone()))),
            )
            .collect()
    }

    /// Reads command-line input: one of [`AgentWakeMethod::WORDS`], an object, or an array with a program and its arguments.
    pub fn parse(text: &str) -> Result<WakeSettings, String> {
        let value = match serde_json::from_str::<Value>(text) {
            Ok(argv @ Value::Array(_)) => {
                Value::Object(Map::from_iter([("argv".to_owned(), argv)]))
            }
            Ok(value) => value,
            Err(_) => Value::Object(Map::from_iter([("by".to_owned(), Value::from(text))])),
        };
        WakeSettings::read(&value)
    }
}

fn words(key: &str, argv: &Value) -> Result<Vec<String>, String> {
    let words: Option<Vec<String>> = argv.as_array().and_then(|words| {
        words
            .iter()
            .map(|word| word.as_str().map(str::to_owned))
            .collect()
    });
    words.filter(|words| words.first().is_some_and(|program| !program.is_empty())).ok_or_else(|| {
        format!("\"{key}\" as an array of a program and its arguments, such as [\"notify-send\", \"{{text}}\"]")
    })
}

fn span(document: &Map<String, Value>, key: &str, default: Duration) -> Result<Duration, String> {
    match document.get(key) {
        None => Ok(default),
        Some(value) => value
            .as_str()
            .and_then(clock::span)
            .filter(|span| *span <= limits::BUDGET_WINDOW_MOST)
            .ok_or_else(|| format!("\"{key}\" as a duration such as \"30s\", at most 24h")),
    }
}
