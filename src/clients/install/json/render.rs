//! Formats values in the style of the file.

use super::EditError;
use crate::clients::install::blocks::eol;
use serde_json::Value;

/// Longest simple value on one line, in characters.
const LINE: usize = 110;

/// The style of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonStyle {
    /// The line end.
    pub(super) eol: &'static str,
    /// One level of indentation.
    pub(super) unit: String,
    /// Whether a space follows colons and commas.
    spaced: bool,
}

impl JsonStyle {
    pub(super) fn of(text: &str) -> JsonStyle {
        let inner = text
            .trim_start()
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('\n'))
            .map(|(_, rest)| rest);
        let first = inner.and_then(|rest| rest.lines().find(|line| !line.trim().is_empty()));
        let unit: String = first
            .unwrap_or_default()
            .chars()
            .take_while(|c| matches!(c, ' ' | '\t'))
            .collect();
        JsonStyle {
            eol: eol(text),
            unit: if unit.is_empty() { "  ".into() } else { unit },
            spaced: text.trim().len() <= 2 || text.contains("\": ") || text.trim().contains('\n'),
        }
    }

    pub(super) fn comma(&self) -> &'static str {
        if self.spaced { ", " } else { "," }
    }

    /// The name of a field, and the colon.
    pub(super) fn label(&self, name: &str) -> String {
        let pad = if self.spaced { " " } else { "" };
        format!("{}:{pad}", Value::from(name))
    }

    /// On one line.
    pub(super) fn compact(&self, value: &Value) -> String {
        let pad = if self.spaced { " " } else { "" };
        match value {
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.compact(item)).collect();
                format!("[{}]", self.list(&items))
            }
            Value::Object(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| self.label(name) + &self.compact(value))
                    .collect();
                format!("{{{pad}{}{pad}}}", self.list(&fields))
            }
            plain => plain.to_string(),
        }
    }

    /// On one line if it is short and simple, else on several lines, indented deeper than `indent`.
    pub(super) fn fitting(&self, value: &Value, indent: &str) -> String {
        let line = self.compact(value);
        if depth(value) <= 2 && line.len() <= LINE {
            return line;
        }
        let inner = format!("{indent}{}", self.unit);
        let (open, close, items): (_, _, Vec<String>) = match value {
            Value::Array(items) => (
                "[",
                "]",
                items
                    .iter()
                    .map(|item| self.fitting(item, &inner))
                    .collect(),
            ),
            Value::Object(fields) => (
                "{",
                "}",
                fields
                    .iter()
                    .map(|(name, value)| self.label(name) + &self.fitting(value, &inner))
                    .collect(),
            ),
            _ => return line,
        };
        let lines: Vec<String> = items
            .iter()
            .map(|item| format!("{}{inner}{item}", self.eol))
            .collect();
        format!("{open}{}{}{indent}{close}", lines.join(","), self.eol)
    }

    fn list(&self, items: &[String]) -> String {
        if self.spaced {
            items.join(", ")
        } else {
            items.join(",")
        }
    }
}

/// Nesting depth of objects and lists.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The error for a value of another kind than the expected one.
pub(in crate::clients::install) fn wrong_kind(what: &str, is: &Value, wanted: &str) -> EditError {
    let kind = match is {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    EditError::new(format!("has {kind} as {what:?}, expected {wanted}"))
}
