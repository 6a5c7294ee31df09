//! Adds and removes our section, between markers, in instruction files for agents.

use super::json::EditError;

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

/// The content of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionKind {
    /// The instructions.
    Mail,
    /// A line that includes AGENTS.md.
    Include,
}

/// Adds or updates our section.
pub(super) fn put(text: &str, kind: SectionKind) -> Result<String, EditError> {
    let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let section = section(kind, eol);
    if let Some((start, end)) = place(text)? {
        return Ok(format!("{}{section}{}", &text[..start], &text[end..]));
    }
    if kind == SectionKind::Include && includes(text) {
        return Ok(text.to_owned());
    }
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        eol
    };
    let gap = if text.trim().is_empty() { "" } else { eol };
    Ok(format!("{text}{end}{gap}{section}"))
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
pub(super) fn has_section(text: &str, kind: SectionKind) -> bool {
    match kind {
        SectionKind::Mail => matches!(place(text), Ok(Some(_))),
        SectionKind::Include => matches!(place(text), Ok(Some(_))) || includes(text),
    }
}

/// Returns true if a text has our unchanged section.
pub(super) fn is_as_written(text: &str, kind: SectionKind) -> bool {
    let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
    matches!(place(text), Ok(Some((start, end))) if text[start..end] == section(kind, eol))
}

/// Whether a text includes AGENTS.md.
fn includes(text: &str) -> bool {
    text.split_whitespace()
        .any(|word| matches!(word, "@AGENTS.md" | "@./AGENTS.md"))
}

fn section(kind: SectionKind, eol: &str) -> String {
    let inner = match kind {
        SectionKind::Mail => SECTION,
        SectionKind::Include => "@AGENTS.md\n",
    };
    format!("{BEGIN}\n{inner}{END}\n").replace('\n', eol)
}

/// Start and end of our section, its last line end included.
fn place(text: &str) -> Result<Option<(usize, usize)>, EditError> {
    let places = |marker: &str| {
        text.match_indices(marker)
            .map(|(at, _)| at)
            .collect::<Vec<_>>()
    };
    let line = |at: usize| Some(text[..at].matches('\n').count() as u64 + 1);
    match (&places(BEGIN)[..], &places(END)[..]) {
        ([], []) => Ok(None),
        ([start], [end]) if start < end => {
            let end = end + END.len();
            let rest = &text[end..];
            let eol = ["\r\n", "\n"]
                .iter()
                .find(|eol| rest.starts_with(**eol))
                .map_or(0, |eol| eol.len());
            Ok(Some((*start, end + eol)))
        }
        ([start, ..], _) | ([], [start, ..]) => Err(EditError {
            line: line(*start),
            what: format!(
                "must have the markers {BEGIN} and {END} exactly once each, in this order"
            ),
        }),
    }
}
