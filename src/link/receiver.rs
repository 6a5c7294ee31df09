//! What the peer sends: judged by its form and bounds, and written into `in/`. It never waits for the peer to read, so
//! that two carriers cannot wait for each other.

use super::frames::{Frame, Hello, Input, ItemText, VERSION, gone};
use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::disk::{Dir, layout};
use crate::room::Room;
use crate::room::links::{EndState, items};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What was heard of the peer, until the sender has taken it: the newest of each kind, so that a flood fills no memory.
#[derive(Default)]
pub(super) struct News {
    /// How far the other room is.
    pub(super) far: Option<EndState>,
    /// Items that the other room misses.
    pub(super) again: Option<(u64, u64)>,
    /// The largest number of an item that came.
    pub(super) got: u64,
    /// The connection is over, and why.
    pub(super) over: Option<Result<()>>,
    /// The sender was called, and has not looked yet.
    is_called: bool,
}

/// What a receiver tells its sender.
#[derive(Clone)]
pub(super) struct Told {
    news: Arc<Mutex<News>>,
    call: Arc<dyn Fn() + Send + Sync>,
}

impl Told {
    pub(super) fn new(call: impl Fn() + Send + Sync + 'static) -> Told {
        Told {
            news: Arc::default(),
            call: Arc::new(call),
        }
    }

    /// Notes what the sender needs only when it looks in any case.
    fn note(&self, change: impl FnOnce(&mut News)) {
        change(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Notes what is new, and calls the sender.
    fn tell(&self, change: impl FnOnce(&mut News)) {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut news);
        if !std::mem::replace(&mut news.is_called, true) {
            (self.call)();
        }
    }

    /// Is the connection over?
    pub(super) fn is_over(&self) -> bool {
        self.news
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .over
            .is_some()
    }

    /// What is new; the state and the largest number stay.
    pub(super) fn take(&self) -> News {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        news.is_called = false;
        News {
            far: news.far.clone(),
            again: news.again.take(),
            got: news.got,
            over: news.over.take(),
            is_called: false,
        }
    }
}

/// Writes what the peer sends.
pub(super) struct Receiver {
    own_room: String,
    into: Dir,
    /// `out/`, where the router says what this room has committed.
    own: Dir,
    /// Up to this number the room has committed the items, by the last look.
    committed: u64,
    /// The sizes of the items behind it that are in `in/`.
    waiting: BTreeMap<u64, u64>,
    far: Option<EndState>,
    told: Told,
}

impl Receiver {
    pub(super) fn new(room: &Room, tag: &str, told: Told) -> Result<Receiver> {
        let into = room.dir.make_loose(layout::link_in(tag))?;
        let own = room.dir.make_loose(layout::link_out(tag))?;
        let mut waiting = BTreeMap::new();
        for (n, name) in items(&into)? {
            waiting.extend(into.stat(&name)?.map(|meta| (n, meta.size)));
        }
        let far = EndState::read(&into)?;
        let own_room = room.id()?.unwrap_or_default();
        let mut receiver = Receiver {
            own_room,
            into,
            own,
            committed: 0,
            waiting,
            far,
            told,
        };
        receiver.look()?;
        Ok(receiver)
    }

    /// Takes frames until the connection is over.
    pub(super) fn run(mut self, mut input: Input) {
        let over = self.greet(&mut input).and_then(|()| self.go_on(&mut input));
        self.told.tell(|news| news.over = Some(over));
    }

    fn greet(&mut self, input: &mut Input) -> Result<()> {
        match input.next()? {
            Some(Frame::Hello(Hello {
                version: VERSION,
                room,
            })) if room != self.own_room => Ok(()),
            Some(Frame::Hello(Hello {
                version: VERSION, ..
            })) => Err(gone(
                "the address leads to this room itself, or to a copy of it".into(),
            )),
            Some(Frame::Hello(Hello { version, .. })) => Err(gone(format!(
                "the peer speaks version {version} of the protocol of links, and this program version {VERSION}: update the \
                 older one"
            ))),
            Some(Frame::Bye(why)) => Err(said(&why)),
            Some(_) => Err(gone(
                "the peer does not begin with the protocol of links".into(),
            )),
            None => Err(gone(
                "the peer ended the connection before it said anything".into(),
            )),
        }
    }

    fn go_on(&mut self, input: &mut Input) -> Result<()> {
        while let Some(frame) = input.next()? {
            match frame {
                Frame::State(far) => self.hear(far)?,
                Frame::Item(item) => self.take(&item)?,
                Frame::Again(from, to) => self.told.tell(|news| news.again = Some((from, to))),
                Frame::Bye(why) => return Err(said(&why)),
                Frame::Hello(_) => return Err(gone("the peer begins a second time".into())),
            }
        }
        Ok(())
    }

    fn hear(&mut self, far: EndState) -> Result<()> {
        if self.far.as_ref() != Some(&far) || self.into.stat(layout::LINK_STATE)?.is_none() {
            let text = far.text();
            if text.len() as u64 > limits::LINK_STATE_MOST {
                return Err(gone("the peer sends a state that is too large".into()));
            }
            self.into.show(layout::LINK_STATE, &text)?;
            self.far = Some(far.clone());
        }
        self.told.tell(|news| news.far = Some(far));
        Ok(())
    }

    /// Writes an item, under a name made from its number. The router judges it.
    fn take(&mut self, item: &ItemText) -> Result<()> {
        let n = item
            .read()
            .ok_or_else(|| gone("the peer sends an item that is damaged".into()))?
            .n;
        if n > self.committed + limits::FLYING_ITEMS {
            self.look()?;
        }
        if n > self.committed + limits::FLYING_ITEMS {
            return Err(gone(format!(
                "the peer sends item {n}, far ahead of item {}",
                self.committed
            )));
        }
        self.told.note(|news| news.got = news.got.max(n));
        if n <= self.committed {
            return Ok(());
        }
        let text = format!("{}\n", item.text());
        if !self.fits(n, text.len() as u64)? {
            // It is asked for again.
            return Ok(());
        }
        self.into.show(layout::item(n), text.as_bytes())?;
        self.waiting.insert(n, text.len() as u64);
        Ok(())
    }

    /// Is there space for an item of this size? The one that follows always has it.
    fn fits(&mut self, n: u64, size: u64) -> Result<bool> {
        let has_space = |waiting: &BTreeMap<u64, u64>| {
            let others: u64 = waiting
                .iter()
                .filter(|(known, _)| **known != n)
                .map(|(_, size)| size)
                .sum();
            others + size <= limits::FLYING_BYTES
        };
        if !has_space(&self.waiting) {
            self.look()?;
        }
        Ok(has_space(&self.waiting) || n == self.committed + 1)
    }

    fn look(&mut self) -> Result<()> {
        self.committed = EndState::read(&self.own)?
            .and_then(|own| own.came)
            .map_or(0, |came| came.n);
        self.waiting = self.waiting.split_off(&(self.committed + 1));
        Ok(())
    }
}

fn said(why: &str) -> crate::base::error::Error {
    gone(format!(
        "the peer ended the connection: {}",
        sanitize::quote(why, limits::BYE_CHARS)
    ))
}
