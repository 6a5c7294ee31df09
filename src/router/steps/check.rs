//! Step 4: checks dialect, schema and rules.

use super::batch_message::{BatchMessage, CheckedContent, MessageRejection, ReadResult};
use super::read::ReadMessages;
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::limits;
use crate::message::dialects::{self, ConvertedMessage};
use crate::message::schema::EXPIRED_ALREADY;
use crate::message::{Priority, id, schema};
use crate::room::registry::Registry;
use crate::room::resolve::{self, UnknownAvailability};
use crate::router::parts::RoomConfig;
use serde_json::{Map, Value};

/// Step 4: each letter has a message or all its problems.
#[must_use]
pub(in crate::router) struct CheckedMessages(Vec<BatchMessage<CheckedContent>>);

/// Checks dialect, schema and rules. Finds all problems of a message.
pub(in crate::router) fn check(config: &RoomConfig, letters: ReadMessages) -> CheckedMessages {
    let now = Stamp::now();
    CheckedMessages(
        letters
            .into_inner()
            .into_iter()
            .map(|letter| check_one(letter, config, now))
            .collect(),
    )
}

impl CheckedMessages {
    pub(super) fn into_inner(self) -> Vec<BatchMessage<CheckedContent>> {
        self.0
    }
}

fn check_one(
    letter: BatchMessage<ReadResult>,
    config: &RoomConfig,
    now: Stamp,
) -> BatchMessage<CheckedContent> {
    let registry = config.registry();
    let (letter, content) = letter.split();
    let value = match content {
        Ok(Value::Null) if letter.arrival.is_some() => return letter.with(Ok(None)),
        Ok(value) => value,
        Err(problem) => {
            return letter.with(Err(MessageRejection {
                problems: vec![problem],
                id: None,
                ack: false,
            }));
        }
    };
    let id = value
        .get("id")
        .and_then(Value::as_str)
        .filter(|id| id::is_message_id(id))
        .map(str::to_owned);
    let ack = dialects::type_of(&value) == Some("ack");
    let name = registry
        .agent(&letter.agent)
        .and_then(|agent| agent.name.as_deref());
    // Kept for a rejection, which names wrong recipients together with all other problems.
    let recipients = recipients(&value);
    let expiring = ["expires_at", "routing"]
        .iter()
        .any(|field| value.get(field).is_some())
        .then(|| value.clone());
    let mut checked = schema::check_as(value, &letter.agent, name.as_slice(), now);
    // Urgent mail that expired while no router ran is accepted, so that it is escalated like other mail that expires.
    if let Err(problems) = &checked
        && problems
            .iter()
            .all(|problem| problem.code == EXPIRED_ALREADY)
        && let Some((value, dropped)) =
            expiring.zip(config.dropped_at(letter.claim.as_deref()).ok().flatten())
        && let Ok(message) =
            schema::check_as(value, &letter.agent, name.as_slice(), dropped.min(now))
        && message.priority() == Priority::Urgent
    {
        checked = Ok(message);
    }
    let verdict = match checked {
        Ok(message) => {
            let digest = message.digest();
            Ok(Some((Box::new(message), digest)))
        }
        Err(mut problems) => {
            let known: Vec<String> = problems.iter().map(|one| one.place.clone()).collect();
            let wrong = wrong_recipients(registry, &letter.agent, recipients);
            problems.extend(wrong.into_iter().filter(|one| !known.contains(&one.place)));
            problems.truncate(limits::PROBLEMS);
            Err(MessageRejection { problems, id, ack })
        }
    };
    letter.with(verdict)
}

/// The fields of a message that name its recipients, in any dialect.
fn recipients(message: &Value) -> Map<String, Value> {
    let fields = message.as_object().into_iter().flatten();
    let given =
        fields.filter(|(name, _)| matches!(dialects::field_of(name), Some("to" | "routing")));
    given
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn wrong_recipients(
    registry: &Registry,
    agent: &str,
    recipients: Map<String, Value>,
) -> Vec<Problem> {
    let ConvertedMessage {
        fields, origins, ..
    } = dialects::spell(recipients);
    let to = fields.get("to").map(|to| match to {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    });
    let items = to.unwrap_or_default();
    // An item that is not text keeps its place as an empty address.
    let addresses: Vec<String> = items
        .iter()
        .map(|item| item.as_str().unwrap_or_default().to_owned())
        .collect();
    let mut problems =
        resolve::resolve(registry, agent, &addresses, false, &mut UnknownAvailability)
            .err()
            .unwrap_or_default();
    // The schema has reported an item that is not text. The place of the only item is the place of the list.
    problems.retain(|problem| {
        let at = match problem.place.strip_prefix("/to/") {
            Some(at) => at.parse().ok(),
            None => (items.len() == 1).then_some(0),
        };
        at.is_none_or(|at: usize| items.get(at).is_some_and(Value::is_string))
    });
    schema::in_the_senders_words(problems, &origins)
}
