//! A command's output on its way: what is for us is taken out, and everything else goes on byte for byte.

use super::Happening;
use super::lines::{Piece, Said, Splitter, read};
use super::session::Session;
use crate::base::limits;
use std::io::{self, ErrorKind, Read, Write};
use std::process::ChildStdout;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The output of a command, and what became of it. Two may hold it: the thread that reads, and who waits for the end.
pub(super) struct Pump(Mutex<Flow>);

struct Flow {
    splitter: Splitter,
    into: Into,
    /// How often something came.
    count: u64,
}

/// Where the pieces go.
struct Into {
    session: Arc<Session>,
    out: Box<dyn Write + Send>,
    tell: Sender<Happening>,
    /// Was the last that it said of itself that it is done?
    completed: bool,
    /// How many of its lines were wrong.
    wrong: usize,
}

impl Pump {
    /// Lines longer than a message may be are for nobody but the reader.
    pub(super) fn new(session: Arc<Session>, most: u64, out: Box<dyn Write + Send>, tell: Sender<Happening>) -> Pump {
        let splitter = Splitter::new(usize::try_from(most).unwrap_or(usize::MAX));
        Pump(Mutex::new(Flow { splitter, into: Into { session, out, tell, completed: false, wrong: 0 }, count: 0 }))
    }

    /// Takes everything that comes, until the end of it, or until nobody reads what is handed on. Then the command hears
    /// of that as it would have without us: by a broken pipe.
    pub(super) fn run(&self, mut from: ChildStdout) {
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

    /// Hands on what was held back: nothing more comes.
    pub(super) fn finish(&self) {
        let mut flow = self.flow();
        if let Err(e) = flow.finish() {
            flow.fail(e);
        }
    }

    /// How often something has come. Waits until what is being handed on is.
    pub(super) fn count(&self) -> u64 {
        self.flow().count
    }

    /// Was the last that the command said of itself that it is done?
    pub(super) fn is_completed(&self) -> bool {
        self.flow().into.completed
    }

    fn flow(&self) -> MutexGuard<'_, Flow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flow {
    fn feed(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.count += 1;
        let Flow { splitter, into, .. } = self;
        splitter.feed(bytes, &mut |piece| into.take(piece))
    }

    fn finish(&mut self) -> io::Result<()> {
        let Flow { splitter, into, .. } = self;
        splitter.finish(&mut |piece| into.take(piece))
    }

    fn fail(&mut self, e: io::Error) {
        if e.kind() != ErrorKind::BrokenPipe {
            self.into.warn(format!("the command's output can't be handed on: {e}"));
        }
    }
}

impl Into {
    fn take(&mut self, piece: Piece) -> io::Result<()> {
        match piece {
            Piece::Line(line) if self.is_taken(line) => Ok(()),
            Piece::Line(bytes) | Piece::Through(bytes) => self.out.write_all(bytes),
        }
    }

    /// Was the line for us, and is what it says in the outbox?
    fn is_taken(&mut self, line: &[u8]) -> bool {
        let said = match read(line) {
            None => return false,
            Some(said) => said,
        };
        let done = said.and_then(|said| -> Result<Option<String>, String> {
            let completes = match said {
                Said::Complete { .. } => Some(true),
                Said::Status { .. } | Said::Dependency { .. } => Some(false),
                Said::Artifact { .. } => None,
            };
            let warning = self.session.heed(said).map_err(|e| e.to_string())?;
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
                let line: String = String::from_utf8_lossy(line).trim_end().chars().take(limits::DOING).collect();
                match self.wrong {
                    ..=limits::WRONG_LINES => {
                        self.warn(format!("a line of the output is not taken, since {why}: {line}"))
                    }
                    n if n == limits::WRONG_LINES + 1 => {
                        self.warn("further lines that are not taken are not told".into())
                    }
                    _ => {}
                }
                false
            }
        }
    }

    fn warn(&self, text: String) {
        // The receiver is gone only when the command's end was told.
        let _ = self.tell.send(Happening::Warn(text));
    }
}
