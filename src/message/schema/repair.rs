//! Files that are nearly JSON: what their writer did, and the message that was meant.

use crate::base::error::Problem;
use serde_json::Value;

/// The largest number of such mistakes in one file, such as a fence with line numbers.
const MOST: usize = 3;

/// A mistake: its description, the correction, and the corrected text.
struct JsonMistake {
    what: &'static str,
    fix: &'static str,
    corrected: String,
}

/// Describes the whole text of a file, if it has one of the known mistakes.
pub(super) fn describe(text: &str) -> Option<Problem> {
    let JsonMistake {
        what,
        fix,
        corrected,
    } = mistake(text)?;
    let problem = Problem::new("not_json", what).fix(fix);
    Some(match read(corrected, MOST) {
        Some(message) => problem.example(message),
        None => problem,
    })
}

/// The JSON object in a text.
pub(super) fn object(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(Value::is_object)
}

fn read(text: String, most: usize) -> Option<Value> {
    if let Some(object) = object(&text) {
        return Some(object);
    }
    if most == 0 {
        return None;
    }
    read(mistake(&text)?.corrected, most - 1)
}

fn mistake(text: &str) -> Option<JsonMistake> {
    let known = [
        (
            "each line begins with its number, as `cat -n` prints it",
            "write the file without the numbers",
            without_numbers(text),
        ),
        (
            "there is a Markdown fence around the JSON",
            "remove the ``` lines",
            without_fence(text),
        ),
        (
            "the quotes are typographic, as a text editor or a chat makes them",
            "write \" in place of each “ and ”",
            without_curly_quotes(text),
        ),
        (
            "the JSON is escaped, as inside of a string",
            "write the object without backslashes before its quotes",
            without_escapes(text),
        ),
    ];
    let mut known = known.into_iter();
    known.find_map(|(what, fix, corrected)| {
        Some(JsonMistake {
            what,
            fix,
            corrected: corrected?,
        })
    })
}

/// Describes a text without JSON. It can be the body of a message.
pub(super) fn prose(text: &str) -> Problem {
    const MARKS: [&str; 6] = ["# ", "## ", "- ", "* ", "> ", "---"];
    let is_markdown = text
        .lines()
        .any(|line| MARKS.iter().any(|mark| line.starts_with(mark)));
    let what = if is_markdown {
        "the file is Markdown, not JSON"
    } else {
        "the file is not JSON: it begins with neither { nor ["
    };
    let fix = "write one JSON object, in a shell with jq -n --arg to AGENT --arg body \"$text\" '{to: $to, body: $body}'";
    Problem::new("not_json", what).fix(fix)
}

/// The lines without a number and a tab, an arrow, a bar or a colon at their beginning, if each has them.
fn without_numbers(text: &str) -> Option<String> {
    let lines: Option<Vec<&str>> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(without_number)
        .collect();
    lines
        .map(|lines| lines.join("\n"))
        .filter(|text| !text.is_empty())
}

fn without_number(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == line.len() {
        return None;
    }
    rest.strip_prefix(['\t', '→', '|', ':'])
}

/// The text between the first fence and the next one.
fn without_fence(text: &str) -> Option<String> {
    let start = text.find("```").filter(|at| !text[..*at].contains('{'))?;
    let (_, inner) = text[start..].split_once('\n')?;
    Some(inner.split("```").next().unwrap_or(inner).to_owned())
}

fn without_curly_quotes(text: &str) -> Option<String> {
    const DOUBLE: [char; 4] = ['“', '”', '„', '‟'];
    let first = text
        .trim_start()
        .trim_start_matches(['{', '['])
        .trim_start();
    first
        .starts_with(DOUBLE)
        .then(|| text.replace(DOUBLE, "\"").replace(['‘', '’'], "'"))
}

fn without_escapes(text: &str) -> Option<String> {
    let text = text.trim();
    let is_escaped = text
        .trim_start_matches(['{', '['])
        .trim_start()
        .starts_with("\\\"");
    is_escaped
        .then(|| serde_json::from_str(&format!("\"{text}\"")).ok())
        .flatten()
}
