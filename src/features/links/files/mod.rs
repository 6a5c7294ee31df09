//! Links: `out/` of each link has the state of this room, and the items that the other room has not committed. The
//! items of a link of the kind `dir` are brought to the other room instead, and are in `out/` only while that fails.

mod carry;

use crate::base::error::{Error, Result};
use crate::disk::{Dir, layout};
use crate::features::links::item as link;
use crate::log::RecordReader;
use crate::log::state::{LinkState, UnconfirmedItem};
use crate::room::links::{LinkEndState, ReportedAgent, items, roster};
use crate::room::registry::Registry;
use crate::room::settings::{Carrier, LinkSettings};
use crate::router::projections::{
    ProjectedMessage, Projection, ProjectionReport, ProjectionView, ReconcileCause,
};
use carry::DirectoryCarrier;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The written state of all links.
#[derive(Default)]
pub(super) struct LinkFiles {
    shown: BTreeMap<String, WrittenLink>,
    roster: PublishedAgents,
}

/// The agents of this room as other rooms see them, and their registry.
#[derive(Default)]
struct PublishedAgents(Option<(Arc<Registry>, Arc<[ReportedAgent]>)>);

impl PublishedAgents {
    fn of(&mut self, registry: &Arc<Registry>) -> Arc<[ReportedAgent]> {
        if let Some((known, agents)) = &self.0
            && Arc::ptr_eq(known, registry)
        {
            return agents.clone();
        }
        let agents: Arc<[ReportedAgent]> = roster(registry);
        self.0 = Some((registry.clone(), agents.clone()));
        agents
    }
}

/// A link's tag and settings.
#[derive(Clone, Copy)]
struct LinkEnd<'a> {
    tag: &'a str,
    settings: &'a LinkSettings,
}

/// The written state of one link.
#[derive(Default)]
struct WrittenLink {
    /// The number of the last item that is in `out/` or was brought.
    upto: u64,
    /// The number of the last item that was removed from `out/`.
    removed: u64,
    /// Whether items were brought, and are therefore not in `out/`.
    is_brought: bool,
    /// The stream of these numbers.
    stream: Option<String>,
    /// The state of this room in `out/`.
    state: Option<LinkEndState>,
    carry: DirectoryCarrier,
}

impl Projection for LinkFiles {
    fn apply(
        &mut self,
        _: &[ProjectedMessage],
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) {
        for (tag, settings) in &view.settings().links {
            let roster = self.roster.of(view.registry());
            let shown = self.shown.entry(tag.clone()).or_default();
            let end = LinkEnd { tag, settings };
            report_link(end, shown.show(end, roster, false, view), report);
        }
    }

    fn reconcile(
        &mut self,
        cause: ReconcileCause,
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) -> Result<()> {
        if cause == ReconcileCause::End {
            return Ok(());
        }
        let links = &view.settings().links;
        self.shown.retain(|tag, _| links.contains_key(tag));
        for (tag, settings) in links {
            let roster = self.roster.of(view.registry());
            let shown = self.shown.entry(tag.clone()).or_default();
            let end = LinkEnd { tag, settings };
            let done = shown
                .scan(tag, view)
                .and_then(|()| shown.show(end, roster, true, view));
            report_link(end, done, report);
        }
        Ok(())
    }
}

/// Reports the result of [`WrittenLink::show`]. Without work, an earlier failure may persist, so it stays reported.
fn report_link(end: LinkEnd<'_>, done: Result<Option<bool>>, report: &mut ProjectionReport<'_>) {
    let place = layout::link(end.tag).display().to_string();
    match done {
        Ok(None) => {}
        Ok(Some(has_brought)) => {
            report.written(&place);
            if has_brought {
                report.brought(end.settings.address.clone().into());
            }
        }
        Err(e) => report.failed(place, &e),
    }
}

impl WrittenLink {
    /// Reads the names in `out/`.
    fn scan(&mut self, tag: &str, view: &ProjectionView<'_>) -> Result<()> {
        let out = view.room().make_loose(layout::link_out(tag))?;
        let link = view.state.links.get(tag);
        let mut missing: BTreeSet<u64> = link
            .into_iter()
            .flat_map(LinkState::waiting)
            .map(|waiting| waiting.n)
            .collect();
        for (n, name) in items(&out)? {
            if !missing.remove(&n) {
                out.remove(&name)?;
            }
        }
        let sent = link.and_then(|link| link.out.as_ref());
        self.stream = sent.map(|sent| sent.stream.to_string());
        self.removed = sent.map_or(0, |sent| sent.acked);
        self.upto = missing
            .first()
            .map_or_else(|| sent.map_or(0, |sent| sent.n), |first| first - 1);
        self.state = LinkEndState::read(&out)?;
        Ok(())
    }

    /// Makes `out/` equal to the log, and brings new items to the other room. Returns whether an item was brought, or
    /// `None` without any work.
    fn show(
        &mut self,
        end: LinkEnd<'_>,
        roster: Arc<[ReportedAgent]>,
        is_sweep: bool,
        view: &ProjectionView<'_>,
    ) -> Result<Option<bool>> {
        let LinkEnd { tag, settings } = end;
        let link = view.state.links.get(tag);
        let Some(room) = view.state.room.as_deref() else {
            return Ok(Some(false));
        };
        let now = LinkEndState::of(room, link, roster);
        let is_shown = self.state.as_ref() == Some(&now);
        let is_missing = link
            .and_then(|link| link.out.as_ref())
            .is_some_and(|sent| self.upto < sent.n)
            || self.is_brought && settings.carrier != Carrier::Dir;
        if is_shown && !is_missing && !is_sweep {
            return Ok(None);
        }
        // First, because the other room waits for it.
        let brought = match settings.carrier {
            Carrier::Dir => Some(
                self.carry
                    .bring(end, now.clone(), is_sweep, view)
                    .inspect_err(|_| self.carry = DirectoryCarrier::default()),
            ),
            Carrier::Ssh | Carrier::Nats | Carrier::None => None,
        };
        if std::mem::replace(&mut self.is_brought, matches!(brought, Some(Ok(_))))
            && !self.is_brought
        {
            self.scan(tag, view)?;
        }
        let out = view.room().make_loose(layout::link_out(tag))?;
        self.write_items(tag, link, &out, view)?;
        if !is_shown {
            out.show(layout::LINK_STATE, &now.text())?;
            self.state = Some(now);
        }
        brought.unwrap_or(Ok(false)).map(Some)
    }

    /// Writes the items that were not brought, and removes the items that the other room has committed.
    fn write_items(
        &mut self,
        tag: &str,
        link: Option<&LinkState>,
        out: &Dir,
        view: &ProjectionView<'_>,
    ) -> Result<()> {
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
        self.removed = self.removed.max(sent.acked);
        self.upto = self.upto.max(sent.acked);
        if self.is_brought {
            if self.removed >= self.upto {
                self.removed = sent.n;
            }
            self.upto = sent.n;
        }
        let mut items = LinkItemBuilder::of(view, tag);
        while self.upto < sent.n {
            let n = self.upto + 1;
            if let Some(waiting) = link.and_then(|link| link.waiting_at(n)) {
                out.show(layout::item(n), items.text(waiting)?.as_bytes())?;
            }
            self.upto = n;
        }
        Ok(())
    }
}

fn clear(out: &Dir) -> Result<()> {
    items(out)?
        .iter()
        .try_for_each(|(_, name)| out.remove(name))
}

/// Makes items from their records in the log.
struct LinkItemBuilder<'v> {
    tag: &'v str,
    records: RecordReader,
}

impl<'v> LinkItemBuilder<'v> {
    fn of(view: &ProjectionView<'_>, tag: &'v str) -> LinkItemBuilder<'v> {
        LinkItemBuilder {
            tag,
            records: RecordReader::of(view.room()),
        }
    }

    /// The text of an item.
    fn text(&mut self, waiting: &UnconfirmedItem) -> Result<String> {
        let tag = self.tag;
        let record = self.records.at(waiting.place)?;
        let found = record.and_then(|record| {
            let mut carried = record.carried.iter();
            let carried = carried.find(|one| *one.link == *tag && one.n == waiting.n)?;
            Some((record, carried))
        });
        let Some((record, carried)) = found else {
            return Err(Error::not_found(
                format!(
                    "record {} is missing from the log, and its item for the room {tag} with it",
                    waiting.seq
                ),
                "run `mailbag log verify`",
            ));
        };
        Ok(link::text(
            record,
            record.message_fields().as_ref(),
            carried,
        ))
    }
}
