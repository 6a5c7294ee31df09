//! Bad input: each file gets a clear rejection, no mail is lost, no process hangs, and the next
//! good message arrives.

mod contents;
mod examples;
mod registries;
mod things;

use crate::town::{Town, listing};
use serde_json::Value;
use std::fs;

/// Checks every effect of a rejection: the code, the bounce in the sender's inbox, the kept file,
/// and no delivery to other agents.
#[track_caller]
pub(crate) fn is_refused(town: &Town, sender: &str, original: &str, code: &str) -> Value {
    let wanted = |refusal: &Value| refusal["file"] == original;
    town.wait(&format!("a refusal of {original:?}"), || {
        town.refusals(sender).iter().any(wanted)
    });
    let refusal = town
        .refusals(sender)
        .into_iter()
        .find(wanted)
        .expect("it was there");
    assert_eq!(refusal["code"], code, "{original}: {refusal:#}");
    let first = &refusal["problems"][0];
    for word in ["what", "fix"] {
        assert!(
            first[word].as_str().is_some_and(|text| !text.is_empty()),
            "{original}: no {word}: {refusal:#}"
        );
    }
    let of_it = |mail: &Value| {
        mail["metadata"]["file"] == original && mail["metadata"]["problems"][0]["code"] == code
    };
    town.wait(&format!("a bounce of {original:?}"), || {
        town.inbox(sender).iter().any(of_it)
    });
    let bounce = town
        .inbox(sender)
        .into_iter()
        .find(of_it)
        .expect("it was there");
    assert_fields!(bounce, from: "mailbag", type: "error");
    let seq = refusal["seq"].as_u64().expect("a number");
    let (kept, start) = (town.room(&format!("rejected/{sender}")), format!("{seq}~"));
    town.wait(&format!("{original:?} kept"), || {
        let names = listing(&kept);
        names
            .iter()
            .any(|name| name.starts_with(&start) && !name.ends_with(".error.json"))
    });
    refusal
}

/// No copy was delivered, no work is unfinished, and a good message arrives.
#[track_caller]
pub(crate) fn nothing_else_happened(town: &Town, sender: &str, other: &str) {
    town.is_alive(sender, other);
    assert_eq!(town.count(other), 0, "{:#?}", town.inbox(other));
    assert_eq!(town.count("human"), 0, "{:#?}", town.inbox("human"));
    let left = |below: &str| fs::read_dir(town.room(below)).map_or(0, Iterator::count);
    town.wait("nothing is left over", || {
        left("spool/claim") + left("spool/stage") == 0
    });
    town.verify();
}
