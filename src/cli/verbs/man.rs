//! `mailbag generate man`: writes the man pages, from the same texts as `--help`.

use crate::base::error::{ErrorContext, Result};
use crate::cli;
use crate::cli::context::CommandContext;
use crate::cli::verbs::{DAILY, GROUPS};
use crate::disk::Dir;
use clap_mangen::Man;
use std::path::PathBuf;

/// Write the man pages to a directory
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  mailbag generate man ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Directory; created if missing
    dir: PathBuf,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    std::fs::create_dir_all(&args.dir).doing("create the directory", &args.dir)?;
    let dir = Dir::open(&args.dir)?;
    for (name, text) in pages().doing("make the pages for", &args.dir)? {
        dir.replace(&name, &text)?;
        cx.out.line(args.dir.join(name).display().to_string())?;
    }
    Ok(())
}

/// Date of the version, in all pages.
const DATE: &str = "2026-11-25";

/// The sections of the first page that `--help` does not have.
const MORE: &str = r#".SH ENVIRONMENT
.TP
\fBMAILBAG_ROOM\fR, \fBMAOS_MESSAGE_DIR\fR
Room directory, if \fB\-\-room\fR is not given.
.TP
\fBMAILBAG_AGENT\fR, \fBMAOS_AGENT_ID\fR
Agent that sends or reads, if \fB\-\-as\fR is not given.
.TP
\fBMAILBAG_HOLDER\fR
Holder of a leased message, if \fB\-\-holder\fR is not given.
.TP
\fBNO_COLOR\fR
Any value: output without colours.
.TP
\fBNOTIFY_SOCKET\fR
Socket on which \fBmailbag run\fR tells systemd that it is ready.
.SH FILES
All paths are relative to the room, which is \fI.mailbag\fR in the project.
.TP
\fIoutbox/<agent>/*.json\fR
Outbox: an agent writes its messages here. Files whose names start with a dot are ignored. A file whose name ends in
\fI.ndjson\fR contains one message per line.
.TP
\fIinbox/<agent>/*.json\fR
Inbox: unread messages. \fIseen/\fR beside them contains the messages that were read.
.TP
\fIregistry.json\fR, \fIsettings.toml\fR
The agents and the settings. You can edit both by hand.
.TP
\fIsent/<agent>/\fR, \fIrejected/<agent>/\fR
The original files of delivered and of rejected messages; each rejected file has its explanation beside it.
.TP
\fIchannels/<name>/messages.ndjson\fR
The channels, one line per message.
.TP
\fIlog/NNNNNNNN.ndjson\fR
The log: one record per line, each with the SHA\-256 of the line before.
.TP
\fIspool/\fR
Work files of the router.
"#;

/// The section that every page has.
const EXIT_STATUS: &str = r#".SH "EXIT STATUS"
.TP
\fB0\fR
Success. A closed output pipe is no error.
.TP
\fB1\fR
Error of the program, the room or the machine.
.TP
\fB2\fR
Wrong use of the command line.
.TP
\fB3\fR
Not found: an object does not exist, such as an agent, a message, a channel or a room.
.TP
\fB4\fR
Timeout.
.TP
\fB65\fR
Bad data: a message, an address, a registry or the log is invalid. Trying again does not help.
.TP
\fB75\fR
Temporary failure. Try again later.
"#;

/// Every page: its file name and its text.
fn pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = without_help(cli::command());
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, None, &mut pages)?;
    pages.sort();
    Ok(pages)
}

/// Adds the page of a command and the pages of its subcommands.
fn add_pages(
    command: &clap::Command,
    parent: Option<&clap::Command>,
    pages: &mut Vec<(String, Vec<u8>)>,
) -> std::io::Result<()> {
    pages.push(page(command, parent)?);
    for subcommand in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        add_pages(subcommand, Some(command), pages)?;
    }
    Ok(())
}

/// Without the command `help`, which needs no page.
fn without_help(command: clap::Command) -> clap::Command {
    command
        .disable_help_subcommand(true)
        .mut_subcommands(without_help)
}

fn page(
    command: &clap::Command,
    parent: Option<&clap::Command>,
) -> std::io::Result<(String, Vec<u8>)> {
    let man = Man::new(command.clone())
        .date(DATE)
        .manual("mailbag")
        .source(concat!("mailbag ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if parent.is_none() {
        text.extend(commands(command).into_bytes());
    } else if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    if let Some(help) = command.get_after_help() {
        text.extend(b".SH EXAMPLES\n.nf\n");
        let help = help.to_string();
        // The page has a heading of its own, and the sections below have the exit statuses.
        let lines = help
            .lines()
            .skip(1)
            .take_while(|line| !line.starts_with("Exit status: "));
        for line in lines {
            text.extend(verbatim(line).into_bytes());
        }
        text.extend(b".fi\n");
    }
    if parent.is_none() {
        text.extend(MORE.as_bytes());
    }
    text.extend(EXIT_STATUS.as_bytes());
    text.extend(see_also(command, parent).into_bytes());
    Ok((man.get_filename(), text))
}

/// The pages of the parent command, of the subcommands, and of the commands in the same group.
fn see_also(command: &clap::Command, parent: Option<&clap::Command>) -> String {
    let is_top = parent.is_some_and(|parent| parent.get_name() == "mailbag");
    let siblings = GROUPS
        .iter()
        .find(|(_, names)| is_top && names.contains(&command.get_name()))
        .into_iter()
        .flat_map(|(_, names)| *names)
        .filter(|name| **name != command.get_name())
        .map(|name| format!("mailbag-{name}"));
    let subcommands = command
        .get_subcommands()
        .filter(|one| parent.is_some() && !one.is_hide_set())
        .map(page_name);
    let daily = if parent.is_none() { DAILY } else { &[] };
    let daily = daily.iter().map(|name| format!("mailbag-{name}"));
    let pages: Vec<String> = parent
        .map(page_name)
        .into_iter()
        .chain(subcommands)
        .chain(siblings)
        .chain(daily)
        .map(|name| format!(".BR {} (1)", name.replace('-', "\\-")))
        .collect();
    format!(".SH \"SEE ALSO\"\n{}\n", pages.join(",\n"))
}

/// The name of a command's page.
fn page_name(command: &clap::Command) -> String {
    command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
        .to_owned()
}

/// The commands in the groups of `--help`.
fn commands(command: &clap::Command) -> String {
    let group = |(heading, lines): (&str, Vec<(&'static str, String)>)| {
        format!(
            ".SS {heading}\n{}",
            lines
                .into_iter()
                .map(|(name, about)| format!(".TP\nmailbag\\-{name}(1)\n{}", verbatim(&about)))
                .collect::<String>()
        )
    };
    format!(
        ".SH COMMANDS\n{}",
        cli::groups(command).map(group).collect::<String>()
    )
}

/// A line of roff that shows this text unchanged.
fn verbatim(line: &str) -> String {
    let escaped = line
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('\'', "\\(aq")
        .replace('`', "\\(ga");
    let guard = if escaped.starts_with('.') { "\\&" } else { "" };
    format!("{guard}{escaped}\n")
}
