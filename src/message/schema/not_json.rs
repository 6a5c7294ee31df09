//! What to tell a sender whose file is not JSON: where it broke, and what usually breaks it there.

use super::parsed::{DEPTH, Parsed, Refusal};
use super::words::quoted;
use crate::base::error::Problem;
use serde_json::error::Category;
use serde_json::json;
use std::str::Utf8Error;

/// What can be told from the first bytes: an empty file, a byte order mark, UTF-16.
pub(super) fn before_parsing(bytes: &[u8]) -> Option<Parsed> {
    const MARKS: [(&[u8], &str); 3] = [(b"\xEF\xBB\xBF", "UTF-8"), (b"\xFF\xFE", "UTF-16"), (b"\xFE\xFF", "UTF-16")];
    if bytes.iter().all(|b| b.is_ascii_whitespace()) {
        let problem = Problem::new("empty", "the file is empty");
        return Some(Parsed::Unfinished(problem.fix("write one JSON object into it").example(least())));
    }
    // A mark may be written byte by byte too.
    if MARKS.iter().any(|(mark, _)| mark.len() > bytes.len() && mark.starts_with(bytes)) {
        return Some(Parsed::Unfinished(bom("UTF-8")));
    }
    if let Some((_, encoding)) = MARKS.iter().find(|(mark, _)| bytes.starts_with(mark)) {
        return Some(Parsed::Bad(bom(encoding)));
    }
    if bytes.len() > 1 && bytes[..2].contains(&0) {
        let what = "the file is UTF-16 or UTF-32, or no text at all: there is a zero byte at its start";
        let fix = "write it as UTF-8, in Python with open(path, 'w', encoding='utf-8'), in PowerShell with -Encoding utf8NoBOM";
        return Some(Parsed::Bad(Problem::new("invalid_utf8", what).at("line 1 column 1").fix(fix)));
    }
    None
}

fn bom(encoding: &str) -> Problem {
    let what = format!("the file starts with a {encoding} byte order mark, which JSON does not allow");
    let fix = "write UTF-8 without the mark: in Python encoding='utf-8', not 'utf-8-sig' or 'utf-16'; in PowerShell \
               -Encoding utf8NoBOM, or [IO.File]::WriteAllText(path, text)";
    Problem::new("bom", what).at("line 1 column 1").fix(fix)
}

/// The file is not UTF-8. A character that is cut off by the end of the file may still be completed.
pub(super) fn invalid_utf8(bytes: &[u8], error: Utf8Error) -> Parsed {
    let good = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
    if error.error_len().is_none() {
        return Parsed::Unfinished(truncated(good, "in the middle of a character"));
    }
    let what = format!("byte {:#04x} is not UTF-8", bytes[error.valid_up_to()]);
    let fix = "write the file as UTF-8: in Python open(path, 'w', encoding='utf-8'). If the byte comes from \
               errors='surrogateescape' or 'surrogatepass', replace it in the text first";
    Parsed::Bad(Problem::new("invalid_utf8", what).at(end_of(good)).fix(fix))
}

/// JSON that is well formed, but means nothing good.
pub(super) fn refused(refusal: Refusal, error: &serde_json::Error) -> Problem {
    let place = format!("line {} column {}", error.line(), error.column());
    let problem = match refusal {
        Refusal::Duplicate(key) => {
            Problem::new("duplicate_key", format!("the key {} stands twice in one object", quoted(&key)))
                .fix("keep one of them; which of two counts would be a guess")
        }
        Refusal::Depth => Problem::new("too_deep", format!("the JSON nests deeper than {DEPTH} levels"))
            .fix("flatten it, or put the data into a file under context/ and attach that"),
        Refusal::Number(text) => {
            Problem::new("number_out_of_range", format!("{} is larger than any double can hold", quoted(&text)))
                .fix("write it as a string, in quotes")
        }
        Refusal::Key(key) => {
            Problem::new("reserved_key", format!("the key {} is reserved by the JSON library", quoted(&key)))
                .fix("give the field another name, one that does not begin with $serde_json::private::")
        }
    };
    problem.at(place)
}

/// A syntax error in the words of whoever made it.
pub(super) fn explain(text: &str, error: &serde_json::Error) -> Parsed {
    let at = offset(text, error);
    let said = error.to_string();
    // A number that ends with the file, "-" or "1.", is an invalid number to serde_json, not an early end.
    if error.classify() == Category::Eof || said.starts_with("invalid number") && at >= text.len() {
        return Parsed::Unfinished(truncated(text, "before the JSON is complete"));
    }
    let here = &text[at..];
    let problem = by_what_was_said(&said, here, &text[..at])
        .or_else(|| by_what_stands_there(text, here))
        .unwrap_or_else(|| plain(&said));
    let place = format!("line {} column {}", error.line(), error.column());
    Parsed::Bad(if problem.place.is_empty() { problem.at(place) } else { problem })
}

/// Mistakes that serde_json has a message for.
fn by_what_was_said(said: &str, here: &str, before: &str) -> Option<Problem> {
    let said = |start: &str| said.starts_with(start);
    if said("trailing characters") {
        return Some(trailing(here));
    }
    if said("lone leading surrogate") || said("unexpected end of hex escape") || said("invalid unicode code point") {
        let what = "half of a surrogate pair stands alone in a \\u escape: it is no character";
        let fix = "remove it from the text before it is written: in Python text.encode('utf-8', 'replace').decode(), \
                   then json.dump(…, ensure_ascii=False), which fails early on such text instead of escaping it";
        return Some(Problem::new("lone_surrogate", what).fix(fix));
    }
    if said("control character") {
        // serde_json has already counted a raw newline as the end of its line.
        let inside = before.trim_end_matches(['\n', '\r', '\t']);
        let what = "a raw control character, such as a newline or a tab, stands inside a string";
        let fix = "write \\n for a newline and \\t for a tab, or let a JSON library write the file: json.dump in \
                   Python, jq -n --arg in a shell";
        return Some(
            not_json(what, fix).at(end_of(inside)).example(json!({"to": "bob", "body": "line one\nline two"})),
        );
    }
    if said("trailing comma") {
        return Some(not_json("there is a comma before a closing bracket", "remove the last comma"));
    }
    if said("invalid escape") {
        return Some(not_json(
            "a backslash in a string starts an escape that JSON does not have",
            "write \\\\ for a backslash",
        ));
    }
    None
}

/// More text after the first JSON value: another message, or a stray bracket.
fn trailing(here: &str) -> Problem {
    if here.starts_with(['{', '[']) {
        let fix = "write every message into a file of its own, or one a line into a file whose name ends in .ndjson";
        return Problem::new(
            "not_one_message",
            "the file goes on after the first JSON object: one file is one message",
        )
        .fix(fix);
    }
    not_json("there is text after the JSON", "remove it; the file holds one JSON object and nothing else")
}

/// Mistakes that show in the text at the place of the error.
fn by_what_stands_there(text: &str, here: &str) -> Option<Problem> {
    let starts = |words: &[&str]| words.iter().any(|w| here.starts_with(w));
    if starts(&["NaN", "Infinity", "-Infinity"]) {
        let fix =
            "write null or leave the field out; in Python json.dump(…, allow_nan=False) finds it before it is written";
        return Some(
            Problem::new("nan", "NaN and Infinity are no JSON numbers, though Python's json.dump writes them").fix(fix),
        );
    }
    if starts(&["'", "True", "False", "None", "u'", "b'"]) {
        let fix = "use double quotes and true, false, null: in Python json.dumps(message), not str(message)";
        return Some(
            not_json("this is Python's notation, not JSON: single quotes, or True, False, None", fix).example(least()),
        );
    }
    if starts(&["//", "/*", "#"]) {
        return Some(not_json("JSON has no comments", "remove the comment"));
    }
    if text.trim_start().starts_with("```") || here.starts_with("```") {
        return Some(
            not_json("a Markdown fence stands around the JSON", "write the JSON alone, without the ``` lines")
                .example(least()),
        );
    }
    if here.starts_with("undefined") {
        return Some(not_json("undefined is not JSON", "write null or leave the field out"));
    }
    if !text.trim_start().starts_with(['{', '[', '"']) {
        let fix = "write one JSON object, for example with jq -n --arg body \"$text\" '{to: \"bob\", body: $body}'";
        return Some(not_json("the file is not JSON; it begins with neither { nor [", fix).example(least()));
    }
    None
}

fn plain(said: &str) -> Problem {
    let said = said.split(" at line ").next().unwrap_or(said);
    let fix = match said {
        "key must be a string" => "put the field's name in double quotes",
        "expected `,` or `}`" | "expected `,` or `]`" => {
            "put a comma between the values; a double quote inside a string is written \\\""
        }
        "expected `:`" => "put a colon between the field's name and its value",
        _ => "let a JSON library write the file: json.dump in Python, JSON.stringify in JavaScript, jq in a shell",
    };
    not_json(&format!("the file is not JSON: {said}"), fix)
}

fn not_json(what: &str, fix: &str) -> Problem {
    Problem::new("not_json", what).fix(fix)
}

fn truncated(good: &str, how: &str) -> Problem {
    Problem::new("truncated", format!("the file ends {how}"))
        .at(end_of(good))
        .fix("write the file whole; if its writer died, write it again under another name")
}

/// The least message, as an example.
pub(super) fn least() -> serde_json::Value {
    json!({"to": "bob", "body": "hi"})
}

/// The line and column right after `text`.
fn end_of(text: &str) -> String {
    let line = text.matches('\n').count() + 1;
    let column = text.rsplit('\n').next().map_or(0, str::len) + 1;
    format!("line {line} column {column}")
}

/// The byte that the error stands at. serde_json counts columns in bytes, from 1.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let mut at = (before + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
