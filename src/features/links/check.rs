//! The rules for messages that change a link to another room.

use super::item::ACTIONS;
use crate::base::error::Problem;
use crate::message::LINK;
use crate::message::schema::{CheckedFields, hint_at_misspelling};
use crate::message::text_field;

/// A violation.
pub(super) fn check(fields: &CheckedFields, kind: &str) -> Option<Problem> {
    if kind != LINK {
        return None;
    }
    if !fields.contains_key("link") {
        let fix = format!(
            "put the tag of the other room in link{}",
            hint_at_misspelling(fields, &["link"])
        );
        return Some(
            Problem::new("no_link", "the message names no link")
                .at("/link")
                .fix(fix),
        );
    }
    let action = text_field(fields, "action").unwrap_or_default();
    if ACTIONS.contains(&action) {
        return None;
    }
    let fix = format!("set action to one of {}", ACTIONS.join(", "));
    let what = "action does not say what to do with the link";
    Some(Problem::new("bad_action", what).at("/action").fix(fix))
}
