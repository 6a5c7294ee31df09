//! The last reported work of each agent, and its last commit.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::base::rfc3339;
use crate::features::AppliedRecord;
use crate::features::claims::change::ClaimChange;
use crate::message::record::Record;
use crate::message::status_line::fraction;
use crate::message::title::title_of_fields;
use crate::message::{Message, behaviour, id, texts};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The message types that report completed work.
const COMPLETED: [&str; 2] = ["completed", "agent_complete"];

/// The reports of all agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State(BTreeMap<Arc<str>, AgentReports>);

/// The reports of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct AgentReports {
    report: Option<WorkReport>,
    commit: Option<AgentCommit>,
}

/// A commit that an agent made: a report with `metadata.commit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCommit {
    /// The id in hexadecimal.
    pub id: String,
    /// The branch, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The accept time of the report, or the commit's own time if it is known from git only.
    // In microseconds since 1970.
    #[serde(with = "rfc3339")]
    pub at: i64,
}

/// The last report of an agent about its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkReport {
    /// The message's type: `status`, `progress`, `blocked`, `completed` or `agent_complete`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The subject, or the first line of the body, truncated to a limit.
    pub text: String,
    /// The progress, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Number>,
    /// The agents in `metadata.waiting_for`, if the agent is blocked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<String>,
    /// The accept time of the report.
    // In microseconds since 1970.
    #[serde(with = "rfc3339")]
    pub at: i64,
}

impl State {
    /// Applies a record. Agents of other rooms are not in the roster.
    pub(super) fn apply(&mut self, applied: &AppliedRecord<'_>) {
        let AppliedRecord {
            record,
            head,
            message,
            time,
        } = *applied;
        if let Some(ClaimChange::Rename { of, to, .. }) = record.facts.claims.as_ref() {
            self.rename(of, to);
        }
        let (Some(accepted), Some(head)) = (record.accepted(), head) else {
            return;
        };
        let agent = &accepted.name.from;
        if !behaviour(head.kind()).report || id::tag_of(agent).is_some() {
            return;
        }
        let fields = message.map(Message::fields).map(Cow::Borrowed);
        let Some(fields) = fields.or_else(|| record.message_fields().map(Cow::Owned)) else {
            return;
        };
        if let Some(commit) = AgentCommit::of_fields(&fields, time) {
            self.reports(agent).commit = Some(commit);
        } else if let Some(report) = WorkReport::of_fields(&fields, time) {
            self.reports(agent).report = Some(report);
        }
    }

    /// Moves the reports of one agent to another.
    fn rename(&mut self, of: &str, to: &Arc<str>) {
        let Some(AgentReports { report, commit }) = self.0.remove(of) else {
            return;
        };
        let reports = self.reports(to);
        let both = [reports.report.take(), report];
        reports.report = both.into_iter().flatten().max_by_key(|report| report.at);
        let both = [reports.commit.take(), commit];
        reports.commit = both.into_iter().flatten().max_by_key(|commit| commit.at);
    }

    /// The last commit of this agent.
    pub fn commit(&self, agent: &str) -> Option<&AgentCommit> {
        self.0.get(agent)?.commit.as_ref()
    }

    /// The last report of this agent.
    pub fn report_of(&self, agent: &str) -> Option<&WorkReport> {
        self.0.get(agent)?.report.as_ref()
    }

    fn reports(&mut self, agent: &Arc<str>) -> &mut AgentReports {
        // Most records are from a known agent, so the common path allocates nothing.
        if !self.0.contains_key(agent) {
            self.0.insert(agent.clone(), AgentReports::default());
        }
        self.0.get_mut(agent).expect("it was put there")
    }
}

impl AgentCommit {
    /// The commit in the fields of a message.
    fn of_fields(fields: &Map<String, Value>, at: Stamp) -> Option<AgentCommit> {
        let metadata = fields.get("metadata")?;
        let id = metadata
            .get("commit")?
            .as_str()
            .filter(|id| is_commit(id))?;
        let branch = metadata.get("branch").and_then(Value::as_str);
        let branch = branch
            .filter(|branch| !branch.is_empty())
            .map(|branch| branch.chars().take(limits::REPORT_TEXT).collect());
        Some(AgentCommit {
            id: id.to_owned(),
            branch,
            at: at.micros(),
        })
    }
}

/// Returns true for the full id of a commit, SHA-1 or SHA-256.
fn is_commit(id: &str) -> bool {
    [40, 64].contains(&id.len()) && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

impl WorkReport {
    /// The report in a record. `None` if the record is not a report.
    pub fn of(record: &Record, at: Stamp) -> Option<WorkReport> {
        WorkReport::of_fields(&record.message_fields()?, at)
    }

    /// The report in a message. `None` if the message is not a report.
    pub fn of_message(message: &Message, at: Stamp) -> Option<WorkReport> {
        let is_report = behaviour(message.kind()).report;
        if is_report {
            WorkReport::of_fields(message.fields(), at)
        } else {
            None
        }
    }

    /// The report in the fields of a message. A commit does not change the report.
    fn of_fields(fields: &Map<String, Value>, at: Stamp) -> Option<WorkReport> {
        if AgentCommit::of_fields(fields, at).is_some() {
            return None;
        }
        let kind = fields.get("type")?.as_str()?.to_owned();
        let title = title_of_fields(fields).unwrap_or_default();
        let text = title.chars().take(limits::REPORT_TEXT).collect();
        let metadata = fields.get("metadata").unwrap_or(&Value::Null);
        let progress = metadata.get("progress");
        let progress = progress
            .and_then(|progress| progress.as_number().cloned().or_else(|| fraction(progress)));
        // A JSON number can have any number of digits.
        let progress = progress.filter(|number| number.to_string().len() <= limits::REPORT_TEXT);
        let waiting_for = if kind == "blocked" {
            waiting_for(metadata)
        } else {
            Vec::new()
        };
        let report = WorkReport {
            kind,
            text,
            progress,
            waiting_for,
            at: at.micros(),
        };
        (!report.is_empty()).then_some(report)
    }

    /// The progress for people, such as `40 %`. A number from 0 to 1 is a fraction; a larger one is a percentage.
    pub fn percent(&self) -> Option<String> {
        let progress = self.progress.as_ref()?.as_f64()?;
        let percent = if progress > 1.0 {
            progress
        } else {
            progress * 100.0
        };
        let rounded = (percent * 10.0).round() / 10.0;
        Some(format!("{rounded} %"))
    }

    /// Returns true if the sender reports completed work.
    pub fn is_completed(&self) -> bool {
        COMPLETED.contains(&&*self.kind)
    }

    // A report of completion needs no text.
    fn is_empty(&self) -> bool {
        self.text.is_empty()
            && self.progress.is_none()
            && self.waiting_for.is_empty()
            && !self.is_completed()
    }
}

/// One name or a list of names. Invalid names are ignored.
fn waiting_for(metadata: &Value) -> Vec<String> {
    let names = texts(metadata.get("waiting_for"))
        .into_iter()
        .map(|name| name.strip_prefix('@').unwrap_or(name));
    names
        .filter(|name| id::is_name(name))
        .take(limits::WAITING_FOR)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn progress_is_shown_as_a_percentage() {
        for (progress, shown) in [
            (json!(0.5), "50 %"),
            (json!("75%"), "75 %"),
            (json!(40), "40 %"),
            (json!(1), "100 %"),
            (json!(0.333), "33.3 %"),
        ] {
            let fields =
                json!({"type": "progress", "body": "x", "metadata": {"progress": progress}});
            let fields = fields.as_object().expect("an object");
            let report = WorkReport::of_fields(fields, Stamp::from_micros(0)).expect("a report");
            assert_eq!(report.percent().as_deref(), Some(shown));
        }
    }
}
