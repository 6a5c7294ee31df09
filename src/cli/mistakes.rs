//! Answers to common mistakes on the command line: the correct form.

use crate::base::error::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Common guesses for commands, each with the correct form.
const COMMANDS: &[(&str, &str)] = &[
    ("accept", "handoff --accept"),
    ("answer", "reply ID BODY"),
    ("approve", "decide ID yes"),
    ("cat", "read ID"),
    ("check", "send --dry-run --file FILE"),
    ("completion", "generate completions SHELL"),
    ("completions", "generate completions SHELL"),
    ("config", "settings"),
    ("create", "init"),
    ("decline", "handoff --decline"),
    ("delete", "ack ID --status withdrawn"),
    ("deny", "decide ID no"),
    ("digest", "log digest"),
    ("done", "take --done ID"),
    ("events", "log events"),
    ("explain", "send --dry-run ADDRESS"),
    ("find", "search PATTERN"),
    ("follow", "list --follow"),
    ("get", "read ID"),
    ("grep", "search PATTERN"),
    ("helper", "generate helper LANGUAGE"),
    ("history", "list"),
    ("lock", "claim SUBJECT"),
    ("ls", "list"),
    ("mail", "inbox"),
    ("man", "generate man DIR"),
    ("milestone", "send TEXT --type milestone"),
    ("msg", "send ADDRESS BODY"),
    ("new", "init"),
    ("next", "read"),
    ("open", "read ID"),
    ("post", "send ADDRESS BODY"),
    ("ps", "who"),
    ("register", "agent add ID"),
    ("remove", "agent remove ID"),
    ("rm", "ack ID --status withdrawn"),
    ("schema", "generate schema"),
    ("setup", "up"),
    ("show", "read ID"),
    ("start", "run"),
    ("stop", "service uninstall"),
    ("subscribe", "topic subscribe TOPIC"),
    ("tail", "list --follow"),
    ("tasks", "pending"),
    ("todo", "pending"),
    ("unlock", "release SUBJECT"),
    ("unsubscribe", "topic unsubscribe TOPIC"),
    ("validate", "send --dry-run --file FILE"),
    ("version", "--version"),
    ("view", "read ID"),
    ("whoami", "join"),
    ("write", "send ADDRESS BODY"),
];

/// The answer to a mistake that is common; none if clap's own message is the answer.
pub(super) fn answer(error: &clap::Error) -> Option<Error> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let word = text(error, ContextKind::InvalidSubcommand)?;
    let form = COMMANDS.iter().find(|(known, _)| *known == word)?.1;
    Some(Error::Usage {
        what: format!("`{word}` is not a command"),
        cure: format!("run `mailbag {form}`"),
    })
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_begins_with_a_command_and_no_command_is_in_the_table() {
        let known = crate::cli::command();
        for (word, form) in COMMANDS {
            assert!(known.find_subcommand(word).is_none(), "{word}");
            let command = form.split(' ').next().unwrap_or_default();
            assert!(
                command.starts_with("--") || known.find_subcommand(command).is_some(),
                "{word}: {form}"
            );
        }
    }
}
