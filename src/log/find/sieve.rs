//! A fast filter for the lines of the log: only lines that pass it are parsed.

use crate::base::error::{Error, Result};
use regex::bytes::Regex;

/// With more texts, every line passes.
const MANY: usize = 250;

/// Passes each line in which one of its expressions matches.
pub struct Sieve {
    any: Vec<Regex>,
}

impl Sieve {
    /// Passes the lines with one of these texts. `None`, which passes every line, if there is no text or there are too
    /// many.
    pub fn of(texts: &[String]) -> Result<Option<Sieve>> {
        if texts.is_empty() || texts.len() > MANY {
            return Ok(None);
        }
        let each: Vec<String> = texts.iter().map(|text| regex::escape(text)).collect();
        // Each text was checked before, so only extremely long texts fail here.
        let any = Regex::new(&each.join("|")).map_err(|e| Error::Usage {
            what: format!("cannot search for these texts: {e}"),
            cure: "search for fewer or shorter texts".into(),
        })?;
        Ok(Some(Sieve { any: vec![any] }))
    }

    /// Passes also the lines with one of the other's texts. Two searches are faster than one if many lines have one of the
    /// texts, or if it is very short.
    #[must_use]
    pub fn or(mut self, other: Option<Sieve>) -> Sieve {
        self.any.extend(other.into_iter().flat_map(|other| other.any));
        self
    }

    /// Whether this line passes.
    pub fn passes(&self, line: &[u8]) -> bool {
        self.any.iter().any(|regex| regex.is_match(line))
    }

    pub(super) fn candidates<'a>(&'a self, lines: &'a [u8]) -> Candidates<'a> {
        Candidates { lines, next: self.any.iter().map(|regex| (regex, start(regex, lines, 0))).collect() }
    }
}

/// The matches in a block of lines.
pub(super) struct Candidates<'a> {
    lines: &'a [u8],
    /// The next match of each expression.
    next: Vec<(&'a Regex, Option<usize>)>,
}

impl Candidates<'_> {
    /// The first match at or after this byte, which is not before the byte of the last call.
    pub(super) fn from(&mut self, from: usize) -> Option<usize> {
        for (regex, next) in &mut self.next {
            if next.is_some_and(|at| at < from) {
                *next = start(regex, self.lines, from);
            }
        }
        self.next.iter().filter_map(|(_, next)| *next).min()
    }
}

fn start(regex: &Regex, lines: &[u8], from: usize) -> Option<usize> {
    Some(regex.find_at(lines, from)?.start())
}
