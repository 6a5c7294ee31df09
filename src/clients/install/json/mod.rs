//! Edits a JSON file as text. All other bytes stay unchanged.
//!
//! New values go before existing ones, on their own lines if the file has lines, so that no existing line gets a comma. The
//! library's own editable tree loses comments, and cannot restore 5 of 17 test files.

mod render;
mod step;

pub(super) use crate::clients::kind::JsonDialect;
use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions};
use render::JsonStyle;
pub(super) use render::wrong_kind;
use serde_json::Value;
pub(super) use step::{JsonStep, look};

/// Why a text cannot be edited, with the line, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::clients) struct EditError {
    pub(in crate::clients::install) line: Option<u64>,
    pub(in crate::clients::install) what: String,
}

impl EditError {
    pub(super) fn new(what: impl Into<String>) -> EditError {
        EditError {
            line: None,
            what: what.into(),
        }
    }
}

/// The end of a list for new items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListEnd {
    /// At the front: no existing line changes.
    Front,
    /// At the back: existing items keep their indexes, and the last one gets a comma.
    Back,
}

/// A valid JSON file.
#[derive(Debug, Clone)]
pub(super) struct JsonFile {
    text: String,
    dialect: JsonDialect,
}

/// Positions of the items of an object or a list.
struct ItemPositions {
    open: usize,
    close: usize,
    items: Vec<(usize, usize)>,
}

impl JsonFile {
    /// Parses a file's text. An empty file counts as an empty object.
    pub(super) fn read(text: &str, dialect: JsonDialect) -> Result<JsonFile, EditError> {
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let body = if body.trim().is_empty() {
            format!("{{}}{}", JsonStyle::of(body).eol)
        } else {
            body.to_owned()
        };
        let mark = if text.starts_with('\u{feff}') {
            "\u{feff}"
        } else {
            ""
        };
        if dialect == JsonDialect::Strict {
            let checked = serde_json::from_str::<serde::de::IgnoredAny>(&body);
            checked.map_err(|e| {
                let what = e.to_string();
                let why = what.split(" at line ").next().unwrap_or(&what).to_owned();
                EditError {
                    line: Some(e.line() as u64),
                    what: format!("is not valid JSON: {why} at column {}", e.column()),
                }
            })?;
        }
        let json = JsonFile {
            text: format!("{mark}{body}"),
            dialect,
        };
        json.parse(|value, _| match value {
            ast::Value::Object(_) => Ok(()),
            _ => Err(EditError::new(
                "is not a JSON object {…}, so it cannot be a settings file",
            )),
        })??;
        Ok(json)
    }

    /// The edited text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The parsed value.
    pub(super) fn value(&self) -> Value {
        self.parse(|value, _| plain(value)).unwrap_or_default()
    }

    /// Inserts a value into an object under a new name.
    pub(super) fn put(
        &mut self,
        at: &[JsonStep],
        name: &str,
        value: &Value,
    ) -> Result<(), EditError> {
        self.insert(at, Some(name), value, ListEnd::Front)
    }

    /// Inserts a value into a list.
    pub(super) fn push(
        &mut self,
        at: &[JsonStep],
        value: &Value,
        end: ListEnd,
    ) -> Result<(), EditError> {
        self.insert(at, None, value, end)
    }

    /// Replaces a value.
    pub(super) fn replace(&mut self, at: &[JsonStep], value: &Value) -> Result<(), EditError> {
        let style = JsonStyle::of(self.body());
        let (start, end) =
            self.parse(|root, _| walk(root, at).map(|found| places(found.range())))??;
        let text = if self.is_one_line(start) {
            style.compact(value)
        } else {
            style.fitting(value, &self.indent(start))
        };
        self.text
            .replace_range(self.from(start)..self.from(end), &text);
        Ok(())
    }

    /// Removes a value with its comma and its own lines.
    pub(super) fn take_out(&mut self, at: &[JsonStep]) -> Result<(), EditError> {
        let Some((last, above)) = at.split_last() else {
            return Err(EditError::new("cannot remove the whole file"));
        };
        let cuts = self.parse(|root, tokens| {
            let holder = walk(root, above)?;
            let n = index(holder, last)?;
            Ok(self.cuts(&inside(holder), n, tokens))
        })??;
        for (start, end) in cuts {
            self.text
                .replace_range(self.from(start)..self.from(end), "");
        }
        Ok(())
    }

    /// The ranges to cut, the last first, so that earlier positions stay valid.
    fn cuts(
        &self,
        inside: &ItemPositions,
        n: usize,
        tokens: &[TokenAndRange<'_>],
    ) -> Vec<(usize, usize)> {
        let body = self.body();
        let (start, mut end) = inside.items[n];
        let comma = comma_after(tokens, end);
        end = comma.map_or(end, |comma| comma + 1);
        let line_start = body[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = body[end..].find('\n').map(|at| end + at + 1);
        let alone = body[line_start..start].trim().is_empty()
            && line_end.is_some_and(|line_end| body[end..line_end].trim().is_empty());
        let own = match (alone, line_end, inside.items.get(n + 1)) {
            (true, Some(line_end), _) if line_start > inside.open => (line_start, line_end),
            (_, _, Some(&(next, _))) if body[end..next].trim().is_empty() => (start, next),
            _ => (start, end),
        };
        let mut cuts = vec![own];
        if comma.is_none() && n > 0 {
            let before = inside.items[n - 1].1;
            if let Some(comma) = comma_after(tokens, before) {
                let blank = !alone && body[comma + 1..start].trim().is_empty();
                if blank {
                    cuts[0].0 = comma;
                } else {
                    cuts.push((comma, comma + 1));
                }
            }
        }
        let (from, to) = cuts[0];
        if inside.items.len() == 1
            && body[inside.open + 1..from].trim().is_empty()
            && body[to..inside.close].trim().is_empty()
        {
            return vec![(inside.open + 1, inside.close)];
        }
        cuts
    }

    fn insert(
        &mut self,
        at: &[JsonStep],
        name: Option<&str>,
        value: &Value,
        end: ListEnd,
    ) -> Result<(), EditError> {
        let style = JsonStyle::of(self.body());
        let edits = self.parse(|root, tokens| {
            let holder = walk(root, at)?;
            let fits = matches!(
                (holder, name),
                (ast::Value::Object(_), Some(_)) | (ast::Value::Array(_), None)
            );
            if !fits {
                return Err(EditError::new("was changed at the same time"));
            }
            let inside = inside(holder);
            Ok(match end {
                ListEnd::Back if !inside.items.is_empty() => {
                    self.behind(&inside, &style, value, tokens)
                }
                _ => vec![self.before(&inside, has_schema(holder), &style, name, value, tokens)],
            })
        })??;
        for (place, text) in edits {
            let place = self.from(place);
            self.text.insert_str(place, &text);
        }
        Ok(())
    }

    /// Position and text for a value inserted at the front.
    fn before(
        &self,
        inside: &ItemPositions,
        has_schema: bool,
        style: &JsonStyle,
        name: Option<&str>,
        value: &Value,
        tokens: &[TokenAndRange<'_>],
    ) -> (usize, String) {
        let body = self.body();
        let label = name.map(|name| style.label(name)).unwrap_or_default();
        // `$schema` stays at the top.
        let after_schema = (has_schema && inside.items.len() > 1)
            .then(|| comma_after(tokens, inside.items[0].1))
            .flatten();
        let from = after_schema.unwrap_or(inside.open) + 1;
        let first = inside
            .items
            .get(usize::from(after_schema.is_some()))
            .map(|item| item.0);
        let line = after_comments(body, from, first.unwrap_or(inside.close));
        let minified = !body.trim().contains('\n')
            && (first.is_some() || inside.open > body.len() - body.trim_start().len());
        match (line, first) {
            _ if minified && first.is_none() => (from, format!("{label}{}", style.compact(value))),
            (Some(line), Some(first)) => {
                let indent = self.indent(first);
                (
                    line,
                    format!(
                        "{indent}{label}{},{}",
                        style.fitting(value, &indent),
                        style.eol
                    ),
                )
            }
            (None, Some(first)) => (
                first,
                format!("{label}{}{}", style.compact(value), style.comma()),
            ),
            (Some(line), None) => {
                let indent = format!("{}{}", self.indent(inside.open), style.unit);
                (
                    line,
                    format!(
                        "{indent}{label}{}{}",
                        style.fitting(value, &indent),
                        style.eol
                    ),
                )
            }
            (None, None) => {
                let own = self.indent(inside.open);
                let indent = format!("{own}{}", style.unit);
                (
                    from,
                    format!(
                        "{}{indent}{label}{}{}{own}",
                        style.eol,
                        style.fitting(value, &indent),
                        style.eol
                    ),
                )
            }
        }
    }

    /// Positions and texts for a value inserted at the back, the last position first.
    fn behind(
        &self,
        inside: &ItemPositions,
        style: &JsonStyle,
        value: &Value,
        tokens: &[TokenAndRange<'_>],
    ) -> Vec<(usize, String)> {
        let body = self.body();
        let (start, end) = inside.items[inside.items.len() - 1];
        let indent = self.indent(start);
        let own_line = body[..start].ends_with(&format!("\n{indent}"));
        if !own_line {
            return vec![(end, format!("{}{}", style.comma(), style.compact(value)))];
        }
        // A comment after the last item stays on its line.
        let comments = tokens
            .iter()
            .filter(|token| token.range.start >= end && token.range.end <= inside.close);
        let same_line = comments.take_while(|token| !body[end..token.range.start].contains('\n'));
        let line_end = same_line.last().map_or(end, |token| token.range.end);
        let text = format!("{}{indent}{}", style.eol, style.fitting(value, &indent));
        if line_end == end {
            vec![(end, format!(",{text}"))]
        } else {
            vec![(line_end, text), (end, ",".into())]
        }
    }

    /// Returns true if other values precede this one on its line. Then it is also written on one line.
    fn is_one_line(&self, start: usize) -> bool {
        let line = self.body()[..start].rfind('\n').map_or(0, |at| at + 1);
        self.body()[line..start].contains(['{', '[', ','])
    }

    /// The indentation of the line at a position.
    fn indent(&self, place: usize) -> String {
        let body = self.body();
        let line = body[..place].rfind('\n').map_or(0, |at| at + 1);
        body[line..]
            .chars()
            .take_while(|c| matches!(c, ' ' | '\t'))
            .collect()
    }

    fn body(&self) -> &str {
        self.text.strip_prefix('\u{feff}').unwrap_or(&self.text)
    }

    /// Converts a position in the body to a position in the text.
    fn from(&self, place: usize) -> usize {
        place + self.text.len() - self.body().len()
    }

    fn parse<T>(
        &self,
        then: impl FnOnce(&ast::Value<'_>, &[TokenAndRange<'_>]) -> T,
    ) -> Result<T, EditError> {
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        let options = ParseOptions {
            allow_comments: self.dialect != JsonDialect::Strict,
            allow_loose_object_property_names: false,
            allow_trailing_commas: self.dialect == JsonDialect::Commas,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed =
            jsonc_parser::parse_to_ast(self.body(), &collect, &options).map_err(|e| EditError {
                line: Some(e.line_display() as u64),
                what: format!(
                    "is not valid JSON: {} at column {}",
                    e.kind(),
                    e.column_display()
                ),
            })?;
        match (&parsed.value, &parsed.tokens) {
            (Some(value), Some(tokens)) => Ok(then(value, tokens)),
            _ => Err(EditError::new(
                "contains only comments; write {} into it, or delete it",
            )),
        }
    }
}

/// The start of the next line after a position, at which text may be inserted. The rest of the current line, with comments,
/// stays unchanged. `None` if the text continues at `until` on the same line.
fn after_comments(body: &str, from: usize, until: usize) -> Option<usize> {
    let mut at = from;
    while at < until {
        let rest = &body[at..until];
        if rest.starts_with("/*") {
            at += rest.find("*/")? + 2;
        } else if rest.starts_with("//") {
            return rest.find('\n').map(|end| at + end + 1);
        } else if rest.starts_with('\n') {
            return Some(at + 1);
        } else {
            at += rest.chars().next()?.len_utf8();
        }
    }
    None
}

fn comma_after(tokens: &[TokenAndRange<'_>], place: usize) -> Option<usize> {
    let mut after = tokens.iter().filter(|token| token.range.start >= place);
    let next = after
        .find(|token| !matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_)))?;
    matches!(next.token, Token::Comma).then_some(next.range.start)
}

fn places(range: jsonc_parser::common::Range) -> (usize, usize) {
    (range.start, range.end)
}

fn inside(value: &ast::Value<'_>) -> ItemPositions {
    let (open, end) = places(value.range());
    let items = match value {
        ast::Value::Object(object) => object
            .properties
            .iter()
            .map(|one| places(one.range))
            .collect(),
        ast::Value::Array(array) => array
            .elements
            .iter()
            .map(|one| places(one.range()))
            .collect(),
        _ => Vec::new(),
    };
    ItemPositions {
        open,
        close: end - 1,
        items,
    }
}

fn has_schema(value: &ast::Value<'_>) -> bool {
    value.as_object().is_some_and(|object| {
        object
            .properties
            .first()
            .is_some_and(|one| one.name.as_str() == "$schema")
    })
}

fn walk<'v, 'a>(
    value: &'v ast::Value<'a>,
    at: &[JsonStep],
) -> Result<&'v ast::Value<'a>, EditError> {
    at.iter().try_fold(value, |value, step| {
        let n = index(value, step)?;
        let found = match value {
            ast::Value::Object(object) => object.properties.get(n).map(|one| &one.value),
            ast::Value::Array(array) => array.elements.get(n),
            _ => None,
        };
        found.ok_or_else(|| EditError::new("was changed at the same time"))
    })
}

/// The index of the item that a step selects. A duplicate name is an error: clients use the last one, so changing the first
/// would have no effect.
fn index(value: &ast::Value<'_>, step: &JsonStep) -> Result<usize, EditError> {
    let (key, object) = match (step, value) {
        (JsonStep::At(n), _) => return Ok(*n),
        (JsonStep::Key(key), ast::Value::Object(object)) => (key, object),
        (JsonStep::Key(key), _) => {
            return Err(EditError::new(format!("lost {key:?} in the meantime")));
        }
    };
    let mut found = object
        .properties
        .iter()
        .enumerate()
        .filter(|(_, one)| one.name.as_str() == *key)
        .map(|(n, _)| n);
    match (found.next(), found.next()) {
        (Some(n), None) => Ok(n),
        (Some(_), Some(_)) => Err(EditError::new(format!(
            "has {key:?} twice in one object; keep one of them"
        ))),
        (None, _) => Err(EditError::new(format!("lost {key:?} in the meantime"))),
    }
}

fn plain(value: &ast::Value<'_>) -> Value {
    match value {
        ast::Value::StringLit(text) => Value::String(text.value.to_string()),
        ast::Value::NumberLit(number) => serde_json::from_str(number.value).unwrap_or_default(),
        ast::Value::BooleanLit(truth) => Value::Bool(truth.value),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => array.elements.iter().map(plain).collect(),
        ast::Value::Object(object) => object
            .properties
            .iter()
            .map(|one| (one.name.as_str().to_owned(), plain(&one.value)))
            .collect(),
    }
}
