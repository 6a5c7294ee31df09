//! The order of a copy's statuses.

use super::StatusChange;

/// Puts the times in order. The file system's clock may be some milliseconds later than the clock of the records.
pub(super) fn in_order(steps: &mut [StatusChange], next: Option<&str>) {
    let mut before = String::new();
    for at in steps.iter_mut().filter_map(|step| step.at.as_mut()) {
        *at = next
            .map_or(at.as_str(), |next| at.as_str().min(next))
            .max(&before)
            .to_owned();
        before.clone_from(at);
    }
}
