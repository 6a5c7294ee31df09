//! Files with one message per line.

use super::content::{FileCompleteness, FileContent, MessageLine};
use crate::base::error::Problem;
use crate::base::limits;
use crate::message::schema::{self, ParsedFile};
use serde_json::Value;

/// The JSON of a line, or the problem.
impl From<&MessageLine> for Result<Value, Problem> {
    fn from(line: &MessageLine) -> Result<Value, Problem> {
        match schema::parse(&line.text) {
            ParsedFile::Value(value) => Ok(value),
            ParsedFile::Bad(problem) | ParsedFile::Unfinished(problem) => Err(problem),
        }
    }
}

/// Reads a file with one message per line. Blank lines are ignored.
pub fn read(bytes: &[u8]) -> FileCompleteness {
    let said: Vec<(&[u8], u32)> = numbered(bytes).collect();
    if said.is_empty() {
        return one(bytes);
    }
    if said.len() > limits::LINES {
        return FileCompleteness::Yes(FileContent::One(Err(too_many(said.len()))));
    }
    let starts_alone = matches!(schema::parse(said[0].0), ParsedFile::Unfinished(_));
    if starts_alone && said.len() > 1 {
        // One message can span several lines, as pretty-printers write it.
        match schema::parse(bytes) {
            ParsedFile::Value(_) => {
                let text = bytes.trim_ascii().to_vec();
                return FileCompleteness::Yes(FileContent::Lines(vec![MessageLine {
                    number: said[0].1,
                    text,
                }]));
            }
            ParsedFile::Unfinished(_) => {
                return FileCompleteness::NotYet(FileContent::Lines(lines(said)));
            }
            ParsedFile::Bad(_) => {}
        }
    }
    // The last line may be incomplete if it has no line break.
    let last = said[said.len() - 1].0;
    let ends_too_early =
        !last.ends_with(b"\n") && matches!(schema::parse(last), ParsedFile::Unfinished(_));
    let lines = FileContent::Lines(lines(said));
    if ends_too_early {
        FileCompleteness::NotYet(lines)
    } else {
        FileCompleteness::Yes(lines)
    }
}

/// Every line that is not blank, with its number.
pub(super) fn numbered(bytes: &[u8]) -> impl Iterator<Item = (&[u8], u32)> {
    let numbered = bytes.split_inclusive(|&byte| byte == b'\n').zip(1..);
    numbered.filter(|(line, _)| !line.trim_ascii().is_empty())
}

/// Reads a file with one message.
pub(super) fn one(bytes: &[u8]) -> FileCompleteness {
    match schema::parse(bytes) {
        ParsedFile::Value(value) => FileCompleteness::Yes(FileContent::One(Ok(value))),
        ParsedFile::Bad(problem) => FileCompleteness::Yes(FileContent::One(Err(problem))),
        ParsedFile::Unfinished(problem) => FileCompleteness::NotYet(FileContent::One(Err(problem))),
    }
}

/// Each line by itself.
pub(super) fn lines(said: Vec<(&[u8], u32)>) -> Vec<MessageLine> {
    said.into_iter()
        .map(|(bytes, number)| MessageLine {
            number,
            text: bytes.trim_ascii().to_vec(),
        })
        .collect()
}

fn too_many(lines: usize) -> Problem {
    let what = format!(
        "the file has {lines} lines; {} can have {}",
        "a file with one message per line",
        limits::LINES
    );
    Problem::new("too_many_lines", what).fix("split it into several files, and drop them again")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> (bool, Vec<(u32, bool)>) {
        let (whole, content) = match read(text.as_bytes()) {
            FileCompleteness::Yes(content) => (true, content),
            FileCompleteness::NotYet(content) => (false, content),
        };
        let FileContent::Lines(lines) = content else {
            return (whole, Vec::new());
        };
        (
            whole,
            lines
                .iter()
                .map(|line| (line.number, Result::from(line).is_ok()))
                .collect(),
        )
    }

    #[test]
    fn blank_lines_are_passed_over_and_the_others_keep_their_numbers() {
        assert_eq!(
            numbers("\n{}\n \r\n{\"a\":1}\r\nno\n"),
            (true, vec![(2, true), (4, true), (5, false)])
        );
    }

    #[test]
    fn a_last_line_without_an_end_may_go_on_unless_it_is_whole() {
        assert_eq!(numbers("{}\n{\"a\":"), (false, vec![(1, true), (2, false)]));
        assert_eq!(numbers("{}\n{\"a\":1}"), (true, vec![(1, true), (2, true)]));
        assert_eq!(
            numbers("{}\n{\"a\":\n"),
            (true, vec![(1, true), (2, false)])
        );
        assert_eq!(numbers(" \n"), (false, vec![]));
    }

    #[test]
    fn one_message_over_several_lines_is_one_message() {
        assert_eq!(
            numbers("{\n  \"to\": \"bob\"\n}\n"),
            (true, vec![(1, true)])
        );
        assert!(!numbers("{\n  \"to\": ").0);
        assert_eq!(
            numbers("{\"a\":1\n{}\n"),
            (true, vec![(1, false), (2, true)])
        );
    }
}
