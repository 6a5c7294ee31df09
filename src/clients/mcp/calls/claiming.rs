//! The tools about claims: who owns which work.

use super::super::arguments::{ToolArguments, unknown_word};
use super::{ToolCall, ToolResult, cut_list, deliver_pending};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::text::{joined, listed, to_the_second};
use crate::base::{limits, sanitize};
use crate::commands::claim::{self, ClaimAction};
use crate::disk::machine::here;
use crate::query::claims::{self, ClaimOffer, ListedClaim, Ownership, WorkStatus};
use crate::room::Room;
use serde_json::{Map, Value, json};

const ACTIONS: [&str; 5] = ["claim", "release", "handoff", "accept", "decline"];

pub(super) fn claim(mut call: ToolCall<'_>) -> Result<ToolResult> {
    let action = call.arguments.needed("action")?;
    let note = call.arguments.text("note")?;
    let room = call.session.room()?;
    let who = call.session.agent(&room, "claim_work")?;
    deliver_pending(&room);
    let ask = ask(&mut call.arguments, &action, &room, &who.name)?;
    let decided = claim::ask(&room, &who, ask, note)?.decided(limits::WRITER_WAIT)?;
    Ok(ToolResult {
        text: sanitize::line(&decided.sentence()).into_owned(),
        data: cut_list(json!(decided), "claims", limits::CLAIM_LINES),
    })
}

fn ask(
    arguments: &mut ToolArguments,
    action: &str,
    room: &Room,
    agent: &str,
) -> Result<ClaimAction> {
    let words = arguments.texts("claims")?;
    match action {
        "claim" if words.is_empty() => Err(Error::usage(
            "claims is missing",
            "name paths, globs, task:<name> or lane:<name>",
        )),
        "claim" => Ok(ClaimAction::Claim {
            lease: arguments.text("lease")?,
            subjects: claim::subjects_to_claim(room, &here()?, &words)?,
        }),
        "release" => Ok(ClaimAction::Release {
            subjects: claim::owned_subjects(room, &here()?, agent, &words)?,
            of: None,
        }),
        "handoff" => Ok(ClaimAction::Offer {
            to: arguments.needed("to")?,
            subjects: claim::owned_subjects(room, &here()?, agent, &words)?,
        }),
        "accept" => Ok(ClaimAction::Accept(arguments.text("offer")?)),
        "decline" => Ok(ClaimAction::Decline(arguments.text("offer")?)),
        other => Err(unknown_word("action", other, &ACTIONS)),
    }
}

pub(super) fn list(mut call: ToolCall<'_>) -> Result<ToolResult> {
    let (paths, mine) = (call.arguments.texts("paths")?, call.arguments.flag("mine")?);
    let room = call.session.room()?;
    deliver_pending(&room);
    let you = if mine {
        Some(call.session.agent(&room, "list_claims")?.name)
    } else {
        call.session.known(&room)
    };
    if !paths.is_empty() {
        let from = here()?;
        let mut found = claims::paths(&room, you.as_deref(), &from, &paths)?;
        if found.iter().any(|one| one.status == WorkStatus::Owned) && claim::release_lapsed(&room) {
            found = claims::paths(&room, you.as_deref(), &from, &paths)?;
        }
        let lines: Vec<String> = found.iter().map(path).collect();
        let paths: Vec<Value> = found
            .iter()
            .map(|one| cut_list(json!(one), "claims", limits::CLAIM_LINES))
            .collect();
        return Ok(ToolResult {
            text: lines.join("\n"),
            data: json!({"paths": paths}),
        });
    }
    let owner = if mine { you.as_deref() } else { None };
    claim::release_lapsed(&room);
    let list = claims::list(&room, owner)?;
    let (mut lines, mut data) = (Vec::new(), Map::new());
    put("claims", &list.claims, owned, &mut lines, &mut data);
    put("offers", &list.offers, offer, &mut lines, &mut data);
    let text = if lines.is_empty() {
        "no claims".to_owned()
    } else {
        lines.join("\n")
    };
    Ok(ToolResult {
        text,
        data: Value::Object(data),
    })
}

/// Adds the first items of a list, and the number of the others.
fn put<T>(
    name: &str,
    items: &[T],
    line: fn(&T) -> (String, Value),
    lines: &mut Vec<String>,
    data: &mut Map<String, Value>,
) {
    let (texts, values): (Vec<String>, Vec<Value>) =
        items.iter().take(limits::TOOL_AGENTS).map(line).unzip();
    let more = items.len() - texts.len();
    lines.extend(
        texts
            .into_iter()
            .map(|text| sanitize::line(&text).into_owned()),
    );
    data.insert(name.to_owned(), values.into());
    if more > 0 {
        lines.push(format!(
            "{more} more {name}: pass `mine` or `paths` to list_claims"
        ));
        data.insert(format!("more_{name}"), more.into());
    }
}

fn owned(one: &ListedClaim) -> (String, Value) {
    let one = &one.claim;
    let purpose = one
        .purpose
        .as_ref()
        .map(|purpose| format!(": {purpose}"))
        .unwrap_or_default();
    let since = to_the_second(&Stamp::from_micros(one.since).to_string());
    let text = format!("{} owns {} since {since}{purpose}", one.owner, one.subject);
    (
        text,
        json!({"subject": one.subject, "owner": one.owner, "since": since, "purpose": shown(one.purpose.as_deref())}),
    )
}

fn offer(one: &ClaimOffer) -> (String, Value) {
    let subjects = listed(&one.subjects);
    let text = format!("#{} {} offers {subjects} to {}", one.seq, one.from, one.to);
    let data = json!({"offer": format!("#{}", one.seq), "from": one.from, "to": one.to, "subjects": one.subjects});
    (text, cut_list(data, "subjects", limits::CLAIM_LINES))
}

fn path(one: &Ownership) -> String {
    let status = match one.status {
        WorkStatus::Free => "free".to_owned(),
        WorkStatus::Mine => "yours".to_owned(),
        WorkStatus::Owned => {
            let owners = one.listed_claims().iter().map(|owner| {
                let purpose = owner
                    .purpose
                    .as_ref()
                    .map(|purpose| format!(", {purpose}"))
                    .unwrap_or_default();
                format!("{} ({}{purpose})", owner.owner, owner.subject)
            });
            let more = one
                .more_claims()
                .map(|more| format!(" and {more}"))
                .unwrap_or_default();
            format!("owned by {}{more}", joined(owners))
        }
    };
    sanitize::line(&format!("{}: {status}", one.path)).into_owned()
}

fn shown(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| sanitize::line(text).into())
}
