//! Searches all text of all messages in the log, for words or with a regular expression.

use super::history::{LoggedMessage, MessageFilter};
use super::newest::last_of;
use crate::base::error::{Error, Result};
pub use crate::log::find::ScannedBlock;
use crate::log::find::{self, LineFilter, LogScan};
use crate::message::address::quoted;
use crate::room::Room;
use regex::Regex;
use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};
use serde::Serialize;
use serde_json::Value;
use std::ops::Range;

/// Context before and after the first match of an excerpt, in characters.
const AROUND: usize = 40;
/// A pattern without a literal of at least this length is searched by parsing every line.
const SHORTEST: usize = 2;

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
    sieve: Option<LineFilter>,
    field: Option<String>,
}

impl SearchPattern {
    /// Words in any order. Letter case does not matter, and text in double quotes is one word. With `field`, only that
    /// field and its subfields are searched.
    pub fn words(text: &str, field: Option<String>) -> Result<SearchPattern> {
        let words: Vec<String> = split_words(text).map(regex::escape).collect();
        if words.is_empty() {
            return Err(Error::usage(
                "no word to search for",
                "write a word to search for, for example port",
            ));
        }
        SearchPattern::compile(&words, true, field)
    }

    /// A regular expression. See [`SearchPattern::words`] for `field`.
    pub fn regex(text: &str, ignore_case: bool, field: Option<String>) -> Result<SearchPattern> {
        SearchPattern::compile(&[text.to_owned()], ignore_case, field)
    }

    fn compile(
        texts: &[String],
        ignore_case: bool,
        field: Option<String>,
    ) -> Result<SearchPattern> {
        let mut terms = Vec::new();
        let mut literals: Vec<String> = Vec::new();
        for text in texts {
            let regex = regex::RegexBuilder::new(text)
                .case_insensitive(ignore_case)
                .build();
            terms.push(regex.map_err(|e| not_a_regex(text, &e))?);
            let hir = regex_syntax::ParserBuilder::new()
                .case_insensitive(ignore_case)
                .build()
                .parse(text);
            let of_term = hir.ok().and_then(|hir| pieces(&hir)).unwrap_or_default();
            // One term is enough to skip a line. Longer literals skip more lines.
            if shortest(&of_term) > shortest(&literals) {
                literals = of_term;
            }
        }
        // JSON may write any letter with an escape.
        let escape = LineFilter::of(&["\\u".to_owned()])?;
        Ok(SearchPattern {
            terms,
            sieve: LineFilter::of(&literals)?.map(|sieve| sieve.or(escape)),
            field,
        })
    }

    /// The fields with a match, if the message has all terms.
    fn matches(&self, message: &LoggedMessage) -> Vec<SearchMatch> {
        let texts = self.texts_of(message);
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

    /// The texts to search, with their fields. Subject and body are first, because a list shows the first match.
    fn texts_of<'m>(&self, message: &'m LoggedMessage) -> Vec<(String, &'m str)> {
        const FIRST: [&str; 2] = ["subject", "body"];
        let mut texts = Vec::new();
        for field in FIRST {
            if let Some(value) = message.message.get(field) {
                self.collect(field, value, &mut texts);
            }
        }
        for (field, value) in &message.message {
            if !FIRST.contains(&field.as_str()) {
                self.collect(field, value, &mut texts);
            }
        }
        // The resolved recipients are only in the record.
        if self.is_asked("to") {
            let recipients = message.recipients.iter();
            texts.extend(recipients.map(|agent| ("to".to_owned(), &**agent)));
        }
        texts
    }

    /// Collects the texts of a value and of all nested values. Keys are not searched: no sender wrote them as text.
    fn collect<'m>(&self, field: &str, value: &'m Value, texts: &mut Vec<(String, &'m str)>) {
        match value {
            Value::String(text) if self.is_asked(field) => texts.push((field.to_owned(), text)),
            Value::Array(items) => {
                for item in items {
                    self.collect(field, item, texts);
                }
            }
            Value::Object(map) => {
                for (key, value) in map {
                    self.collect(&format!("{field}.{key}"), value, texts);
                }
            }
            _ => {}
        }
    }

    fn is_asked(&self, field: &str) -> bool {
        self.field.as_ref().is_none_or(|asked| {
            field
                .strip_prefix(asked.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
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

/// The messages that pass the filter and match the pattern, in log order.
pub fn search(
    room: &Room,
    mut pattern: SearchPattern,
    filter: MessageFilter,
) -> Result<LogScan<SearchHit>> {
    let span = filter.span(&room.dir)?;
    let sieve = pattern.sieve.take();
    find::scan(&room.dir, span.0, span.1, sieve, move |line| {
        let mut past = LoggedMessage::read(line.bytes).filter(|past| filter.fits(past))?;
        let matches = pattern.matches(&past);
        if matches.is_empty() {
            return None;
        }
        filter.closed.note(&mut past);
        Some(SearchHit { past, matches })
    })
}

/// The newest of these messages, at most `most`, in log order.
pub fn newest(
    room: &Room,
    pattern: SearchPattern,
    filter: MessageFilter,
    most: usize,
) -> Result<Vec<SearchHit>> {
    last_of(search(room, pattern, filter)?.values(), most)
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

/// Literals, if there are any: every match contains at least one.
fn pieces(hir: &regex_syntax::hir::Hir) -> Option<Vec<String>> {
    [ExtractKind::Prefix, ExtractKind::Suffix]
        .into_iter()
        .filter_map(|kind| of_kind(hir, kind))
        .max_by_key(|pieces| shortest(pieces))
}

fn of_kind(hir: &regex_syntax::hir::Hir, kind: ExtractKind) -> Option<Vec<String>> {
    let mut seq: Seq = Extractor::new().kind(kind.clone()).extract(hir);
    match kind {
        ExtractKind::Suffix => seq.optimize_for_suffix_by_preference(),
        _ => seq.optimize_for_prefix_by_preference(),
    }
    // The extractor may cut a literal inside a character; keep its longest valid part.
    let whole = |bytes: &[u8]| {
        bytes
            .utf8_chunks()
            .map(|chunk| plain(chunk.valid()))
            .max_by_key(String::len)
    };
    let pieces: Vec<String> = seq
        .literals()?
        .iter()
        .map(|literal| whole(literal.as_bytes()).unwrap_or_default())
        .collect();
    Some(pieces).filter(|pieces| shortest(pieces) >= SHORTEST)
}

fn shortest(pieces: &[String]) -> usize {
    pieces.iter().map(String::len).min().unwrap_or(0)
}

/// The longest part of a text that JSON writes either unchanged or with `\u` escapes.
fn plain(text: &str) -> String {
    text.split(|c: char| c.is_control() || matches!(c, '"' | '\\' | '/'))
        .max_by_key(|part| part.len())
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(sieve: &LineFilter, line: &str) -> bool {
        sieve.candidates(line.as_bytes()).from(0).is_some()
    }

    /// The excerpt with its matches in brackets.
    fn marked(text: &str, words: &str) -> String {
        let pattern = SearchPattern::words(words, None).expect("words");
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

    fn sieve_of(pattern: &str, ignore_case: bool) -> Option<LineFilter> {
        SearchPattern::regex(pattern, ignore_case, None)
            .expect("a pattern")
            .sieve
    }

    #[test]
    fn a_line_with_a_match_passes_the_sieve_however_json_writes_it() {
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
        let patterns = [
            ("port", false),
            ("PORT", true),
            ("port \\d+", false),
            ("\\w+ 8080", false),
            ("b/c", false),
            ("y \"h", false),
            ("(hi|there|temp)", false),
            ("\there", false),
            (":\\\\temp", false),
            ("GRÖSSE|größe", true),
            ("порт", true),
            ("\\[31mred", false),
            ("^say.*now$", false),
            ("[st]emp", false),
            (".", false),
            ("", false),
        ];
        for text in texts {
            let whole = serde_json::to_string(text).expect("JSON");
            let ascii: String = text
                .encode_utf16()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect();
            for (pattern, ignore_case) in patterns {
                let regex = regex::RegexBuilder::new(pattern)
                    .case_insensitive(ignore_case)
                    .build()
                    .expect("a pattern");
                let Some(sieve) = sieve_of(pattern, ignore_case) else {
                    continue;
                };
                if !regex.is_match(text) {
                    continue;
                }
                for line in [whole.as_str(), &ascii, &whole.replace('/', "\\/")] {
                    assert!(passes(&sieve, line), "{pattern} rejects {line}");
                }
            }
        }
    }

    #[test]
    fn a_pattern_with_a_literal_has_a_sieve() {
        for pattern in ["port", "port \\d+", "\\w+ is taken", "(red|green) light"] {
            assert!(
                sieve_of(pattern, false).is_some_and(|sieve| !passes(&sieve, "nothing here")),
                "{pattern}"
            );
        }
        assert!(sieve_of("port", true).is_some());
        assert!(sieve_of("\\d+", false).is_none() && sieve_of("a*", false).is_none());
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
