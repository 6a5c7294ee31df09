//! The command line: the commands with the options that all of them take, and the pages of help.

use super::context::GlobalArgs;
use super::mistakes::separate_text;
use super::verbs::{Command, DAILY, GROUPS};
use anstyle::Style;
use clap::{CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  mailbag                                   # show the state of the room
  mailbag up                                # set up this project and its clients
  mailbag init                              # create a room in .mailbag
  mailbag agent add alice bob               # register two agents
  mailbag install claude --agent alice      # connect Claude Code as alice
  mailbag send bob 'hello' --as alice       # send a message from alice to bob
  mailbag read --as bob                     # show bob's oldest unread message
  mailbag ask bob 'which port?' --as alice  # send a question and wait
  mailbag run                               # deliver until Ctrl-C

`mailbag help COMMAND` shows a command's options and examples.

An agent writes a JSON file to its outbox. mailbag validates the file, resolves the
recipients, and delivers one copy to each inbox: exactly once, also across a crash.
The daemon is optional: commands that send, read or wait also deliver. An agent
without this program writes {\"to\": \"bob\", \"body\": \"hello\"} to outbox/alice/x.json.

Exit status: 0 success, 1 error, 2 usage, 3 not found, 4 timeout, 65 bad data,
75 temporary failure: try again later.";

const NEXT: &str = "
`mailbag` alone shows the state of the room.
`mailbag help COMMAND` shows the options and examples of a command.
`mailbag help --all` lists all commands, common options and exit statuses.";

/// Mail for AI agents, in plain files
#[derive(Debug, Parser)]
#[command(name = "mailbag", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: GlobalArgs,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

impl Cli {
    /// Reads the words of a command line.
    pub(super) fn read(words: Vec<OsString>) -> Result<Cli, clap::Error> {
        let command = Cli::command();
        let page = daily_page(&command);
        let mut command = command.help_template(page);
        let words = separate_text(words, &command);
        let matches = command.try_get_matches_from_mut(words)?;
        Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
    }
}

/// The whole command line, for man pages and completions.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let page = whole_page(&command);
    command.help_template(page)
}

/// The commands under the headings of their groups, each with its line of help.
pub fn groups(
    command: &clap::Command,
) -> impl Iterator<Item = (&'static str, Vec<(&'static str, String)>)> {
    GROUPS
        .iter()
        .map(|(heading, names)| (*heading, lines(command, names)))
}

/// Commands, each with its line of help.
fn lines(command: &clap::Command, names: &[&'static str]) -> Vec<(&'static str, String)> {
    let line = |name: &&'static str| {
        let about = command
            .find_subcommand(name)
            .and_then(clap::Command::get_about);
        (*name, about.map(ToString::to_string).unwrap_or_default())
    };
    names.iter().map(line).collect()
}

/// The template of `--help`: the commands of daily work.
fn daily_page(command: &clap::Command) -> String {
    let list = list_text(command, lines(command, DAILY));
    format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{NEXT}\n")
}

/// The template of `mailbag help --all`: clap has no groups of commands.
fn whole_page(command: &clap::Command) -> String {
    let styles = command.get_styles();
    let mut page = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, lines) in groups(command) {
        let heading = paint(styles.get_header(), &format!("{heading}:"));
        page += &format!("\n{heading}\n{}", list_text(command, lines));
    }
    page + &format!(
        "\n{}\n{{options}}{{after-help}}",
        paint(styles.get_header(), "Options:")
    )
}

/// A line of help for each of these commands.
fn list_text(command: &clap::Command, lines: Vec<(&'static str, String)>) -> String {
    let width = GROUPS
        .iter()
        .flat_map(|(_, names)| *names)
        .map(|name| name.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (name, about) in lines {
        let blanks = " ".repeat(width - name.len());
        let name = paint(command.get_styles().get_literal(), name);
        text += &format!("  {name}{blanks}  {about}\n");
    }
    text
}

fn paint(style: &Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::command;
    use clap::Command;

    /// Every command and verb, with the words that call it.
    fn commands() -> Vec<(String, Command)> {
        fn collect(command: &Command, before: &str, all: &mut Vec<(String, Command)>) {
            for verb in command.get_subcommands() {
                let words = format!("{before}{} ", verb.get_name());
                all.push((words.trim_end().to_owned(), verb.clone()));
                collect(verb, &words, all);
            }
        }
        let mut all = Vec::new();
        collect(&command(), "", &mut all);
        all
    }

    #[test]
    fn a_command_says_in_one_short_line_what_it_does() {
        for (name, command) in commands() {
            let line = command
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                !line.is_empty() && line.chars().count() <= 60 && !line.contains('\n'),
                "{name}: {line}"
            );
            assert!(
                line.starts_with(|c: char| c.is_ascii_uppercase()) && !line.ends_with('.'),
                "{name}: {line}"
            );
        }
    }

    #[test]
    fn every_option_has_help_and_as_has_the_same_name_everywhere() {
        for (name, command) in commands() {
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let id = arg.get_id();
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(
                    help.starts_with(|c: char| !c.is_ascii_lowercase()),
                    "{name} {id}: {help}"
                );
                if arg.get_long() == Some("as") {
                    assert_eq!(arg.get_value_names().map(<[_]>::len), Some(1), "{name}");
                }
            }
        }
    }

    #[test]
    fn every_example_is_a_command_line_that_is_understood() {
        let root = command();
        root.clone().debug_assert();
        let mut all = commands();
        all.push(("mailbag".to_owned(), root.clone()));
        let mut seen = 0;
        for (name, command) in all {
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            assert!(
                help.starts_with("Example") && help.contains("mailbag "),
                "{name}: {help}"
            );
            for line in help.lines().filter_map(|line| line.strip_prefix("  ")) {
                if let Some(words) = words_of(line) {
                    seen += 1;
                    let read = root.clone().try_get_matches_from(words);
                    assert!(read.is_ok(), "{name}: {line}: {read:?}");
                }
            }
        }
        assert!(seen > 100, "only {seen} examples were found");
    }

    /// The words of the first call of mailbag in a line of a shell; empty without a call.
    fn words_of(line: &str) -> Option<Vec<String>> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for c in line.chars() {
            match (quote, c) {
                (Some(q), _) if q == c => quote = None,
                (Some(_), _) => word.get_or_insert_default().push(c),
                (None, '\'' | '"') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, '#') if word.is_none() => break,
                (None, '|' | ';' | '>') if words.iter().any(|word| word == "mailbag") => break,
                (None, ' ' | '|' | ';' | '>') => words.extend(word.take()),
                _ => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        // `claude mcp add mailbag` is a call of another program.
        let is_setting = |word: &str| word.contains('=') || word.starts_with('{');
        let at = words.iter().position(|word| word == "mailbag")?;
        let pipes = line[..line.find("mailbag")?].trim_end().ends_with('|');
        (pipes || words[..at].iter().all(|word| is_setting(word))).then(|| words.split_off(at))
    }
}
