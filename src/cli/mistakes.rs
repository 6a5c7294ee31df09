//! Mistakes on the command line: other names of commands, text that begins with a dash, and problems of a message in the
//! words of its command.

use crate::base::error::{Error, Problem};
use crate::base::text::shell_word;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use std::ffi::OsString;

/// Common guesses for commands, each with the correct words.
const COMMANDS: [(&str, &str); 30] = [
    ("answer", "reply"),
    ("approve", "decide"),
    ("broadcast", "send all"),
    ("cat", "read"),
    ("config", "settings"),
    ("create", "init"),
    ("daemon", "run"),
    ("delete", "ack --status withdrawn"),
    ("deny", "decide"),
    ("find", "search"),
    ("follow", "list --follow"),
    ("grep", "search"),
    ("history", "list"),
    ("lock", "claim"),
    ("ls", "list"),
    ("mail", "inbox"),
    ("msg", "send"),
    ("new", "init"),
    ("next", "read"),
    ("open", "read"),
    ("post", "send"),
    ("ps", "who"),
    ("register", "agent add"),
    ("serve", "web"),
    ("setup", "up"),
    ("show", "read"),
    ("start", "run"),
    ("todo", "pending"),
    ("unlock", "release"),
    ("whoami", "agent show"),
];

/// Fields of a message, each with its name on the command line if it has another name there.
const FIELDS: [(&str, &str); 9] = [
    ("attachments", "--attach"),
    ("body", "the text"),
    ("expires_at", "--expires"),
    ("in_reply_to", "--reply-to"),
    // An ack of the command has no other metadata.
    ("metadata", "--by"),
    ("on_deadline", "--else"),
    ("refs", "--ref"),
    ("thread_id", "--thread"),
    ("topics", "--topic"),
];

/// The answer to a mistake that clap's own message does not explain.
pub(super) fn answer(
    error: &clap::Error,
    words: &[OsString],
    root: &Command,
    json: bool,
) -> Option<Error> {
    let (command, name) = named_command(words, root);
    match error.kind() {
        ErrorKind::InvalidSubcommand if [root.get_name(), "help"].contains(&command.get_name()) => {
            let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
                return None;
            };
            let (_, form) = COMMANDS.iter().find(|(guess, _)| guess == word)?;
            let at = words.iter().position(|given| given == word.as_str())?;
            let mut line = words.to_vec();
            line.splice(at..=at, form.split(' ').map(OsString::from));
            // A line with other mistakes is not an answer.
            let read = root.clone().try_get_matches_from(&line);
            if read.is_err_and(|e| e.kind() != ErrorKind::DisplayHelp) {
                return None;
            }
            let line: Vec<String> = line
                .iter()
                .skip(1)
                .map(|given| shell_word(&given.to_string_lossy()))
                .collect();
            Some(Error::usage(
                format!("`{word}` is not a command"),
                format!("run `mailbag {}`", line.join(" ")),
            ))
        }
        // A program needs an error, not the help of a group.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if json => Some(Error::usage(
            format!("`{name}` needs a command"),
            format!("`{name} --help` lists them"),
        )),
        _ => None,
    }
}

/// The command that these words name, with its whole name.
pub(super) fn named_command<'a>(words: &[OsString], root: &'a Command) -> (&'a Command, String) {
    let (mut command, mut name) = (root, root.get_name().to_owned());
    let mut words = words.iter().skip(1).filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        if let Some(found) = command.find_subcommand(word) {
            command = found;
            name = format!("{name} {}", found.get_name());
        } else if !word.starts_with('-') {
            break;
        } else if takes_next_word(root, word) {
            words.next();
        }
    }
    (command, name)
}

/// Returns true for an option of a command with its value in the next word, such as `--room`.
fn takes_next_word(command: &Command, word: &str) -> bool {
    let is_named = |option: &&Arg| match word.strip_prefix("--") {
        Some(long) => option.get_long() == Some(long),
        None => option
            .get_short()
            .is_some_and(|letter| word == format!("-{letter}")),
    };
    let mut options = command.get_arguments().filter(is_named);
    options.any(|option| option.get_action().takes_values())
}

/// The words in a form that clap reads as they are meant: a word that begins with a dash and contains white space is text,
/// such as an item of a list.
pub(super) fn separate_text(words: Vec<OsString>, root: &Command) -> Vec<OsString> {
    if words.iter().any(|word| word == "--") || !words.iter().any(is_text) {
        return words;
    }
    let (command, _) = named_command(&words, root);
    let (mut line, mut texts): (Vec<OsString>, Vec<OsString>) = (Vec::new(), Vec::new());
    for word in words {
        let before = line.last().and_then(|before| before.to_str());
        let is_value = before.is_some_and(|before| {
            takes_next_word(command, before) || takes_next_word(root, before)
        });
        match line.last_mut() {
            Some(option) if is_value && is_text(&word) => {
                option.push("=");
                option.push(word);
            }
            _ if is_text(&word) => texts.push(word),
            _ => line.push(word),
        }
    }
    if !texts.is_empty() {
        line.push("--".into());
    }
    line.extend(texts);
    line
}

/// Returns true for a word that begins with a dash and is not an option, although its value may be text.
fn is_text(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| {
        let name = word.split('=').next().unwrap_or_default();
        word.starts_with('-') && name.contains(char::is_whitespace)
    })
}

/// An error with problems of a message in the words of this command.
pub(super) fn in_words_of(error: Error, command: &Command) -> Error {
    let worded = |problems: Vec<Problem>| {
        let problems = problems.into_iter();
        problems.map(|problem| worded(command, problem)).collect()
    };
    match error {
        Error::Rejected(problems) => Error::Rejected(worded(problems)),
        Error::NotGranted(problems) => Error::NotGranted(worded(problems)),
        error => error,
    }
}

/// A problem of a message with an option instead of a JSON pointer.
fn worded(command: &Command, mut problem: Problem) -> Problem {
    if problem.code == "no_content" {
        "the message has no text".clone_into(&mut problem.what);
        "write it after the address, such as `mailbag send bob 'hello'`, or on standard input"
            .clone_into(&mut problem.fix);
        return problem;
    }
    let Some(field) = problem.place.strip_prefix('/') else {
        return problem;
    };
    let field = field.split('/').next().unwrap_or_default().to_owned();
    let is_known = |name: &str| match name.strip_prefix("--") {
        Some(long) => command
            .get_arguments()
            .any(|argument| argument.get_long() == Some(long)),
        None => true,
    };
    let other = FIELDS.iter().find(|(known, _)| *known == field);
    let other = other.map(|(_, name)| (*name).to_owned());
    let mut names = [Some(format!("--{field}")), other].into_iter().flatten();
    // Without an option, the value is one of the words, and the sentence shows it.
    problem.place = names.find(|name| is_known(name)).unwrap_or_default();
    if !problem.place.is_empty()
        && let Some(rest) = problem.what.strip_prefix(&field)
    {
        // The name is before the sentence already.
        problem.what = rest.trim_start().to_owned();
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, command};
    use clap::FromArgMatches;

    fn shell_words(line: &str) -> Vec<OsString> {
        let mut words = Vec::new();
        for (at, part) in format!("mailbag {line}").split('\'').enumerate() {
            if at % 2 == 1 {
                words.push(part.into());
            } else {
                words.extend(part.split_whitespace().map(OsString::from));
            }
        }
        words
    }

    #[test]
    fn each_form_is_a_command_and_no_guess_is_one() {
        let known = command();
        for (word, form) in COMMANDS {
            assert!(known.find_subcommand(word).is_none(), "{word}");
            let words = shell_words(&format!("{form} --help"));
            let kind = known
                .clone()
                .try_get_matches_from(words)
                .map_err(|e| e.kind());
            assert_eq!(kind.err(), Some(ErrorKind::DisplayHelp), "{word}: {form}");
        }
    }

    #[test]
    fn a_guess_is_answered_with_the_whole_line() {
        // P531
        for (line, expected) in [
            ("answer 2 'it is 80'", "run `mailbag reply 2 'it is 80'`"),
            ("--room x msg bob hi", "run `mailbag --room x send bob hi`"),
            ("whoami", "run `mailbag agent show`"),
        ] {
            let words = shell_words(line);
            let error = Cli::read(words.clone()).expect_err(line);
            let answer = answer(&error, &words, &command(), false)
                .expect(line)
                .to_string();
            assert!(answer.contains(expected), "{line}: {answer}");
        }
    }

    #[test]
    fn no_line_is_named_that_the_command_line_rejects() {
        for line in [
            "mail send bob -s x -m y",
            "channel create x",
            "show 2 --frobnicate",
            "tail -f",
        ] {
            let words = shell_words(line);
            let error = Cli::read(words.clone()).expect_err(line);
            assert!(
                answer(&error, &words, &command(), false).is_none(),
                "{line}"
            );
        }
    }

    #[test]
    fn text_that_begins_with_a_dash_is_text() {
        // P531
        for (line, correct) in [
            ("send bob '- item one'", "send bob -- '- item one'"),
            ("send bob '--all is done'", "send bob -- '--all is done'"),
            (
                "send bob x --subject '- s u'",
                "send bob x '--subject=- s u'",
            ),
            ("--json send bob '- x y'", "send bob --json -- '- x y'"),
            ("send bob '- x y' --json", "send bob --json -- '- x y'"),
            ("ack 2 --note '- seen it'", "ack 2 '--note=- seen it'"),
        ] {
            let read = Cli::read(shell_words(line)).expect(line);
            let plain = command().try_get_matches_from(shell_words(correct));
            let plain = Cli::from_arg_matches(&plain.expect(correct)).expect(correct);
            assert_eq!(format!("{read:?}"), format!("{plain:?}"), "{line}");
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
                "send",
                "/metadata/x",
                "metadata is too deep",
                "--metadata: is too deep",
            ),
            ("send", "/body", "body is too long", "the text: is too long"),
            (
                "--room x send",
                "/refs/0",
                "unknown message",
                "--ref: unknown message",
            ),
            ("ack", "/refs/0", "unknown message", "unknown message"),
        ] {
            let (command, _) = named_command(&shell_words(line), &root);
            let problem = Problem::new("code", what).at(place);
            assert_eq!(worded(command, problem).to_string(), expected, "{line}");
        }
    }
}
