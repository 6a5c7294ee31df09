//! The registry, the settings and the charter, edited while the router runs.

use crate::log::state::State;
use crate::router::parts::{Config, Intake, Notices, Pending, Storage};

/// Reads the files if they changed, and applies what depends on them. `true` if a change took effect.
pub(in crate::router) fn reload(
    config: &mut Config,
    intake: &mut Intake,
    storage: &mut Storage,
    state: &State,
    pending: &mut Pending,
    notices: &mut Notices,
) -> bool {
    let before = config.settings().clone();
    let changed = config.reload(state, pending, notices);
    config.look_at_charter(state, pending, notices);
    let now = config.settings();
    if before.durability != now.durability {
        storage.set_durability(now.durability);
    }
    intake.settings_changed(&before, now);
    changed
}
