//! Finds lines addressed to mailbag in a command's output, and parses them.

use crate::message::status_line::{self, StatusLine};
use memchr::memchr;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::io;

/// Splits output into lines that may be addressed to mailbag, and everything else, which is forwarded immediately.
///
/// Only a line that begins with `{`, optional blanks and `"` is held back, until it ends or exceeds the size of a message.
/// Prompts, progress bars and binary data are never held back.
pub(super) struct OutputSplitter {
    at: LineState,
    held: Vec<u8>,
    most: usize,
}

/// The state of the current line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineState {
    Begin,
    Held,
    Through,
}

/// A piece of output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OutputPiece<'b> {
    /// A complete line that may be addressed to mailbag, with its line end if it has one.
    Line(&'b [u8]),
    /// Other output.
    Through(&'b [u8]),
}

impl OutputSplitter {
    /// Lines of at most `most` bytes may be addressed to mailbag.
    pub(super) fn new(most: usize) -> OutputSplitter {
        OutputSplitter {
            at: LineState::Begin,
            held: Vec::new(),
            most,
        }
    }

    /// Splits further output, and calls `give` for each piece in order.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        give: &mut dyn FnMut(OutputPiece) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut start, mut next) = (0, 0);
        while next < bytes.len() {
            let end = memchr(b'\n', &bytes[next..]).map(|at| next + at + 1);
            if self.at == LineState::Begin {
                self.at = if bytes[next] == b'{' {
                    LineState::Held
                } else {
                    LineState::Through
                };
            }
            let until = end.unwrap_or(bytes.len());
            if self.at == LineState::Held {
                if start < next {
                    give(OutputPiece::Through(&bytes[start..next]))?;
                }
                start = until;
                self.hold(&bytes[next..until], end.is_some(), give)?;
            }
            if end.is_some() {
                self.at = LineState::Begin;
            }
            next = until;
        }
        if start < bytes.len() {
            give(OutputPiece::Through(&bytes[start..]))
        } else {
            Ok(())
        }
    }

    /// Ends the output: a held line has no line end.
    pub(super) fn finish(
        &mut self,
        give: &mut dyn FnMut(OutputPiece) -> io::Result<()>,
    ) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.at = LineState::Begin;
        if held.is_empty() {
            Ok(())
        } else {
            give(OutputPiece::Line(&held))
        }
    }

    fn hold(
        &mut self,
        bytes: &[u8],
        is_whole: bool,
        give: &mut dyn FnMut(OutputPiece) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.held.len() + bytes.len() > self.most {
            let held = std::mem::take(&mut self.held);
            self.at = LineState::Through;
            if !held.is_empty() {
                give(OutputPiece::Through(&held))?;
            }
            return give(OutputPiece::Through(bytes));
        }
        self.held.extend_from_slice(bytes);
        if is_whole || !may_be_ours(&self.held) {
            let held = std::mem::take(&mut self.held);
            self.at = LineState::Through;
            return give(if is_whole {
                OutputPiece::Line(&held)
            } else {
                OutputPiece::Through(&held)
            });
        }
        Ok(())
    }
}

/// Whether a line with this beginning can be a JSON object with a field.
fn may_be_ours(begin: &[u8]) -> bool {
    let mut behind = begin
        .iter()
        .skip(1)
        .filter(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    behind.next().is_none_or(|&byte| byte == b'"')
}

/// Parses a line. `None` if it is not addressed to mailbag; an error if it is invalid.
pub(super) fn read(line: &[u8]) -> Option<Result<StatusLine, String>> {
    #[derive(Deserialize)]
    struct OutputLineKind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    let head: OutputLineKind = serde_json::from_slice(line).ok()?;
    if !status_line::is_line(&head.kind) {
        return None;
    }
    let mut fields: Map<String, Value> = serde_json::from_slice(line).ok()?;
    fields.shift_remove("type");
    let has_text = ["message", "progress"]
        .iter()
        .any(|field| fields.get(*field).is_some_and(|value| !value.is_null()));
    if &*head.kind == "status" && !has_text {
        return Some(Err("the field message is missing".into()));
    }
    Some(StatusLine::parse(&head.kind, fields).map_err(|problem| problem.what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(chunks: &[&str], most: usize) -> Vec<String> {
        let mut splitter = OutputSplitter::new(most);
        let mut pieces = Vec::new();
        let mut give = |piece: OutputPiece| {
            let (mark, bytes) = match piece {
                OutputPiece::Line(bytes) => ("line", bytes),
                OutputPiece::Through(bytes) => ("through", bytes),
            };
            pieces.push(format!("{mark} {}", String::from_utf8_lossy(bytes)));
            Ok(())
        };
        for chunk in chunks {
            splitter
                .feed(chunk.as_bytes(), &mut give)
                .expect("nothing fails");
        }
        splitter.finish(&mut give).expect("nothing fails");
        pieces
    }

    #[test]
    fn only_a_line_that_can_be_an_object_is_held_back() {
        assert_eq!(pieces(&["ab", "c\nd"], 99), ["through ab", "through c\nd"]);
        assert_eq!(
            pieces(&["a\n{\"b\":1}\nc\n"], 99),
            ["through a\n", "line {\"b\":1}\n", "through c\n"]
        );
        assert_eq!(
            pieces(&["{", " \"a\"", ":1}", "\n"], 99),
            ["line { \"a\":1}\n"]
        );
        assert_eq!(
            pieces(&["{u", "ser}> "], 99),
            ["through {u", "through ser}> "]
        );
        assert_eq!(pieces(&["x {\"a\":1}\n"], 99), ["through x {\"a\":1}\n"]);
        assert_eq!(pieces(&["{\"a\""], 99), ["line {\"a\""]);
        assert_eq!(
            pieces(&["{\n{\"a\":1}\n\n"], 99),
            ["line {\n", "line {\"a\":1}\n", "through \n"]
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_forwarded_unchanged() {
        assert_eq!(
            pieces(&["{\"ab", "cd", "e\"}\n", "{\"\"}\n"], 5),
            [
                "through {\"ab",
                "through cd",
                "through e\"}\n",
                "line {\"\"}\n"
            ]
        );
        assert_eq!(
            pieces(&["{\"abcde\n{\"\"}\n"], 5),
            ["through {\"abcde\n", "line {\"\"}\n"]
        );
    }

    #[test]
    fn other_lines_are_ignored() {
        for line in [
            "{}",
            "{\"type\":7}",
            "{\"type\":\"result\"}",
            "{\"type\":\"status\"",
            "[]",
            "{\"a\":\"status\"}",
        ] {
            assert_eq!(read(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn an_invalid_line_is_reported() {
        for (line, what) in [
            (r#"{"type":"status"}"#, "the field message is missing"),
            (
                r#"{"type":"status","message":7}"#,
                "the field message is not a string",
            ),
            (
                r#"{"type":"status","message":"x","progress":7}"#,
                "the field progress is \"7\", not a number from 0 to 1",
            ),
            (
                r#"{"type":"status","message":"x","progress":"half"}"#,
                "not a number",
            ),
            (
                r#"{"type":"artifact","description":"x"}"#,
                "the field path is missing",
            ),
            (r#"{"type":"dependency","waiting_for":[]}"#, "waiting_for"),
            (
                r#"{"type":"dependency","waiting_for":"../x"}"#,
                "is not a valid agent name",
            ),
            (
                r#"{"type":"complete","outputs":[7]}"#,
                "the field outputs is not a list of strings",
            ),
        ] {
            let wrong = read(line.as_bytes())
                .expect("a line for mailbag")
                .expect_err("an invalid line");
            assert!(wrong.contains(what), "{line}: {wrong}");
        }
    }

    #[test]
    fn a_null_is_an_absent_field() {
        let said = read(b"{\"type\":\"complete\",\"result\":null,\"outputs\":null}\r\n")
            .expect("it is ours");
        let (message, result, outputs, rest) = (None, None, Vec::new(), Map::new());
        assert_eq!(
            said,
            Ok(StatusLine::Complete {
                message,
                result,
                outputs,
                rest
            })
        );
    }
}
