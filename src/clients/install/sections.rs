//! Adds and removes our section, between markers, in instruction files for agents.

use super::blocks::{append, eol, marked};
use super::json::EditError;
use crate::clients::kind::InstallPart;

const BEGIN: &str = "<!-- mailbag:begin -->";
const END: &str = "<!-- mailbag:end -->";

/// The instructions for agents. Short, because every session reads them at its start.
const SECTION: &str = "\
## Mail between agents

If there is a `.mailbag` directory, use `mailbag` to write to agents in other sessions and to the human. New mail is announced to you; do not poll.

- Read: `mailbag read`. Answer: `mailbag reply ID 'text'`
- Send: `mailbag send NAME 'text'`, or with quotes in the text `mailbag send NAME - <<'EOF'`

The skill `mailbag` or `mailbag --help` has more, for example how to claim files before you edit them.
";

/// Adds or updates our section.
pub(super) fn put(text: &str, part: InstallPart) -> Result<String, EditError> {
    if let Some((start, end)) = place(text)? {
        let section = section(part, eol(text));
        return Ok(format!("{}{section}{}", &text[..start], &text[end..]));
    }
    if part == InstallPart::Include && includes(text) {
        return Ok(text.to_owned());
    }
    Ok(append(text, &section(part, "\n")))
}

/// Removes our section and the empty line before it.
pub(super) fn take_out(text: &str) -> Result<String, EditError> {
    let Some((start, end)) = place(text)? else {
        return Ok(text.to_owned());
    };
    let before = &text[..start];
    let before = before
        .strip_suffix("\r\n\r\n")
        .map(|kept| &before[..kept.len() + 2])
        .unwrap_or(before);
    let before = before
        .strip_suffix("\n\n")
        .map(|kept| &before[..kept.len() + 1])
        .unwrap_or(before);
    Ok(format!("{before}{}", &text[end..]))
}

/// Whether a text has our section, or for an include, an equivalent line.
pub(super) fn has_section(text: &str, part: InstallPart) -> Result<bool, EditError> {
    Ok(place(text)?.is_some() || part == InstallPart::Include && includes(text))
}

/// Returns true if a text has our unchanged section.
pub(super) fn is_as_written(text: &str, part: InstallPart) -> bool {
    matches!(place(text), Ok(Some((start, end))) if text[start..end] == section(part, eol(text)))
}

/// Whether a text includes AGENTS.md.
fn includes(text: &str) -> bool {
    text.split_whitespace()
        .any(|word| matches!(word, "@AGENTS.md" | "@./AGENTS.md"))
}

/// The instructions, or a line that includes AGENTS.md.
fn section(part: InstallPart, eol: &str) -> String {
    let inner = if part == InstallPart::Include {
        "@AGENTS.md\n"
    } else {
        SECTION
    };
    format!("{BEGIN}\n{inner}{END}\n").replace('\n', eol)
}

fn place(text: &str) -> Result<Option<(usize, usize)>, EditError> {
    marked(text, BEGIN, END)
}
