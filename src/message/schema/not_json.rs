//! Explanations for a file that is not JSON: the position of the error, and the usual cause.

use super::parsed::{DEPTH, ParseRejection, ParsedFile};
use crate::base::error::Problem;
use crate::base::text::quoted;
use serde_json::Value;
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

/// A usual mistake: what serde_json says about it, and the text at the position of the error. An empty list fits all.
struct Mistake {
    code: &'static str,
    said: &'static [&'static str],
    here: &'static [&'static str],
    what: &'static str,
    fix: &'static str,
}

/// The commonest mistakes. The first row that fits explains the error.
const MISTAKES: [Mistake; 10] = [
    Mistake {
        code: "not_one_message",
        said: &["trailing characters"],
        here: &["{", "["],
        what: "there is text after the first JSON object, but a file must contain one message",
        fix: "write each message to its own file, or one per line to a file with a name that ends in .ndjson",
    },
    Mistake {
        code: "not_json",
        said: &["trailing characters"],
        here: &[],
        what: "there is text after the JSON",
        fix: "remove it; the file must contain exactly one JSON object",
    },
    Mistake {
        code: "lone_surrogate",
        said: &[
            "lone leading surrogate",
            "unexpected end of hex escape",
            "invalid unicode code point",
        ],
        here: &[],
        what: "a \\u escape contains half of a surrogate pair, which is not a character",
        fix: "remove it from the text before it is written: in Python text.encode('utf-8', 'replace').decode(), \
              then json.dump(…, ensure_ascii=False), which fails early on such text instead of escaping it",
    },
    Mistake {
        code: "not_json",
        said: &[CONTROL_CHARACTER],
        here: &[],
        what: "a string contains a raw control character, such as a newline or a tab",
        fix: "write \\n for a newline and \\t for a tab, or let a JSON library write the file: json.dump in \
              Python, jq -n --arg in a shell",
    },
    Mistake {
        code: "not_json",
        said: &["trailing comma"],
        here: &[],
        what: "there is a comma before a closing bracket",
        fix: "remove the last comma",
    },
    Mistake {
        code: "not_json",
        said: &["invalid escape"],
        here: &[],
        what: "a backslash in a string starts an escape that JSON does not allow",
        fix: "write \\\\ for a backslash",
    },
    Mistake {
        code: "nan",
        said: &[],
        here: &["NaN", "Infinity", "-Infinity"],
        what: "NaN and Infinity are not JSON numbers, although Python's json.dump writes them",
        fix: "write null or omit the field; in Python, json.dump(…, allow_nan=False) reports it",
    },
    Mistake {
        code: "not_json",
        said: &[],
        here: &["'", "True", "False", "None", "u'", "b'"],
        what: "this is Python syntax, not JSON: single quotes, or True, False, None",
        fix: "use double quotes and true, false, null: in Python json.dumps(message), not str(message)",
    },
    Mistake {
        code: "not_json",
        said: &["key must be a string"],
        here: &[],
        what: "the name of a field has no double quotes, or there is a comment",
        fix: "put the field's name in double quotes; JSON does not allow comments",
    },
    Mistake {
        code: "not_json",
        said: &["expected `,` or `}`", "expected `,` or `]`"],
        here: &[],
        what: "a comma is missing between two values, or a string ends early",
        fix: "put a comma between the values; a double quote inside a string is written \\\"",
    },
];

/// serde_json counts a raw newline as the end of its line, so the position of this mistake is corrected.
const CONTROL_CHARACTER: &str = "control character";

/// Explains a syntax error.
pub(super) fn explain(text: &str, error: &serde_json::Error) -> ParsedFile {
    let at = offset(text, error);
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    // serde_json reports a number at the end of the file, such as "-" or "1.", as an invalid number, not as an early
    // end.
    if error.classify() == Category::Eof || said.starts_with("invalid number") && at >= text.len() {
        return ParsedFile::Unfinished(truncated(text, "before the JSON is complete"));
    }
    let has_any = |text: &str, starts: &[&str]| {
        starts.is_empty() || starts.iter().any(|start| text.starts_with(start))
    };
    let mut known = MISTAKES.iter();
    let known = known.find(|row| has_any(said, row.said) && has_any(&text[at..], row.here));
    let problem = match (fenced(text), known) {
        (Some(inner), _) => {
            let what = "there is a Markdown fence around the JSON";
            let problem = Problem::new("not_json", what).fix("remove the ``` lines");
            match object(inner) {
                Some(message) => problem.example(message),
                None => problem,
            }
        }
        (None, Some(row)) => Problem::new(row.code, row.what).fix(row.fix),
        (None, None) if !text.trim_start().starts_with(['{', '[', '"']) => {
            let what = "the file is not JSON: it begins with neither { nor [";
            let fix = "write one JSON object, in a shell with jq -n --arg to AGENT --arg body \"$text\" \
                       '{to: $to, body: $body}'";
            Problem::new("not_json", what).fix(fix)
        }
        (None, None) => {
            let fix = "write the file with a JSON library: json.dump in Python, JSON.stringify in JavaScript, jq in \
                       a shell";
            Problem::new("not_json", format!("the file is not JSON: {said}")).fix(fix)
        }
    };
    let place = if said.starts_with(CONTROL_CHARACTER) {
        end_of(text[..at].trim_end_matches(['\n', '\r', '\t']))
    } else {
        format!("line {} column {}", error.line(), error.column())
    };
    ParsedFile::Bad(problem.at(place))
}

/// The JSON object in a text.
pub(super) fn object(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(Value::is_object)
}

/// The text between the first Markdown fence and the next one, if the fence is before the first brace.
fn fenced(text: &str) -> Option<&str> {
    let start = text.find("```").filter(|at| !text[..*at].contains('{'))?;
    let (_, inner) = text[start..].split_once('\n')?;
    inner.split("```").next()
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
