//! Standard output: directly, or through a pager if a terminal is too small for it.

use std::io::{BufWriter, Stdout, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use unicode_width::UnicodeWidthStr;

/// Variables with the pager's command line, the first one first.
const VARIABLES: [&str; 2] = ["MAILBAG_PAGER", "PAGER"];
/// The pager without a variable, and its options.
const USUAL: (&str, &str) = ("less", "FRX");

/// Standard output of a command.
pub(super) enum StandardOutput {
    Direct(BufWriter<Stdout>),
    /// Text that fits the screen until now, and the pager for longer text.
    Held(Vec<u8>, String),
    Paged(Pager),
}

/// A running pager. The end of the value waits until the person has left it.
pub(super) struct Pager(Child);

impl StandardOutput {
    pub(super) fn new() -> StandardOutput {
        StandardOutput::Direct(BufWriter::with_capacity(1 << 16, std::io::stdout()))
    }

    /// Holds the output until it is known to be longer than the screen. Does nothing if the environment has no pager.
    pub(super) fn hold(&mut self) {
        if let (StandardOutput::Direct(_), Some(pager)) = (&self, chosen_pager()) {
            *self = StandardOutput::Held(Vec::new(), pager);
        }
    }

    pub(super) fn is_direct(&self) -> bool {
        matches!(self, StandardOutput::Direct(_))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            StandardOutput::Direct(stdout) => stdout.write_all(bytes),
            StandardOutput::Paged(pager) => pager.write(bytes),
            StandardOutput::Held(held, command) => {
                held.extend_from_slice(bytes);
                if !bytes.contains(&b'\n') || fits_screen(held) {
                    return Ok(());
                }
                let held = std::mem::take(held);
                *self = Pager::start(command)
                    .map_or_else(|_| StandardOutput::new(), StandardOutput::Paged);
                self.write(&held)
            }
        }
    }

    /// Writes out the buffer or the held text, and waits until the person has left the pager.
    pub(super) fn flush(&mut self) -> std::io::Result<()> {
        match std::mem::replace(self, StandardOutput::new()) {
            StandardOutput::Direct(mut stdout) => {
                let flushed = stdout.flush();
                *self = StandardOutput::Direct(stdout);
                return flushed;
            }
            StandardOutput::Held(held, _) => self.write(&held)?,
            StandardOutput::Paged(pager) => drop(pager),
        }
        self.flush()
    }
}

impl Pager {
    fn start(command: &str) -> std::io::Result<Pager> {
        let is_name = command.bytes().all(|b| b.is_ascii_alphanumeric());
        let mut pager = if is_name {
            Command::new(command)
        } else {
            let mut shell = Command::new("sh");
            shell.args(["-c", command]);
            shell
        };
        pager.stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            pager.env("LESS", USUAL.1);
        }
        let child = pager.spawn()?;
        // Ctrl-C is for the pager. The pager itself started with the usual effect of the signal.
        signal_hook::flag::register(libc::SIGINT, Arc::new(AtomicBool::new(false)))?;
        Ok(Pager(child))
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0
            .stdin
            .as_mut()
            .map_or(Ok(()), |stdin| stdin.write_all(bytes))
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        self.0.stdin = None;
        let _ = self.0.wait();
    }
}

/// The command line of the pager. `None` if the environment switches it off or names no pager.
fn chosen_pager() -> Option<String> {
    if std::env::var_os("TERM").is_none_or(|term| term == "dumb") {
        return None;
    }
    let named = VARIABLES.iter().find_map(|name| std::env::var(name).ok());
    match named.as_deref().map(str::trim) {
        Some("" | "cat") => None,
        Some(pager) => Some(pager.to_owned()),
        None => Some(USUAL.0.to_owned()),
    }
}

/// Returns true if a text leaves a row of the terminal free.
fn fits_screen(text: &[u8]) -> bool {
    let (columns, rows) = ratatui::crossterm::terminal::size().unwrap_or_default();
    let (columns, rows) = (
        usize::from(if columns == 0 { 80 } else { columns }),
        usize::from(if rows == 0 { 24 } else { rows }),
    );
    let text = String::from_utf8_lossy(text);
    let text = anstream::adapter::strip_str(&text).to_string();
    text.lines()
        .map(|line| line.width().div_ceil(columns).max(1))
        .sum::<usize>()
        < rows
}
