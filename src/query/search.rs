//! Searches all text of all messages in the log, for words or with a regular expression.

use super::history::{LoggedMessage, MessageFilter};
use super::newest::LogQuery;
use crate::base::error::{Error, Result};
use crate::log::find::LineFilter;
use crate::message::address::quoted;
use crate::room::Room;
use memchr::memmem;
use regex::Regex;
use serde::Serialize;
use serde_json::Value;
use std::ops::Range;
use std::sync::Arc;

/// Context before and after the first match of an excerpt, in characters.
const AROUND: usize = 40;
/// JSON may write any letter with this escape.
const ESCAPE: &str = "\\u";

/// A message with a match.
#[derive(Debug, Clone, Serialize)]
pub struct SearchHit {
    /// The message.
    #[serde(flatten)]
    pub past: LoggedMessage,
    /// The fields with a match, each with an excerpt.
    pub matches: Vec<SearchMatch>,
}

/// A field with a match, and its text around the first match.
#[derive(Debug, Clone, Serialize)]
pub struct SearchMatch {
    /// The field, such as `body` or `metadata.file`.
    pub field: String,
    /// The text in pieces. `…` marks missing text before and after it.
    pub excerpt: Vec<ExcerptPiece>,
}

/// A piece of an excerpt: a match, or text between matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExcerptPiece {
    /// Its text.
    pub text: String,
    /// Whether it is a match.
    #[serde(rename = "match")]
    pub is_match: bool,
}

impl SearchMatch {
    /// The excerpt as plain text.
    pub fn text(&self) -> String {
        self.excerpt.iter().map(|piece| &*piece.text).collect()
    }
}

/// The terms of a search. Each must occur in a field of the message.
pub struct SearchPattern {
    terms: Vec<Regex>,
    /// The parts of words that JSON does not escape, the longest first. A line without [`ESCAPE`] needs each of them.
    parts: Vec<regex::bytes::Regex>,
}

impl SearchPattern {
    /// Words in any order. Letter case does not matter, and text in double quotes is one word.
    pub fn words(text: &str) -> Result<SearchPattern> {
        let mut words: Vec<&str> = split_words(text).collect();
        if words.is_empty() {
            return Err(Error::usage(
                "no word to search for",
                "write a word to search for, for example port",
            ));
        }
        words.sort_by_key(|word| std::cmp::Reverse(plain(word).len()));
        let (mut terms, mut parts) = (Vec::new(), Vec::new());
        for word in words {
            terms.push(term(&regex::escape(word), true)?);
            if !plain(word).is_empty() {
                let part = regex::bytes::RegexBuilder::new(&regex::escape(plain(word)))
                    .case_insensitive(true)
                    .build();
                parts.push(part.map_err(|e| not_a_regex(word, &e))?);
            }
        }
        Ok(SearchPattern { terms, parts })
    }

    /// A regular expression.
    pub fn regex(text: &str, ignore_case: bool) -> Result<SearchPattern> {
        Ok(SearchPattern {
            terms: vec![term(text, ignore_case)?],
            parts: Vec::new(),
        })
    }

    /// A filter for the lines that may match.
    fn sieve(&self) -> Result<Option<LineFilter>> {
        let escape = LineFilter::of(&[ESCAPE.to_owned()])?;
        let longest = self.parts.first();
        Ok(longest.map(|part| LineFilter::from(part.clone()).or(escape)))
    }

    /// Returns false if the message in a line cannot have all words.
    fn may_match(&self, line: &[u8]) -> bool {
        self.parts.iter().all(|part| part.is_match(line))
            || memmem::find(line, ESCAPE.as_bytes()).is_some()
    }

    /// The fields with a match, if the message has all terms.
    fn matches(&self, message: &LoggedMessage) -> Vec<SearchMatch> {
        let texts = texts_of(message);
        if !self
            .terms
            .iter()
            .all(|term| texts.iter().any(|(_, text)| term.is_match(text)))
        {
            return Vec::new();
        }
        let mut found: Vec<SearchMatch> = Vec::new();
        for (field, text) in &texts {
            if found.iter().any(|other| other.field == *field) {
                continue;
            }
            if let Some(excerpt) = excerpt(text, &self.terms) {
                let field = field.clone();
                found.push(SearchMatch { field, excerpt });
            }
        }
        found
    }
}

/// The texts to search, with their fields. Subject and body are first, because a list shows the first match.
fn texts_of(message: &LoggedMessage) -> Vec<(String, &str)> {
    const FIRST: [&str; 2] = ["subject", "body"];
    let mut texts = Vec::new();
    for field in FIRST {
        if let Some(value) = message.message.get(field) {
            collect(field, value, &mut texts);
        }
    }
    for (field, value) in &message.message {
        if !FIRST.contains(&field.as_str()) {
            collect(field, value, &mut texts);
        }
    }
    // The resolved recipients are only in the record.
    let recipients = message.recipients.iter();
    texts.extend(recipients.map(|agent| ("to".to_owned(), &**agent)));
    texts
}

/// Collects the texts of a value and of all nested values. Keys are not searched: no sender wrote them as text.
fn collect<'m>(field: &str, value: &'m Value, texts: &mut Vec<(String, &'m str)>) {
    match value {
        Value::String(text) => texts.push((field.to_owned(), text)),
        Value::Array(items) => {
            for item in items {
                collect(field, item, texts);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                collect(&format!("{field}.{key}"), value, texts);
            }
        }
        _ => {}
    }
}

fn term(text: &str, ignore_case: bool) -> Result<Regex> {
    regex::RegexBuilder::new(text)
        .case_insensitive(ignore_case)
        .build()
        .map_err(|e| not_a_regex(text, &e))
}

/// The words of a text. Text in double quotes is one word.
fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').enumerate().flat_map(|(n, part)| {
        let is_quoted = n % 2 == 1;
        let (whole, words) = if is_quoted { (part, "") } else { ("", part) };
        std::iter::once(whole.trim())
            .filter(|whole| !whole.is_empty())
            .chain(words.split_whitespace())
    })
}

fn not_a_regex(text: &str, error: &regex::Error) -> Error {
    let why = error.to_string();
    Error::usage(
        format!(
            "{} is not a regular expression: {}",
            quoted(text),
            why.trim()
        ),
        "put a backslash before each literal . + * ? ( ) [ ] { } | ^ $",
    )
}

/// The messages that pass the filter and match the pattern, in log order; with `last`, only the newest `last`. Passes the
/// bytes of each block that it reads to `report`.
pub fn search<'a>(
    room: &Room,
    pattern: SearchPattern,
    filter: MessageFilter,
    last: Option<usize>,
    report: &'a dyn Fn(u64),
) -> Result<Box<dyn Iterator<Item = Result<SearchHit>> + 'a>> {
    let (begin, end) = filter.span(&room.dir)?;
    let query = LogQuery {
        room: room.dir.clone(),
        begin,
        end,
        sieve: pattern.sieve()?,
        take: Arc::new(move |line| {
            if !pattern.may_match(line.bytes) {
                return None;
            }
            let mut past = LoggedMessage::read(line.bytes).filter(|past| filter.fits(past))?;
            let matches = pattern.matches(&past);
            if matches.is_empty() {
                return None;
            }
            filter.closed.note(&mut past);
            Some(SearchHit { past, matches })
        }),
    };
    query.values(last, report)
}

/// The newest of these messages, at most `most`, in log order.
pub fn newest(
    room: &Room,
    pattern: SearchPattern,
    filter: MessageFilter,
    most: usize,
) -> Result<Vec<SearchHit>> {
    search(room, pattern, filter, Some(most), &|_| {})?.collect()
}

/// The text around the first match, with all matches in it. `None` without a match.
fn excerpt(text: &str, terms: &[Regex]) -> Option<Vec<ExcerptPiece>> {
    let hits = terms.iter().filter_map(|term| term.find(text));
    let first = hits.min_by_key(regex::Match::start)?;
    let before = text[..first.start()].char_indices().rev();
    let from = before.map(|(at, _)| at).nth(AROUND - 1).unwrap_or(0);
    let mut after = text[first.end()..].char_indices();
    let to = after
        .nth(AROUND)
        .map_or(text.len(), |(at, _)| first.end() + at);
    let mut marks: Vec<Range<usize>> = Vec::new();
    for term in terms {
        let found = term.find_iter(text).map(|found| found.range());
        marks.extend(found.take_while(|found| found.start < to));
    }
    marks.sort_by_key(|mark| mark.start);
    let mut pieces = Vec::new();
    if from > 0 {
        add(&mut pieces, "…", false);
    }
    let mut end = from;
    for mark in marks {
        if mark.start > end {
            add(&mut pieces, &text[end..mark.start], false);
            end = mark.start;
        }
        if mark.end > end {
            add(&mut pieces, &text[end..mark.end], true);
            end = mark.end;
        }
    }
    if end < to {
        add(&mut pieces, &text[end..to], false);
        end = to;
    }
    if end < text.len() {
        add(&mut pieces, "…", false);
    }
    Some(pieces)
}

/// Adds a part of the text. Neighbours of the same kind are one piece.
fn add(pieces: &mut Vec<ExcerptPiece>, text: &str, is_match: bool) {
    match pieces.last_mut() {
        Some(last) if last.is_match == is_match => last.text += text,
        _ => pieces.push(ExcerptPiece {
            text: text.to_owned(),
            is_match,
        }),
    }
}

/// The longest part of a text that JSON writes either unchanged or with `\u` escapes.
fn plain(text: &str) -> &str {
    text.split(|c: char| c.is_control() || matches!(c, '"' | '\\' | '/'))
        .max_by_key(|part| part.len())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(sieve: &LineFilter, line: &str) -> bool {
        sieve.candidates(line.as_bytes()).from(0).is_some()
    }

    /// The excerpt with its matches in brackets.
    fn marked(text: &str, words: &str) -> String {
        let pattern = SearchPattern::words(words).expect("words");
        let pieces = excerpt(text, &pattern.terms).expect("a match");
        let mut marked = String::new();
        for piece in pieces {
            if piece.is_match {
                marked += &format!("[{}]", piece.text);
            } else {
                marked += &piece.text;
            }
        }
        marked
    }

    #[test]
    fn a_line_with_all_words_passes_the_sieve_however_json_writes_it() {
        let texts = [
            "port 8080",
            "a/b/c",
            "say \"hi\" now",
            "tab\there",
            "C:\\temp",
            "größe",
            "ПОРТ",
            "\u{1b}[31mred",
        ];
        let searches = [
            "port",
            "PORT 80",
            "b/c",
            "\"y \\\"h\"",
            "\there",
            ":\\temp",
            "GRÖSSE",
            "GRÖẞE",
            "порт",
            "[31mred",
            "/",
            "\\",
            "here TAB",
        ];
        for text in texts {
            let whole = serde_json::to_string(text).expect("JSON");
            let ascii: String = text
                .encode_utf16()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect();
            for words in searches {
                let pattern = SearchPattern::words(words).expect("words");
                if !pattern.terms.iter().all(|term| term.is_match(text)) {
                    continue;
                }
                let sieve = pattern.sieve().expect("a sieve");
                for line in [whole.as_str(), &ascii, &whole.replace('/', "\\/")] {
                    assert!(pattern.may_match(line.as_bytes()), "{words} rejects {line}");
                    assert!(
                        sieve.as_ref().is_none_or(|sieve| passes(sieve, line)),
                        "{words} rejects {line}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_line_without_one_of_the_words_is_not_parsed() {
        let pattern = SearchPattern::words("server port").expect("words");
        assert!(pattern.may_match(b"a Port of a SERVER"));
        assert!(!pattern.may_match(b"a port") && !pattern.may_match(b"a server"));
        let sieve = pattern.sieve().expect("a sieve").expect("a sieve");
        assert!(!passes(&sieve, "a port") && passes(&sieve, "a server"));
    }

    #[test]
    fn text_in_double_quotes_is_one_word() {
        let words: Vec<&str> = split_words("port  \"test server\" 80\"").collect();
        assert_eq!(words, ["port", "test server", "80"]);
        assert_eq!(split_words(" \"\" ").count(), 0);
    }

    #[test]
    fn the_context_of_a_match_is_cut_between_characters() {
        let (before, after) = ("ä".repeat(AROUND), "ö".repeat(AROUND));
        let text = format!("ä{before}x{after}ö");
        assert_eq!(marked(&text, "x"), format!("…{before}[x]{after}…"));
    }

    #[test]
    fn an_excerpt_marks_all_words_in_it() {
        let cases = [
            (
                "server port",
                "Which port does the test server use?",
                "Which [port] does the test [server] use?",
            ),
            ("port", "a port, a PORT", "a [port], a [PORT]"),
            ("port ports", "two ports", "two [ports]"),
            ("ser erve", "a server", "a [serve]r"),
        ];
        for (words, text, wanted) in cases {
            assert_eq!(marked(text, words), wanted);
        }
        // A word at the end of the excerpt is whole. A later one is outside.
        let text = format!("port {}server {} server", "x".repeat(36), "y".repeat(80));
        assert_eq!(
            marked(&text, "server port"),
            format!("[port] {}[server]…", "x".repeat(36))
        );
    }
}
