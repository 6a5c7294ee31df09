//! The recipients of a message in a dialect: identities, copies, and the word in `routing`.

use crate::base::error::Problem;
use crate::message::address::Address;
use crate::message::goes_to_all;
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
    ) -> Result<Option<(Value, String)>, Box<Problem>> {
        let given = to.map(addresses).unwrap_or_default();
        self.check(&given)?;
        let means_all = self.nobody.is_some()
            || self
                .route
                .as_ref()
                .is_some_and(|(word, _)| word == "broadcast");
        let has_copies = !self.copies.is_empty();
        let mut all: Vec<String> = if !given.is_empty() {
            given
        } else if to.is_some() {
            return Ok(None);
        } else if means_all || has_copies && goes_to_all(kind) {
            vec!["all".to_owned()]
        } else if has_copies {
            mentions(body)
        } else {
            return Ok(None);
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
            return Ok(None);
        }
        let to = if let [one] = all.as_slice() {
            json!(one)
        } else {
            json!(all)
        };
        Ok(Some((to, place)))
    }

    /// Fields that contradict each other.
    fn check(&self, given: &[String]) -> Result<(), Box<Problem>> {
        if let (Some(place), Some((word, _))) = (
            &self.nobody,
            self.route.as_ref().filter(|(word, _)| word != "broadcast"),
        ) {
            let what = format!(
                "{} is null, which means all agents, but routing is {word}",
                &place[1..]
            );
            let fix = format!(
                "name the recipients in {}, or write \"routing\": \"broadcast\"",
                &place[1..]
            );
            return Err(contradiction(what, place, fix));
        }
        if let (Some(place), Some(other)) =
            (&self.nobody, given.iter().find(|address| !is_all(address)))
        {
            let what = format!(
                "{} is null, which means all agents, but the message also has the address {other}",
                &place[1..]
            );
            return Err(contradiction(
                what,
                place,
                format!("omit {}, or name only all", &place[1..]),
            ));
        }
        let Some((word, place)) = &self.route else {
            return Ok(());
        };
        let odd = match word.as_str() {
            "broadcast" if given.iter().any(|address| is_all(address)) => None,
            "broadcast" => given.first(),
            word => given.iter().find(|address| !can_be(word, address)),
        };
        match odd {
            None => Ok(()),
            Some(odd) => {
                let what = format!("routing is {word}, but the message is for {odd}");
                Err(contradiction(
                    what,
                    place,
                    "omit routing: the recipients say how the message is routed".into(),
                ))
            }
        }
    }
}

fn contradiction(what: String, place: &str, fix: String) -> Box<Problem> {
    Box::new(Problem::new("conflicting_fields", what).at(place).fix(fix))
}

fn is_all(address: &str) -> bool {
    matches!(Address::parse(address), Ok(Address::All))
}

/// Returns true if an address can be of the kind that a word for routing names. A name alone can be an agent, an alias or,
/// with `@`, a role.
fn can_be(word: &str, address: &str) -> bool {
    match Address::parse(address) {
        Ok(Address::All) => false,
        Ok(Address::Role(_) | Address::Any(_)) => word == "role",
        Ok(Address::Topic(_)) => word == "topic",
        Ok(Address::At(_) | Address::Word(_)) => word != "topic",
        _ => true,
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
