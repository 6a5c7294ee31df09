//! The command itself: started, its signals handed on, and what came of it said.

use super::pump::Pump;
use super::session::{Session, bear};
use super::waiting::{not_begun, outcome};
use super::{Ended, Happening, Happenings, Told};
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

/// Runs a command, and says how it ended.
pub(super) fn run(
    session: &Arc<Session>,
    words: &[OsString],
    out: Box<dyn Write + Send>,
    happenings: &mut Happenings,
    hear: &dyn Fn(Told),
) -> Result<Ended> {
    let (program, arguments) = words.split_first().expect("the command line asks for a command");
    let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned();
    // Before it runs: what it says of itself comes after this. Arguments may hold secrets, and the log is for ever.
    let pid = ("pid".to_owned(), json!(std::process::id()));
    session.say("status", &format!("started {name}"), Map::from_iter([pid]))?;
    if let Some(signal) = happenings.signal() {
        // Nobody else could tell the command of it.
        bear(session.stuck(&not_begun(signal), Map::new(), "normal").map(drop), hear);
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
            let what = format!("can't run {}: {e}", quoted(&name));
            bear(session.stuck(&what, outcome(code, None).1, "normal").map(drop), hear);
            hear(Told::Warning(what));
            return Ok(Ended::Status(code));
        }
    };
    let pump = pump(session, &mut child, out, happenings)?;
    let status = attend(session, child, &pump, happenings, hear)?;
    happenings.tell(hear);
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let code = code.unwrap_or_else(|| 128 + status.signal().unwrap_or_default() as u8);
    if status.success() && pump.is_completed() {
        return Ok(Ended::Status(code));
    }
    let (text, metadata) = outcome(code, status.signal());
    let said = match status.success() {
        true => session.say("completed", &text, metadata),
        false => session.stuck(&text, metadata, "normal"),
    };
    bear(said.map(drop), hear);
    Ok(Ended::Status(code))
}

/// Begins to hand its output on.
fn pump(
    session: &Arc<Session>,
    child: &mut Child,
    out: Box<dyn Write + Send>,
    happenings: &Happenings,
) -> Result<Arc<Pump>> {
    let most = session.room.settings()?.message_bytes;
    let stdout = child.stdout.take().expect("it was asked for");
    let (pump, told) = (Arc::new(Pump::new(session.clone(), most, out, happenings.sender())), happenings.sender());
    let pumping = pump.clone();
    let flow = move || {
        pumping.run(stdout);
        let _ = told.send(Happening::Drained);
    };
    std::thread::Builder::new().name("output".into()).spawn(flow).doing("read the output of", "the command")?;
    Ok(pump)
}

/// Hands signals on until the command has ended and its output too.
fn attend(
    session: &Session,
    mut child: Child,
    pump: &Pump,
    happenings: &mut Happenings,
    hear: &dyn Fn(Told),
) -> Result<ExitStatus> {
    let pid = Pid::from_child(&child);
    watch(pid, happenings)?;
    let (mut status, mut drained, mut seen) = (None, false, None);
    loop {
        if let Some(status) = status.filter(|_| drained) {
            return Ok(status);
        }
        let deadline = status.map(|_| Instant::now() + limits::LEFT_RUNNING);
        match happenings.next(session, deadline, hear) {
            Some(Happening::Exited) => {
                // Only now is the number free for another process.
                status = Some(child.wait().doing("wait for", "the command")?);
            }
            Some(Happening::Drained) => drained = true,
            Some(Happening::Signal { number, to_all }) if status.is_none() && !to_all => {
                // It may have ended a moment ago; then there is nothing to tell it.
                let _ = Signal::from_named_raw(number).map(|signal| kill_process(pid, signal));
            }
            Some(Happening::Warn(text)) => hear(Told::Warning(text)),
            Some(_) => {}
            // What it left running may hold its output open for ever.
            None if seen == Some(pump.count()) => {
                pump.finish();
                drained = true;
            }
            None => seen = Some(pump.count()),
        }
    }
}

/// Has the end of the command told, but leaves it to be waited for: until then nobody else gets its number.
fn watch(pid: Pid, happenings: &Happenings) -> Result<()> {
    let told = happenings.sender();
    let wait = move || {
        let until = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(pid), until).is_err_and(|e| e == rustix::io::Errno::INTR) {}
        let _ = told.send(Happening::Exited);
    };
    std::thread::Builder::new().name("child".into()).spawn(wait).map(drop).doing("wait for", "the command")
}
