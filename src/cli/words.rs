//! The words of a command line before clap reads them: text that begins with a dash, and other names of options.

use clap::{Arg, Command};
use std::collections::VecDeque;
use std::ffi::OsString;

/// Other names of options, each with the options and arguments that it can mean. The first one that the command has is
/// meant. A target in capitals is an argument, by its name in the usage line.
const SYNONYMS: &[(&[&str], &[&str])] = &[
    (&["to", "recipient", "recipients"], &["ADDRESS", "AGENT"]),
    (
        &["body", "message", "text", "content", "msg", "m", "b"],
        &["BODY", "--note"],
    ),
    (&["reason", "comment"], &["--note"]),
    (
        &[
            "n", "last", "limit", "count", "max", "lines", "head", "tail",
        ],
        &["--last", "--limit"],
    ),
    (&["agent", "agent-id"], &["--as"]),
    (&["title", "s"], &["--subject"]),
    (&["prio", "p"], &["--priority"]),
    (&["kind", "t"], &["--type"]),
    (&["state"], &["--status"]),
    (&["reply-to", "in-reply-to", "re"], &["--reply-to", "ID"]),
    (&["id", "message-id"], &["ID", "APPROVAL", "ITEM"]),
    (&["approval"], &["APPROVAL"]),
    (&["option", "answer"], &["OPTION"]),
    (&["subject", "path", "file"], &["SUBJECT"]),
    (&["thread-id", "conversation"], &["--thread"]),
    (&["expire", "expires-at", "ttl"], &["--expires"]),
    (&["attachment", "file"], &["--attach"]),
    (&["refs", "reference"], &["--ref"]),
    (&["meta"], &["--metadata"]),
    (&["topics"], &["--topic", "TOPIC"]),
    (&["capabilities"], &["--capability"]),
    (&["pattern", "query"], &["PATTERN", "WORD"]),
    (&["ttl", "duration"], &["--lease"]),
    (&["wait"], &["--timeout"]),
    (&["a"], &["--all"]),
    (&["f"], &["--follow"]),
    (&["i"], &["--ignore-case"]),
    (&["y"], &["--yes"]),
];

/// Names of the sender, in commands that send text. In other commands they can mean the sender of the messages to show.
const SENDER: &[&str] = &["from", "sender"];

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
        } else if has_value_after(root, word) {
            words.next();
        }
    }
    (command, name)
}

/// Returns true for a global option with its value in the next word, such as `--room`.
fn has_value_after(root: &Command, word: &str) -> bool {
    let long = word.strip_prefix("--");
    let mut globals = root.get_arguments().filter(|arg| arg.is_global_set());
    long.is_some() && globals.any(|arg| arg.get_long() == long && takes_value(arg))
}

/// The options of these words that clap reads as this long option of the command, each once and as written.
pub(super) fn spellings(
    words: &[OsString],
    root: &Command,
    command: &Command,
    long: &str,
) -> Vec<String> {
    let line = SortedWords {
        command,
        ..SortedWords::new(root)
    };
    let mut found = Vec::new();
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if word == "--" {
            break;
        }
        if !word.starts_with('-') || word.len() == 1 {
            continue;
        }
        let WrittenOption { name, value } = split(word);
        let is_it = match line.option(name) {
            Some(option) => option.get_long() == Some(long),
            None => line.meant(name).and_then(|meant| meant.strip_prefix("--")) == Some(long),
        };
        let written = match value {
            Some(_) => &word[..word.len() - word.trim_start_matches('-').len() + name.len()],
            None => word,
        };
        if is_it && !found.iter().any(|known| known == written) {
            found.push(written.to_owned());
        }
    }
    found
}

/// The words in a form that clap reads as they are meant. A word that contains white space is text and never an option,
/// unless it is a known option with its value, such as `--note=two words`.
pub(super) fn normalize(words: Vec<OsString>, root: &Command) -> Vec<OsString> {
    let mut line = SortedWords::new(root);
    let mut left: VecDeque<OsString> = words.iter().skip(1).cloned().collect();
    while let Some(word) = left.pop_front() {
        if word == "--" {
            line.rest = left;
            break;
        }
        line.take(word, &mut left);
    }
    match line.finish() {
        Some(changed) => words.into_iter().take(1).chain(changed).collect(),
        None => words,
    }
}

/// A command line, sorted into options and arguments.
struct SortedWords<'a> {
    root: &'a Command,
    command: &'a Command,
    /// Names of commands, and options with their values.
    options: Vec<OsString>,
    /// Arguments that were given as options and belong before the others.
    front: Vec<OsString>,
    arguments: Vec<OsString>,
    /// Arguments that were given as options and belong after the others.
    back: Vec<OsString>,
    /// The words after `--`.
    rest: VecDeque<OsString>,
    /// True if clap would read the words differently.
    is_changed: bool,
}

/// An option on the command line: its name without dashes, and the value in the same word.
struct WrittenOption<'w> {
    name: &'w str,
    value: Option<&'w str>,
}

impl<'a> SortedWords<'a> {
    fn new(root: &'a Command) -> SortedWords<'a> {
        SortedWords {
            root,
            command: root,
            options: Vec::new(),
            front: Vec::new(),
            arguments: Vec::new(),
            back: Vec::new(),
            rest: VecDeque::new(),
            is_changed: false,
        }
    }

    /// Sorts one word, with the value that follows an option.
    fn take(&mut self, word: OsString, left: &mut VecDeque<OsString>) {
        let text = word.to_str().unwrap_or_default();
        let is_command = self.arguments.is_empty() && self.front.is_empty();
        if is_command && let Some(command) = self.command.find_subcommand(text) {
            self.command = command;
            self.options.push(word);
        } else if !text.starts_with('-') || text.len() == 1 {
            self.arguments.push(word);
        } else if self.is_text(text) {
            self.is_changed = true;
            self.arguments.push(word);
        } else {
            self.take_option(text, left);
        }
    }

    fn take_option(&mut self, text: &str, left: &mut VecDeque<OsString>) {
        let written = split(text);
        if let Some(option) = self.option(written.name) {
            let takes_next = takes_value(option) && written.value.is_none();
            let is_optional = option.get_num_args().is_some_and(|n| n.min_values() == 0);
            let is_long = text.starts_with("--");
            self.options.push(text.into());
            if !takes_next || is_optional {
                return;
            }
            let Some(value) = left.pop_front() else {
                return;
            };
            if self.is_dashed_value(&value) {
                // One word, because clap takes a separate one for an option.
                let mut joined = OsString::from(text);
                joined.push(if is_long { "=" } else { "" });
                joined.push(value);
                self.options.pop();
                self.options.push(joined);
                self.is_changed = true;
            } else {
                self.options.push(value);
            }
        } else if let Some(target) = self.meant(written.name) {
            self.is_changed = true;
            let value = written.value.map(OsString::from);
            self.put(target, value, left);
        } else {
            self.options.push(text.into());
        }
    }

    /// Puts the value of a synonym to its target.
    fn put(&mut self, target: &str, value: Option<OsString>, left: &mut VecDeque<OsString>) {
        let Some(name) = target.strip_prefix("--") else {
            let value = value.or_else(|| left.pop_front());
            if matches!(target, "BODY" | "OPTION") {
                self.back.extend(value);
            } else {
                self.front.extend(value);
            }
            return;
        };
        if !self.option(name).is_some_and(takes_value) {
            self.options.push(target.into());
        } else if let Some(value) = value.or_else(|| left.pop_front()) {
            let mut joined = OsString::from(format!("{target}="));
            joined.push(value);
            self.options.push(joined);
        } else {
            self.options.push(target.into());
        }
    }

    /// The target of a name that the command does not know.
    fn meant(&self, name: &str) -> Option<&'static str> {
        if SENDER.contains(&name) && self.has_argument("BODY") {
            return Some("--as");
        }
        let targets = SYNONYMS
            .iter()
            .filter(|(names, _)| names.contains(&name))
            .flat_map(|(_, targets)| *targets);
        targets
            .copied()
            .find(|target| match target.strip_prefix("--") {
                Some(option) => self.option(option).is_some(),
                None => self.has_argument(target),
            })
    }

    fn has_argument(&self, name: &str) -> bool {
        self.command.get_positionals().any(|argument| {
            let names = argument.get_value_names().unwrap_or_default();
            names
                .iter()
                .flat_map(|names| names.split([' ', '|', '.']))
                .any(|one| one == name)
        })
    }

    /// The option of this name, long or one letter.
    fn option(&self, name: &str) -> Option<&'a Arg> {
        let globals = self.root.get_arguments().filter(|arg| arg.is_global_set());
        let mut options = self.command.get_arguments().chain(globals);
        let mut letters = name.chars();
        let letter = match (letters.next(), letters.next()) {
            (letter, None) => letter,
            _ => None,
        };
        options.find(|arg| {
            arg.get_long() == Some(name)
                || arg
                    .get_all_aliases()
                    .is_some_and(|aliases| aliases.contains(&name))
                || letter.is_some() && arg.get_short() == letter
        })
    }

    /// Returns true if a word that begins with a dash is text.
    fn is_text(&self, text: &str) -> bool {
        let name = split(text).name;
        text.contains(char::is_whitespace)
            && (name.contains(char::is_whitespace)
                || self.option(name).is_none() && self.meant(name).is_none())
    }

    /// Returns true if the word after an option is its value, although it begins with a dash.
    fn is_dashed_value(&self, value: &OsString) -> bool {
        let Some(text) = value.to_str() else {
            return false;
        };
        let is_short = text.starts_with('-') && !text.starts_with("--") && text.len() > 1;
        text.starts_with('-') && self.is_text(text)
            || is_short && self.option(split(text).name).is_none()
    }

    /// The words for clap, if they differ from the given words.
    fn finish(self) -> Option<Vec<OsString>> {
        if !self.is_changed {
            return None;
        }
        let arguments = [self.front, self.arguments, self.back].concat();
        // The words after `--` are a command of their own if the last argument can only stand there.
        let has_last = self.command.get_positionals().any(Arg::is_last_set);
        let separator = vec![OsString::from("--")];
        let mut words = if has_last {
            [self.options, arguments, separator].concat()
        } else {
            [self.options, separator, arguments].concat()
        };
        words.extend(self.rest);
        Some(words)
    }
}

/// Separates the name of an option from the value in the same word. A letter's value follows directly.
fn split(text: &str) -> WrittenOption<'_> {
    let (name, value) = match text.strip_prefix("--") {
        Some(long) => match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        },
        None => (&text[1..], None),
    };
    WrittenOption { name, value }
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}
