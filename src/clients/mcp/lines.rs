//! Reads the lines of the client. Their length is limited.

use std::io::Result;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Reads lines, and skips longer ones without keeping them.
pub(super) struct LineReader<R> {
    input: R,
    /// The longest line, with its end.
    most: usize,
    /// The beginning of the next line.
    line: Vec<u8>,
    /// True if the beginning of the next line was dropped.
    is_too_long: bool,
}

/// A line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    /// A line, with its end.
    Text(Vec<u8>),
    /// A line over the limit.
    TooLong,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    /// Reads lines of at most `most` bytes.
    pub(super) fn new(input: R, most: usize) -> LineReader<R> {
        LineReader {
            input,
            most,
            line: Vec::new(),
            is_too_long: false,
        }
    }

    /// The next line. `None` at the end of the input. Can be cancelled and repeated.
    pub(super) async fn next_line(&mut self) -> Result<Option<InputLine>> {
        loop {
            let bytes = self.input.fill_buf().await?;
            let end = memchr::memchr(b'\n', bytes);
            let part = &bytes[..end.map_or(bytes.len(), |end| end + 1)];
            self.is_too_long |= part.len() > self.most - self.line.len();
            if self.is_too_long {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let (read, is_last) = (part.len(), part.is_empty());
            self.input.consume(read);
            if end.is_none() && !is_last {
                continue;
            }
            if std::mem::take(&mut self.is_too_long) {
                return Ok(Some(InputLine::TooLong));
            }
            let line = std::mem::take(&mut self.line);
            return Ok((!line.is_empty()).then_some(InputLine::Text(line)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::BufReader;

    /// The lines of an input that arrives in pieces of 4 bytes. They have at most 8 bytes.
    fn lines(input: &str) -> Vec<InputLine> {
        let input = BufReader::with_capacity(4, input.as_bytes());
        let mut reader = LineReader::new(input, 8);
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(async {
            let mut lines = Vec::new();
            while let Some(line) = reader.next_line().await.expect("a readable input") {
                lines.push(line);
            }
            lines
        })
    }

    fn text(line: &str) -> InputLine {
        InputLine::Text(line.into())
    }

    #[test]
    fn lines_up_to_the_limit_are_returned_with_their_ends() {
        assert_eq!(
            lines("\n1234567\n12\r\nlast"),
            [text("\n"), text("1234567\n"), text("12\r\n"), text("last")]
        );
        assert_eq!(lines("12345678"), [text("12345678")]);
        assert_eq!(lines(""), []);
    }

    #[test]
    fn a_longer_line_is_skipped_and_the_next_one_is_read() {
        let long = "x".repeat(100);
        assert_eq!(
            lines(&format!("12345678\n{long}\nnext\n{long}")),
            [
                InputLine::TooLong,
                InputLine::TooLong,
                text("next\n"),
                InputLine::TooLong
            ]
        );
    }
}
