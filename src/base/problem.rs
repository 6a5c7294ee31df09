//! Problems of an input, each with its position and its correction, and hints for words that are nearly right.

use crate::base::limits;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// The number of similar names in an error.
const SUGGESTIONS: usize = 3;

/// One problem of an input, with its position and its correction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// A short, stable word for programs, such as `unknown_recipient`.
    pub code: String,
    /// The position: a JSON pointer such as `/to/1`, or `line 3 column 7`. Empty for the whole input.
    #[serde(rename = "where", default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// A description in one sentence without a full stop.
    pub what: String,
    /// How to correct it, as an instruction.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fix: String,
    /// A corrected value or message, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
}

impl Problem {
    /// A problem with a code and a description. The methods below add the rest.
    pub fn new(code: &str, what: impl Into<String>) -> Problem {
        Problem {
            code: code.into(),
            place: String::new(),
            what: what.into(),
            fix: String::new(),
            example: None,
        }
    }

    /// Adds the position.
    pub fn at(mut self, place: impl Into<String>) -> Problem {
        self.place = place.into();
        self
    }

    /// Adds the correction.
    pub fn fix(mut self, fix: impl Into<String>) -> Problem {
        self.fix = fix.into();
        self
    }

    /// Adds a corrected value or message, unless it is too large. The example contains text of the sender, and is
    /// stored in the log, in the explanation and in the bounce.
    pub fn example(mut self, example: Value) -> Problem {
        self.example =
            Some(example).filter(|example| example.to_string().len() <= limits::EXAMPLE_BYTES);
        self
    }
}

impl From<Problem> for Vec<Problem> {
    fn from(problem: Problem) -> Vec<Problem> {
        vec![problem]
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = in_words(&self.place);
        let mut what = self.what.as_str();
        if !place.is_empty() {
            write!(f, "{place}: ")?;
            // The sentence can begin with the field, which is already named.
            let rest = what.strip_prefix(&*place);
            what = rest.and_then(|rest| rest.strip_prefix(' ')).unwrap_or(what);
        }
        write!(f, "{what}")?;
        if !self.fix.is_empty() {
            write!(f, "; {}", self.fix)?;
        }
        Ok(())
    }
}

/// A position for people: a JSON pointer as field names, such as `to[1]`. Other positions are unchanged.
pub fn in_words(place: &str) -> Cow<'_, str> {
    let Some(pointer) = place.strip_prefix('/') else {
        return place.into();
    };
    let mut words = String::new();
    for part in pointer.split('/') {
        if part.parse::<usize>().is_ok() {
            words.push_str(&format!("[{part}]"));
        } else {
            if !words.is_empty() {
                words.push('.');
            }
            words.push_str(&part.replace("~1", "/").replace("~0", "~"));
        }
    }
    words.into()
}

/// The candidates most similar to `word`, best first, for a "did you mean" hint; at most
/// three. Letter case is ignored. A candidate matches if it differs in at most a third
/// of the letters, or if one word contains the other.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_ascii_lowercase();
    let allowed = (word.chars().count() / 3).max(1);
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|c| {
            let lower = c.to_ascii_lowercase();
            let distance = strsim::osa_distance(&word, &lower);
            let contained = word.len() >= 3
                && (lower.contains(&word) || word.contains(&lower) && lower.len() >= 3);
            (distance <= allowed || contained).then_some((distance, c))
        })
        .collect();
    scored.sort();
    scored.dedup();
    scored
        .into_iter()
        .take(SUGGESTIONS)
        .map(|(_, c)| c)
        .collect()
}

/// A hint for an unknown word: `did you mean alice or alina?`. `None` if no candidate is similar.
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let near = nearest(word, candidates);
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(place: &str, what: &str) -> String {
        Problem::new("unknown_recipient", what)
            .at(place)
            .to_string()
    }

    #[test]
    fn a_problem_names_its_field_once_and_in_words() {
        for (place, what, expected) in [
            ("/to/1", "no such agent", "to[1]: no such agent"),
            ("/agents/4/id", "id is long", "agents[4].id: id is long"),
            ("/priority", "priority is odd", "priority: is odd"),
            ("line 3", "invalid JSON", "line 3: invalid JSON"),
        ] {
            assert_eq!(described(place, what), expected);
        }
    }
}
