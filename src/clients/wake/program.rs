//! Runs the program that wakes an agent: without a shell, with placeholders replaced, and with a time limit.

use crate::disk::machine;
use crate::room::Room;
use crate::room::sessions::SessionLease;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The size of the kept output of a program that wakes an agent.
const WAKE_OUTPUT: usize = 4 << 10;

/// How a program ended.
pub(in crate::clients) struct ProgramOutcome {
    /// The failure; empty on success.
    pub(in crate::clients) outcome: String,
    /// The beginning of its output.
    pub(in crate::clients) output: String,
}

impl ProgramOutcome {
    pub(in crate::clients) fn is_well(&self) -> bool {
        self.outcome.is_empty()
    }

    fn failed(outcome: String) -> ProgramOutcome {
        ProgramOutcome {
            outcome,
            output: String::new(),
        }
    }
}

/// Whether the arguments contain the text of the new mail.
pub(super) fn wants_text(argv: &[String]) -> bool {
    argv.iter().any(|word| word.contains("{text}"))
}

/// The values of the placeholders in the arguments of a program.
pub(in crate::clients) struct PlaceholderValues<'a> {
    pub(in crate::clients) room: &'a Room,
    pub(in crate::clients) agent: &'a str,
    /// The text of the new mail.
    pub(in crate::clients) text: &'a str,
    /// The number of new messages.
    pub(in crate::clients) count: usize,
    /// The lease of the agent's session.
    pub(in crate::clients) lease: Option<&'a SessionLease>,
}

impl PlaceholderValues<'_> {
    /// Replaces the placeholders in the arguments. Inserted text is not expanded again.
    pub(in crate::clients) fn fill(&self, argv: &[String]) -> Vec<String> {
        let count = self.count.to_string();
        let room = self.room.dir.path().to_string_lossy();
        let session = self.lease.and_then(|lease| lease.session.as_deref());
        let known = [
            ("{text}", self.text),
            ("{agent}", self.agent),
            ("{count}", &count),
            ("{session}", session.unwrap_or_default()),
            ("{room}", &room),
        ];
        argv.iter().map(|word| fill_word(word, &known)).collect()
    }
}

fn fill_word(word: &str, known: &[(&str, &str)]) -> String {
    let (mut filled, mut rest) = (String::new(), word);
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        let (key, value) = known
            .iter()
            .find(|(key, _)| rest[at..].starts_with(key))
            .copied()
            .unwrap_or(("{", "{"));
        filled.push_str(value);
        rest = &rest[at + key.len()..];
    }
    filled + rest
}

/// Runs the program and waits for its end. Calls `started` when it runs. After the time limit, kills its process group.
pub(in crate::clients) fn run(
    argv: &[String],
    room: &Room,
    agent: &str,
    within: Duration,
    started: impl FnOnce(),
) -> ProgramOutcome {
    let Some((program, args)) = argv.split_first() else {
        return ProgramOutcome::failed("no program is set".into());
    };
    let mut command = Command::new(program);
    command
        .args(args)
        .env("MAILBAG_ROOM", room.dir.path())
        .env("MAILBAG_AGENT", agent);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => return ProgramOutcome::failed(format!("it cannot be started: {e}")),
    };
    started();
    let (heard, listen) = channel();
    let pipes = [
        child.stdout.take().map(boxed),
        child.stderr.take().map(boxed),
    ];
    for pipe in pipes.into_iter().flatten() {
        let heard = heard.clone();
        // A background process may keep the pipe open, so this thread is not joined.
        std::thread::spawn(move || heard.send(beginning(pipe)));
    }
    let outcome = end(&mut child, within);
    let output = [(); 2].map(|()| {
        listen
            .recv_timeout(Duration::from_millis(200))
            .unwrap_or_default()
    });
    ProgramOutcome {
        outcome,
        output: output.concat().trim().to_owned(),
    }
}

fn end(child: &mut Child, within: Duration) -> String {
    match machine::wait_for_child(child, within) {
        Ok(Some(status)) if status.success() => String::new(),
        Ok(Some(status)) => status.to_string(),
        Ok(None) => {
            if let Some(group) = i32::try_from(child.id())
                .ok()
                .and_then(rustix::process::Pid::from_raw)
            {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let _ = child.wait();
            format!(
                "it was killed after {}",
                crate::base::clock::span_text(within)
            )
        }
        Err(e) => format!("waiting for it failed: {e}"),
    }
}

fn boxed(pipe: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(pipe)
}

/// Reads the beginning of the output, and discards the rest, so that the writer is not blocked.
fn beginning(mut pipe: Box<dyn Read + Send>) -> String {
    let mut first = Vec::new();
    let _ = pipe
        .by_ref()
        .take(WAKE_OUTPUT as u64)
        .read_to_end(&mut first);
    let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    String::from_utf8_lossy(&first).into_owned()
}
