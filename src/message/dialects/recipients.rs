//! The recipients of a message in a dialect: identities, copies, and the word in `routing`.

use crate::base::error::Problem;
use crate::message::behaviour;
use crate::message::mentions::mentions;
use serde_json::{Value, json};

/// The recipients in other fields than `to`. Places are JSON pointers.
#[derive(Default)]
pub(super) struct DialectRecipients {
    /// Where `null` names no recipient, which means all agents.
    pub(super) nobody: Option<String>,
    /// The word in `routing`.
    pub(super) route: Option<(String, String)>,
    /// Further recipients.
    copies: Vec<String>,
    /// Where the first of them is.
    copies_at: Option<String>,
}

impl DialectRecipients {
    /// Adds further recipients.
    pub(super) fn copy(&mut self, value: Value, place: String) -> Option<Problem> {
        let items = match value {
            Value::Array(items) => items,
            one => vec![one],
        };
        for item in items {
            let Value::String(address) = identity(item, true) else {
                let what = format!("{} must be an address, or a list of addresses", &place[1..]);
                let fix = "name agents by their ids";
                return Some(Problem::new("wrong_type", what).at(place).fix(fix));
            };
            self.copies_at.get_or_insert_with(|| place.clone());
            self.copies.push(address);
        }
        None
    }

    /// The new value of `to` and its place in the message. `None` if `to` does not change.
    pub(super) fn merge(
        self,
        to: Option<&Value>,
        body: &str,
        kind: &str,
    ) -> Option<(Value, String)> {
        let given = to.map(addresses).unwrap_or_default();
        let means_all = match &self.route {
            Some((word, _)) => word == "broadcast",
            None => self.nobody.is_some(),
        };
        let has_copies = !self.copies.is_empty();
        let mut all: Vec<String> = if !given.is_empty() {
            given
        } else if to.is_some() {
            return None;
        } else if means_all || has_copies && behaviour(kind).to_all {
            vec!["all".to_owned()]
        } else if has_copies {
            mentions(body)
        } else {
            return None;
        };
        let place = self
            .copies_at
            .or(self.nobody)
            .or(self.route.map(|(_, place)| place))
            .unwrap_or_default();
        let before = all.len();
        for copy in self.copies {
            if !all.contains(&copy) {
                all.push(copy);
            }
        }
        if to.is_some() && all.len() == before {
            return None;
        }
        let to = if let [one] = all.as_slice() {
            json!(one)
        } else {
            json!(all)
        };
        Some((to, place))
    }
}

/// The addresses in `to`. Other values are left to the schema.
fn addresses(to: &Value) -> Vec<String> {
    let items = to
        .as_array()
        .map_or(std::slice::from_ref(to), Vec::as_slice);
    items
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// The object of an agent is replaced by its id or its name. For a recipient, an object with only a role means the role.
pub(super) fn identity(value: Value, is_recipient: bool) -> Value {
    let Value::Object(agent) = &value else {
        return value;
    };
    let text = |field: &str| {
        agent
            .get(field)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let name = ["id", "agent_id", "name"]
        .into_iter()
        .find_map(text)
        .map(str::to_owned);
    let role = if is_recipient { text("role") } else { None };
    name.or_else(|| role.map(|role| format!("all_{role}")))
        .map_or(value, Value::String)
}
