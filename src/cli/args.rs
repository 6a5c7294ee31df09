//! The command line: the commands with the options that all of them take, and the page that `--help` shows.

use super::context::Global;
use super::spoken;
use super::verbs::{Command, GROUPS, OPTIONS};
use anstyle::Style;
use clap::{Args as _, CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
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

/// Mail for AI agents, in plain files
#[derive(Debug, Parser)]
#[command(name = "mailbag", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Command,
}

impl Cli {
    /// Reads the words of a command line.
    pub(super) fn read(words: Vec<OsString>) -> Result<Cli, clap::Error> {
        let read =
            |command: clap::Command| Cli::from_arg_matches(&command.try_get_matches_from(&words)?);
        // Only what is printed needs the whole: the options of all commands cost more than most commands do.
        if let Some(Ok(cli)) = spoken::command(&words).and_then(alone).map(&read) {
            return Ok(cli);
        }
        read(command())
    }
}

/// The command line with this command alone. What it accepts, the whole command line accepts with the same meaning.
fn alone(name: &str) -> Option<clap::Command> {
    let (name, add_options) = OPTIONS.iter().find(|(known, _)| *known == name)?;
    let only = add_options(clap::Command::new(*name));
    Some(Global::augment_args(clap::Command::new("mailbag")).subcommand(only))
}

/// The whole command line, for parsing, man pages and completions.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let page = page(&command);
    command.help_template(page)
}

/// The commands under the headings of their groups, each with its line of help.
pub(super) fn groups(
    command: &clap::Command,
) -> impl Iterator<Item = (&'static str, Vec<(&'static str, String)>)> {
    let line = |name: &&'static str| {
        let about = command
            .find_subcommand(name)
            .and_then(clap::Command::get_about);
        (*name, about.map(ToString::to_string).unwrap_or_default())
    };
    GROUPS
        .iter()
        .map(move |(heading, names)| (*heading, names.iter().map(line).collect()))
}

/// The template of the first page of help: clap has no groups of commands.
fn page(command: &clap::Command) -> String {
    let styles = command.get_styles();
    let paint = |style: &Style, text: &str| format!("{style}{text}{style:#}");
    let mut page = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    let width = GROUPS
        .iter()
        .flat_map(|(_, names)| *names)
        .map(|name| name.len())
        .max()
        .unwrap_or(0);
    for (heading, lines) in groups(command) {
        page += &format!("\n{}\n", paint(styles.get_header(), &format!("{heading}:")));
        for (name, about) in lines {
            let blanks = " ".repeat(width - name.len());
            page += &format!("  {}{blanks}  {about}\n", paint(styles.get_literal(), name));
        }
    }
    page + &format!(
        "\n{}\n{{options}}{{after-help}}",
        paint(styles.get_header(), "Options:")
    )
}
