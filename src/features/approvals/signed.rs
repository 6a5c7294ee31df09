//! Verifies the signature of a decision.

use super::decision::PinnedKey;
use super::signature::{self, DecisionKey, SignedDecision};
use super::{ApprovalResult, Approvals, OpenApproval, wrong};
use crate::base::error::{Error, Problem, Result};
use crate::base::text::shell_word;
use crate::room::Room;

/// Verifies against the key that is pinned in the log. The first signed decision pins the key in the home
/// directory of the person. No other key is pinned, because each process of the user can write into the person's outbox.
pub(super) fn check(
    room: &Room,
    approvals: &Approvals,
    open: &OpenApproval,
    option: &str,
    given: Option<&str>,
) -> Result<ApprovalResult<Option<PinnedKey>>> {
    let OpenApproval {
        approval,
        seq,
        digest,
        ..
    } = open;
    let Some(place) = signature::place(room)? else {
        let what = "this room is a copy, so no signature counts in it";
        let fix = "run `mailbag init --adopt`, then decide again in a terminal";
        return Ok(bad_signature("copied_room", what, fix));
    };
    let fix = format!(
        "run `mailbag decide {approval} {}` in a terminal",
        shell_word(option)
    );
    let Some(given) = given else {
        let what = format!("a decision on {approval} needs the signature of the person");
        return Ok(bad_signature("not_signed", &what, &fix));
    };
    let signed = SignedDecision {
        place: &place,
        approval,
        seq: *seq,
        digest,
        option,
    };
    let (key, new) = match approvals.pin(Some(&place)) {
        Some(pin) => (pin.key.clone(), None),
        None => {
            let own = DecisionKey::own().ok().flatten();
            let own = own.ok_or_else(|| {
                Error::busy(
                    "this router cannot read the decision key of the person, so it cannot pin it",
                    "run `mailbag run` as the person, outside of containers and sandboxes",
                )
            })?;
            let key = own.public();
            (
                key.clone(),
                Some(PinnedKey {
                    key,
                    place: place.clone(),
                }),
            )
        }
    };
    if signed.is_signed_by(&key, given) {
        return Ok(Ok(new));
    }
    let what = format!("the signature of the decision on {approval} is not valid");
    Ok(bad_signature("not_signed", &what, &fix))
}

fn bad_signature<T>(code: &str, what: &str, fix: &str) -> ApprovalResult<T> {
    wrong(Problem::new(code, what).at("/signature").fix(fix))
}
