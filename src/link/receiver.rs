//! Receives the peer's frames, checks their form and limits, and writes items into `in/`. It never waits for the peer to
//! read, so that two carriers cannot wait for each other.

use super::frames::{CarrierFrame, CarrierHello, FrameReader, ItemText, VERSION, gone};
use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::disk::{Dir, layout};
use crate::room::Room;
use crate::room::links::{LinkEndState, items};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// News of the peer for the sender. Only the newest of each kind is kept, so that a flood needs no memory.
#[derive(Default)]
pub(super) struct PeerUpdate {
    /// The state of the other room.
    pub(super) far: Option<LinkEndState>,
    /// The first and the last number of items that the other room asks for again.
    pub(super) again: Option<(u64, u64)>,
    /// The largest number of a received item.
    pub(super) got: u64,
    /// The reason, if the connection has ended.
    pub(super) over: Option<Result<()>>,
    /// Whether the sender was woken and has not read the news yet.
    is_called: bool,
}

/// The channel from a receiver to its sender.
#[derive(Clone)]
pub(super) struct PeerUpdateChannel {
    news: Arc<Mutex<PeerUpdate>>,
    call: Arc<dyn Fn() + Send + Sync>,
}

impl PeerUpdateChannel {
    pub(super) fn new(call: impl Fn() + Send + Sync + 'static) -> PeerUpdateChannel {
        PeerUpdateChannel {
            news: Arc::default(),
            call: Arc::new(call),
        }
    }

    /// Records news without waking the sender.
    fn note(&self, change: impl FnOnce(&mut PeerUpdate)) {
        change(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Records news and wakes the sender.
    fn notify(&self, change: impl FnOnce(&mut PeerUpdate)) {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut news);
        if !std::mem::replace(&mut news.is_called, true) {
            (self.call)();
        }
    }

    /// Returns true if the connection has ended.
    pub(super) fn is_over(&self) -> bool {
        self.news
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .over
            .is_some()
    }

    /// Takes the news. The state and the largest number stay.
    pub(super) fn take(&self) -> PeerUpdate {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        news.is_called = false;
        PeerUpdate {
            far: news.far.clone(),
            again: news.again.take(),
            got: news.got,
            over: news.over.take(),
            is_called: false,
        }
    }
}

/// Writes the items of the peer.
pub(super) struct ItemReceiver {
    own_room: String,
    into: Dir,
    /// `out/`, which contains the state of this room.
    own: Dir,
    /// The number of the last committed item, when the state was last read.
    committed: u64,
    /// The sizes of later items in `in/`, by number.
    waiting: BTreeMap<u64, u64>,
    far: Option<LinkEndState>,
    told: PeerUpdateChannel,
}

impl ItemReceiver {
    pub(super) fn new(room: &Room, tag: &str, told: PeerUpdateChannel) -> Result<ItemReceiver> {
        let into = room.dir.make_loose(layout::link_in(tag))?;
        let own = room.dir.make_loose(layout::link_out(tag))?;
        let mut waiting = BTreeMap::new();
        for (n, name) in items(&into)? {
            waiting.extend(into.stat(&name)?.map(|meta| (n, meta.size)));
        }
        let far = LinkEndState::read(&into)?;
        let own_room = room.id()?.unwrap_or_default();
        let mut receiver = ItemReceiver {
            own_room,
            into,
            own,
            committed: 0,
            waiting,
            far,
            told,
        };
        receiver.read_committed()?;
        Ok(receiver)
    }

    /// Receives frames until the connection ends.
    pub(super) fn run(mut self, mut input: FrameReader) {
        let over = self
            .check_hello(&mut input)
            .and_then(|()| self.receive(&mut input));
        self.told.notify(|news| news.over = Some(over));
    }

    fn check_hello(&mut self, input: &mut FrameReader) -> Result<()> {
        match input.next()? {
            Some(CarrierFrame::Hello(CarrierHello {
                version: VERSION,
                room,
            })) if room != self.own_room => Ok(()),
            Some(CarrierFrame::Hello(CarrierHello {
                version: VERSION, ..
            })) => Err(gone(
                "the address leads to this room itself, or to a copy of it".into(),
            )),
            Some(CarrierFrame::Hello(CarrierHello { version, .. })) => Err(gone(format!(
                "the peer uses version {version} of the link protocol, and this program version {VERSION}: update the \
                 older one"
            ))),
            Some(CarrierFrame::Bye(why)) => Err(ended_by_peer(&why)),
            Some(_) => Err(gone(
                "the peer does not start with the link protocol".into(),
            )),
            None => Err(gone(
                "the peer ended the connection before it sent anything".into(),
            )),
        }
    }

    fn receive(&mut self, input: &mut FrameReader) -> Result<()> {
        while let Some(frame) = input.next()? {
            match frame {
                CarrierFrame::State(far) => self.write_state(far)?,
                CarrierFrame::Item(item) => self.write_item(&item)?,
                CarrierFrame::Again(from, to) => {
                    self.told.notify(|news| news.again = Some((from, to)))
                }
                CarrierFrame::Bye(why) => return Err(ended_by_peer(&why)),
                CarrierFrame::Hello(_) => {
                    return Err(gone("the peer sends a second greeting".into()));
                }
            }
        }
        Ok(())
    }

    fn write_state(&mut self, far: LinkEndState) -> Result<()> {
        if self.far.as_ref() != Some(&far) || self.into.stat(layout::LINK_STATE)?.is_none() {
            let text = far.text();
            if text.len() as u64 > limits::LINK_STATE_MOST {
                return Err(gone("the peer sends a state that is too large".into()));
            }
            self.into.show(layout::LINK_STATE, &text)?;
            self.far = Some(far.clone());
        }
        self.told.notify(|news| news.far = Some(far));
        Ok(())
    }

    /// Writes an item, under a name made from its number. The router checks it.
    fn write_item(&mut self, item: &ItemText) -> Result<()> {
        let n = item
            .read()
            .ok_or_else(|| gone("the peer sends a damaged item".into()))?
            .n;
        if n > self.committed + limits::FLYING_ITEMS {
            self.read_committed()?;
        }
        if n > self.committed + limits::FLYING_ITEMS {
            return Err(gone(format!(
                "the peer sends item {n} too early after item {}",
                self.committed
            )));
        }
        self.told.note(|news| news.got = news.got.max(n));
        if n <= self.committed {
            return Ok(());
        }
        let text = format!("{}\n", item.text());
        if !self.has_space(n, text.len() as u64)? {
            // It is requested again later.
            return Ok(());
        }
        self.into.show(layout::item(n), text.as_bytes())?;
        self.waiting.insert(n, text.len() as u64);
        Ok(())
    }

    /// Returns true if there is space for an item of this size. The next item in order always has space.
    fn has_space(&mut self, n: u64, size: u64) -> Result<bool> {
        if self.bytes_without(n) + size > limits::FLYING_BYTES {
            self.read_committed()?;
        }
        Ok(self.bytes_without(n) + size <= limits::FLYING_BYTES || n == self.committed + 1)
    }

    /// The bytes of the waiting items, except this one.
    fn bytes_without(&self, n: u64) -> u64 {
        let others = self.waiting.iter().filter(|(known, _)| **known != n);
        others.map(|(_, size)| size).sum()
    }

    fn read_committed(&mut self) -> Result<()> {
        self.committed = LinkEndState::read(&self.own)?
            .and_then(|own| own.came)
            .map_or(0, |came| came.n);
        self.waiting = self.waiting.split_off(&(self.committed + 1));
        Ok(())
    }
}

fn ended_by_peer(why: &str) -> crate::base::error::Error {
    gone(format!(
        "the peer ended the connection: {}",
        sanitize::quote(why, limits::BYE_CHARS)
    ))
}
