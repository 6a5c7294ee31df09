//! Links: `out/` of each link has the items that the other room has not committed, and how far this room is. The items of a
//! link of the kind `dir` are brought to the other room as well.

mod carry;

use super::{Accepted, Cause, Projection, Report, View};
use crate::base::error::{Error, Result};
use crate::disk::{Dir, layout};
use crate::log::state::{Link, Waiting};
use crate::log::{self, Position};
use crate::message::link;
use crate::room::links::{EndState, FarAgent, items, roster};
use crate::room::registry::Registry;
use crate::room::settings::{Carrier, LinkSettings};
use carry::Carry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

/// What is shown of all links.
#[derive(Default)]
pub(super) struct Links {
    shown: BTreeMap<String, Shown>,
    roster: Roster,
}

/// What other rooms are told of the agents of this room, and the registry that says it.
#[derive(Default)]
struct Roster(Option<(Arc<Registry>, Arc<[FarAgent]>)>);

impl Roster {
    fn of(&mut self, registry: &Arc<Registry>) -> Arc<[FarAgent]> {
        let known = self.0.take().filter(|(known, _)| Arc::ptr_eq(known, registry));
        self.0.insert(known.unwrap_or_else(|| (registry.clone(), roster(registry)))).1.clone()
    }
}

/// What is shown of one link.
#[derive(Default)]
struct Shown {
    /// The number of the last item in `out/`.
    upto: u64,
    /// No item up to this number is in `out/`.
    removed: u64,
    /// The stream of these numbers.
    stream: Option<String>,
    /// What `out/` says of this room.
    state: Option<EndState>,
    carry: Carry,
}

impl Projection for Links {
    fn apply(&mut self, _: &[Accepted], view: &View<'_>, report: &mut Report<'_>) {
        for (tag, settings) in &view.config.settings().links {
            let roster = self.roster.of(view.config.registry());
            let done = self.shown.entry(tag.clone()).or_default().show((tag, settings), roster, false, view);
            tell((tag, settings), done, report);
        }
    }

    fn reconcile(&mut self, cause: Cause, view: &View<'_>, report: &mut Report<'_>) -> Result<()> {
        if cause == Cause::End {
            return Ok(());
        }
        let links = &view.config.settings().links;
        self.shown.retain(|tag, _| links.contains_key(tag));
        for (tag, settings) in links {
            let (roster, shown) = (self.roster.of(view.config.registry()), self.shown.entry(tag.clone()).or_default());
            let done = shown.look(tag, view).and_then(|()| shown.show((tag, settings), roster, true, view));
            tell((tag, settings), done, report);
        }
        Ok(())
    }

    fn next_due(&self) -> Option<Instant> {
        None
    }
}

// `done` says whether an item was brought to the other room. If there was nothing to do, what failed may still fail.
fn tell((tag, settings): (&str, &LinkSettings), done: Result<Option<bool>>, report: &mut Report<'_>) {
    let place = layout::link(tag).display().to_string();
    match done {
        Ok(None) => {}
        Ok(Some(has_brought)) => {
            report.written(&place);
            if has_brought {
                report.brought(settings.address.clone().into());
            }
        }
        Err(e) => report.failed(place, &e),
    }
}

impl Shown {
    /// Finds out what is in `out/`.
    fn look(&mut self, tag: &str, view: &View<'_>) -> Result<()> {
        let out = view.config.dir().make_loose(layout::link_out(tag))?;
        let link = view.state.links.get(tag);
        let mut missing: BTreeSet<u64> = link.into_iter().flat_map(Link::waiting).map(|waiting| waiting.n).collect();
        for (n, name) in items(&out)? {
            if !missing.remove(&n) {
                out.remove(&name)?;
            }
        }
        let sent = link.and_then(|link| link.out.as_ref());
        self.stream = sent.map(|sent| sent.stream.to_string());
        self.removed = sent.map_or(0, |sent| sent.acked);
        self.upto = missing.first().map_or_else(|| sent.map_or(0, |sent| sent.n), |first| first - 1);
        self.state = EndState::read(&out)?;
        Ok(())
    }

    /// Makes `out/` what the log says, and brings what is new to the other room: whether an item was brought. `None` if
    /// there was nothing to do.
    fn show(
        &mut self,
        (tag, settings): (&str, &LinkSettings),
        roster: Arc<[FarAgent]>,
        is_sweep: bool,
        view: &View<'_>,
    ) -> Result<Option<bool>> {
        let link = view.state.links.get(tag);
        let Some(room) = view.state.room.as_deref() else { return Ok(Some(false)) };
        let now = EndState::of(room, link, roster);
        let is_missing = link.and_then(|link| link.out.as_ref()).is_some_and(|sent| self.upto < sent.n);
        let is_new = self.state.as_ref() != Some(&now) || is_missing;
        // First, because it is what the other room waits for.
        let brought = match settings.carrier {
            Carrier::Dir if is_new || is_sweep => {
                self.carry.run((tag, settings), now.clone(), is_sweep, view).map(Some)
            }
            _ => Ok((is_new || is_sweep).then_some(false)),
        };
        if is_new {
            let out = view.config.dir().make_loose(layout::link_out(tag))?;
            self.write_items(tag, link, &out, view)?;
            out.show(layout::LINK_STATE, &now.text())?;
            self.state = Some(now);
        }
        brought
    }

    fn write_items(&mut self, tag: &str, link: Option<&Link>, out: &Dir, view: &View<'_>) -> Result<()> {
        let Some(sent) = link.and_then(|link| link.out.as_ref()) else {
            (self.stream, self.upto, self.removed) = (None, 0, 0);
            return clear(out);
        };
        if self.stream.as_deref() != Some(&*sent.stream) {
            clear(out)?;
            (self.stream, self.upto, self.removed) = (Some(sent.stream.to_string()), 0, 0);
        }
        for n in self.removed + 1..=sent.acked.min(self.upto) {
            out.remove(layout::item(n))?;
        }
        self.removed = sent.acked;
        self.upto = self.upto.max(sent.acked);
        while self.upto < sent.n {
            let n = self.upto + 1;
            if let Some(waiting) = link.and_then(|link| link.waiting_at(n)) {
                out.show(layout::item(n), text(view.config.dir(), tag, waiting)?.as_bytes())?;
            }
            self.upto = n;
        }
        Ok(())
    }
}

fn clear(out: &Dir) -> Result<()> {
    items(out)?.iter().try_for_each(|(_, name)| out.remove(name))
}

/// An item, made from its record in the log.
fn text(room: &Dir, tag: &str, waiting: &Waiting) -> Result<String> {
    let gone = || Error::NotFound {
        what: format!("record {} is missing from the log, and its item for the room {tag} with it", waiting.seq),
        cure: "run `mailbag log verify`; `mailbag link rebind` sends what can be sent".into(),
    };
    let record = log::read_record(room, waiting.place)?.ok_or_else(gone)?;
    let carried = record.carried.iter().find(|carried| *carried.link == *tag && carried.n == waiting.n);
    let carried = carried.ok_or_else(gone)?;
    let Some((segment, offset)) = carried.again else {
        return Ok(link::text(&record, link::fields_of(&record).as_ref(), carried));
    };
    let record = log::read_record(room, Position { segment, offset })?.ok_or_else(gone)?;
    Ok(link::text(&record, link::fields_of(&record).as_ref(), carried))
}
