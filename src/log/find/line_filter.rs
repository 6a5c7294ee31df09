//! A fast filter for the lines of the log: only lines that pass it are parsed.

use crate::base::error::{Error, Result};
use regex::bytes::Regex;

/// With more texts, every line passes.
const MANY: usize = 250;
/// Up to this number, one search for each text is faster than one search for all of them.
const FEW: usize = 4;

/// Passes a line if an expression matches it.
#[derive(Clone)]
pub struct LineFilter {
    any: Vec<Regex>,
}

impl From<Regex> for LineFilter {
    fn from(regex: Regex) -> LineFilter {
        LineFilter { any: vec![regex] }
    }
}

impl LineFilter {
    /// A sieve for the lines with one of these texts. `None`, which passes every line, without texts or with more than
    /// [`MANY`].
    pub fn of(texts: &[String]) -> Result<Option<LineFilter>> {
        if texts.is_empty() || texts.len() > MANY {
            return Ok(None);
        }
        let each: Vec<String> = texts.iter().map(|text| regex::escape(text)).collect();
        let each = if texts.len() <= FEW {
            each
        } else {
            vec![each.join("|")]
        };
        let any = each.iter().map(|regex| Regex::new(regex));
        let any = any.collect::<std::result::Result<_, regex::Error>>();
        // Each text was checked before, so only extremely long texts fail here.
        let any = any.map_err(|e| {
            Error::usage(
                format!("cannot search for these texts: {e}"),
                "search for fewer or shorter texts",
            )
        })?;
        Ok(Some(LineFilter { any }))
    }

    /// Passes also the lines of another sieve.
    #[must_use]
    pub fn or(mut self, other: Option<LineFilter>) -> LineFilter {
        self.any
            .extend(other.into_iter().flat_map(|other| other.any));
        self
    }

    pub(crate) fn candidates<'a>(&'a self, lines: &'a [u8]) -> FilteredLines<'a> {
        FilteredLines {
            lines,
            next: self
                .any
                .iter()
                .map(|regex| (regex, start(regex, lines, 0)))
                .collect(),
        }
    }
}

/// The matches in a block of lines.
pub(crate) struct FilteredLines<'a> {
    lines: &'a [u8],
    /// The next match of each expression.
    next: Vec<(&'a Regex, Option<usize>)>,
}

impl FilteredLines<'_> {
    /// The first match at or after this byte, which is not before the byte of the last call.
    pub(crate) fn from(&mut self, from: usize) -> Option<usize> {
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
