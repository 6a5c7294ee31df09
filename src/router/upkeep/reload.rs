//! Reloads of the registry, the settings and the lanes while the router runs.

use crate::router::Router;

impl Router {
    /// Reads the configuration files if they changed, and applies dependent changes. Returns true if a change took effect.
    pub(in crate::router) fn reload(&mut self) -> bool {
        let state = self.journal.state();
        let before = self.config.settings().clone();
        let changed = self
            .config
            .reload(state, &mut self.pending, &mut self.notices);
        self.config
            .check_lanes(state, &mut self.pending, &mut self.notices);
        let now = self.config.settings();
        self.intake.settings_changed(&before, now);
        if changed {
            // Claims of agents that were removed lapse.
            self.deadlines.ask_again();
        }
        changed
    }

    /// Reads the files with lanes if they changed.
    pub(in crate::router) fn check_lanes(&mut self) {
        self.config
            .check_lanes(self.journal.state(), &mut self.pending, &mut self.notices);
    }
}
