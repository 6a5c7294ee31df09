//! Our lines in a file of the user, as text.

use super::json::EditError;
use crate::base::hash::{hash, hex};

/// The word before the hash of a text that mailbag wrote.
const SEAL: &str = "mailbag:sha256 ";

/// The line end of a file.
pub(super) fn eol(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Adds lines at the end of a file, after an empty line.
pub(super) fn append(text: &str, block: &str) -> String {
    let eol = eol(text);
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        eol
    };
    let gap = if text.trim().is_empty() { "" } else { eol };
    format!("{text}{end}{gap}{}", block.replace('\n', eol))
}

/// The text without lines that [`append`] added, with and without the empty line before them.
pub(super) fn without<'t>(text: &'t str, block: &str) -> impl Iterator<Item = String> + use<'t> {
    let eol = eol(text);
    let block = block.replace('\n', eol);
    [eol, ""].into_iter().filter_map(move |gap| {
        let (before, after) = text.split_once(&format!("{gap}{block}"))?;
        (before.is_empty() || before.ends_with('\n')).then(|| format!("{before}{after}"))
    })
}

/// Start and end of our lines between two marks, the last line end included.
pub(in crate::clients) fn marked(
    text: &str,
    begin: &str,
    end: &str,
) -> Result<Option<(usize, usize)>, EditError> {
    let places =
        |mark: &str| -> Vec<usize> { text.match_indices(mark).map(|(at, _)| at).collect() };
    match (&places(begin)[..], &places(end)[..]) {
        ([], []) => Ok(None),
        ([start], [stop]) if start < stop => {
            let stop = stop + end.len();
            let rest = &text[stop..];
            let eol = ["\r\n", "\n"].iter().find(|eol| rest.starts_with(**eol));
            Ok(Some((*start, stop + eol.map_or(0, |eol| eol.len()))))
        }
        ([start, ..], _) | ([], [start, ..]) => Err(EditError {
            line: Some(text[..*start].matches('\n').count() as u64 + 1),
            what: format!("must have the marks {begin} and {end} exactly once each, in this order"),
        }),
    }
}

/// A text with a last line that contains its hash. The line proves that mailbag wrote the text.
pub(super) fn seal(text: &str, comment: [&str; 2]) -> String {
    let [open, close] = comment;
    format!("{text}{open}{SEAL}{}{close}\n", hex(&hash(text)))
}

/// Returns true for an unchanged text of [`seal`].
pub(super) fn is_sealed(text: &str, comment: [&str; 2]) -> bool {
    let end = format!("{}{SEAL}", comment[0]);
    text.rsplit_once(&end)
        .is_some_and(|(sealed, _)| seal(sealed, comment) == text)
}
