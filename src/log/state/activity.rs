//! Signs of life: when each agent last took mail out of its inbox, and what it last said that it does.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::message::id;
use crate::message::record::Record;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The types of messages that say what their sender does.
pub const DOING: [&str; 5] = ["status", "progress", "blocked", "completed", "agent_complete"];

/// Those that say that it is done.
const COMPLETED: [&str; 2] = ["completed", "agent_complete"];

/// Everybody's signs of life beside the messages that they send.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity(BTreeMap<Arc<str>, Life>);

/// One agent's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Life {
    /// When copies were last seen to have left its inbox, in microseconds since 1970; 0 for never.
    read: i64,
    doing: Option<Doing>,
}

/// What an agent last said that it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doing {
    /// The message's type: `status`, `progress`, `blocked`, `completed` or `agent_complete`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its subject, or the first line of its body; cut off where it is long.
    pub text: String,
    /// How far it is, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Number>,
    /// Whom it waits for, where it is blocked and says so in `metadata.waiting_for`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<String>,
    /// When it was accepted, in microseconds since 1970.
    pub at: i64,
}

impl Activity {
    /// Copies were seen to have left this agent's inbox.
    pub(super) fn read(&mut self, agent: &Arc<str>, at: Stamp) {
        self.life(agent).read = at.micros();
    }

    /// An agent said what it does.
    pub(super) fn said(&mut self, agent: &Arc<str>, record: &Record, at: Stamp) {
        if let Some(doing) = Doing::of(record, at) {
            self.life(agent).doing = Some(doing);
        }
    }

    /// When copies were last seen to have left this agent's inbox.
    pub fn read_at(&self, agent: &str) -> Option<Stamp> {
        self.0.get(agent).filter(|life| life.read != 0).map(|life| Stamp::from_micros(life.read))
    }

    /// What this agent last said that it does.
    pub fn doing(&self, agent: &str) -> Option<&Doing> {
        self.0.get(agent)?.doing.as_ref()
    }

    fn life(&mut self, agent: &Arc<str>) -> &mut Life {
        // Most records are of an agent that is known already.
        if !self.0.contains_key(agent) {
            self.0.insert(agent.clone(), Life::default());
        }
        self.0.get_mut(agent).expect("it was put there")
    }
}

impl Doing {
    /// What a record says that its sender does, if it says anything of it.
    pub fn of(record: &Record, at: Stamp) -> Option<Doing> {
        #[derive(Deserialize)]
        struct Said {
            #[serde(rename = "type")]
            kind: String,
            #[serde(default)]
            subject: Option<String>,
            #[serde(default)]
            body: Option<String>,
            #[serde(default)]
            metadata: Value,
        }
        let said: Said = serde_json::from_str(record.message.as_ref()?.get()).ok()?;
        let line = |text: Option<String>| {
            let line = text.as_deref()?.lines().map(str::trim).find(|line| !line.is_empty())?;
            Some(line.chars().take(limits::DOING).collect::<String>())
        };
        let text = line(said.subject).or_else(|| line(said.body)).unwrap_or_default();
        let progress = said.metadata.get("progress").and_then(|progress| progress.as_number().cloned());
        // A number may be written with any number of digits.
        let progress = progress.filter(|number| number.to_string().len() <= limits::DOING);
        let waiting_for = if said.kind == "blocked" { waiting_for(&said.metadata) } else { Vec::new() };
        let doing = Doing { kind: said.kind, text, progress, waiting_for, at: at.micros() };
        (!doing.is_empty()).then_some(doing)
    }

    /// Is its sender done with what it did?
    pub fn is_completed(&self) -> bool {
        COMPLETED.contains(&&*self.kind)
    }

    // That it is done is said by the type alone.
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.progress.is_none() && self.waiting_for.is_empty() && !self.is_completed()
    }
}

/// One name or a list of them. What can be nobody's name is left out.
fn waiting_for(metadata: &Value) -> Vec<String> {
    let names: Vec<&str> = match metadata.get("waiting_for") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    names.into_iter().filter(|name| id::is_name(name)).take(limits::WAITING_FOR).map(str::to_owned).collect()
}
