//! The room, with the last valid version of its registry and settings.

use super::notices::NoticeQueue;
use super::pending::PendingWork;
use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorClass, Problem, Result};
use crate::base::hash::{hash, hex};
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::features;
use crate::log::state::RoomState;
use crate::message::record::RouterAction;
use crate::room::Room;
use crate::room::consent;
use crate::room::registry::{Lane, Registry};
use crate::room::settings::Settings;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// The configuration of a room.
pub(crate) struct RoomConfig {
    room: Room,
    registry: Arc<Registry>,
    settings: Settings,
    read: ConfigVersions,
    lanes: Vec<Box<dyn LaneWatch>>,
    /// Invalid files with their versions and the times when they became invalid.
    invalid: BTreeMap<&'static str, (ConfigVersions, Instant)>,
}

/// Watches a file that adds lanes.
pub(crate) trait LaneWatch {
    /// Checks the file. Returns the lanes if they may have changed.
    fn check(
        &mut self,
        room: &Dir,
        state: &RoomState,
        pending: &mut PendingWork,
        notices: &mut NoticeQueue,
    ) -> Option<Arc<[Lane]>>;
}

/// The registry after a subscription of an agent. `None` if the action is none.
pub(crate) fn apply_subscription(
    registry: &Registry,
    agent: &str,
    act: &RouterAction,
) -> Option<std::result::Result<Registry, Box<Problem>>> {
    match act {
        RouterAction::Subscribe(topic) => Some(registry.subscribe(agent, topic)),
        RouterAction::Unsubscribe(topic) => Some(registry.unsubscribe(agent, topic)),
        RouterAction::Ack(_) => None,
    }
}

/// The versions of the configuration files that were read.
#[derive(Default, PartialEq, Eq, Clone, Debug)]
struct ConfigVersions([Option<(u64, u64, i128)>; 3]);

impl RoomConfig {
    /// Reads the files. `waits` is false for a single pass.
    pub(crate) fn new(room: Room, waits: bool) -> Result<RoomConfig> {
        let (settings, registry) = (room.settings()?, Arc::new(room.registry()?));
        let lanes = features::ALL.iter();
        let lanes = lanes.filter_map(|feature| feature.watch_lanes(waits));
        Ok(RoomConfig {
            room,
            registry,
            settings,
            read: ConfigVersions::default(),
            lanes: lanes.collect(),
            invalid: BTreeMap::new(),
        })
    }

    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    /// The room's directory.
    pub(crate) fn dir(&self) -> &Dir {
        &self.room.dir
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The time of the last write to a picked-up file.
    pub(crate) fn dropped_at(&self, claim: Option<&str>) -> Result<Option<Stamp>> {
        let Some(claim) = claim else {
            return Ok(None);
        };
        let meta = self.dir().sub(layout::CLAIM)?.stat(claim)?;
        let micros = meta.and_then(|meta| i64::try_from(meta.modified / 1_000).ok());
        Ok(micros.map(Stamp::from_micros))
    }

    /// The present name of an agent.
    pub(crate) fn current_name(&self, agent: &Arc<str>) -> Arc<str> {
        let now = self.registry.now(agent);
        now.map_or_else(|| agent.clone(), |agent| agent.id.clone())
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Lets later messages follow a subscription that was judged. The file is changed after the commit.
    pub(crate) fn follow(&mut self, agent: &str, act: &RouterAction) {
        if let Some(Ok(edited)) = apply_subscription(&self.registry, agent, act) {
            self.set_registry(edited);
        }
    }

    /// Returns to an earlier registry, because a batch with a subscription failed.
    pub(crate) fn restore_registry(&mut self, registry: Arc<Registry>) {
        self.registry = registry;
    }

    /// Applies a registry that the router has written.
    pub(crate) fn set_registry(&mut self, registry: Registry) {
        let registry = registry.with_lanes(self.registry.lanes().clone());
        self.registry = Arc::new(registry.with_rooms(self.settings.rooms()));
    }

    /// Reads the files with lanes if they changed. A change of lanes takes effect.
    pub(crate) fn check_lanes(
        &mut self,
        state: &RoomState,
        pending: &mut PendingWork,
        notices: &mut NoticeQueue,
    ) {
        for watch in &mut self.lanes {
            if let Some(lanes) = watch.check(&self.room.dir, state, pending, notices)
                && *lanes != **self.registry.lanes()
            {
                self.registry = Arc::new(Registry::clone(&self.registry).with_lanes(lanes));
            }
        }
    }

    /// Reads the registry and the settings if they changed. While a file is invalid, its last valid version stays in
    /// force, and the human is notified. Returns true if a change took effect.
    pub(crate) fn reload(
        &mut self,
        state: &RoomState,
        pending: &mut PendingWork,
        notices: &mut NoticeQueue,
    ) -> bool {
        let [registry, settings] = [layout::REGISTRY, layout::SETTINGS]
            .map(|name| self.room.dir.stat(name).ok().flatten());
        let versions = ConfigVersions(
            [registry, settings, consent::version()]
                .map(|meta| meta.map(|meta| (meta.inode, meta.size, meta.changed))),
        );
        if versions == self.read {
            return false;
        }
        self.read = versions;
        let (registry, settings) = (self.room.registry_alone(), self.room.settings());
        let mut changed = false;
        match registry {
            Ok(registry) => {
                changed |= registry.to_json() != self.registry.to_json();
                self.set_registry(registry);
                self.is_valid(layout::REGISTRY, pending);
            }
            Err(e) => self.keep_last_valid(layout::REGISTRY, &e, state, pending, notices),
        }
        match settings {
            Ok(settings) => {
                changed |= settings != self.settings;
                self.settings = settings;
                self.set_registry(Registry::clone(&self.registry));
                self.is_valid(layout::SETTINGS, pending);
            }
            Err(e) => self.keep_last_valid(layout::SETTINGS, &e, state, pending, notices),
        }
        changed
    }

    fn is_valid(&mut self, name: &str, pending: &mut PendingWork) {
        pending.clear(name);
        self.invalid.remove(name);
    }

    // Keeps the last valid version. A file that is being saved may be invalid for a moment, so only a file that stays
    // invalid is reported to the human.
    fn keep_last_valid(
        &mut self,
        name: &'static str,
        e: &Error,
        state: &RoomState,
        pending: &mut PendingWork,
        notices: &mut NoticeQueue,
    ) {
        if e.class() == ErrorClass::Temporary {
            self.read = ConfigVersions::default();
            return pending.failed(name, e.to_string());
        }
        pending.not_ready(
            name,
            &format!("{e}; the last valid version stays in use"),
            Some(limits::UNCHANGED_FOR),
        );
        let (versions, since) = self
            .invalid
            .entry(name)
            .or_insert_with(|| (ConfigVersions::default(), Instant::now()));
        if *versions != self.read {
            (*versions, *since) = (self.read.clone(), Instant::now());
        }
        if since.elapsed() < limits::UNCHANGED_FOR {
            self.read = ConfigVersions::default();
            return;
        }
        tracing::error!("{e}; the last valid version stays in use");
        // The version is part of the subject, so the same error in a later version is reported again.
        let what = format!("{e} {:?}", self.read);
        let about = format!("{name}:{}", &hex(&hash(what.as_bytes()))[..16]);
        let body = format!("{e}\n\nUntil then the last valid version stays in use.");
        notices.notify_human(state, about, format!("{name} can't be read"), body);
    }
}
