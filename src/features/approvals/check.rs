//! The rules for messages that ask for a decision.

use super::decision;
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::limits;
use crate::base::lookalike::{is_lookalike, skeleton};
use crate::base::sanitize;
use crate::base::text::quoted;
use crate::message::schema::{CheckedFields, hint_at_misspelling};
use crate::message::text_field;
use crate::message::{APPROVAL, DECISION};

/// Adds all violations to `problems`.
pub(super) fn check(fields: &CheckedFields, kind: &str, now: Stamp, problems: &mut Vec<Problem>) {
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
fn check_decision(fields: &CheckedFields) -> Option<Problem> {
    text_field(fields, "option")?;
    if fields.contains_key("in_reply_to") {
        return None;
    }
    let hint = hint_at_misspelling(fields, &["in_reply_to"]);
    let fix =
        format!("put the number or the id of the approval in in_reply_to{hint}, or omit option");
    let problem = Problem::new(
        "no_approval",
        "the decision has an option, and names no approval",
    )
    .at("/in_reply_to");
    Some(problem.fix(fix))
}

/// The first problem of the options of an approval.
pub fn check_options(options: &[String]) -> Option<Problem> {
    for (n, written) in options.iter().enumerate() {
        let (option, escaped) = (skeleton(written), written.escape_default());
        let what = if option.is_empty() {
            "an option is blank".to_owned()
        } else if options[..n].iter().any(|one| is_lookalike(one, written)) {
            format!("the option {} looks like another option", quoted(written))
        } else if is_other_number(&option, n, options.len()) {
            format!(
                "the option {} is the number of another option",
                quoted(written)
            )
        } else if sanitize::has_hidden(written) {
            format!("the option \"{escaped}\" has invisible characters")
        } else if option.is_ascii() && !written.is_ascii() {
            format!("the option \"{escaped}\" looks like {}", quoted(&option))
        } else {
            continue;
        };
        let problem = Problem::new("bad_options", what)
            .at(format!("/options/{n}"))
            .fix("give options that differ visibly, not only in letter case, and no number of another option");
        return Some(problem);
    }
    None
}

/// Returns true if a person who chooses an option by its number could mean this one or another one.
fn is_other_number(option: &str, place: usize, count: usize) -> bool {
    let number = option.parse::<usize>().ok();
    number.is_some_and(|number| (1..=count).contains(&number) && number != place + 1)
}

fn check_deadline(fields: &CheckedFields, now: Stamp) -> Option<Problem> {
    let written = text_field(fields, "deadline")?;
    let what = match decision::deadline(written, now) {
        None => format!(
            "deadline must be a duration or a time, not {}",
            quoted(written)
        ),
        Some(at) if at <= now => {
            format!("the deadline is in the past: it is {at}, and the time is {now}")
        }
        Some(at) if at > now.after(limits::DEADLINE_MOST) => {
            format!("the deadline is too late: it is {at}, and the time is {now}")
        }
        Some(_) => return None,
    };
    let fix = "write a duration such as 30m, or a later time with a zone, at most a year from now";
    Some(Problem::new("bad_deadline", what).at("/deadline").fix(fix))
}

fn check_outcome(fields: &CheckedFields, options: &[String]) -> Option<Problem> {
    let word = text_field(fields, "on_deadline")?;
    if !fields.contains_key("deadline") {
        let fix = format!(
            "add a deadline, or omit on_deadline{}",
            hint_at_misspelling(fields, &["deadline"])
        );
        let problem =
            Problem::new("no_deadline", "on_deadline is given without a deadline").at("/deadline");
        return Some(problem.fix(fix));
    }
    let signed = fields.contains_key("signature");
    if decision::on_deadline(options, Some(word), signed).is_some() {
        return None;
    }
    let is_first = options
        .first()
        .is_some_and(|first| decision::option(options, word) == Some(first));
    let word = quoted(word);
    let what = if signed {
        format!("on_deadline cannot be {word}: only a signature decides this approval")
    } else if is_first {
        format!("on_deadline cannot be the first option, {word}: it would let the asker go on")
    } else {
        format!("on_deadline must be an option, deny or escalate, not {word}")
    };
    let mut others: Vec<&str> = Vec::new();
    let words = options.iter().map(String::as_str);
    for other in words.chain([decision::DENY, decision::ESCALATE]) {
        if decision::on_deadline(options, Some(other), signed).is_some() && !others.contains(&other)
        {
            others.push(other);
        }
    }
    let fix = format!("write one of {}", others.join(", "));
    Some(
        Problem::new("bad_on_deadline", what)
            .at("/on_deadline")
            .fix(fix),
    )
}
