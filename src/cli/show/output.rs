//! The only printer: data to standard output, notes and errors to standard error.
//!
//! All text from agents passes [`crate::base::sanitize`] before it is printed in a line. JSON is printed unchanged.
//! A closed pipe is not an error.

use super::fit::{INDENT, cut, folded, local, source};
use super::progress::ProgressLine;
use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorCode, ErrorContext, ErrorReport, Result};
use crate::base::sanitize;
use crate::base::text::{count_of, to_the_second};
use crate::cli::exit::Exit;
use crate::disk::terminal;
use crate::room::actor;
use anstyle::{AnsiColor, Style};
use chrono::Local;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{BufWriter, IsTerminal, Stdout, Write};
use unicode_width::UnicodeWidthStr;

/// The style of plain text.
pub(crate) const PLAIN: Style = Style::new();
/// The style of headings and names.
pub(crate) const BOLD: Style = Style::new().bold();
/// The style of minor details.
pub(crate) const DIM: Style = Style::new().dimmed();
/// The style of errors.
pub(crate) const RED: Style = Style::new()
    .bold()
    .fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));
/// The style of warnings.
pub(crate) const YELLOW: Style =
    Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));

/// The style of search matches.
pub(crate) const FOUND: Style = Style::new()
    .bold()
    .fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));

/// How standard output is called in errors.
const STDOUT: &str = "standard output";

/// Standard output and standard error.
pub(crate) struct CommandOutput {
    sink: BufWriter<Stdout>,
    colour: bool,
    terminal: bool,
    /// True if data is printed as JSON.
    pub(crate) json: bool,
    /// True if notes are not printed.
    pub(crate) quiet: bool,
    /// The completed work, and the advice for an error that follows.
    did: Option<(String, &'static str)>,
    has_changed: bool,
    /// Takes what would be printed.
    captured: Option<Vec<u8>>,
}

impl CommandOutput {
    pub(crate) fn new(json: bool, quiet: bool) -> CommandOutput {
        let stdout = std::io::stdout();
        let colour = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
        let terminal = stdout.is_terminal();
        CommandOutput {
            sink: BufWriter::with_capacity(1 << 16, std::io::stdout()),
            colour,
            terminal,
            json,
            quiet,
            did: None,
            has_changed: false,
            captured: None,
        }
    }

    /// Returns what `show` prints, as for a pipe.
    pub(crate) fn capture(
        json: bool,
        show: impl FnOnce(&mut CommandOutput) -> Result<()>,
    ) -> Result<Vec<u8>> {
        let mut out = CommandOutput {
            colour: false,
            terminal: false,
            captured: Some(Vec::new()),
            ..CommandOutput::new(json, true)
        };
        show(&mut out)?;
        Ok(out.captured.unwrap_or_default())
    }

    /// Records that the main work is done, so that a later error does not make the caller repeat it.
    pub(crate) fn did(&mut self, what: impl Into<String>, fix: &'static str) {
        self.did = Some((what.into(), fix));
    }

    /// Records that the command changed something, so that a script does not repeat it because its output was lost.
    pub(crate) fn changed(&mut self) {
        self.has_changed = true;
    }

    /// The error to show, with the work that was done before it.
    pub(crate) fn after_work(&mut self, error: Error) -> Error {
        let is_trouble = matches!(
            error,
            Error::Io { .. }
                | Error::Sync { .. }
                | Error::State { .. }
                | Error::Moved { .. }
                | Error::Busy { .. }
        );
        match self.did.take() {
            Some((what, fix)) if is_trouble => Error::Done {
                what,
                reason: error.to_string(),
                fix: fix.into(),
            },
            None if self.has_changed && is_lost_output(&error) => Error::Done {
                what: "the changes were made".into(),
                reason: error.to_string(),
                fix: "do not repeat the command".into(),
            },
            _ => error,
        }
    }

    /// Returns true if standard output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// The width of the terminal in columns. `None` if standard output is not a terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        self.terminal.then(terminal_width)
    }

    /// Returns true if standard output has colours.
    pub(crate) fn has_colour(&self) -> bool {
        self.colour
    }

    /// A time without fractions of a second: local with its zone at a terminal, otherwise UTC.
    pub(crate) fn time(&self, at: &str) -> String {
        match Stamp::parse(at) {
            Some(at) if self.terminal => {
                let at = at.date_time().with_timezone(&Local);
                at.format("%Y-%m-%d %H:%M:%S %:z").to_string()
            }
            _ => to_the_second(at),
        }
    }

    /// As [`CommandOutput::time`], for a column of a table: at a terminal the shorter form of [`local`].
    pub(crate) fn column_time(&self, at: &str) -> String {
        if self.terminal && Stamp::parse(at).is_some() {
            local(at).trim_start().to_owned()
        } else {
            to_the_second(at)
        }
    }

    /// A line of styled pieces, which may come from anywhere. It is cut at the width of the terminal.
    pub(crate) fn pieces(&mut self, pieces: &[(Style, &str)]) -> Result<()> {
        let texts: Vec<&str> = pieces.iter().map(|(_, text)| *text).collect();
        let texts = sanitize::pieces(&texts);
        let mut left = self.width().unwrap_or(usize::MAX);
        let mut line = String::new();
        for ((style, _), text) in pieces.iter().zip(&texts) {
            let text = cut(text, left);
            left = left.saturating_sub(text.width());
            line += &self.styled(*style, &text);
        }
        self.line(line)
    }

    fn styled(&self, style: Style, text: &str) -> String {
        if self.colour {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// A line of data. Text of agents must be made visible before.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> Result<()> {
        let text = text.as_ref().trim_end_matches(' ');
        self.bytes(text.as_bytes()).and_then(|()| self.bytes(b"\n"))
    }

    /// A confirmation, which --quiet leaves out.
    pub(crate) fn done(&mut self, text: impl AsRef<str>) -> Result<()> {
        if self.quiet { Ok(()) } else { self.line(text) }
    }

    /// A report: as one JSON document with `--json`, else as `text` prints it.
    pub(crate) fn show<T: Serialize + ?Sized>(
        &mut self,
        report: &T,
        text: impl FnOnce(&mut CommandOutput) -> Result<()>,
    ) -> Result<()> {
        if self.json {
            self.json(report)
        } else {
            text(self)
        }
    }

    /// Prints text for a person before the report. `--json` leaves it out.
    pub(crate) fn ahead(
        &mut self,
        text: impl FnOnce(&mut CommandOutput) -> Result<()>,
    ) -> Result<()> {
        if self.json {
            Ok(())
        } else {
            text(self).and_then(|()| self.flush())
        }
    }

    /// A list: as a JSON object with one `field` with `--json`, else item by item as `row` prints it. An empty list
    /// prints `none`, if that says something.
    pub(crate) fn list<T: Serialize>(
        &mut self,
        field: &str,
        items: impl Iterator<Item = Result<T>>,
        none: &str,
        mut row: impl FnMut(&mut CommandOutput, T) -> Result<()>,
    ) -> Result<()> {
        if self.json {
            return self.json_list(field, items);
        }
        let mut is_empty = true;
        for item in items {
            is_empty = false;
            row(self, item?)?;
        }
        if is_empty && !none.is_empty() {
            self.note(none);
        }
        Ok(())
    }

    /// An item of a list that may have no end: one line of JSON with `--json`, else as `line` writes it.
    pub(crate) fn item(
        &mut self,
        json: impl FnOnce() -> String,
        line: impl FnOnce(&CommandOutput) -> String,
    ) -> Result<()> {
        if self.json {
            self.json_text(&json())
        } else {
            self.line(line(self))
        }
    }

    /// Data as one JSON document: indented for a person, short for a program.
    pub(crate) fn json<T: Serialize + ?Sized>(&mut self, data: &T) -> Result<()> {
        let text = if self.terminal {
            serde_json::to_string_pretty(data)
        } else {
            serde_json::to_string(data)
        };
        self.json_text(&text.expect("what commands return has only text keys"))
    }

    /// JSON text, unchanged.
    pub(crate) fn json_text(&mut self, text: &str) -> Result<()> {
        if self.terminal {
            self.line(sanitize::json(text))
        } else {
            self.line(text)
        }
    }

    /// Prints a JSON object with a list of any length. Each item is printed before the next one is read.
    pub(crate) fn json_list<T: Serialize>(
        &mut self,
        field: &str,
        items: impl Iterator<Item = Result<T>>,
    ) -> Result<()> {
        self.bytes(format!("{{\"{field}\":[").as_bytes())?;
        for (n, item) in items.enumerate() {
            let text = if self.terminal {
                serde_json::to_string_pretty(&item?)
            } else {
                serde_json::to_string(&item?)
            };
            let text = text.expect("what commands return has only text keys");
            self.bytes(if n == 0 { b"" } else { b"," })?;
            let text = if self.terminal {
                sanitize::json(&text)
            } else {
                Cow::from(text)
            };
            self.bytes(text.as_bytes())?;
        }
        self.line("]}")
    }

    /// Bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(captured) = &mut self.captured {
            captured.extend_from_slice(bytes);
            return Ok(());
        }
        self.sink.write_all(bytes).doing("write to", STDOUT)
    }

    /// Writes out the buffer. Only a flush shows whether writing works.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.sink.flush().doing("write to", STDOUT)
    }

    /// Returns true if the reader of standard output has ended. Without this only a write would detect it.
    pub(crate) fn is_unread(&self) -> bool {
        let stdout = std::io::stdout();
        let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
        let gone = PollFlags::ERR | PollFlags::NVAL;
        poll(&mut asked, Some(&Timespec::default())).is_ok() && asked[0].revents().intersects(gone)
    }

    /// Text from elsewhere, safe for a line.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        self.styled(style, &sanitize::line(text))
    }

    /// A note for a person, besides the data.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(anstream::stderr(), "{}", sanitize::block(text));
        }
    }

    /// A line for the program that reads the standard error of this one.
    pub(crate) fn tell(&self, text: &str) -> Result<()> {
        writeln!(std::io::stderr(), "{text}").doing("write to", "standard error")
    }

    /// The progress of a long command, for a terminal. JSON on the same terminal must not be mixed with it.
    pub(crate) fn progress(&self) -> ProgressLine {
        let is_free = !(self.json && self.terminal);
        ProgressLine::new(!self.quiet && is_free && std::io::stderr().is_terminal())
    }

    /// Returns true if a person at a terminal can answer a question.
    pub(crate) fn can_ask(&self) -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Shows the text of an approval to the person who is asked next.
    pub(crate) fn tell_source(&self, text: &str) -> Result<()> {
        self.tell(&source(text, terminal_width()).join("\n"))
    }

    /// Asks the person at the terminal; `None` without a terminal. Any answer but yes means no.
    pub(crate) fn ask(&self, question: &str) -> Result<Option<bool>> {
        if !self.can_ask() {
            return Ok(None);
        }
        let question = format!("{} [y/N]", sanitize::line(question));
        let lines = folded(&question, Some(terminal_width()), INDENT);
        actor::ask(&lines.join("\n")).map(Some)
    }

    /// A problem that does not end the command.
    pub(crate) fn warn(&self, text: &str) {
        let _ = writeln!(
            anstream::stderr(),
            "{YELLOW}warning:{YELLOW:#} {}",
            sanitize::block(text)
        );
    }

    /// Why the command failed: a sentence, or one JSON object.
    pub(crate) fn error(&self, error: &Error) {
        if self.json {
            ErrorOutput::new(Exit::of(error), error.into()).print();
            return;
        }
        let mut stderr = anstream::stderr();
        let _ = match error {
            Error::Rejected(problems) | Error::NotGranted(problems) if problems.len() > 1 => {
                let lines = problems
                    .iter()
                    .map(|problem| format!("\n  {}", sanitize::line(&problem.to_string())));
                let count = count_of(problems.len(), "problem");
                writeln!(
                    stderr,
                    "{RED}error:{RED:#} rejected, {count}:{}",
                    lines.collect::<String>()
                )
            }
            Error::Rejected(problems) | Error::NotGranted(problems) => {
                let text: String = problems.iter().map(ToString::to_string).collect();
                writeln!(stderr, "{RED}error:{RED:#} {}", sanitize::block(&text))
            }
            error => writeln!(
                stderr,
                "{RED}error:{RED:#} {}",
                sanitize::block(&error.to_string())
            ),
        };
    }
}

/// The width of the person's terminal in columns.
fn terminal_width() -> usize {
    terminal::size().map_or(80, |(columns, _)| columns)
}

/// Standard output for the output of another program: immediately and byte for byte.
pub(crate) struct RawOutput;

impl Write for RawOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let stdout = std::io::stdout();
        loop {
            match rustix::io::write(&stdout, bytes) {
                // Another program that shares the pipe has made it non-blocking.
                Err(rustix::io::Errno::AGAIN) => {
                    let _ = poll(&mut [PollFd::new(&stdout, PollFlags::OUT)], None);
                }
                Err(rustix::io::Errno::INTR) => {}
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns true for a closed pipe: its reader needs no more output.
pub(crate) fn is_closed_pipe(error: &Error) -> bool {
    is_lost_output(error) && error.errno() == Some(libc::EPIPE)
}

fn is_lost_output(error: &Error) -> bool {
    matches!(error, Error::Io { path, .. } if path.as_os_str() == STDOUT)
}

/// An error of the command line itself, before there is an [`CommandOutput`].
pub(crate) fn usage(error: &clap::Error, json: bool) -> Result<()> {
    if json && error.use_stderr() {
        let text = error.render().to_string();
        let text = text.trim();
        let (what, rest) = text.split_once("\n\n").unwrap_or((text, ""));
        let mut advice = rest.lines().rev().map(str::trim);
        let tip = advice.clone().find_map(|line| line.strip_prefix("tip: "));
        let report = ErrorReport {
            code: ErrorCode::Usage,
            what: what.strip_prefix("error: ").unwrap_or(what).to_owned(),
            fix: tip.or_else(|| advice.next()).map(str::to_owned),
            problems: Vec::new(),
        };
        ErrorOutput::new(Exit::Usage, report).print();
    } else if error.kind().as_str().is_some() {
        let text = error.render().to_string();
        let _ = write!(anstream::stderr(), "{}", sanitize::block(&text));
    } else {
        error.print().doing("write to", STDOUT)?;
        std::io::stdout().flush().doing("write to", STDOUT)?;
    }
    Ok(())
}

/// The error of a command, on standard error.
#[derive(Serialize)]
pub(crate) struct ErrorOutput {
    error: ExitReport,
}

#[derive(Serialize)]
struct ExitReport {
    /// The exit status.
    exit: u8,
    #[serde(flatten)]
    report: ErrorReport,
}

impl ErrorOutput {
    fn new(exit: Exit, report: ErrorReport) -> ErrorOutput {
        ErrorOutput {
            error: ExitReport {
                exit: exit as u8,
                report,
            },
        }
    }

    fn print(&self) {
        let text = serde_json::to_string(self).expect("an error has only text keys");
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}
