//! Starts the command, forwards signals, and reports its result.

use super::pump::Pump;
use super::session::{Session, warn_on_error};
use super::waiting::{not_started, outcome};
use super::{Ended, Events, Report, RunEvent};
use crate::base::error::{Doing, Result};
use crate::base::limits;
use crate::disk::machine;
use crate::message::address::quoted;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::{Map, json};
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// Runs a command and returns how it ended.
pub(super) fn run(
    session: &Arc<Session>,
    words: &[OsString],
    out: Box<dyn Write + Send>,
    events: &mut Events,
    report: &dyn Fn(Report),
) -> Result<Ended> {
    let (program, arguments) = words.split_first().expect("the command line asks for a command");
    let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned();
    // Before the command starts, so that its own messages come later. Without arguments, which may contain secrets.
    let pid = ("pid".to_owned(), json!(std::process::id()));
    session.say("status", &format!("started {name}"), Map::from_iter([pid]))?;
    if let Some(signal) = events.signal() {
        // The command has not started, so it cannot handle the signal.
        warn_on_error(session.blocked(&not_started(signal), Map::new(), "normal").map(drop), report);
        return Ok(Ended::Signal(signal));
    }
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::piped());
    for (variable, value) in session.place.variables() {
        match value {
            Some(value) => command.env(variable, value),
            None => command.env_remove(variable),
        };
    }
    machine::end_with_us(&mut command);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => {
            let code = if e.kind() == ErrorKind::NotFound { 127 } else { 126 };
            let what = format!("cannot run {}: {e}", quoted(&name));
            warn_on_error(session.blocked(&what, outcome(code, None).1, "normal").map(drop), report);
            report(Report::Warning(what));
            return Ok(Ended::Status(code));
        }
    };
    let pump = pump(session, &mut child, out, events)?;
    let status = attend(session, child, &pump, events, report)?;
    events.tell(report);
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let code = code.unwrap_or_else(|| 128 + status.signal().unwrap_or_default() as u8);
    if status.success() && pump.is_completed() {
        return Ok(Ended::Status(code));
    }
    let (text, metadata) = outcome(code, status.signal());
    let said = match status.success() {
        true => session.say("completed", &text, metadata),
        false => session.blocked(&text, metadata, "normal"),
    };
    warn_on_error(said.map(drop), report);
    Ok(Ended::Status(code))
}

/// Starts to forward the output.
fn pump(session: &Arc<Session>, child: &mut Child, out: Box<dyn Write + Send>, events: &Events) -> Result<Arc<Pump>> {
    let most = session.room.settings()?.message_bytes;
    let stdout = child.stdout.take().expect("it was asked for");
    let (pump, sender) = (Arc::new(Pump::new(session.clone(), most, out, events.sender())), events.sender());
    let pumping = pump.clone();
    let flow = move || {
        pumping.run(stdout);
        let _ = sender.send(RunEvent::Drained);
    };
    std::thread::Builder::new().name("output".into()).spawn(flow).doing("read the output of", "the command")?;
    Ok(pump)
}

/// Forwards signals until the command and its output have ended.
fn attend(
    session: &Session,
    mut child: Child,
    pump: &Pump,
    events: &mut Events,
    report: &dyn Fn(Report),
) -> Result<ExitStatus> {
    let pid = Pid::from_child(&child);
    watch(pid, events)?;
    let (mut status, mut drained, mut seen) = (None, false, None);
    loop {
        if let Some(status) = status.filter(|_| drained) {
            return Ok(status);
        }
        let deadline = status.map(|_| Instant::now() + limits::LEFT_RUNNING);
        match events.next(session, deadline, report) {
            Some(RunEvent::Exited) => {
                // Reaping frees the pid for another process.
                status = Some(child.wait().doing("wait for", "the command")?);
            }
            Some(RunEvent::Drained) => drained = true,
            Some(RunEvent::Signal { number, to_all }) if status.is_none() && !to_all => {
                // Fails if the command has just ended.
                let _ = Signal::from_named_raw(number).map(|signal| kill_process(pid, signal));
            }
            Some(RunEvent::Warn(text)) => report(Report::Warning(text)),
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

/// Reports the end of the command without reaping it, so that its pid is not reused.
fn watch(pid: Pid, events: &Events) -> Result<()> {
    let sender = events.sender();
    let wait = move || {
        let until = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(pid), until).is_err_and(|e| e == rustix::io::Errno::INTR) {}
        let _ = sender.send(RunEvent::Exited);
    };
    std::thread::Builder::new().name("child".into()).spawn(wait).map(drop).doing("wait for", "the command")
}
