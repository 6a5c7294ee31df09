//! Status lines: the short reports `status`, `artifact`, `dependency` and `complete` that programs print or drop. The
//! output of a command, files and lines of files are read by this one definition.

#![allow(
    clippy::result_large_err,
    reason = "a problem is built for rejected input only"
)]

use crate::base::error::Problem;
use crate::base::limits;
use crate::base::text::quoted;
use crate::message::{behaviour, id};
use serde_json::{Map, Number, Value, json};

/// The types of status lines.
const TYPES: [&str; 4] = ["status", "artifact", "dependency", "complete"];
/// The fields of status lines that a message has in `metadata`.
pub const FIELDS: [&str; 11] = [
    "message",
    "progress",
    "waiting_for",
    "reason",
    "result",
    "outputs",
    "commit",
    "branch",
    "path",
    "description",
    "category",
];
/// The last of them belong to an artifact, all others to a report.
const OF_ARTIFACTS: [&str; 3] = ["path", "description", "category"];

/// A parsed status line.
#[derive(Debug, PartialEq)]
pub enum StatusLine {
    /// Progress.
    Status {
        /// Text.
        message: Option<String>,
        /// From 0 to 1.
        progress: Option<Number>,
        /// All other fields.
        rest: Map<String, Value>,
    },
    /// A file to share.
    Artifact {
        /// Its path.
        path: String,
        /// A note.
        description: Option<String>,
        /// The subdirectory of the context.
        category: Option<String>,
    },
    /// The sender waits for other agents.
    Dependency {
        /// The agents.
        waiting_for: Vec<String>,
        /// Why.
        reason: Option<String>,
        /// All other fields.
        rest: Map<String, Value>,
    },
    /// The sender has completed its task.
    Complete {
        /// Text.
        message: Option<String>,
        /// The result.
        result: Option<Value>,
        /// Files that it made.
        outputs: Vec<String>,
        /// All other fields.
        rest: Map<String, Value>,
    },
}

/// The message that a status line makes, without its type.
#[derive(Debug, Default)]
pub struct ReportMessage {
    /// The subject. Names in it are not mentions.
    pub subject: Option<String>,
    /// The body.
    pub body: Option<String>,
    /// Further fields: `attachments` or `context`.
    pub more: Map<String, Value>,
    /// The metadata.
    pub metadata: Map<String, Value>,
}

/// Returns true if a type is the type of a status line.
pub fn is_line(kind: &str) -> bool {
    TYPES.contains(&kind)
}

/// Returns true if a field belongs to the status line of a message with this type, as it was sent and in canonical form.
pub fn takes(word: &str, kind: &str, field: &str) -> bool {
    if OF_ARTIFACTS.contains(&field) {
        word == "artifact"
    } else {
        word != "artifact" && behaviour(kind).report && FIELDS.contains(&field)
    }
}

impl StatusLine {
    /// Parses the fields of a status line, or of a report in canonical form.
    pub fn parse(kind: &str, fields: Map<String, Value>) -> Result<StatusLine, Problem> {
        let mut fields = StatusLineFields(fields);
        match kind {
            "artifact" => Ok(StatusLine::Artifact {
                path: fields.path()?,
                description: fields.text("description")?,
                category: fields.text("category")?,
            }),
            "dependency" | "blocked" => {
                let waiting_for = fields.names("waiting_for")?;
                if waiting_for.is_empty() && kind == "dependency" {
                    return Err(missing("waiting_for", kind));
                }
                Ok(StatusLine::Dependency {
                    waiting_for,
                    reason: fields.text("reason")?,
                    rest: fields.0,
                })
            }
            "complete" | "completed" | "agent_complete" => Ok(StatusLine::Complete {
                message: fields.text("message")?,
                result: fields.take("result"),
                outputs: fields.list("outputs")?,
                rest: fields.0,
            }),
            _ => Ok(StatusLine::Status {
                message: fields.text("message")?,
                progress: fields.progress()?,
                rest: fields.0,
            }),
        }
    }

    /// The message that it makes.
    pub fn report(self) -> ReportMessage {
        match self {
            StatusLine::Status {
                message,
                progress,
                rest,
            } => {
                let progress =
                    progress.map(|progress| ("progress".to_owned(), Value::Number(progress)));
                with_text(message, rest.into_iter().chain(progress).collect())
            }
            StatusLine::Complete {
                message,
                result,
                outputs,
                rest,
            } => {
                let text = message.or_else(|| result.as_ref()?.as_str().map(str::to_owned));
                let result = result.map(|result| ("result".to_owned(), result));
                let outputs = (!outputs.is_empty()).then(|| ("outputs".to_owned(), json!(outputs)));
                let text = text.unwrap_or_else(|| "completed".to_owned());
                with_text(
                    Some(text),
                    rest.into_iter().chain(result).chain(outputs).collect(),
                )
            }
            StatusLine::Dependency {
                waiting_for,
                reason,
                mut rest,
            } => {
                let because = reason
                    .as_ref()
                    .map(|reason| format!(": {reason}"))
                    .unwrap_or_default();
                let text = (!waiting_for.is_empty())
                    .then(|| format!("waits for {}{because}", waiting_for.join(", ")));
                rest.extend(
                    text.is_some()
                        .then(|| ("waiting_for".to_owned(), json!(waiting_for))),
                );
                rest.extend(reason.map(|reason| ("reason".to_owned(), json!(reason))));
                ReportMessage {
                    subject: text.as_deref().map(line),
                    metadata: rest,
                    ..ReportMessage::default()
                }
            }
            StatusLine::Artifact {
                path,
                description,
                category,
            } => artifact(&path, description, category),
        }
    }
}

/// The first line of a text is the subject. The metadata has a text that is longer.
fn with_text(text: Option<String>, mut metadata: Map<String, Value>) -> ReportMessage {
    let subject = text.as_deref().map(line);
    metadata.extend(
        text.filter(|text| Some(text) != subject.as_ref())
            .map(|text| ("message".to_owned(), json!(text))),
    );
    ReportMessage {
        subject,
        metadata,
        ..ReportMessage::default()
    }
}

/// A file in the context is attached. Another one is named.
fn artifact(path: &str, description: Option<String>, category: Option<String>) -> ReportMessage {
    let bare = path.trim_start_matches("./");
    let below = ["shared/context/", "context/"]
        .into_iter()
        .find_map(|start| bare.strip_prefix(start));
    let (subject, field, value) = match below.filter(|below| !below.is_empty()) {
        Some(below) => (
            below.replace('/', ": "),
            "attachments",
            json!([{"path": below}]),
        ),
        None => (
            format!("artifact: {path}"),
            "context",
            json!({"file": path}),
        ),
    };
    let metadata = category.map(|category| ("category".to_owned(), json!(category)));
    ReportMessage {
        subject: Some(line(&subject)),
        body: description,
        more: Map::from_iter([(field.to_owned(), value)]),
        metadata: metadata.into_iter().collect(),
    }
}

/// The first non-empty line of a text, shortened to the length of a subject.
pub fn line(text: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    line.chars().take(limits::SUBJECT).collect()
}

/// A progress: a number from 0 to 1, or a text such as `50%`.
pub fn fraction(value: &Value) -> Option<Number> {
    let number = match value {
        Value::Number(number) => number.clone(),
        Value::String(text) => {
            let percent: f64 = text.trim().strip_suffix('%')?.trim_end().parse().ok()?;
            Number::from_f64(percent / 100.0)?
        }
        _ => return None,
    };
    (0.0..=1.0).contains(&number.as_f64()?).then_some(number)
}

fn missing(field: &str, kind: &str) -> Problem {
    let problem = Problem::new("incomplete_report", format!("the field {field} is missing"))
        .at(format!("/{field}"));
    problem.fix(format!("add {field}: {kind} needs it"))
}

fn wrong(field: &str, what: String, wanted: &str) -> Problem {
    Problem::new("bad_value", what)
        .at(format!("/{field}"))
        .fix(format!("write {wanted}"))
}

struct StatusLineFields(Map<String, Value>);

impl StatusLineFields {
    /// A field, if present and not `null`.
    fn take(&mut self, field: &str) -> Option<Value> {
        self.0.shift_remove(field).filter(|value| !value.is_null())
    }

    fn text(&mut self, field: &str) -> Result<Option<String>, Problem> {
        let what = match self.take(field) {
            None => return Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => return Ok(Some(text)),
            Some(Value::String(_)) => format!("the field {field} is empty"),
            Some(_) => format!("the field {field} is not a string"),
        };
        Err(wrong(field, what, "a text, or omit the field"))
    }

    /// The path of an artifact.
    fn path(&mut self) -> Result<String, Problem> {
        match self.text("path") {
            Ok(Some(path)) => Ok(path),
            Ok(None) => Err(missing("path", "artifact")),
            Err(problem) => Err(problem.fix("write the path of the file")),
        }
    }

    /// A string, or a list of strings.
    fn list(&mut self, field: &str) -> Result<Vec<String>, Problem> {
        let what = || format!("the field {field} is not a list of strings");
        let items = match self.take(field) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(one) => vec![one],
        };
        let texts = items
            .into_iter()
            .map(|item| item.as_str().map(str::to_owned));
        texts
            .collect::<Option<_>>()
            .ok_or_else(|| wrong(field, what(), "a list of texts"))
    }

    /// Names of agents.
    fn names(&mut self, field: &str) -> Result<Vec<String>, Problem> {
        let names = self.list(field)?;
        let what = match names
            .iter()
            .find(|name| !id::is_name(name.strip_prefix('@').unwrap_or(name)))
        {
            Some(name) => format!("{} is not a valid agent name", quoted(name)),
            None if names.len() > limits::WAITING_FOR => {
                format!("{field} has more than {} agents", limits::WAITING_FOR)
            }
            None => {
                return Ok(names
                    .into_iter()
                    .map(|name| name.trim_start_matches('@').to_owned())
                    .collect());
            }
        };
        Err(wrong(field, what, "the ids of agents"))
    }

    fn progress(&mut self) -> Result<Option<Number>, Problem> {
        let Some(value) = self.take("progress") else {
            return Ok(None);
        };
        fraction(&value).map(Some).ok_or_else(|| {
            let shown = quoted(&value.to_string());
            let what = format!(
                "the field progress is {shown}, not a number from 0 to 1 or a percentage with %"
            );
            let percent = value
                .as_f64()
                .filter(|number| (0.0..=100.0).contains(number));
            let problem = wrong(
                "progress",
                what,
                "a fraction, or a percentage such as \"50%\"",
            );
            match percent {
                Some(percent) => problem.example(json!(format!("{percent}%"))),
                None => problem,
            }
        })
    }
}
