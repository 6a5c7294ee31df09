//! Explanations for a file that is not JSON: the position of the error, and the usual cause.

use super::parsed::{DEPTH, ParseRejection, ParsedFile};
use super::repair;
use crate::base::error::Problem;
use crate::base::text::quoted;
use serde_json::error::Category;
use std::str::Utf8Error;

/// Problems that the first bytes show: an empty file, a byte order mark, UTF-16.
pub(super) fn before_parsing(bytes: &[u8]) -> Option<ParsedFile> {
    const MARKS: [(&[u8], &str); 3] = [
        (b"\xEF\xBB\xBF", "UTF-8"),
        (b"\xFF\xFE", "UTF-16"),
        (b"\xFE\xFF", "UTF-16"),
    ];
    if bytes.iter().all(u8::is_ascii_whitespace) {
        let problem = Problem::new("empty", "the file is empty");
        return Some(ParsedFile::Unfinished(
            problem.fix("write one JSON object into it"),
        ));
    }
    // A byte order mark may still be incomplete.
    if MARKS
        .iter()
        .any(|(mark, _)| mark.len() > bytes.len() && mark.starts_with(bytes))
    {
        return Some(ParsedFile::Unfinished(bom("UTF-8")));
    }
    if let Some((_, encoding)) = MARKS.iter().find(|(mark, _)| bytes.starts_with(mark)) {
        return Some(ParsedFile::Bad(bom(encoding)));
    }
    if bytes.len() > 1 && bytes[..2].contains(&0) {
        let what = "the file is UTF-16, UTF-32 or not text: it begins with a zero byte";
        let fix = "write it as UTF-8, in Python with open(path, 'w', encoding='utf-8'), in PowerShell with -Encoding utf8NoBOM";
        return Some(ParsedFile::Bad(
            Problem::new("invalid_utf8", what)
                .at("line 1 column 1")
                .fix(fix),
        ));
    }
    None
}

fn bom(encoding: &str) -> Problem {
    let what =
        format!("the file starts with a {encoding} byte order mark, which JSON does not allow");
    let fix = "write UTF-8 without the mark: in Python encoding='utf-8', not 'utf-8-sig' or 'utf-16'; in PowerShell \
               -Encoding utf8NoBOM, or [IO.File]::WriteAllText(path, text)";
    Problem::new("bom", what).at("line 1 column 1").fix(fix)
}

/// The file is not UTF-8. A character that is incomplete at the end of the file may still be completed.
pub(super) fn invalid_utf8(bytes: &[u8], error: Utf8Error) -> ParsedFile {
    let good = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
    if error.error_len().is_none() {
        return ParsedFile::Unfinished(truncated(good, "in the middle of a character"));
    }
    let what = format!("byte {:#04x} is not UTF-8", bytes[error.valid_up_to()]);
    let fix = "write the file as UTF-8: in Python open(path, 'w', encoding='utf-8'). If the byte comes from \
               errors='surrogateescape' or 'surrogatepass', replace it in the text first";
    ParsedFile::Bad(Problem::new("invalid_utf8", what).at(end_of(good)).fix(fix))
}

/// Problems of valid JSON that cannot be a message.
pub(super) fn rejected(rejection: ParseRejection, error: &serde_json::Error) -> Problem {
    let place = format!("line {} column {}", error.line(), error.column());
    let problem = match rejection {
        ParseRejection::Duplicate(key) => Problem::new(
            "duplicate_key",
            format!("the key {} occurs twice in one object", quoted(&key)),
        )
        .fix("remove one of them; the router does not choose between them"),
        ParseRejection::Depth => Problem::new(
            "too_deep",
            format!("the JSON nests deeper than {DEPTH} levels"),
        )
        .fix("flatten it, or put the data in a file under context/ and attach the file"),
        ParseRejection::Number(text) => Problem::new(
            "number_out_of_range",
            format!("{} is too large for a double", quoted(&text)),
        )
        .fix("write it as a string, in quotes"),
        ParseRejection::Key(key) => Problem::new(
            "reserved_key",
            format!("the key {} is reserved by the JSON library", quoted(&key)),
        )
        .fix("rename the field; its name must not begin with $serde_json::private::"),
    };
    problem.at(place)
}

/// Explains a syntax error.
pub(super) fn explain(text: &str, error: &serde_json::Error) -> ParsedFile {
    let at = offset(text, error);
    let said = error.to_string();
    // serde_json reports a number at the end of the file, such as "-" or "1.", as an invalid number, not as an early
    // end.
    if error.classify() == Category::Eof || said.starts_with("invalid number") && at >= text.len() {
        return ParsedFile::Unfinished(truncated(text, "before the JSON is complete"));
    }
    let here = &text[at..];
    let problem = repair::describe(text)
        .or_else(|| explain_by_message(&said, here, &text[..at]))
        .or_else(|| explain_by_text(text, here))
        .unwrap_or_else(|| plain(&said));
    let place = format!("line {} column {}", error.line(), error.column());
    ParsedFile::Bad(if problem.place.is_empty() {
        problem.at(place)
    } else {
        problem
    })
}

/// Mistakes that serde_json's message identifies.
fn explain_by_message(said: &str, here: &str, before: &str) -> Option<Problem> {
    let said = |start: &str| said.starts_with(start);
    if said("trailing characters") {
        return Some(trailing(here));
    }
    if said("lone leading surrogate")
        || said("unexpected end of hex escape")
        || said("invalid unicode code point")
    {
        let what = "a \\u escape contains half of a surrogate pair, which is not a character";
        let fix = "remove it from the text before it is written: in Python text.encode('utf-8', 'replace').decode(), \
                   then json.dump(…, ensure_ascii=False), which fails early on such text instead of escaping it";
        return Some(Problem::new("lone_surrogate", what).fix(fix));
    }
    if said("control character") {
        // serde_json counts a raw newline as the end of its line.
        let inside = before.trim_end_matches(['\n', '\r', '\t']);
        let what = "a string contains a raw control character, such as a newline or a tab";
        let fix = "write \\n for a newline and \\t for a tab, or let a JSON library write the file: json.dump in \
                   Python, jq -n --arg in a shell";
        return Some(not_json(what, fix).at(end_of(inside)));
    }
    if said("trailing comma") {
        return Some(not_json(
            "there is a comma before a closing bracket",
            "remove the last comma",
        ));
    }
    if said("invalid escape") {
        return Some(not_json(
            "a backslash in a string starts an escape that JSON does not allow",
            "write \\\\ for a backslash",
        ));
    }
    None
}

/// More text after the first JSON value: another message, or an extra bracket.
fn trailing(here: &str) -> Problem {
    if here.starts_with(['{', '[']) {
        let fix = "write each message to its own file, or one per line to a file with a name that ends in .ndjson";
        return Problem::new(
            "not_one_message",
            "there is text after the first JSON object, but a file must contain one message",
        )
        .fix(fix);
    }
    not_json(
        "there is text after the JSON",
        "remove it; the file must contain exactly one JSON object",
    )
}

/// Mistakes that the text at the position of the error identifies.
fn explain_by_text(text: &str, here: &str) -> Option<Problem> {
    let starts = |words: &[&str]| words.iter().any(|w| here.starts_with(w));
    if starts(&["NaN", "Infinity", "-Infinity"]) {
        let fix =
            "write null or omit the field; in Python, json.dump(…, allow_nan=False) reports it";
        return Some(
            Problem::new(
                "nan",
                "NaN and Infinity are not JSON numbers, although Python's json.dump writes them",
            )
            .fix(fix),
        );
    }
    if starts(&["'", "True", "False", "None", "u'", "b'"]) {
        let fix = "use double quotes and true, false, null: in Python json.dumps(message), not str(message)";
        return Some(not_json(
            "this is Python syntax, not JSON: single quotes, or True, False, None",
            fix,
        ));
    }
    if starts(&["//", "/*"]) || here.starts_with('#') && text.contains('{') {
        return Some(not_json(
            "JSON does not allow comments",
            "remove the comment",
        ));
    }
    if here.starts_with("undefined") {
        return Some(not_json(
            "undefined is not JSON",
            "write null or omit the field",
        ));
    }
    if !text.trim_start().starts_with(['{', '[', '"']) {
        return Some(repair::prose(text));
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
        _ => {
            "write the file with a JSON library: json.dump in Python, JSON.stringify in JavaScript, jq in a shell"
        }
    };
    not_json(&format!("the file is not JSON: {said}"), fix)
}

fn not_json(what: &str, fix: &str) -> Problem {
    Problem::new("not_json", what).fix(fix)
}

fn truncated(good: &str, how: &str) -> Problem {
    Problem::new("truncated", format!("the file ends {how}"))
        .at(end_of(good))
        .fix("write the complete file; if its writer was interrupted, write it again under another name")
}

/// The line and column after `text`.
fn end_of(text: &str) -> String {
    let line = text.matches('\n').count() + 1;
    let column = text.rsplit('\n').next().map_or(0, str::len) + 1;
    format!("line {line} column {column}")
}

/// The byte position of the error. serde_json counts columns in bytes, from 1.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let mut at = (before + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
