//! Problems of messages in the words of the command line.

use crate::base::error::{Error, Problem};
use clap::Command;

/// Fields of a message, each with its names on the command line. The first option that the command has is meant, or the
/// first other name. Without a name, the value is one of the words, and the sentence shows it.
const FIELDS: &[(&str, &[&str])] = &[
    ("action", &["--action"]),
    ("agents", &[]),
    ("attachments", &["--attach"]),
    ("body", &["--note", "the text"]),
    ("channel", &["--channel"]),
    ("claims", &[]),
    ("deadline", &["--deadline"]),
    ("digest", &["--digest"]),
    ("expires_at", &["--expires"]),
    ("in_reply_to", &["--reply-to"]),
    ("lease", &["--lease"]),
    // An ack of the command has no other metadata.
    ("metadata", &["--metadata", "--by"]),
    ("of", &["--of"]),
    ("on_deadline", &["--else"]),
    ("option", &[]),
    ("options", &["--options"]),
    ("priority", &["--priority"]),
    ("refs", &["--ref"]),
    ("status", &["--status"]),
    ("subject", &["--subject"]),
    ("thread_id", &["--thread"]),
    ("to", &["--to"]),
    ("topics", &["--topic"]),
    ("type", &["--type"]),
];

/// An error with problems of a message in the words of this command.
pub(super) fn spoken_error(error: Error, command: &Command) -> Error {
    let speak = |problems: Vec<Problem>| {
        let problems = problems.iter();
        problems.map(|problem| spoken(command, problem)).collect()
    };
    match error {
        Error::Rejected(problems) => Error::Rejected(speak(problems)),
        Error::NotGranted(problems) => Error::NotGranted(speak(problems)),
        error => error,
    }
}

/// The name of a field in this command.
fn field_name(command: &Command, names: &[&'static str]) -> &'static str {
    let is_known = |name: &str| match name.strip_prefix("--") {
        Some(long) => command
            .get_arguments()
            .any(|argument| argument.get_long() == Some(long)),
        None => true,
    };
    names
        .iter()
        .find(|name| is_known(name))
        .copied()
        .unwrap_or_default()
}

/// A problem of a message in the words of the command line: an option or an argument instead of a JSON pointer.
fn spoken(command: &Command, problem: &Problem) -> Problem {
    let mut spoken = problem.clone();
    if problem.code == "no_content" {
        "the message has no text".clone_into(&mut spoken.what);
        "write it after the address, such as `mailbag send bob 'hello'`, or on standard input"
            .clone_into(&mut spoken.fix);
        return spoken;
    }
    let mut places = problem.place.trim_start_matches('/').split('/');
    let field = places.next().unwrap_or_default();
    let names = FIELDS.iter().find(|(known, _)| *known == field);
    if let Some((_, names)) = names
        && problem.place.starts_with('/')
    {
        let name = field_name(command, names);
        name.clone_into(&mut spoken.place);
        if !name.is_empty()
            && let Some(rest) = spoken.what.strip_prefix(field)
        {
            // The name is before the sentence already.
            spoken.what = rest.trim_start().to_owned();
        }
    }
    spoken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::command;
    use crate::cli::words::named_command;
    use std::ffi::OsString;

    fn has_option(command: &Command, long: &str) -> bool {
        let mut arguments = command.get_arguments();
        arguments.any(|argument| argument.get_long() == Some(long))
            || command
                .get_subcommands()
                .any(|command| has_option(command, long))
    }

    #[test]
    fn each_option_exists() {
        let names = FIELDS.iter().flat_map(|(_, names)| *names);
        for long in names.filter_map(|name| name.strip_prefix("--")) {
            assert!(has_option(&command(), long), "--{long}");
        }
    }

    #[test]
    fn a_problem_names_an_option_of_its_command() {
        let root = command();
        for (line, place, what, expected) in [
            (
                "ask",
                "/on_deadline",
                "on_deadline cannot be",
                "--else: cannot be",
            ),
            (
                "ack",
                "/metadata/superseded_by",
                "unknown message",
                "--by: unknown message",
            ),
            (
                "send",
                "/metadata/x",
                "metadata is too deep",
                "--metadata: is too deep",
            ),
            ("send", "/body", "body is too long", "the text: is too long"),
            ("claim", "/body", "body is too long", "--note: is too long"),
            ("share", "/attachments/0", "unknown file", "unknown file"),
            (
                "--room x send",
                "/refs/0",
                "unknown message",
                "--ref: unknown message",
            ),
            ("ack", "/refs/0", "unknown message", "unknown message"),
        ] {
            let words: Vec<OsString> = ["mailbag"]
                .into_iter()
                .chain(line.split(' '))
                .map(OsString::from)
                .collect();
            let (command, _) = named_command(&words, &root);
            let problem = Problem::new("code", what).at(place);
            assert_eq!(spoken(command, &problem).to_string(), expected, "{line}");
        }
    }
}
