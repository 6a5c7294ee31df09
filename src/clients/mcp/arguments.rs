//! The arguments of a tool call. Reading is tolerant: a number may be a text. An error suggests the right name.

use crate::base::error::{Error, Result, did_you_mean};
use crate::message::address::quoted;
use rmcp::model::Tool;
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// The arguments of a call.
pub(super) struct ToolArguments {
    given: Map<String, Value>,
}

impl ToolArguments {
    /// Rejects unknown names, because ignoring one would change the meaning of the call.
    pub(super) fn new(tool: &Tool, given: Map<String, Value>) -> Result<ToolArguments> {
        let known = tool
            .input_schema
            .get("properties")
            .and_then(Value::as_object);
        let known: Vec<&str> = known
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect();
        match given.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(unknown(&tool.name, name, &known)),
            None => Ok(ToolArguments { given }),
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.given.remove(name).filter(|value| !value.is_null())
    }

    /// A text, or a number as one.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(other) => Err(wrong(name, &other, "a text")),
        }
    }

    /// A required text.
    pub(super) fn needed(&mut self, name: &str) -> Result<String> {
        self.text(name)?.ok_or_else(|| missing(name))
    }

    /// A text or a list of texts; empty if missing.
    pub(super) fn texts(&mut self, name: &str) -> Result<Vec<String>> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(Value::Array(items)) => items
                .into_iter()
                .map(|item| match item {
                    Value::String(text) => Ok(text),
                    other => Err(wrong(name, &other, "a list of texts")),
                })
                .collect(),
            Some(other) => Err(wrong(name, &other, "a text or a list of texts")),
        }
    }

    /// At least one text.
    pub(super) fn needed_texts(&mut self, name: &str) -> Result<Vec<String>> {
        let texts = self.texts(name)?;
        if texts.is_empty() {
            Err(missing(name))
        } else {
            Ok(texts)
        }
    }

    /// A number within a range.
    pub(super) fn number(
        &mut self,
        name: &str,
        within: RangeInclusive<f64>,
    ) -> Result<Option<f64>> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            Some(number) if within.contains(&number) => Ok(Some(number)),
            _ => {
                let wanted = format!("a number from {} to {}", within.start(), within.end());
                Err(wrong(name, &value, &wanted))
            }
        }
    }

    /// True or false; false if missing.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(Value::String(text)) if text == "true" || text == "false" => Ok(text == "true"),
            Some(other) => Err(wrong(name, &other, "true or false")),
        }
    }
}

fn missing(name: &str) -> Error {
    Error::usage(format!("{name} is missing"), "it is required")
}

fn wrong(name: &str, value: &Value, wanted: &str) -> Error {
    let value = quoted(&value.to_string());
    Error::usage(format!("{name} is {value}"), format!("use {wanted}"))
}

/// The error of a parameter with an unknown word as its value.
pub(super) fn unknown_word(name: &str, word: &str, known: &[&str]) -> Error {
    let near = did_you_mean(word, known.iter().copied());
    let near = near.map_or_else(String::new, |near| near + " ");
    Error::usage(
        format!("{name} is {}", quoted(word)),
        format!("{near}use one of {}", known.join(", ")),
    )
}

fn unknown(tool: &str, name: &str, known: &[&str]) -> Error {
    let fix = did_you_mean(name, known.iter().copied()).unwrap_or_else(|| match known {
        [] => "it has no parameters".to_owned(),
        known => format!("its parameters are {}", known.join(", ")),
    });
    Error::usage(format!("{tool} has no parameter {}", quoted(name)), fix)
}
