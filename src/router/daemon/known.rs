//! Which outboxes there are: found, made for whoever has none, watched, and admitted where the room is open.

use crate::base::error::{Error, Result};
use crate::disk::{Barrier, Dir, Entry, layout};
use crate::message::id;
use crate::room::registry::{Agent, Registry};
use crate::room::settings::Admission;
use crate::router::Router;
use crate::router::watcher::Notice;
use rustix::fs::FileType;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Which outboxes there are, and are watched, each with its identity on the file system.
#[derive(Default)]
pub(super) struct Known {
    pub(super) outboxes: BTreeMap<Arc<str>, u64>,
    parent: Option<u64>,
    /// The inboxes that are watched, each with its identity and that of its `taken/`.
    inboxes: BTreeMap<Arc<str>, (u64, Option<u64>)>,
    /// Directories that could not be watched, for a reason of their own.
    pub(super) unwatched: BTreeSet<PathBuf>,
}

impl Known {
    /// Nothing is watched any more.
    pub(super) fn gone() -> Known {
        Known { parent: Some(0), ..Known::default() }
    }

    /// Makes what is missing for the registered agents, then finds and watches every outbox there is, also those that
    /// nobody is registered for.
    pub(super) fn look(&mut self, router: &mut Router, notice: &mut Notice) -> Result<()> {
        let dir = router.config.dir().make(layout::OUTBOXES)?;
        let parent = Some(dir.meta()?.inode);
        if self.parent.is_some() && self.parent != parent {
            notice.outboxes().unwrap_or_else(|e| tracing::warn!("{e}"));
        }
        self.parent = parent;
        let mut there = outboxes(&dir, router)?;
        let missing = |agent: &&Agent| !agent.is_retired() && !there.contains_key(&agent.id);
        let registry = router.config.registry().clone();
        let missing: Vec<&Agent> = registry.agents().iter().filter(missing).collect();
        if !missing.is_empty() {
            make_for(router, missing.iter().map(|agent| &*agent.id))?;
            there = outboxes(&dir, router)?;
        }
        if router.config.settings().admission == Admission::Open {
            admit(router, &there)?;
        }
        for (agent, inode) in &there {
            let place = layout::outbox(agent);
            if self.outboxes.get(agent) != Some(inode) || self.unwatched.contains(&place) {
                // Watched before it is read.
                self.watched(router, place, notice.outbox(agent));
                router.intake.outboxes().scan(agent);
            }
        }
        let gone = self.outboxes.keys().filter(|agent| !there.contains_key(*agent));
        gone.for_each(|agent| router.intake.outboxes().forget(agent));
        self.outboxes = there;
        if notice.has_events() {
            self.look_at_inboxes(router, notice)?;
        }
        Ok(())
    }

    /// Watches what leaves every inbox, so that the plainest agent's mail has a receipt.
    fn look_at_inboxes(&mut self, router: &mut Router, notice: &mut Notice) -> Result<()> {
        let mut there = BTreeMap::new();
        for entry in router.config.dir().make(layout::INBOXES)?.list()? {
            let Entry { name, inode, .. } = entry?;
            let Some(agent) = name.to_str().filter(|name| id::is_name(name)) else { continue };
            let taken = router.config.dir().stat(layout::taken(agent)).ok().flatten().map(|taken| taken.inode);
            there.insert(Arc::from(agent), (inode, taken));
        }
        for (agent, &(inode, taken)) in &there {
            let known = self.inboxes.get(agent).copied();
            let place = layout::inbox(agent);
            if known.map(|known| known.0) != Some(inode) || self.unwatched.contains(&place) {
                self.watched(router, place, notice.inbox(agent));
            }
            let place = layout::taken(agent);
            if taken.is_some() && (known.and_then(|known| known.1) != taken || self.unwatched.contains(&place)) {
                self.watched(router, place, notice.taken(agent));
            }
        }
        self.inboxes = there;
        Ok(())
    }

    /// What came of watching a directory. What is wrong with one is that agent's, and tried again.
    fn watched(&mut self, router: &mut Router, place: PathBuf, watched: Result<()>) {
        let what = format!("{}/", place.display());
        match watched {
            Err(e @ Error::Busy { .. }) => tracing::warn!("{e}"),
            Err(e) => {
                router.pending.failed(&what, e.to_string());
                self.unwatched.insert(place);
            }
            Ok(()) => {
                if self.unwatched.remove(&place) {
                    router.pending.clear(&what);
                }
            }
        }
    }
}

/// What stands in the directory of outboxes. What can't be one is said, so that mail dropped beside the outboxes
/// doesn't wait unseen.
fn outboxes(dir: &Dir, router: &mut Router) -> Result<BTreeMap<Arc<str>, u64>> {
    let mut outboxes = BTreeMap::new();
    for entry in dir.list()? {
        let entry = entry?;
        let name = entry.name.to_string_lossy();
        let place = layout::outbox(&name).display().to_string();
        if entry.kind == FileType::RegularFile {
            router.pending.not_ready(&place, "it lies beside the outboxes: move it into outbox/<agent>/", None);
        } else if id::is_name(&name) {
            outboxes.insert(Arc::from(&*name), entry.inode);
        } else if !name.starts_with('.') {
            router.pending.not_ready(&place, "no agent can have this name", None);
        }
    }
    Ok(outboxes)
}

/// Makes what agents need who have nothing yet, durable at one barrier however many they are.
fn make_for<'a>(router: &mut Router, agents: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut barrier = Barrier::new(router.config.settings().durability, router.config.dir().clone());
    for agent in agents {
        let uid = router.config.registry().agent(agent).and_then(|agent| agent.uid);
        for directory in [layout::outbox(agent), layout::inbox(agent)] {
            let place = directory.display().to_string();
            match router.config.room().make_box(&directory, uid, &mut barrier) {
                Ok(()) => router.pending.clear(&place),
                Err(e) => router.pending.failed(&place, e.to_string()),
            }
        }
    }
    barrier.pass()
}

/// Registers whoever has made an outbox, in a room that is open to all.
fn admit(router: &mut Router, there: &BTreeMap<Arc<str>, u64>) -> Result<()> {
    let is_new = |agent: &&Arc<str>| router.config.registry().agent(agent).is_none();
    if !there.keys().any(|agent| is_new(&agent)) {
        return Ok(());
    }
    let held = router.config.room().try_lock_registry()?;
    // One that can't be read is told of by who reloads it; nobody is admitted meanwhile.
    let Ok(mut registry) = router.config.room().registry() else { return Ok(()) };
    let new: Vec<_> = there.keys().filter(|agent| registry.agent(agent).is_none()).cloned().collect();
    for agent in new {
        match registry.add(Registry::admit(&agent)) {
            Ok(with) => registry = with,
            Err(problems) => tracing::warn!("can't admit {agent}: {}", Error::Rejected(problems)),
        }
    }
    router.config.dir().replace(layout::REGISTRY, registry.to_json().as_bytes())?;
    drop(held);
    let registered: Vec<Arc<str>> = registry.agents().iter().map(|agent| agent.id.clone()).collect();
    router.config.set_registry(registry);
    make_for(router, registered.iter().map(|agent| &**agent))
}
