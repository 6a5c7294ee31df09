//! `mailbag man`: the man pages, made from the same words as `--help`.

use crate::base::error::{Doing, Result};
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::disk::Dir;
use clap_mangen::Man;
use std::path::PathBuf;

/// Write the man pages into a directory
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  mailbag man ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Where; it is made if there is none
    dir: PathBuf,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    std::fs::create_dir_all(&args.dir).doing("make the directory", &args.dir)?;
    let dir = Dir::open(&args.dir)?;
    for (name, text) in pages().doing("make the pages for", &args.dir)? {
        dir.replace(&name, &text)?;
        cx.out.line(args.dir.join(name).display().to_string())?;
    }
    Ok(Exit::Ok)
}

/// What the first page says beside `--help`.
const MORE: &str = r#".SH ENVIRONMENT
.TP
\fBMAILBAG_ROOM\fR
The room, where \fB\-\-room\fR is not given.
.TP
\fBMAILBAG_AGENT\fR, \fBMAOS_AGENT_ID\fR
Who sends or reads, where \fB\-\-as\fR is not given.
.TP
\fBMAILBAG_HOLDER\fR
Who takes a message of a shared inbox, where \fB\-\-holder\fR is not given.
.TP
\fBNO_COLOR\fR
Set to anything: no colours.
.TP
\fBNOTIFY_SOCKET\fR
Where \fBmailbag run\fR tells systemd that it is ready.
.SH FILES
All below the room, which is \fI.mailbag\fR in the project.
.TP
\fIoutbox/<agent>/*.json\fR
Where an agent drops its messages. Names that start with a dot are left alone. A file whose name ends in \fI.ndjson\fR
holds a message a line.
.TP
\fIinbox/<agent>/*.json\fR
What it has not read yet; \fIseen/\fR beside it holds what it has.
.TP
\fIregistry.json\fR, \fIsettings.toml\fR
Who may send and be written to, and how the room behaves. Both may be edited by hand.
.TP
\fIsent/<agent>/\fR, \fIrejected/<agent>/\fR
The originals of what was routed and of what was refused, the latter with the reasons beside them.
.TP
\fIchannels/<name>/messages.ndjson\fR
Each conversation, one line a message.
.TP
\fIlog/NNNNNNNN.ndjson\fR
Everything that was accepted or refused, one record a line, each with the SHA\-256 of the line before.
.TP
\fIspool/\fR
The router's own.
.SH "EXIT STATUS"
.TP
\fB0\fR
Done. A closed pipe is no failure.
.TP
\fB1\fR
The program or the room is in trouble.
.TP
\fB2\fR
The command line makes no sense.
.TP
\fB3\fR
What was named does not exist.
.TP
\fB4\fR
The time was over first.
.TP
\fB65\fR
A message, an address, a registry or the log is wrong; trying again changes nothing.
.TP
\fB75\fR
It did not work for a passing reason; try again later.
"#;

/// Every page: its file name, and its text.
fn pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = crate::cli::command();
    command.build();
    let mut pages = vec![page(&command, MORE)?];
    let mut left: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    while let Some(command) = left.pop() {
        pages.push(page(&command, "")?);
        left.extend(command.get_subcommands().cloned());
    }
    pages.sort();
    Ok(pages)
}

fn page(command: &clap::Command, more: &str) -> std::io::Result<(String, Vec<u8>)> {
    let man = Man::new(command.clone()).manual("mailbag").source("mailbag");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    if let Some(help) = command.get_after_help() {
        text.extend(b".SH EXAMPLES\n.nf\n");
        let help = help.to_string();
        // The heading says it already, and the sections below say the rest.
        let lines = help.lines().skip(1).take_while(|line| !line.starts_with("Exit status: "));
        lines.for_each(|line| text.extend(verbatim(line).into_bytes()));
        text.extend(b".fi\n");
    }
    text.extend(more.as_bytes());
    Ok((man.get_filename(), text))
}

/// A line as it stands, in roff.
fn verbatim(line: &str) -> String {
    let escaped = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    let guard = if escaped.starts_with('.') { "\\&" } else { "" };
    format!("{guard}{escaped}\n")
}
