//! Our section in instructions for agents, between markers: put in behind what stands there, and taken out again.

use super::json::Wrong;

const BEGIN: &str = "<!-- mailbag:begin -->";
const END: &str = "<!-- mailbag:end -->";

/// What an agent is told. Short, since it is read at every start.
const SECTION: &str = "\
## Mail between agents

Where there is a `.mailbag` directory, agents write to each other with `mailbag`. New mail is announced; don't poll.

- Say once who you are: `mailbag join NAME` (`mailbag agent list` shows the names)
- Send: `mailbag send NAME 'text'`; NAME may be `human`, `all` or a role such as `@engineer`
- Read the oldest unread: `mailbag read`; list: `mailbag inbox`
- Answer: `mailbag reply ID 'text'`; when it is done: `mailbag ack ID --state actioned`
- Ask, and wait for the answer: `mailbag ask NAME 'question'`
";

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// How to use mail.
    Mail,
    /// A line that includes AGENTS.md.
    Include,
}

/// Puts our section into a text, or makes it what it should be.
pub(super) fn put(text: &str, kind: Kind) -> Result<String, Wrong> {
    let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let section = section(kind, eol);
    if let Some((start, end)) = place(text)? {
        return Ok(format!("{}{section}{}", &text[..start], &text[end..]));
    }
    if kind == Kind::Include && includes(text) {
        return Ok(text.to_owned());
    }
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { eol };
    let gap = if text.trim().is_empty() { "" } else { eol };
    Ok(format!("{text}{end}{gap}{section}"))
}

/// Takes our section out, with the empty line before it.
pub(super) fn take_out(text: &str) -> Result<String, Wrong> {
    let Some((start, end)) = place(text)? else { return Ok(text.to_owned()) };
    let before = &text[..start];
    let before = before.strip_suffix("\r\n\r\n").map(|kept| &before[..kept.len() + 2]).unwrap_or(before);
    let before = before.strip_suffix("\n\n").map(|kept| &before[..kept.len() + 1]).unwrap_or(before);
    Ok(format!("{before}{}", &text[end..]))
}

/// Does our section stand in a text, or for an include, the line that does the same?
pub(super) fn stands(text: &str, kind: Kind) -> bool {
    match kind {
        Kind::Mail => matches!(place(text), Ok(Some(_))),
        Kind::Include => matches!(place(text), Ok(Some(_))) || includes(text),
    }
}

/// Does a text include AGENTS.md?
fn includes(text: &str) -> bool {
    text.split_whitespace().any(|word| matches!(word, "@AGENTS.md" | "@./AGENTS.md"))
}

fn section(kind: Kind, eol: &str) -> String {
    let inner = match kind {
        Kind::Mail => SECTION,
        Kind::Include => "@AGENTS.md\n",
    };
    format!("{BEGIN}\n{inner}{END}\n").replace('\n', eol)
}

/// From where to where our section stands, its last line end included.
fn place(text: &str) -> Result<Option<(usize, usize)>, Wrong> {
    let places = |marker: &str| text.match_indices(marker).map(|(at, _)| at).collect::<Vec<_>>();
    let line = |at: usize| Some(text[..at].matches('\n').count() as u64 + 1);
    match (&places(BEGIN)[..], &places(END)[..]) {
        ([], []) => Ok(None),
        ([start], [end]) if start < end => {
            let end = end + END.len();
            let rest = &text[end..];
            let eol = ["\r\n", "\n"].iter().find(|eol| rest.starts_with(**eol)).map_or(0, |eol| eol.len());
            Ok(Some((*start, end + eol)))
        }
        ([start, ..], _) | ([], [start, ..]) => Err(Wrong {
            line: line(*start),
            what: format!("has the markers {BEGIN} and {END} otherwise than once each, in this order"),
        }),
    }
}
