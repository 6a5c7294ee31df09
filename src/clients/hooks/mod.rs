//! Hooks: what a client says on standard input at each event, and the answer in exactly its form.

mod claude;
mod codex;
mod gemini;

use crate::clients::briefing::Moment;
use crate::clients::events::{Event, Kind};
use crate::clients::kind::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

/// What the three clients' inputs have in common; they name it alike.
#[derive(Debug, Deserialize)]
struct Input {
    hook_event_name: String,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    /// Why a session starts.
    #[serde(default)]
    source: Option<String>,
    /// Why it ends.
    #[serde(default)]
    reason: Option<String>,
    /// It goes on because a hook has held it up.
    #[serde(default)]
    stop_hook_active: bool,
    /// Of a sub-agent.
    #[serde(default)]
    agent_id: Option<Value>,
}

impl Client {
    /// Reads what the client says, or says what is wrong with it.
    pub fn read(self, input: &[u8]) -> Result<Event, String> {
        let input: Input = serde_json::from_slice(input).map_err(|e| format!("this is no hook's input: {e}"))?;
        let kind = match input.agent_id {
            None | Some(Value::Null) => match self {
                Client::Claude => claude::kind(&input),
                Client::Codex => codex::kind(&input),
                Client::Gemini => gemini::kind(&input),
            },
            Some(_) => Kind::Nothing,
        };
        let follows = input.source.as_deref() == Some(CLEAR);
        Ok(Event { name: input.hook_event_name, kind, session: input.session_id, directory: input.cwd, follows })
    }

    /// The answer that gives the agent this text: what is printed, a line with its end, or nothing at all.
    pub fn answer(self, event: &Event, text: Option<&str>) -> String {
        let answer = match self {
            Client::Claude => claude::answer(event, text),
            Client::Codex => codex::answer(event, text),
            Client::Gemini => gemini::answer(event, text),
        };
        answer.map(|answer| format!("{answer}\n")).unwrap_or_default()
    }
}

/// The word for a session that another one follows at once, in the same process and with an empty context.
const CLEAR: &str = "clear";

/// What a session's start is to us: one that is taken up again knows what it was told.
fn start(input: &Input) -> Kind {
    Kind::Tell(if input.source.as_deref() == Some("resume") { Moment::Resume } else { Moment::Start })
}

/// What a session's end is to us.
fn end(input: &Input) -> Kind {
    if input.reason.as_deref() == Some(CLEAR) { Kind::Nothing } else { Kind::End }
}

/// What a stop is to us: one that went on because of a hook is not held up again, and rests all the same.
fn stop(input: &Input) -> Kind {
    if input.stop_hook_active { Kind::Hear } else { Kind::Tell(Moment::Stop) }
}

/// The answer by which all of them take text into the agent's context.
fn context(event: &Event, text: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})
}
