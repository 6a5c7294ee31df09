//! Finds lines addressed to mailbag in a command's output, and parses them.

use crate::base::limits;
use crate::message::address::quoted;
use crate::message::id;
use memchr::memchr;
use serde::Deserialize;
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::io;

/// Splits output into lines that may be addressed to mailbag, and everything else, which is forwarded immediately.
///
/// Only a line that begins with `{`, optional blanks and `"` is held back, until it ends or exceeds the size of a message.
/// Prompts, progress bars and binary data are never held back.
pub(super) struct Splitter {
    at: At,
    held: Vec<u8>,
    most: usize,
}

/// The state of the current line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Begin,
    Held,
    Through,
}

/// A piece of output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'b> {
    /// A complete line that may be addressed to mailbag, with its line end if it has one.
    Line(&'b [u8]),
    /// Other output.
    Through(&'b [u8]),
}

impl Splitter {
    /// Lines of at most `most` bytes may be addressed to mailbag.
    pub(super) fn new(most: usize) -> Splitter {
        Splitter { at: At::Begin, held: Vec::new(), most }
    }

    /// Splits further output, and calls `give` for each piece in order.
    pub(super) fn feed(&mut self, bytes: &[u8], give: &mut dyn FnMut(Piece) -> io::Result<()>) -> io::Result<()> {
        let (mut start, mut next) = (0, 0);
        while next < bytes.len() {
            let end = memchr(b'\n', &bytes[next..]).map(|at| next + at + 1);
            if self.at == At::Begin {
                self.at = if bytes[next] == b'{' { At::Held } else { At::Through };
            }
            let until = end.unwrap_or(bytes.len());
            if self.at == At::Held {
                if start < next {
                    give(Piece::Through(&bytes[start..next]))?;
                }
                start = until;
                self.hold(&bytes[next..until], end.is_some(), give)?;
            }
            if end.is_some() {
                self.at = At::Begin;
            }
            next = until;
        }
        if start < bytes.len() { give(Piece::Through(&bytes[start..])) } else { Ok(()) }
    }

    /// Ends the output: a held line has no line end.
    pub(super) fn finish(&mut self, give: &mut dyn FnMut(Piece) -> io::Result<()>) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.at = At::Begin;
        if held.is_empty() { Ok(()) } else { give(Piece::Line(&held)) }
    }

    fn hold(&mut self, bytes: &[u8], is_whole: bool, give: &mut dyn FnMut(Piece) -> io::Result<()>) -> io::Result<()> {
        if self.held.len() + bytes.len() > self.most {
            let held = std::mem::take(&mut self.held);
            self.at = At::Through;
            if !held.is_empty() {
                give(Piece::Through(&held))?;
            }
            return give(Piece::Through(bytes));
        }
        self.held.extend_from_slice(bytes);
        if is_whole || !may_be_ours(&self.held) {
            let held = std::mem::take(&mut self.held);
            self.at = At::Through;
            return give(if is_whole { Piece::Line(&held) } else { Piece::Through(&held) });
        }
        Ok(())
    }
}

/// Whether a line with this beginning can be a JSON object with a field.
fn may_be_ours(begin: &[u8]) -> bool {
    let mut behind = begin.iter().skip(1).filter(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    behind.next().is_none_or(|&byte| byte == b'"')
}

/// A parsed line.
#[derive(Debug, PartialEq)]
pub(super) enum ParsedLine {
    /// Progress of the command.
    Status {
        /// Text.
        message: String,
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
    /// The command waits for other agents.
    Dependency {
        /// The agents.
        waiting_for: Vec<String>,
        /// Why.
        reason: Option<String>,
    },
    /// The command has completed its task.
    Complete {
        /// The result.
        result: Option<Value>,
        /// Files that it made.
        outputs: Vec<String>,
    },
}

/// Parses a line. `None` if it is not addressed to mailbag; an error if it is invalid.
pub(super) fn read(line: &[u8]) -> Option<Result<ParsedLine, String>> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    let head: Head = serde_json::from_slice(line).ok()?;
    if !["status", "artifact", "dependency", "complete"].contains(&&*head.kind) {
        return None;
    }
    let fields: Map<String, Value> = serde_json::from_slice(line).ok()?;
    Some(said(&head.kind, Fields(fields)))
}

fn said(kind: &str, mut fields: Fields) -> Result<ParsedLine, String> {
    fields.0.shift_remove("type");
    match kind {
        "status" => {
            let message = fields.text("message")?.ok_or("the field message is missing")?;
            Ok(ParsedLine::Status { message, progress: fields.progress()?, rest: fields.0 })
        }
        "artifact" => Ok(ParsedLine::Artifact {
            path: fields.text("path")?.ok_or("the field path is missing")?,
            description: fields.text("description")?,
            category: fields.text("category")?,
        }),
        "dependency" => {
            let waiting_for = fields.list("waiting_for")?;
            if waiting_for.is_empty() {
                return Err("the field waiting_for is missing".into());
            }
            if let Some(name) = waiting_for.iter().find(|name| !id::is_name(name)) {
                return Err(format!("{} is not a valid agent name", quoted(name)));
            }
            if waiting_for.len() > limits::WAITING_FOR {
                return Err(format!("waiting_for has more than {} agents", limits::WAITING_FOR));
            }
            Ok(ParsedLine::Dependency { waiting_for, reason: fields.text("reason")? })
        }
        _ => Ok(ParsedLine::Complete { result: fields.take("result"), outputs: fields.list("outputs")? }),
    }
}

struct Fields(Map<String, Value>);

impl Fields {
    /// A field, if present and not `null`.
    fn take(&mut self, field: &str) -> Option<Value> {
        self.0.shift_remove(field).filter(|value| !value.is_null())
    }

    fn text(&mut self, field: &str) -> Result<Option<String>, String> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
            Some(Value::String(_)) => Err(format!("the field {field} is empty")),
            Some(_) => Err(format!("the field {field} is not a string")),
        }
    }

    /// A string, or a list of strings.
    fn list(&mut self, field: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("the field {field} is not a list of strings");
        let items = match self.take(field) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(one) => vec![one],
        };
        items.into_iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
    }

    fn progress(&mut self) -> Result<Option<Number>, String> {
        let Some(value) = self.take("progress") else { return Ok(None) };
        let is_share = |number: &&Number| number.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share));
        let shown = quoted(&value.to_string());
        let number = value.as_number().filter(is_share).cloned();
        number.map(Some).ok_or_else(|| format!("the field progress is {shown}, not a number from 0 to 1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(chunks: &[&str], most: usize) -> Vec<String> {
        let mut splitter = Splitter::new(most);
        let mut pieces = Vec::new();
        let mut give = |piece: Piece| {
            let (mark, bytes) = match piece {
                Piece::Line(bytes) => ("line", bytes),
                Piece::Through(bytes) => ("through", bytes),
            };
            pieces.push(format!("{mark} {}", String::from_utf8_lossy(bytes)));
            Ok(())
        };
        for chunk in chunks {
            splitter.feed(chunk.as_bytes(), &mut give).expect("nothing fails");
        }
        splitter.finish(&mut give).expect("nothing fails");
        pieces
    }

    #[test]
    fn only_a_line_that_can_be_an_object_is_held_back() {
        assert_eq!(pieces(&["ab", "c\nd"], 99), ["through ab", "through c\nd"]);
        assert_eq!(pieces(&["a\n{\"b\":1}\nc\n"], 99), ["through a\n", "line {\"b\":1}\n", "through c\n"]);
        assert_eq!(pieces(&["{", " \"a\"", ":1}", "\n"], 99), ["line { \"a\":1}\n"]);
        assert_eq!(pieces(&["{u", "ser}> "], 99), ["through {u", "through ser}> "]);
        assert_eq!(pieces(&["x {\"a\":1}\n"], 99), ["through x {\"a\":1}\n"]);
        assert_eq!(pieces(&["{\"a\""], 99), ["line {\"a\""]);
        assert_eq!(pieces(&["{\n{\"a\":1}\n\n"], 99), ["line {\n", "line {\"a\":1}\n", "through \n"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_forwarded_unchanged() {
        assert_eq!(
            pieces(&["{\"ab", "cd", "e\"}\n", "{\"\"}\n"], 5),
            ["through {\"ab", "through cd", "through e\"}\n", "line {\"\"}\n"]
        );
        assert_eq!(pieces(&["{\"abcde\n{\"\"}\n"], 5), ["through {\"abcde\n", "line {\"\"}\n"]);
    }

    #[test]
    fn other_lines_are_ignored() {
        for line in ["{}", "{\"type\":7}", "{\"type\":\"result\"}", "{\"type\":\"status\"", "[]", "{\"a\":\"status\"}"]
        {
            assert_eq!(read(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn an_invalid_line_is_reported() {
        for (line, what) in [
            (r#"{"type":"status"}"#, "the field message is missing"),
            (r#"{"type":"status","message":7}"#, "the field message is not a string"),
            (
                r#"{"type":"status","message":"x","progress":7}"#,
                "the field progress is \"7\", not a number from 0 to 1",
            ),
            (r#"{"type":"status","message":"x","progress":"half"}"#, "not a number"),
            (r#"{"type":"artifact","description":"x"}"#, "the field path is missing"),
            (r#"{"type":"dependency","waiting_for":[]}"#, "waiting_for"),
            (r#"{"type":"dependency","waiting_for":"../x"}"#, "is not a valid agent name"),
            (r#"{"type":"complete","outputs":[7]}"#, "the field outputs is not a list of strings"),
        ] {
            let wrong = read(line.as_bytes()).expect("a line for mailbag").expect_err("an invalid line");
            assert!(wrong.contains(what), "{line}: {wrong}");
        }
    }

    #[test]
    fn a_null_is_an_absent_field() {
        let said = read(b"{\"type\":\"complete\",\"result\":null,\"outputs\":null}\r\n").expect("it is ours");
        assert_eq!(said, Ok(ParsedLine::Complete { result: None, outputs: Vec::new() }));
    }
}
