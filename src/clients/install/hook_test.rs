//! Tests a hook: runs it once as the client does, with the input of a session's start.

use super::clients::{HookConfiguration, HookJob};
use crate::base::limits;
use crate::clients::kind::Client;
use crate::disk::machine;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use std::time::Instant;

/// The time limit of a hook. Installation tests the hook with this limit, and configures the clients with it.
const HOOK_TIME: Duration = Duration::from_secs(5);
const _: () = assert!(limits::SESSIONS_WAIT.as_secs() * 2 < HOOK_TIME.as_secs());
const _: () = assert!(limits::NAME_WAIT.as_secs() < HOOK_TIME.as_secs());

/// Environment variable that makes a hook answer without binding a session or announcing mail.
pub const DRY_RUN: &str = "MAILBAG_HOOK_TRIED";

/// The fields that the clients accept in a hook's answer. The last two are for our plugins.
const FIELDS: [&str; 10] = [
    "additionalContext",
    "continue",
    "decision",
    "hookSpecificOutput",
    "message",
    "reason",
    "stopReason",
    "systemMessage",
    "text",
    "deny",
];

/// The result of a hook's test.
#[derive(Debug, Clone, Serialize)]
pub struct HookTest {
    /// The shell command that was run.
    pub command: String,
    /// Whether the client would accept the answer.
    pub ok: bool,
    /// Duration in milliseconds.
    pub ms: u64,
    /// Its output.
    pub output: String,
    /// The failure.
    pub problem: Option<String>,
}

/// A call of a hook for its test.
#[derive(Debug, Clone)]
pub(in crate::clients) struct HookCall {
    /// The call as shell text, without the guard of the settings, which hides failures.
    pub(in crate::clients) command: String,
    /// The program.
    pub(in crate::clients) program: String,
    /// The working directory.
    pub(in crate::clients) from: PathBuf,
    /// The standard input.
    pub(in crate::clients) input: String,
    /// The event of the expected answer. `None` accepts any text.
    pub(in crate::clients) event: Option<&'static str>,
}

impl HookCall {
    /// The call of a client at the start of a session.
    pub(super) fn of_client(client: Client, wanted: &HookConfiguration, from: &Path) -> HookCall {
        let input = json!({
            "session_id": "mailbag-install",
            "transcript_path": "",
            "cwd": from,
            "hook_event_name": client.first_event(),
            "source": "startup",
        });
        HookCall {
            command: client.call(HookJob::Tell, wanted),
            program: wanted.program.clone(),
            from: from.to_path_buf(),
            input: input.to_string(),
            event: Some(client.first_event()),
        }
    }
}

/// Runs the hook in a directory and checks its answer.
pub(super) fn run(hook: &HookCall) -> HookTest {
    let started = Instant::now();
    let ran = call(hook);
    let ms = started.elapsed().as_millis() as u64;
    let (output, problem) = match ran {
        Ok(output) => {
            let problem = hook.event.and_then(|event| accepts(event, &output).err());
            (output, problem)
        }
        Err(problem) => (String::new(), Some(problem)),
    };
    HookTest {
        command: hook.command.clone(),
        ok: problem.is_none(),
        ms,
        output,
        problem,
    }
}

fn call(hook: &HookCall) -> Result<String, String> {
    if machine::program(&hook.program).is_none() {
        // The command in the settings would silently succeed.
        return Err(format!(
            "the program {} does not exist or is not executable",
            hook.program
        ));
    }
    let mut child = start(hook).map_err(|e| format!("the hook does not start: {e}"))?;
    let output = listen(child.stdout.take());
    let errors = listen(child.stderr.take());
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that does not read its input may still answer.
        let _ = stdin.write_all(hook.input.as_bytes());
    }
    let status = machine::wait_for_child(&mut child, HOOK_TIME)
        .map_err(|e| format!("waiting for the hook failed: {e}"))?;
    let Some(status) = status else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!(
            "the hook took longer than {} seconds",
            HOOK_TIME.as_secs()
        ));
    };
    let output = output.recv_timeout(HOOK_TIME).unwrap_or_default();
    if !status.success() {
        let errors = errors.recv_timeout(HOOK_TIME).unwrap_or_default();
        let why = errors
            .lines()
            .next()
            .map(|line| format!(": {line}"))
            .unwrap_or_default();
        return Err(format!("the hook failed with {status}{why}"));
    }
    Ok(output)
}

fn start(hook: &HookCall) -> std::io::Result<Child> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(&hook.command);
    command.current_dir(&hook.from).env(DRY_RUN, "1");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// Reads a pipe to its end in a thread, so that neither side blocks the other.
fn listen(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (tell, heard) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(limits::HOOK_SAYS).read_to_end(&mut bytes);
        }
        let _ = tell.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    heard
}

/// Checks that the clients accept an answer.
fn accepts(event: &str, output: &str) -> Result<(), String> {
    if output.trim().is_empty() {
        return Ok(());
    }
    let answer: Value = serde_json::from_str(output.trim())
        .map_err(|e| format!("the hook did not print JSON: {e}"))?;
    let fields = answer
        .as_object()
        .ok_or("the hook printed JSON that is not an object")?;
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(format!(
            "the hook's answer has the unknown field {unknown:?}"
        ));
    }
    let Some(specific) = fields.get("hookSpecificOutput") else {
        return Ok(());
    };
    if specific["hookEventName"] != event {
        return Err(format!(
            "the hook's answer is for the event {}, not for {event}",
            specific["hookEventName"]
        ));
    }
    match specific.get("additionalContext") {
        None | Some(Value::String(_)) => Ok(()),
        Some(other) => Err(format!(
            "additionalContext in the hook's answer is {other}, not a string"
        )),
    }
}
