//! The rules for messages that change the ownership of work.

use super::words::{did_you_mean, quoted};
use crate::base::clock;
use crate::base::error::Problem;
use crate::base::limits;
use crate::message::checked::field;
use crate::message::is_offer;
use crate::message::subject::Subject;
use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

/// Adds all violations to `problems`. Fields of the wrong type are skipped, because the schema reports them.
pub(super) fn check(fields: &Fields, kind: &str, problems: &mut Vec<Problem>) {
    if !matches!(kind, "claim" | "release") && !is_offer(fields) {
        return;
    }
    problems.extend(check_presence(fields, kind));
    let claims = field(fields, "claims").and_then(Value::as_array).into_iter().flatten();
    for (n, claim) in claims.enumerate().take(limits::CLAIMS_IN_MESSAGE) {
        let Some(text) = claim.as_str().filter(|text| !text.is_empty()) else { continue };
        let problem = match Subject::parse(text) {
            Ok(subject) => subject.check_explicit(text).filter(|_| kind == "claim"),
            Err(problem) => Some(*problem),
        };
        problems.extend(problem.map(|problem| problem.at(format!("/claims/{n}"))));
    }
    if kind == "claim" {
        problems.extend(check_lease(fields));
    }
    if is_offer(fields) {
        problems.extend(check_recipient(fields));
    }
}

fn check_presence(fields: &Fields, kind: &str) -> Option<Problem> {
    let claims = field(fields, "claims").map(|claims| claims.as_array().is_some_and(Vec::is_empty));
    if kind != "claim" || claims == Some(false) {
        return None;
    }
    let fix = format!("name paths, globs, task:<name> or lane:<name> in claims{}", did_you_mean(fields, &["claims"]));
    let example = json!({"type": "claim", "claims": ["src/auth/**"]});
    Some(Problem::new("no_claims", "the claim names no work").at("/claims").fix(fix).example(example))
}

fn check_lease(fields: &Fields) -> Option<Problem> {
    let text = field(fields, "lease")?.as_str()?;
    let (least, most) = (limits::CLAIM_LEASE_LEAST, limits::CLAIM_LEASE_MOST);
    if clock::span(text).is_some_and(|lease| (least..=most).contains(&lease)) {
        return None;
    }
    let (least, most) = (clock::span_text(least), clock::span_text(most));
    let what = format!("lease must be a duration from {least} to {most}, not {}", quoted(text));
    Some(Problem::new("bad_lease", what).at("/lease").fix("write a number and s, m, h or d").example(json!("2h")))
}

fn check_recipient(fields: &Fields) -> Option<Problem> {
    let count = match field(fields, "to") {
        Some(Value::Array(many)) => many.len(),
        Some(_) => 1,
        None => 0,
    };
    (count > 1).then(|| {
        let what = format!("claims can be handed over to one agent only, and to has {count} addresses");
        Problem::new("bad_handoff", what).at("/to").fix("name one agent in to").example(json!("bob"))
    })
}
