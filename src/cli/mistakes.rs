//! Answers to common mistakes on the command line: the correct form.

use super::args::command;
use super::words::{named_command, spellings};
use crate::base::error::{Error, nearest};
use crate::base::sanitize;
use crate::base::text::{joined, shell_word};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::borrow::Cow;
use std::ffi::OsString;

/// The name of the program.
const ROOT: &str = "mailbag";

/// Common guesses for commands, each with the correct form.
const COMMANDS: &[(&str, &str)] = &[
    ("accept", "handoff --accept"),
    ("answer", "reply ID BODY"),
    ("approval", "ask human BODY --options yes,no"),
    ("approve", "decide ID yes"),
    ("broadcast", "send all BODY"),
    ("cat", "read ID"),
    ("clean", "archive"),
    ("check", "send --dry-run --file FILE"),
    ("completion", "generate completions SHELL"),
    ("completions", "generate completions SHELL"),
    ("config", "settings"),
    ("create", "init"),
    ("daemon", "run"),
    ("decline", "handoff --decline"),
    ("delete", "ack ID --status withdrawn"),
    ("deliver", "run --once"),
    ("deny", "decide ID no"),
    ("digest", "log digest"),
    ("done", "take --done ID"),
    ("events", "log events"),
    ("explain", "send --dry-run ADDRESS"),
    ("find", "search PATTERN"),
    ("follow", "list --follow"),
    ("gc", "archive"),
    ("get", "read ID"),
    ("grep", "search PATTERN"),
    ("history", "list"),
    ("lock", "claim SUBJECT"),
    ("ls", "list"),
    ("mail", "inbox"),
    ("milestone", "send TEXT --type milestone"),
    ("msg", "send ADDRESS BODY"),
    ("new", "init"),
    ("next", "read"),
    ("open", "read ID"),
    ("post", "send ADDRESS BODY"),
    ("ps", "who"),
    ("purge", "archive"),
    ("question", "ask ADDRESS BODY"),
    ("register", "agent add ID"),
    ("remove", "agent remove ID"),
    ("rm", "ack ID --status withdrawn"),
    ("schema", "generate schema"),
    ("serve", "web"),
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
    ("unread", "inbox"),
    ("validate", "send --dry-run --file FILE"),
    ("version", "--version"),
    ("view", "read ID"),
    ("whoami", "agent show"),
    ("write", "send ADDRESS BODY"),
];

/// Common guesses for commands below another command.
const SUBCOMMANDS: &[(&str, &str, &str)] = &[
    ("agent", "create", "agent add ID"),
    ("agent", "delete", "agent remove ID"),
    ("agent", "ls", "agent list"),
    ("agent", "new", "agent add ID"),
    ("agent", "register", "agent add ID"),
    ("agent", "rename", "agent set ID --name NAME"),
    ("agent", "rm", "agent remove ID"),
    ("agent", "update", "agent set ID"),
    ("channel", "create", "channel list"),
    ("channel", "ls", "channel list"),
    ("channel", "post", "send --channel CHANNEL ADDRESS BODY"),
    ("channel", "read", "channel show CHANNEL"),
    ("channel", "send", "send --channel CHANNEL ADDRESS BODY"),
    ("link", "create", "link add TAG PLACE"),
    ("link", "rm", "link remove TAG"),
    ("rejected", "delete", "rejected drop NAME"),
    ("rejected", "ls", "rejected list"),
    ("rejected", "rm", "rejected drop NAME"),
    ("service", "start", "service install"),
    ("service", "stop", "service uninstall"),
    ("topic", "add", "topic subscribe TOPIC"),
    ("topic", "join", "topic subscribe TOPIC"),
    ("topic", "leave", "topic unsubscribe TOPIC"),
    ("topic", "remove", "topic unsubscribe TOPIC"),
];

/// The answer to a mistake, in the words of the command line; none if clap's own message is the answer.
pub(super) fn answer(error: &clap::Error, words: &[OsString]) -> Option<Error> {
    let root = command();
    let (named, name) = named_command(words, &root);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = text(error, ContextKind::InvalidSubcommand)?;
            Some(unknown_command(&word, named, &name, words))
        }
        ErrorKind::UnknownArgument => {
            let word = text(error, ContextKind::InvalidArg)?;
            Some(unknown_argument(error, &word, named, &name))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = texts(error, ContextKind::InvalidArg).join(" ");
            let example = example(named, &name, &missing);
            Some(Error::usage(format!("`{name}` needs {missing}"), example))
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Some(Error::usage(
                format!("`{name}` needs a command"),
                format!("it has {}", listed(named)),
            ))
        }
        ErrorKind::InvalidValue
            if text(error, ContextKind::InvalidValue).as_deref() == Some("") =>
        {
            let option = text(error, ContextKind::InvalidArg)?;
            let example = example(named, &name, &option);
            Some(Error::usage(
                format!("`{option}` of `{name}` has no value"),
                example,
            ))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let value = text(error, ContextKind::InvalidValue)?;
            let option = text(error, ContextKind::InvalidArg)?;
            let example = example(named, &name, &option);
            Some(invalid_value(error, &value, &option, &example))
        }
        ErrorKind::ArgumentConflict => {
            let argument = text(error, ContextKind::InvalidArg)?;
            let other = error.get(ContextKind::PriorArg)?.to_string();
            let what = if other == argument {
                twice(&argument, words, &root, named)
            } else {
                format!(
                    "`{argument}` and `{}` cannot be used together",
                    sanitize::line(&other)
                )
            };
            let usage = format!("usage: {}", usage_line(named, &name));
            Some(Error::usage(what, usage))
        }
        _ => None,
    }
}

/// The problem of an option that is given twice, perhaps by different names.
fn twice(
    argument: &str,
    words: &[OsString],
    root: &clap::Command,
    named: &clap::Command,
) -> String {
    let option = argument.split(' ').next().unwrap_or_default();
    let written = spellings(words, root, named, option.trim_start_matches('-'));
    match written.as_slice() {
        [first, second, ..] => {
            format!("`{first}` and `{second}` mean the same and cannot be used together")
        }
        _ => format!("`{option}` is given more than once"),
    }
}

/// The answer to a value that an option cannot have: a similar value, all values, or an example.
fn invalid_value(error: &clap::Error, value: &str, option: &str, example: &str) -> Error {
    let values = texts(error, ContextKind::ValidValue);
    let why = match std::error::Error::source(error) {
        Some(why) if why.is::<std::num::ParseIntError>() => ": a number is needed".to_owned(),
        Some(why) => format!(": {}", sanitize::line(&why.to_string())),
        None => String::new(),
    };
    let fix = match nearest(value, values.iter().map(String::as_str)).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None if values.is_empty() => example.to_owned(),
        None => format!("write one of {}", values.join(", ")),
    };
    Error::usage(format!("`{value}` is not valid for `{option}`{why}"), fix)
}

fn unknown_command(word: &str, parent: &clap::Command, name: &str, words: &[OsString]) -> Error {
    let command = parent.get_name();
    let of_root = COMMANDS.iter().map(|(guess, form)| (ROOT, *guess, *form));
    let form = of_root
        .chain(SUBCOMMANDS.iter().copied())
        .find(|(of, guess, _)| *of == command && guess.eq_ignore_ascii_case(word));
    let fix = if let Some((.., form)) = form {
        format!("run `{ROOT} {}`", filled(form, word, words))
    } else {
        let commands = parent.get_subcommands().filter(|one| !one.is_hide_set());
        match nearest(word, commands.map(clap::Command::get_name)).first() {
            Some(near) => format!("did you mean `{name} {near}`?"),
            None if parent.get_name() == ROOT => format!("`{ROOT} help --all` lists all commands"),
            None => format!("it has {}", listed(parent)),
        }
    };
    let what = if parent.get_name() == ROOT {
        format!("`{word}` is not a command")
    } else {
        format!("`{word}` is not a command of `{name}`")
    };
    Error::usage(what, fix)
}

fn unknown_argument(error: &clap::Error, word: &str, named: &clap::Command, name: &str) -> Error {
    let usage = usage_line(named, name);
    if !word.starts_with('-') {
        return Error::usage(
            format!("`{word}` is one argument too many for `{name}`"),
            format!("usage: {usage}"),
        );
    }
    let options = named.get_arguments().filter_map(clap::Arg::get_long);
    let options: Vec<String> = options.map(|long| format!("--{long}")).collect();
    let similar = nearest(word, options.iter().map(String::as_str));
    let from_clap = text(error, ContextKind::SuggestedArg);
    let suggested = match (similar.first(), from_clap.as_deref()) {
        (Some(option), _) => Some(*option),
        (None, Some(option)) if word.len() > 3 => Some(option),
        _ => None,
    };
    let fix = if let Some(option) = suggested {
        format!("did you mean `{option}`?")
    } else if word.starts_with("--") || !has_body(named) {
        format!("`{ROOT} help {}` lists its options", without_root(name))
    } else {
        format!(
            "`{ROOT} help {}` lists its options; text that begins with `-` follows `--`, at the end",
            without_root(name)
        )
    };
    Error::usage(format!("`{word}` is not an option of `{name}`"), fix)
}

/// The correct form with the words that follow the guess instead of its placeholders.
fn filled(form: &str, guess: &str, words: &[OsString]) -> String {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let at = words.iter().position(|word| *word == guess);
    let mut given: Vec<&str> = at.map(|at| words[at + 1..].to_vec()).unwrap_or_default();
    if given.is_empty() {
        return form.to_owned();
    }
    let mut out: Vec<String> = Vec::new();
    for part in form.split(' ') {
        if !is_placeholder(part) {
            out.push(part.to_owned());
        } else if given.first().is_some_and(|word| !word.starts_with('-')) {
            out.push(shell_word(given.remove(0)));
        }
    }
    out.extend(given.into_iter().map(shell_word));
    sanitize::line(&out.join(" ")).into_owned()
}

fn is_placeholder(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// The names of the commands below this one.
fn listed(command: &clap::Command) -> String {
    let names = command.get_subcommands().filter(|one| !one.is_hide_set());
    joined(names.map(|one| format!("`{}`", one.get_name())))
}

/// The first example of a command's help with this argument, or else the first one.
fn example(command: &clap::Command, name: &str, argument: &str) -> String {
    let help = command.get_after_help().map(ToString::to_string);
    let lines = help.as_deref().unwrap_or_default().lines().skip(1);
    let mut examples = lines.take_while(|line| !line.is_empty()).peekable();
    let first = examples.peek().copied();
    let option = argument
        .split(' ')
        .next()
        .filter(|word| word.starts_with('-'));
    let line =
        option.and_then(|option| examples.find(|line| line.split(' ').any(|word| word == option)));
    match line.or(first).and_then(|line| line.split(" # ").next()) {
        Some(line) => format!("for example `{}`", line.trim()),
        None => format!("usage: {}", usage_line(command, name)),
    }
}

fn usage_line(command: &clap::Command, name: &str) -> String {
    let mut command = command.clone().bin_name(name);
    let usage = command.render_usage().to_string();
    usage.trim_start_matches("Usage: ").trim().to_owned()
}

fn has_body(command: &clap::Command) -> bool {
    command.get_positionals().any(|argument| {
        let names = argument.get_value_names().unwrap_or_default();
        names.iter().any(|name| name.contains("BODY"))
    })
}

fn without_root(name: &str) -> &str {
    name.strip_prefix(ROOT).unwrap_or(name).trim()
}

/// A word of the command line from clap's error, in one line.
fn text(error: &clap::Error, kind: ContextKind) -> Option<Cow<'_, str>> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(sanitize::line(text)),
        _ => None,
    }
}

fn texts(error: &clap::Error, kind: ContextKind) -> &[String] {
    match error.get(kind) {
        Some(ContextValue::Strings(texts)) => texts,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::Cli;
    use clap::FromArgMatches;

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

    #[test]
    fn a_group_without_a_command_is_answered_with_its_commands() {
        let root = command();
        let mut groups = 0;
        for group in root.get_subcommands() {
            let line = format!("mailbag {}", group.get_name());
            if !group.has_subcommands() {
                continue;
            }
            let Err(error) = read_plain(&line) else {
                continue;
            };
            let answer = answer(&error, &shell_words(&line))
                .expect(&line)
                .to_string();
            let first = group.get_subcommands().next().expect("a command");
            assert!(
                answer.contains(&format!("`{line}` needs a command")),
                "{answer}"
            );
            assert!(
                answer.contains(&format!("`{}`", first.get_name())),
                "{answer}"
            );
            groups += 1;
        }
        assert!(groups > 0);
    }

    /// The words of a line with quoted words.
    fn shell_words(line: &str) -> Vec<OsString> {
        let mut words = Vec::new();
        for (at, part) in line.split('\'').enumerate() {
            if at % 2 == 1 {
                words.push(part.into());
            } else {
                words.extend(part.split_whitespace().map(OsString::from));
            }
        }
        words
    }

    /// Reads a line as clap does, without [`crate::cli::words`].
    fn read_plain(line: &str) -> Result<Cli, clap::Error> {
        Cli::from_arg_matches(&command().try_get_matches_from(shell_words(line))?)
    }

    #[test]
    fn typical_mistakes_have_the_meaning_of_the_correct_form() {
        // P531
        for (mistake, correct) in [
            ("send bob '- item one'", "send bob -- '- item one'"),
            ("send bob '-- all done'", "send bob -- '-- all done'"),
            ("send bob '--all is done'", "send bob -- '--all is done'"),
            (
                "send bob '--port=80 is taken'",
                "send bob -- '--port=80 is taken'",
            ),
            ("send bob '-q is quiet'", "send bob -- '-q is quiet'"),
            (
                "send bob x --subject '- s u'",
                "send bob x '--subject=- s u'",
            ),
            (
                "send bob x '--subject=- s u'",
                "send bob x '--subject=- s u'",
            ),
            (
                "send bob x --subject '-5 degrees'",
                "send bob x '--subject=-5 degrees'",
            ),
            ("--json send bob '- x y'", "send bob --json -- '- x y'"),
            ("send bob '- x y' --json", "send bob --json -- '- x y'"),
            ("reply 2 '- a b'", "reply 2 -- '- a b'"),
            ("ack 2 --note '- seen it'", "ack 2 '--note=- seen it'"),
            (
                "claim src/n --note '- my note'",
                "claim src/n '--note=- my note'",
            ),
            ("claim src/n -m 'my note'", "claim src/n --note 'my note'"),
            (
                "release src/n --note '- a b'",
                "release src/n '--note=- a b'",
            ),
            ("send --to bob --body hi", "send bob hi"),
            ("send --to=bob '--body=hi there'", "send bob 'hi there'"),
            ("send --to bob hi", "send bob hi"),
            ("send bob -m '- hi you'", "send bob -- '- hi you'"),
            (
                "send bob --message hi --from alice",
                "send bob hi --as alice",
            ),
            ("send bob hi --title x", "send bob hi --subject x"),
            ("send bob hi --prio high", "send bob hi --priority high"),
            ("send bob hi -p P1", "send bob hi --priority P1"),
            (
                "send bob hi --kind task --agent alice",
                "send bob hi --type task --as alice",
            ),
            ("reply --id 2 --body eighty", "reply 2 eighty"),
            ("reply 2 -m eighty", "reply 2 eighty"),
            ("inbox bob -n 1", "inbox bob --last 1"),
            ("inbox bob --limit 1", "inbox bob --last 1"),
            ("list -n 1", "list --last 1"),
            ("list --limit 1", "list --last 1"),
            ("list --count=1", "list --last 1"),
            ("search which -n 1", "search which --last 1"),
            ("search which --limit 1", "search which --last 1"),
            ("search --query which", "search which"),
            ("trace --id 2", "trace 2"),
        ] {
            let read = Cli::read(shell_words(&format!("mailbag {mistake}"))).expect(mistake);
            let correct = read_plain(&format!("mailbag {correct}")).expect(correct);
            assert_eq!(format!("{read:?}"), format!("{correct:?}"), "{mistake}");
        }
    }

    #[test]
    fn typical_mistakes_are_answered_with_a_correct_form_that_can_be_pasted() {
        // P531
        for (mistake, expected) in [
            (
                "sned bob hi",
                "`sned` is not a command; did you mean `mailbag send`?",
            ),
            (
                "frobnicate",
                "`frobnicate` is not a command; `mailbag help --all` lists all commands",
            ),
            (
                "msg bob 'hi there' --as alice",
                "run `mailbag send bob 'hi there' --as alice`",
            ),
            (
                "milestone 'all done'",
                "run `mailbag send 'all done' --type milestone`",
            ),
            ("answer 2 eighty", "run `mailbag reply 2 eighty`"),
            ("approve 3", "run `mailbag decide 3 yes`"),
            ("show 2", "run `mailbag read 2`"),
            ("whoami", "run `mailbag agent show`"),
            (
                "wait --timeout x",
                "`x` is not valid for `--timeout <TIME>`: \"x\" is not a duration",
            ),
            (
                "send bob hi --metadata x",
                "`x` is not valid for `--metadata <KEY=VALUE>`: expected KEY=VALUE; for example",
            ),
            (
                "take --done",
                "has no value; for example `mailbag take --done 42",
            ),
            ("web --port x", "`--port <PORT>`: a number is needed"),
            ("install claud", "did you mean `claude`?"),
            (
                "send bob hi --from carol --as alice",
                "`--from` and `--as` mean the same and cannot be used together",
            ),
            (
                "send bob hi --as carol --as=alice",
                "`--as` is given more than once",
            ),
            (
                "--room x send bob hi --subjct y",
                "`--subjct` is not an option of `mailbag send`",
            ),
            (
                "inbox bob --as alice",
                "cannot be used together; usage: mailbag inbox",
            ),
            ("follow", "run `mailbag list --follow`"),
            ("accept", "run `mailbag handoff --accept`"),
            ("check", "run `mailbag send --dry-run --file FILE`"),
            ("completions", "run `mailbag generate completions SHELL`"),
            ("decline", "run `mailbag handoff --decline`"),
            ("digest", "run `mailbag log digest`"),
            ("done", "run `mailbag take --done ID`"),
            ("events", "run `mailbag log events`"),
            ("explain", "run `mailbag send --dry-run ADDRESS`"),
            ("milestone", "run `mailbag send TEXT --type milestone`"),
            ("schema", "run `mailbag generate schema`"),
            ("ls", "run `mailbag list`"),
            (
                "agent create zoe",
                "`create` is not a command of `mailbag agent`; run `mailbag agent add zoe`",
            ),
            ("agent remvoe bob", "did you mean `mailbag agent remove`?"),
            (
                "channel send main bob x",
                "run `mailbag send --channel main bob x`",
            ),
            ("topic join news", "run `mailbag topic subscribe news`"),
            (
                "send bob x --subjct y",
                "`--subjct` is not an option of `mailbag send`; did you mean `--subject`?",
            ),
            (
                "send bob x --frobnicate",
                "`mailbag help send` lists its options",
            ),
            ("send bob -item", "text that begins with `-` follows `--`"),
            ("agent add zoe --roel x", "did you mean `--role`?"),
            (
                "who extra",
                "`extra` is one argument too many for `mailbag who`; usage: mailbag who",
            ),
            (
                "claim",
                "`mailbag claim` needs <SUBJECT>...; for example `mailbag claim",
            ),
            (
                "trace",
                "`mailbag trace` needs <ID>; for example `mailbag trace",
            ),
        ] {
            let words = shell_words(&format!("mailbag {mistake}"));
            let error = Cli::read(words.clone()).expect_err(mistake);
            let answer = answer(&error, &words).expect(mistake).to_string();
            assert!(answer.contains(expected), "{mistake}: {answer}");
            for odd in ["-- --", "tip:"] {
                assert!(!answer.contains(odd), "{mistake}: {answer}");
            }
            for form in answer.split('`').skip(1).step_by(2) {
                if form.starts_with("mailbag ") {
                    let kind = read_plain(form).err().map(|error| error.kind());
                    let is_wrong = matches!(
                        kind,
                        Some(ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument)
                    );
                    assert!(!is_wrong, "{mistake}: {form}: {kind:?}");
                }
            }
        }
    }
}
