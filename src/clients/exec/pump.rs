//! Forwards a command's output byte for byte, except for lines addressed to mailbag.

use super::RunEvent;
use super::lines::{OutputPiece, OutputSplitter, read};
use super::session::ExecSession;
use crate::base::limits;
use crate::message::status_line::StatusLine;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of invalid lines of a command's output that are reported one by one.
const WRONG_LINES: usize = 20;

/// The output of a command, shared by the reading thread and the main thread.
pub(super) struct OutputPump(Mutex<OutputFlow>);

struct OutputFlow {
    splitter: OutputSplitter,
    into: PieceReceiver,
    /// Number of reads.
    count: u64,
}

/// Receives the pieces.
struct PieceReceiver {
    session: Arc<ExecSession>,
    out: Box<dyn Write + Send>,
    tell: Sender<RunEvent>,
    /// Whether its last status line said that it has completed.
    completed: bool,
    /// Number of invalid lines.
    wrong: usize,
}

impl OutputPump {
    /// Lines longer than `most` bytes are forwarded.
    pub(super) fn new(
        session: Arc<ExecSession>,
        most: u64,
        out: Box<dyn Write + Send>,
        tell: Sender<RunEvent>,
    ) -> OutputPump {
        let splitter = OutputSplitter::new(usize::try_from(most).unwrap_or(usize::MAX));
        OutputPump(Mutex::new(OutputFlow {
            splitter,
            into: PieceReceiver {
                session,
                out,
                tell,
                completed: false,
                wrong: 0,
            },
            count: 0,
        }))
    }

    /// Forwards the output until its end, or until the output's reader is gone. Then the command gets a broken pipe, as it
    /// would without mailbag.
    pub(super) fn run(&self, mut from: impl Read) {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let fed = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.flow().feed(&buffer[..count]),
                Err(e) if e.kind() == ErrorKind::Interrupted => Ok(()),
                Err(e) => Err(e),
            };
            if let Err(e) = fed {
                return self.flow().fail(e);
            }
        }
        self.finish();
    }

    /// Forwards a held line at the end of the output.
    pub(super) fn finish(&self) {
        let mut flow = self.flow();
        if let Err(e) = flow.finish() {
            flow.fail(e);
        }
    }

    /// Number of reads so far. Waits while a piece is being forwarded.
    pub(super) fn count(&self) -> u64 {
        self.flow().count
    }

    /// Whether the command's last status line said that it has completed.
    pub(super) fn is_completed(&self) -> bool {
        self.flow().into.completed
    }

    fn flow(&self) -> MutexGuard<'_, OutputFlow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputFlow {
    fn feed(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.count += 1;
        let OutputFlow { splitter, into, .. } = self;
        splitter.feed(bytes, &mut |piece| into.take(piece))
    }

    fn finish(&mut self) -> io::Result<()> {
        let OutputFlow { splitter, into, .. } = self;
        splitter.finish(&mut |piece| into.take(piece))
    }

    fn fail(&mut self, e: io::Error) {
        if e.kind() != ErrorKind::BrokenPipe {
            self.into
                .warn(format!("cannot forward the command's output: {e}"));
        }
    }
}

impl PieceReceiver {
    fn take(&mut self, piece: OutputPiece) -> io::Result<()> {
        match piece {
            OutputPiece::Line(line) if self.is_taken(line) => Ok(()),
            OutputPiece::Line(bytes) | OutputPiece::Through(bytes) => self.out.write_all(bytes),
        }
    }

    /// Whether the line was addressed to mailbag and its message was written.
    fn is_taken(&mut self, line: &[u8]) -> bool {
        let Some(said) = read(line) else {
            return false;
        };
        let done = said.and_then(|said| -> Result<Option<String>, String> {
            let completes = match said {
                StatusLine::Complete { .. } => Some(true),
                StatusLine::Status { .. } | StatusLine::Dependency { .. } => Some(false),
                StatusLine::Artifact { .. } => None,
            };
            let warning = self.session.process(said).map_err(|e| e.to_string())?;
            self.completed = completes.unwrap_or(self.completed);
            Ok(warning)
        });
        match done {
            Ok(None) => true,
            Ok(Some(warning)) => {
                self.warn(warning);
                true
            }
            Err(why) => {
                self.wrong += 1;
                let line: String = String::from_utf8_lossy(line)
                    .trim_end()
                    .chars()
                    .take(limits::REPORT_TEXT)
                    .collect();
                match self.wrong {
                    ..=WRONG_LINES => {
                        self.warn(format!("invalid line in the output: {why}: {line}"))
                    }
                    n if n == WRONG_LINES + 1 => {
                        self.warn("further invalid lines are not reported".into())
                    }
                    _ => {}
                }
                false
            }
        }
    }

    fn warn(&self, text: String) {
        // Sending fails only after the end of the run.
        let _ = self.tell.send(RunEvent::Warn(text));
    }
}
