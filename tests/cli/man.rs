//! The man pages in `docs/man`, from the same texts as `--help`.

use crate::files::are_up_to_date;
use clap_mangen::Man;
use mailbag::cli;
use std::collections::BTreeMap;

/// With `MAILBAG_WRITE=1`, writes the pages again.
#[test]
fn the_man_pages_are_up_to_date() {
    are_up_to_date("docs/man", &pages().expect("pages"));
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

/// Every page: its path and its text.
fn pages() -> std::io::Result<BTreeMap<String, Vec<u8>>> {
    let mut command = without_help(cli::command());
    command.build();
    let mut pages = BTreeMap::new();
    add_pages(&command, None, &mut pages)?;
    Ok(pages)
}

/// Adds the page of a command and the pages of its subcommands.
fn add_pages(
    command: &clap::Command,
    parent: Option<&clap::Command>,
    pages: &mut BTreeMap<String, Vec<u8>>,
) -> std::io::Result<()> {
    let (name, text) = page(command, parent)?;
    pages.insert(format!("docs/man/{name}"), text);
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
    if let Some(parent) = parent {
        text.extend(see_also(command, parent).into_bytes());
    }
    Ok((man.get_filename(), text))
}

/// The pages of the parent command, of the subcommands, and of the commands in the same group.
fn see_also(command: &clap::Command, parent: &clap::Command) -> String {
    let groups: Vec<_> = cli::groups(parent).collect();
    let siblings = groups
        .iter()
        .filter(|_| parent.get_name() == "mailbag")
        .map(|(_, lines)| lines)
        .find(|lines| lines.iter().any(|(name, _)| *name == command.get_name()))
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != command.get_name())
        .map(|(name, _)| format!("mailbag-{name}"));
    let subcommands = command
        .get_subcommands()
        .filter(|one| !one.is_hide_set())
        .map(page_name);
    let pages: Vec<String> = std::iter::once(page_name(parent))
        .chain(subcommands)
        .chain(siblings)
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
