//! Starts the command, forwards signals, and reports its result.

use super::console::{self, Console};
use super::pump::OutputPump;
use super::session::{ExecSession, warn_on_error};
use super::waiting::{not_started, outcome};
use super::{CommandEnd, ExecMessage, ExecRequest, RunEvent, RunEventQueue};
use crate::base::error::{ErrorContext, Result};
use crate::disk::{machine, terminal};
use crate::message::address::quoted;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::{Map, json};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// The output of an ended command is complete if its background processes are silent for this time.
const LEFT_RUNNING: Duration = Duration::from_secs(2);
/// The number of warnings that are kept while a command has the terminal.
const KEPT_WARNINGS: usize = 20;

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
    let (started, console) = start(session, request)?;
    let child = match started {
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
    let (status, pump) = match console {
        Some(console) => in_terminal(session, child, console, request.lines, out, events, report)?,
        None => in_pipe(session, child, out, events, report)?,
    };
    events.tell(report);
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let code = code.unwrap_or_else(|| 128 + status.signal().unwrap_or_default() as u8);
    if status.success() && pump.is_completed() {
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

/// Starts the command; in a terminal, by a monitor.
fn start(
    session: &ExecSession,
    request: &ExecRequest,
) -> Result<(io::Result<Child>, Option<Console>)> {
    let in_terminal = terminal::is_ours();
    let mut command = if in_terminal {
        monitor(session.id(), &request.command)?
    } else {
        plain(&request.command)
    };
    for (variable, value) in session.place.variables() {
        match value {
            Some(value) => command.env(variable, value),
            None => command.env_remove(variable),
        };
    }
    machine::end_with_us(&mut command);
    if !in_terminal {
        return Ok((command.stdout(Stdio::piped()).spawn(), None));
    }
    let (console, beginning) = Console::for_command(&mut command)?;
    let monitor = command.spawn();
    // It has the other side of the terminal, which must end with the command.
    drop(command);
    let started = monitor.and_then(|mut monitor| match beginning.wait() {
        Ok(()) => Ok(monitor),
        Err(e) => monitor.wait().and(Err(e)),
    });
    Ok((started, Some(console)))
}

fn plain(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

fn monitor(id: &str, words: &[OsString]) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().doing("find", "this program")?);
    command
        .args(["exec", "--id", id, "--monitor", "--"])
        .args(words);
    Ok(command)
}

type BoxedWriter = Box<dyn Write + Send>;

/// Handles a command with a pipe as output.
fn in_pipe(
    session: &Arc<ExecSession>,
    mut child: Child,
    out: BoxedWriter,
    events: &mut RunEventQueue,
    report: &dyn Fn(ExecMessage),
) -> Result<(ExitStatus, Arc<OutputPump>)> {
    let stdout = child.stdout.take().expect("it was asked for");
    let pump = pump(session, stdout, true, out, events)?;
    let status = attend(session, child, &pump, None, events, report)?;
    Ok((status, pump))
}

/// Attends to a command in a terminal of its own. Reports are kept until our own terminal has its former mode again.
fn in_terminal(
    session: &Arc<ExecSession>,
    mut child: Child,
    mut console: Console,
    lines: bool,
    out: BoxedWriter,
    events: &mut RunEventQueue,
    report: &dyn Fn(ExecMessage),
) -> Result<(ExitStatus, Arc<OutputPump>)> {
    let begun = events
        .listen_to(&console::SIGNALS)
        .and_then(|()| console.begin())
        .and_then(|()| console.output());
    let output = begun.inspect_err(|_| {
        let _ = child.kill().and_then(|()| child.wait());
    })?;
    let pump = pump(session, output, lines, out, events)?;
    let kept = RefCell::new(Vec::new());
    let status = attend(session, child, &pump, Some(&console), events, &|message| {
        let mut kept = kept.borrow_mut();
        if kept.len() < KEPT_WARNINGS {
            kept.push(message);
        }
    });
    drop(console);
    for kept in kept.into_inner() {
        report(kept);
    }
    Ok((status?, pump))
}

/// Starts to forward the output, and to search it for lines addressed to mailbag if asked.
fn pump(
    session: &Arc<ExecSession>,
    from: impl Read + Send + 'static,
    lines: bool,
    out: BoxedWriter,
    events: &RunEventQueue,
) -> Result<Arc<OutputPump>> {
    let most = lines.then_some(session.room.settings()?.message_bytes);
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

/// Forwards signals until the command and its output have ended.
fn attend(
    session: &ExecSession,
    mut child: Child,
    pump: &OutputPump,
    console: Option<&Console>,
    events: &mut RunEventQueue,
    report: &dyn Fn(ExecMessage),
) -> Result<ExitStatus> {
    let pid = Pid::from_child(&child);
    watch(pid, events, console.is_some())?;
    events.child = Some(pid);
    let (mut status, mut drained, mut seen) = (None, false, None);
    loop {
        if drained && let Some(status) = status {
            return Ok(status);
        }
        let deadline = status.map(|_| Instant::now() + LEFT_RUNNING);
        match events.next(session, deadline, report) {
            Some(RunEvent::Exited) => {
                // Reaping frees the pid for another process.
                status = Some(child.wait().doing("wait for", "the command")?);
            }
            Some(RunEvent::Drained) => drained = true,
            Some(RunEvent::Signal { number, to_all }) if status.is_none() => match console {
                Some(console) => {
                    if console.signal(number, pid) {
                        let _ = events.sender().send(RunEvent::Signal { number, to_all });
                    }
                }
                None if to_all => {}
                // Fails if the command has just ended.
                None => {
                    if let Some(signal) = Signal::from_named_raw(number) {
                        let _ = kill_process(pid, signal);
                    }
                }
            },
            Some(RunEvent::Stopped) if status.is_none() => {
                pump.settle();
                if let Some(console) = &console {
                    console.suspend(pid);
                }
            }
            Some(RunEvent::Warn(text)) => report(ExecMessage::Warning(text)),
            Some(_) => {}
            // A background process may keep the output open.
            None if seen == Some(pump.count()) => {
                pump.finish();
                drained = true;
            }
            None => seen = Some(pump.count()),
        }
    }
}

/// Reports the end of the command without reaping it, so that its pid is not reused, and if asked, each suspension.
fn watch(pid: Pid, events: &RunEventQueue, suspensions: bool) -> Result<()> {
    let sender = events.sender();
    let mut changes = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    if suspensions {
        changes |= WaitIdOptions::STOPPED;
    }
    std::thread::Builder::new()
        .name("child".into())
        .spawn(move || queue_changes(pid, changes, &sender))
        .map(drop)
        .doing("wait for", "the command")
}

fn queue_changes(pid: Pid, changes: WaitIdOptions, sender: &Sender<RunEvent>) {
    loop {
        match waitid(WaitId::Pid(pid), changes) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(Some(status)) if status.stopped() => {
                // It is reported until it is taken.
                let _ = waitid(
                    WaitId::Pid(pid),
                    WaitIdOptions::STOPPED | WaitIdOptions::NOHANG,
                );
                let _ = sender.send(RunEvent::Stopped);
            }
            _ => break,
        }
    }
    let _ = sender.send(RunEvent::Exited);
}
