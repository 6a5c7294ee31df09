//! The rules for messages that change the ownership of work.

use crate::base::clock;
use crate::base::error::Problem;
use crate::base::text::quoted;
use crate::message::schema::{CheckedFields, hint_at_misspelling};
use crate::message::subject::ClaimSubject;
use crate::message::{ALL_CLAIMS, is_offer};
use crate::message::{field, text_field};
use serde_json::Value;
use std::time::Duration;

/// The most subjects in one message.
const CLAIMS_IN_MESSAGE: usize = 100;
/// The shortest lease that a claim can ask for.
const CLAIM_LEASE_LEAST: Duration = Duration::from_secs(60);
/// The longest lease that a claim can ask for, so that no claim of a dead agent stays forever.
const CLAIM_LEASE_MOST: Duration = Duration::from_secs(7 * 86_400);

/// Adds all violations to `problems`.
pub(super) fn check(fields: &CheckedFields, kind: &str, problems: &mut Vec<Problem>) {
    if matches!(kind, "accept" | "decline") {
        problems.extend(check_offer(fields, kind));
    }
    if !matches!(kind, "claim" | "release") && !is_offer(fields) {
        return;
    }
    problems.extend(check_presence(fields, kind));
    let claims = field(fields, "claims")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    for (n, claim) in claims.enumerate().take(CLAIMS_IN_MESSAGE) {
        let Some(text) = claim.as_str().filter(|text| !text.is_empty()) else {
            continue;
        };
        let problem = match ClaimSubject::parse(text) {
            Ok(subject) if kind == "claim" => subject.check_explicit(text),
            Ok(_) => None,
            Err(problem) => Some(*problem),
        };
        problems.extend(problem.map(|problem| problem.at(format!("/claims/{n}"))));
    }
    if kind == "claim" {
        problems.extend(check_lease(fields));
        problems.extend(check_wait(fields));
    }
    if is_offer(fields) {
        problems.extend(check_recipient(fields));
    }
}

/// A word of prose, such as the type `release` for a new version, must not change the ownership of work.
fn check_presence(fields: &CheckedFields, kind: &str) -> Option<Problem> {
    let claims = field(fields, "claims").map(|claims| claims.as_array().is_some_and(Vec::is_empty));
    if claims == Some(false) {
        return None;
    }
    let hint = hint_at_misspelling(fields, &["claims"]);
    let all = match kind {
        "claim" => String::new(),
        "release" => format!(", or write \"claims\": {ALL_CLAIMS:?} for everything"),
        _ => format!(
            ", or write \"claims\": {ALL_CLAIMS:?} for everything; a handoff in words has no claims"
        ),
    };
    let fix = format!("name paths, globs, task:<name> or lane:<name> in claims{all}{hint}");
    Some(
        Problem::new("no_claims", format!("the {kind} names no work"))
            .at("/claims")
            .fix(fix),
    )
}

/// An answer to an offer names the offer, so that `accept` or `decline` in another sense changes nothing.
fn check_offer(fields: &CheckedFields, kind: &str) -> Option<Problem> {
    if fields.contains_key("in_reply_to") {
        return None;
    }
    let fix = format!(
        "put the number or the id of the offer in in_reply_to{}; in another sense, use the type answer",
        hint_at_misspelling(fields, &["in_reply_to"])
    );
    let problem = Problem::new("no_offer", format!("the {kind} names no offer")).at("/in_reply_to");
    Some(problem.fix(fix))
}

fn check_lease(fields: &CheckedFields) -> Option<Problem> {
    let text = text_field(fields, "lease")?;
    let (least, most) = (CLAIM_LEASE_LEAST, CLAIM_LEASE_MOST);
    if clock::span(text).is_some_and(|lease| (least..=most).contains(&lease)) {
        return None;
    }
    let (least, most) = (clock::span_text(least), clock::span_text(most));
    let what = format!(
        "lease must be a duration from {least} to {most}, not {}",
        quoted(text)
    );
    Some(
        Problem::new("bad_lease", what)
            .at("/lease")
            .fix("write a number and s, m, h or d, or omit lease"),
    )
}

/// A claim does not wait in the router, so a claim that asks for it would be refused against its sender's intention.
fn check_wait(fields: &CheckedFields) -> Option<Problem> {
    if matches!(field(fields, "wait"), None | Some(Value::Bool(false))) {
        return None;
    }
    let what = "a claim is granted or refused, and does not wait";
    let fix = "omit wait, and claim again when the owner has released the work, or pass --wait to mailbag claim";
    Some(Problem::new("no_waiting_claims", what).at("/wait").fix(fix))
}

fn check_recipient(fields: &CheckedFields) -> Option<Problem> {
    let count = match field(fields, "to") {
        Some(Value::Array(many)) => many.len(),
        Some(_) => 1,
        None => 0,
    };
    (count > 1).then(|| {
        let what =
            format!("claims can be handed over to one agent only, and to has {count} addresses");
        Problem::new("bad_handoff", what)
            .at("/to")
            .fix("name one agent in to")
    })
}
