//! Problems of messages in the words of the command line.

use crate::base::error::Problem;

/// Fields of a message, each with its name on the command line. Without a name, the value is one of the words, and the
/// sentence shows it.
const FIELDS: &[(&str, &str)] = &[
    ("action", "--action"),
    ("agents", ""),
    ("attachments", "--attach"),
    ("body", "the text"),
    ("channel", "--channel"),
    ("claims", ""),
    ("deadline", "--deadline"),
    ("expires_at", "--expires"),
    ("in_reply_to", ""),
    ("lease", "--lease"),
    ("metadata", "--metadata"),
    ("of", "--of"),
    ("on_deadline", "--on-deadline"),
    ("option", ""),
    ("options", "--options"),
    ("priority", "--priority"),
    ("refs", ""),
    ("subject", "--subject"),
    ("thread_id", "--thread"),
    ("to", ""),
    ("topics", ""),
    ("type", "--type"),
];

/// A problem of a message in the words of the command line: an option or an argument instead of a JSON pointer.
pub(super) fn spoken(problem: &Problem) -> Problem {
    let mut spoken = problem.clone();
    if problem.code == "no_content" {
        "the message has no text".clone_into(&mut spoken.what);
        "write it after the address, such as `mailbag send bob 'hello'`, or on standard input"
            .clone_into(&mut spoken.fix);
        return spoken;
    }
    let mut places = problem.place.trim_start_matches('/').split('/');
    let field = places.next().unwrap_or_default();
    let name = FIELDS.iter().find(|(known, _)| *known == field);
    if let Some((_, name)) = name
        && problem.place.starts_with('/')
    {
        (*name).clone_into(&mut spoken.place);
        if !name.is_empty()
            && let Some(rest) = spoken.what.strip_prefix(field)
        {
            // The name is before the sentence already.
            spoken.what = rest.trim_start().to_owned();
        }
    }
    spoken
}
