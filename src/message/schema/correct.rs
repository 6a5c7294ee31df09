//! The example of a rejection: the sender's own object. Only the wrong part is changed.

use super::{MISNAMED, NO_RECIPIENT};
use crate::base::error::Problem;
use crate::message::dialects::{field_of, right_names, spell};
use serde_json::{Value, json};

/// The fields that a correction may leave out. All other fields have words, recipients or a decision of the sender.
const OPTIONAL: [&str; 12] = [
    "id",
    "timestamp",
    "from",
    "thread_id",
    "project_id",
    "in_reply_to",
    "refs",
    "priority",
    "requires_response",
    "expires_at",
    "lease",
    "wait",
];

/// A wrong part can hide another one.
const ROUNDS: usize = 4;

/// Returns true if a message means the same without this field, or nearly.
pub(super) fn is_optional(field: &str) -> bool {
    OPTIONAL.contains(&field)
}

/// Replaces the known corrections of single places by one example: the whole message as it would be accepted by `check`.
/// Without such a message, no problem has an example. `sent` is the content of the file, and `asker` finds the sender of
/// the message that a reference names.
pub fn keep_example(
    problems: &mut [Problem],
    sent: &Value,
    check: impl Fn(Value) -> Result<(), Vec<Problem>>,
    asker: impl FnMut(&str) -> Option<String>,
) {
    let example = correct(problems.to_vec(), sent, check, asker);
    for problem in &mut *problems {
        problem.example = None;
    }
    if let (Some(first), Some(example)) = (problems.first_mut(), example) {
        *first = first.clone().example(example);
    }
}

/// The example of a rejection, as the text of a file.
pub fn corrected(problems: &[Problem]) -> Option<String> {
    let mut examples = problems
        .iter()
        .filter_map(|problem| problem.example.as_ref());
    serde_json::to_string_pretty(examples.next()?).ok()
}

fn correct(
    mut problems: Vec<Problem>,
    sent: &Value,
    check: impl Fn(Value) -> Result<(), Vec<Problem>>,
    mut asker: impl FnMut(&str) -> Option<String>,
) -> Option<Value> {
    let mut message = sent.clone();
    for _ in 0..ROUNDS {
        if problems.iter().any(|problem| problem.code == MISNAMED) {
            message = right_names(&message)?;
        } else {
            // Items of a list are removed from its end.
            for problem in problems.iter().rev() {
                apply(&mut message, problem, &mut asker)?;
            }
        }
        match check(message.clone()) {
            Ok(()) => return Some(message),
            Err(rest) => problems = rest,
        }
    }
    None
}

/// Corrects one place. `None` if the meaning of the sender is not known.
fn apply(
    message: &mut Value,
    problem: &Problem,
    asker: &mut impl FnMut(&str) -> Option<String>,
) -> Option<()> {
    let Some(place) = problem.place.strip_prefix('/') else {
        *message = problem.example.clone()?;
        return Some(());
    };
    let fields = message.as_object_mut()?;
    let (field, below) = place.split_once('/').unwrap_or((place, ""));
    if problem.code == NO_RECIPIENT {
        let canonical = spell(fields.clone()).fields;
        let asker = asker(canonical.get("in_reply_to")?.as_str()?)?;
        fields.insert("to".to_owned(), json!(asker));
    } else if let Some(value) = &problem.example {
        let place = if below.is_empty() {
            fields.entry(field).or_insert(Value::Null)
        } else {
            message.pointer_mut(&problem.place)?
        };
        *place = value.clone();
    } else if !is_optional(field_of(field)?) {
        return None;
    } else if let (Ok(item), Value::Array(items)) = (below.parse::<usize>(), fields.get_mut(field)?)
    {
        (item < items.len()).then(|| items.remove(item))?;
    } else {
        fields.shift_remove(field)?;
    }
    Some(())
}
