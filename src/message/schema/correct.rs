//! The example of a rejection: the sender's own object. Only the wrong part is changed.

use super::NO_RECIPIENT;
use super::words::is_optional;
use crate::base::error::Problem;
use crate::message::dialects::{MISNAMED, field_of, meant_field, spell};
use serde_json::{Value, json};

/// A wrong part can hide another one.
const ROUNDS: usize = 4;

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
        // The other problems can follow from a wrong name.
        if problems.iter().any(|problem| problem.code == MISNAMED) {
            problems.retain(|problem| problem.code == MISNAMED);
        }
        // Items of a list are removed from its end.
        for problem in problems.iter().rev() {
            apply(&mut message, problem, &mut asker)?;
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
    if problem.code == MISNAMED {
        let meant = meant_field(field)?;
        let value = fields.shift_remove(field)?;
        if fields.insert(meant.to_owned(), value).is_some() {
            return None;
        }
    } else if problem.code == NO_RECIPIENT {
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
