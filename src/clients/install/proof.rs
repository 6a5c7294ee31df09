//! The proof that a hook works: it is run once as the client runs it, with the input of a session's start.

use super::clients::{Job, Wanted};
use crate::base::limits;
use crate::clients::kind::Client;
use crate::disk::machine;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;
use wait_timeout::ChildExt;

/// Set for a hook that is only tried: it answers as ever, but binds no session and marks nothing as announced.
pub const TRIED: &str = "MAILBAG_HOOK_TRIED";

/// What a client takes in a hook's answer, for all three alike.
const FIELDS: [&str; 6] = ["continue", "decision", "hookSpecificOutput", "reason", "stopReason", "systemMessage"];

/// How the hook did.
#[derive(Debug, Clone, Serialize)]
pub struct Proof {
    /// What was run, as a shell writes it.
    pub command: String,
    /// Did it answer as the client wants?
    pub ok: bool,
    /// How long it took.
    pub millis: u64,
    /// What it printed.
    pub said: String,
    /// What is wrong with it.
    pub trouble: Option<String>,
}

/// Runs the hook in a directory, and judges what it does.
pub(super) fn prove(client: Client, wanted: &Wanted, from: &Path) -> Proof {
    let started = Instant::now();
    let command = client.call(Job::Tell, wanted);
    let ran = run(client, wanted, from);
    let millis = started.elapsed().as_millis() as u64;
    let (said, trouble) = match ran {
        Ok(said) => {
            let trouble = accepts(client.first_event(), &said).err();
            (said, trouble)
        }
        Err(trouble) => (String::new(), Some(trouble)),
    };
    Proof { command, ok: trouble.is_none(), millis, said, trouble }
}

fn run(client: Client, wanted: &Wanted, from: &Path) -> Result<String, String> {
    let input = json!({
        "session_id": "mailbag-install",
        "transcript_path": "",
        "cwd": from,
        "hook_event_name": client.first_event(),
        "source": "startup",
    });
    if machine::program(&wanted.program).is_none() {
        // What is in the settings says nothing then.
        return Err(format!("there is no program {}, or it can't be run", wanted.program));
    }
    let mut child = start(client, wanted, from).map_err(|e| format!("it doesn't start: {e}"))?;
    let said = listen(child.stdout.take());
    let complained = listen(child.stderr.take());
    if let Some(mut stdin) = child.stdin.take() {
        // One that doesn't read its input may have answered all the same.
        let _ = stdin.write_all(input.to_string().as_bytes());
    }
    let status = child.wait_timeout(limits::HOOK_TIME).map_err(|e| format!("it can't be waited for: {e}"))?;
    let Some(status) = status else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("it took longer than {} seconds", limits::HOOK_TIME.as_secs()));
    };
    let heard = |from: Receiver<String>| from.recv_timeout(limits::HOOK_TIME).unwrap_or_default();
    let said = heard(said);
    if !status.success() {
        let complaint = heard(complained);
        let why = complaint.lines().next().map(|line| format!(": {line}")).unwrap_or_default();
        return Err(format!("it ended with {status}{why}"));
    }
    Ok(said)
}

fn start(client: Client, wanted: &Wanted, from: &Path) -> std::io::Result<Child> {
    let mut command = Command::new("sh");
    // As it stands in the settings it hides what is wrong with it.
    command.arg("-c").arg(client.call(Job::Tell, wanted));
    command.current_dir(from).env(TRIED, "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Reads a pipe to its end on a thread of its own, so that neither side waits for the other.
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

/// Is this an answer that the clients take?
fn accepts(event: &str, said: &str) -> Result<(), String> {
    if said.trim().is_empty() {
        return Ok(());
    }
    let answer: Value = serde_json::from_str(said.trim()).map_err(|e| format!("it printed no JSON: {e}"))?;
    let fields = answer.as_object().ok_or("it printed JSON that is no object")?;
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(format!("its answer has {unknown:?}, which clients don't know"));
    }
    let Some(specific) = fields.get("hookSpecificOutput") else { return Ok(()) };
    if specific["hookEventName"] != event {
        return Err(format!("its answer is for the event {}, not for {event}", specific["hookEventName"]));
    }
    match specific.get("additionalContext") {
        None | Some(Value::String(_)) => Ok(()),
        Some(other) => Err(format!("what it adds is {other}, where a text belongs")),
    }
}
