//! The outboxes of a room. The router finds and watches them, makes missing ones, and admits agents if the room is
//! open.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::base::test_sizes;
use crate::disk::{Barrier, Dir, layout};
use crate::message::id;
use crate::room::outbox::{fix_beside, is_free_name};
use crate::room::registry::{Agent, Registry};
use crate::room::settings::SenderAdmission;
use crate::router::Router;
use crate::router::upkeep::receipts::InboxSelection;
use crate::router::watcher::RouterEvents;
use rustix::fs::FileType;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Watched directories.
#[derive(Default)]
pub(super) struct WatchedDirectories {
    /// The watched outboxes with their inodes.
    pub(super) outboxes: BTreeMap<Arc<str>, u64>,
    parent: Option<u64>,
    /// The watched inboxes, each with its inode and the inode of its `taken/`.
    inboxes: BTreeMap<Arc<str>, (u64, Option<u64>)>,
    /// Directories that could not be watched.
    pub(super) unwatched: BTreeSet<PathBuf>,
}

impl WatchedDirectories {
    /// The value after the directory of outboxes was removed.
    pub(super) fn gone() -> WatchedDirectories {
        WatchedDirectories {
            parent: Some(0),
            ..WatchedDirectories::default()
        }
    }

    /// Makes the missing directories of registered agents, then finds and watches all outboxes, even outboxes of
    /// unregistered agents.
    pub(super) fn scan(&mut self, router: &mut Router, notice: &mut RouterEvents) -> Result<()> {
        let dir = router.config.dir().make(layout::OUTBOXES)?;
        let parent = Some(dir.meta()?.inode);
        if self.parent.is_some()
            && self.parent != parent
            && let Err(e) = notice.outboxes()
        {
            tracing::warn!("{e}");
        }
        self.parent = parent;
        let mut there = list_outboxes(&dir, router)?;
        let registry = router.config.registry().clone();
        let missing: Vec<&str> = registry
            .agents()
            .iter()
            .filter(|agent| !agent.is_retired() && !there.contains_key(&agent.id))
            .map(|agent| &*agent.id)
            .collect();
        if !missing.is_empty() {
            make_directories(router, &missing)?;
            there = list_outboxes(&dir, router)?;
        }
        if router.config.settings().admission == SenderAdmission::Open {
            admit(router, &there)?;
        }
        there.extend(link_directories(router)?);
        for (agent, inode) in &there {
            let place = layout::outbox(agent);
            if self.outboxes.get(agent) != Some(inode) || self.unwatched.contains(&place) {
                // Watching before reading ensures that no file is missed.
                self.note_watched(router, place, notice.outbox(agent));
                router.intake.outboxes().scan(agent);
            }
        }
        for agent in self.outboxes.keys() {
            if !there.contains_key(agent) {
                router.intake.outboxes().forget(agent);
            }
        }
        self.outboxes = there;
        if notice.has_events() {
            self.watch_inboxes(router, notice);
        }
        Ok(())
    }

    /// Watches the inboxes with unread mail, so that mail has receipts even if its reader only moves files. An inbox stays
    /// watched. Watching all of them would take the system time for each name that it remembers of an inbox.
    fn watch_inboxes(&mut self, router: &mut Router, notice: &mut RouterEvents) {
        let unread = router.journal.state().mailboxes.with_unread();
        let agents: BTreeSet<Arc<str>> = unread.chain(self.inboxes.keys()).cloned().collect();
        for agent in agents {
            self.watch_inbox(&agent, router, notice);
        }
    }

    /// Watches the inboxes that got unread mail since the last call.
    pub(super) fn watch_new_inboxes(&mut self, router: &mut Router, notice: &mut RouterEvents) {
        if !notice.has_events() {
            return;
        }
        let unread = router.journal.state().mailboxes.with_unread();
        let new: Vec<Arc<str>> = unread
            .filter(|agent| !self.inboxes.contains_key(*agent))
            .cloned()
            .collect();
        for agent in new {
            self.watch_inbox(&agent, router, notice);
            // Its reader may have been faster than the watch.
            router.scan_inbox(&agent, InboxSelection::All);
        }
    }

    fn watch_inbox(&mut self, agent: &Arc<str>, router: &mut Router, notice: &mut RouterEvents) {
        let [inbox, taken] = [layout::inbox(agent), layout::taken(agent)];
        let inode = |place: &Path| {
            let there = router.config.dir().stat(place).ok().flatten();
            there.map(|there| there.inode)
        };
        let (of_inbox, of_taken) = (inode(&inbox), inode(&taken));
        let Some(of_inbox) = of_inbox else {
            self.inboxes.remove(agent);
            return;
        };
        let known = self.inboxes.insert(agent.clone(), (of_inbox, of_taken));
        if known.map(|known| known.0) != Some(of_inbox) || self.unwatched.contains(&inbox) {
            self.note_watched(router, inbox, notice.inbox(agent));
        }
        let is_other = known.and_then(|known| known.1) != of_taken;
        if of_taken.is_some() && (is_other || self.unwatched.contains(&taken)) {
            self.note_watched(router, taken, notice.taken(agent));
        }
    }

    /// Notes the result of watching a directory. A failure affects its agent only, and is tried again.
    fn note_watched(&mut self, router: &mut Router, place: PathBuf, watched: Result<()>) {
        if watched.is_ok() && !self.unwatched.remove(&place) {
            return;
        }
        let what = format!("{}/", place.display());
        match watched {
            Err(e @ Error::Busy { .. }) => tracing::warn!("{e}"),
            Err(e) => {
                router.pending.failed(&what, e.to_string());
                self.unwatched.insert(place);
            }
            Ok(()) => router.pending.clear(&what),
        }
    }
}

/// Lists the outboxes. An entry that cannot be an outbox is pending, so that people see mail that was dropped beside
/// the outboxes, and the human is notified.
fn list_outboxes(dir: &Dir, router: &mut Router) -> Result<BTreeMap<Arc<str>, u64>> {
    let mut outboxes = BTreeMap::new();
    let mut beside: Option<String> = None;
    for entry in dir.list()? {
        let entry = entry?;
        let name = entry.name.to_string_lossy();
        let place = layout::below(Path::new(layout::OUTBOXES), &entry.name);
        let place = place.display().to_string();
        let may_be_directory = matches!(entry.kind, FileType::Directory | FileType::Unknown);
        if entry.kind == FileType::RegularFile {
            router.pending.not_ready(
                &place,
                "it is beside the outboxes: move it into outbox/<agent>/",
                None,
            );
            if layout::is_message_file(&entry.name)
                && beside.as_deref().is_none_or(|first| *name < *first)
            {
                beside = Some(name.into_owned());
            }
        } else if !id::is_name(&name) {
            if name.starts_with('.') || !may_be_directory {
                continue;
            }
            let state = router.journal.state();
            let (notices, pending) = (&mut router.notices, &mut router.pending);
            if has_mail(dir, &entry.name) {
                notices.report_unread_outbox(state, &router.config, pending, &name);
            } else {
                pending.clear(&place);
            }
        } else {
            let agent = registered(router.config.registry(), dir, &name, entry.inode);
            if may_be_directory || router.config.registry().agent(&agent).is_some() {
                outboxes.insert(agent, entry.inode);
            } else {
                router
                    .pending
                    .not_ready(&place, "it is not a directory", None);
            }
        }
    }
    if let Some(name) = beside {
        report_beside(router, dir, &name);
    }
    Ok(outboxes)
}

/// Returns true if a directory that the router does not watch has a message file.
fn has_mail(outboxes: &Dir, name: &OsStr) -> bool {
    let listing = outboxes.sub(name).and_then(|dir| dir.list());
    let mut entries = listing.into_iter().flatten().flatten();
    entries.any(|entry| layout::is_message_file(&entry.name))
}

/// Notifies the human of a message file beside the outboxes, unless it changed a moment ago: its writer may still move it.
fn report_beside(router: &mut Router, outboxes: &Dir, name: &str) {
    let changed = outboxes.stat(name).ok().flatten().map(|meta| meta.changed);
    let since = Stamp::from_micros((changed.unwrap_or_default() / 1000) as i64);
    if since.is_within(test_sizes::stray(), Stamp::now()) {
        return;
    }
    let place = layout::below(Path::new(layout::OUTBOXES), name.as_ref());
    let place = place.display().to_string();
    let registry = router.config.registry();
    let fix = fix_beside(router.config.dir(), &place, |from| {
        registry.agent(from).is_some()
    });
    let shown = sanitize::line(&place).into_owned();
    router.notices.notify_human(
        router.journal.state(),
        format!("beside:{name}"),
        format!("{shown} is not sent"),
        format!(
            "It is beside the outboxes, and the router reads only files in outbox/<agent>/. To send it, run:\n\n    {fix}"
        ),
    );
}

/// The agent of a directory. A file system that ignores letter case may show the directory of a registered agent in
/// other letters.
fn registered(registry: &Registry, dir: &Dir, name: &str, inode: u64) -> Arc<str> {
    let agent = registry
        .find_position(name)
        .and_then(|at| registry.agents().get(at as usize));
    let Some(Agent { id, .. }) = agent.filter(|agent| agent.id.eq_ignore_ascii_case(name)) else {
        return name.into();
    };
    if &**id == name {
        return id.clone();
    }
    match dir.stat(&**id) {
        Ok(Some(meta)) if meta.inode == inode => id.clone(),
        _ => name.into(),
    }
}

/// The incoming directories of links, by the ids of the links.
fn link_directories(router: &mut Router) -> Result<BTreeMap<Arc<str>, u64>> {
    let tags = router.config.registry().rooms().clone();
    let mut links = BTreeMap::new();
    for tag in tags.keys() {
        let dir = router.config.dir().make_loose(layout::link_in(tag))?;
        links.insert(layout::link_id(tag).into(), dir.meta()?.inode);
    }
    Ok(links)
}

/// Makes the directories of new agents, with one barrier for all.
fn make_directories(router: &mut Router, agents: &[&str]) -> Result<()> {
    let mut barrier = Barrier::new(router.config.dir().clone());
    for &agent in agents {
        for directory in [layout::outbox(agent), layout::inbox(agent)] {
            let place = directory.display().to_string();
            match router.config.dir().make_with(&directory, &mut barrier) {
                Ok(_) => router.pending.clear(&place),
                Err(e) => router.pending.failed(&place, e.to_string()),
            }
        }
    }
    barrier.pass()
}

/// Registers agents with an outbox, in an open room.
fn admit(router: &mut Router, there: &BTreeMap<Arc<str>, u64>) -> Result<()> {
    let is_new = |registry: &Registry, agent: &str| is_free_name(agent) && registry.is_free(agent);
    if !there
        .keys()
        .any(|agent| is_new(router.config.registry(), agent))
    {
        return Ok(());
    }
    let held = router.config.room().try_lock_registry()?;
    // The reload reports an invalid registry; until it is fixed, no agent is admitted.
    let Ok(mut registry) = router.config.room().registry() else {
        return Ok(());
    };
    for agent in there.keys() {
        if !is_new(&registry, agent) {
            continue;
        }
        match registry.add(Registry::admit(agent)) {
            Ok(with) => registry = with,
            Err(problem) => tracing::warn!("can't admit {agent}: {problem}"),
        }
    }
    router
        .config
        .dir()
        .replace(layout::REGISTRY, registry.to_json().as_bytes())?;
    drop(held);
    router.config.set_registry(registry);
    let registry = router.config.registry().clone();
    let registered: Vec<&str> = registry.agents().iter().map(|agent| &*agent.id).collect();
    make_directories(router, &registered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_in_other_letters_belongs_to_the_agent() -> Result<(), Box<dyn std::error::Error>>
    {
        let there = tempfile::tempdir()?;
        let dir = Dir::open(there.path())?;
        let registry = Registry::parse(br#"{"agents": [{"id": "bob"}, {"id": "carol"}]}"#)
            .expect("it is valid");
        // A second name of one inode, as on a file system that ignores letter case.
        std::fs::write(there.path().join("Bob"), "")?;
        std::fs::hard_link(there.path().join("Bob"), there.path().join("bob"))?;
        std::fs::write(there.path().join("Carol"), "")?;
        for (name, agent) in [
            ("Bob", "bob"),
            ("bob", "bob"),
            ("Carol", "Carol"),
            ("dave", "dave"),
        ] {
            let inode = dir.stat(name)?.map_or(0, |one| one.inode);
            assert_eq!(&*registered(&registry, &dir, name, inode), agent);
        }
        Ok(())
    }
}
