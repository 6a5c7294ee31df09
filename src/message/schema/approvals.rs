//! The rules for messages that ask for a decision.

use super::words::{did_you_mean, quoted};
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::lookalike::skeleton;
use crate::base::sanitize;
use crate::message::checked::text_field;
use crate::message::{APPROVAL, DECISION, decision};
use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

/// Adds all violations to `problems`. Fields of the wrong type are skipped, because the schema reports them.
pub(super) fn check(fields: &Fields, kind: &str, now: Stamp, problems: &mut Vec<Problem>) {
    if kind == DECISION {
        problems.extend(check_decision(fields));
    }
    if kind != APPROVAL {
        return;
    }
    let options = decision::options(fields);
    problems.extend(check_options(&options));
    problems.extend(check_deadline(fields, now));
    problems.extend(check_outcome(fields, &options));
}

/// Without `in_reply_to` a chosen option decides nothing, although its sender thinks so.
fn check_decision(fields: &Fields) -> Option<Problem> {
    let option = text_field(fields, "option")?;
    if fields.contains_key("in_reply_to") {
        return None;
    }
    let hint = did_you_mean(fields, &["in_reply_to"]);
    let fix =
        format!("put the number or the id of the approval in in_reply_to{hint}, or omit option");
    let problem = Problem::new(
        "no_approval",
        "the decision has an option, and names no approval",
    )
    .at("/in_reply_to");
    Some(
        problem
            .fix(fix)
            .example(json!({"type": DECISION, "in_reply_to": "12", "option": option})),
    )
}

fn check_options(options: &[String]) -> Option<Problem> {
    let lower: Vec<String> = options.iter().map(|option| skeleton(option)).collect();
    let problem = |n: usize, what: String| {
        let fix = "give options that differ visibly, not only in letter case";
        Some(
            Problem::new("bad_options", what)
                .at(format!("/options/{n}"))
                .fix(fix)
                .example(json!(format!("option {}", n + 1))),
        )
    };
    for (n, option) in lower.iter().enumerate() {
        if option.is_empty() {
            return problem(n, "an option is blank".into());
        }
        if lower[..n].contains(option) {
            return problem(
                n,
                format!(
                    "the option {} looks like another option",
                    quoted(&options[n])
                ),
            );
        }
        let escaped = options[n].escape_default();
        if sanitize::has_hidden(&options[n]) {
            return problem(
                n,
                format!("the option \"{escaped}\" has invisible characters"),
            );
        }
        if option.is_ascii() && !options[n].is_ascii() {
            return problem(
                n,
                format!("the option \"{escaped}\" looks like {}", quoted(option)),
            );
        }
    }
    None
}

fn check_deadline(fields: &Fields, now: Stamp) -> Option<Problem> {
    let written = text_field(fields, "deadline")?;
    let problem = |what: String| {
        let fix =
            "write a duration such as 30m, or a later time with a zone, at most a year from now";
        Some(
            Problem::new("bad_deadline", what)
                .at("/deadline")
                .fix(fix)
                .example(json!("30m")),
        )
    };
    match decision::deadline(written, now) {
        None => problem(format!(
            "deadline must be a duration or a time, not {}",
            quoted(written)
        )),
        Some(at) if at <= now => problem(format!(
            "the deadline is in the past: it is {at}, and the time is {now}"
        )),
        Some(at) if at > now.after(crate::base::limits::DEADLINE_MOST) => problem(format!(
            "the deadline is too late: it is {at}, and the time is {now}"
        )),
        Some(_) => None,
    }
}

fn check_outcome(fields: &Fields, options: &[String]) -> Option<Problem> {
    let word = text_field(fields, "on_deadline")?;
    if !fields.contains_key("deadline") {
        let fix = format!(
            "add a deadline, or omit on_deadline{}",
            did_you_mean(fields, &["deadline"])
        );
        let problem =
            Problem::new("no_deadline", "on_deadline is given without a deadline").at("/deadline");
        return Some(problem.fix(fix).example(json!("30m")));
    }
    if decision::on_deadline(options, Some(word)).is_some() {
        return None;
    }
    let is_first = options
        .first()
        .is_some_and(|first| decision::option(options, word) == Some(first));
    let word = quoted(word);
    let what = if is_first {
        format!("on_deadline cannot be the first option, {word}: it would let the asker go on")
    } else {
        format!("on_deadline must be an option, deny or escalate, not {word}")
    };
    let others: Vec<&str> = options
        .iter()
        .skip(1)
        .map(String::as_str)
        .chain([decision::DENY, decision::ESCALATE])
        .collect();
    let fix = format!("write one of {}", others.join(", "));
    Some(
        Problem::new("bad_on_deadline", what)
            .at("/on_deadline")
            .fix(fix)
            .example(json!(others[0])),
    )
}
