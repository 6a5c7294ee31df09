//! Starts the command, forwards signals, and reports its result.

use super::pump::OutputPump;
use super::session::{ExecSession, warn_on_error};
use super::waiting::{not_started, outcome};
use super::{CommandEnd, ExecMessage, ExecRequest, RunEvent, RunEventQueue};
use crate::base::error::{ErrorContext, Result};
use crate::disk::{machine, terminal};
use crate::message::address::quoted;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::{Map, json};
use std::io::{ErrorKind, IsTerminal, Read, Write, stdout};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The output of an ended command is complete if its background processes are silent for this time.
const LEFT_RUNNING: Duration = Duration::from_secs(2);

/// Runs a command and returns how it ended.
pub(super) fn run(
    session: &Arc<ExecSession>,
    request: &ExecRequest,
    out: Box<dyn Write + Send>,
    events: &mut RunEventQueue,
    report: &dyn Fn(ExecMessage),
) -> Result<CommandEnd> {
    let program = request
        .command
        .first()
        .expect("the command line asks for a command");
    let name = Path::new(program)
        .file_name()
        .unwrap_or(program)
        .to_string_lossy()
        .into_owned();
    // Before the command starts, so that its own messages come later. Without arguments, which may contain secrets.
    let pid = ("pid".to_owned(), json!(std::process::id()));
    session.say("status", &format!("started {name}"), Map::from_iter([pid]))?;
    if let Some(signal) = events.signal() {
        // The command has not started, so it cannot handle the signal.
        let sent = session.blocked(&not_started(signal), Map::new(), "normal");
        warn_on_error(sent, report);
        return Ok(CommandEnd::Signal(signal));
    }
    let child = match start(session, request) {
        Ok(child) => child,
        Err(e) => {
            let code = if e.kind() == ErrorKind::NotFound {
                127
            } else {
                126
            };
            let what = format!("cannot run {}: {e}", quoted(&name));
            let sent = session.blocked(&what, outcome(code, None).1, "normal");
            warn_on_error(sent, report);
            report(ExecMessage::Warning(what));
            return Ok(CommandEnd::Status(code));
        }
    };
    let (status, has_completed) = attend(session, child, out, events, report)?;
    events.tell(report);
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let code = code.unwrap_or_else(|| 128 + status.signal().unwrap_or_default() as u8);
    if status.success() && has_completed {
        return Ok(CommandEnd::Status(code));
    }
    let (text, metadata) = outcome(code, status.signal());
    let said = if status.success() {
        session.say("completed", &text, metadata)
    } else {
        session.blocked(&text, metadata, "normal")
    };
    warn_on_error(said, report);
    Ok(CommandEnd::Status(code))
}

/// Starts the command. Its output is read, unless that is a terminal.
fn start(session: &ExecSession, request: &ExecRequest) -> std::io::Result<Child> {
    let mut command = Command::new(&request.command[0]);
    command.args(&request.command[1..]);
    for (variable, value) in session.place.variables() {
        match value {
            Some(value) => command.env(variable, value),
            None => command.env_remove(variable),
        };
    }
    machine::end_with_us(&mut command);
    if !stdout().is_terminal() {
        command.stdout(Stdio::piped());
    }
    command.spawn()
}

/// Starts to forward the output, and to search it for lines addressed to mailbag.
fn pump(
    session: &Arc<ExecSession>,
    from: impl Read + Send + 'static,
    out: Box<dyn Write + Send>,
    events: &RunEventQueue,
) -> Result<Arc<OutputPump>> {
    let most = session.room.settings()?.message_bytes;
    let sender = events.sender();
    let pump = Arc::new(OutputPump::new(session.clone(), most, out, sender.clone()));
    let pumping = pump.clone();
    std::thread::Builder::new()
        .name("output".into())
        .spawn(move || {
            pumping.run(from);
            let _ = sender.send(RunEvent::Drained);
        })
        .doing("read the output of", "the command")?;
    Ok(pump)
}

/// Forwards signals until the command and its output have ended. Also returns whether its last status line said that it has
/// completed.
fn attend(
    session: &Arc<ExecSession>,
    mut child: Child,
    out: Box<dyn Write + Send>,
    events: &mut RunEventQueue,
    report: &dyn Fn(ExecMessage),
) -> Result<(ExitStatus, bool)> {
    let stdout = child.stdout.take();
    let pump = stdout
        .map(|stdout| pump(session, stdout, out, events))
        .transpose()?;
    let pump = pump.as_deref();
    let pid = Pid::from_child(&child);
    watch(pid, events)?;
    let (mut status, mut drained, mut seen) = (None, pump.is_none(), None);
    loop {
        if drained && let Some(status) = status {
            return Ok((status, pump.is_some_and(OutputPump::is_completed)));
        }
        let deadline = status.map(|_| Instant::now() + LEFT_RUNNING);
        match events.next(session, deadline, report) {
            Some(RunEvent::Exited) => {
                // Reaping frees the pid for another process.
                status = Some(child.wait().doing("wait for", "the command")?);
            }
            Some(RunEvent::Drained) => drained = true,
            // The terminal sends its signals to the command as well.
            Some(RunEvent::Signal {
                number,
                to_all: false,
            }) if status.is_none() => terminal::signal(pid, number),
            Some(RunEvent::Warn(text)) => report(ExecMessage::Warning(text)),
            Some(_) => {}
            // A background process may keep the output open.
            None => {
                let count = pump.map(OutputPump::count);
                if seen == Some(count) {
                    pump.inspect(|pump| pump.finish());
                    drained = true;
                }
                seen = Some(count);
            }
        }
    }
}

/// Reports the end of the command without reaping it, so that its pid is not reused.
fn watch(pid: Pid, events: &RunEventQueue) -> Result<()> {
    let sender = events.sender();
    std::thread::Builder::new()
        .name("child".into())
        .spawn(move || {
            let end = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), end) {}
            let _ = sender.send(RunEvent::Exited);
        })
        .map(drop)
        .doing("wait for", "the command")
}
