//! What comes from the other room, judged by its form and bounds, before it is handed on.
//!
//! The servers may bring a message late, twice, or not at all, and one of a carrier that is gone. Nothing of this is an error
//! of the other room: what does not fit is dropped, and a later message makes up for it.

use crate::base::limits;
use crate::link::frames::{Frame, Hello, VERSION};
use crate::room::links::{Came, EndState};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How far a room is, as its carrier says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Said {
    hello: Hello,
    /// The connection of the carrier, and how often it has spoken over it.
    session: String,
    count: u64,
    pub(super) state: EndState,
}

impl Said {
    /// The first thing that is said over a connection.
    pub(super) fn first(hello: Hello, state: EndState) -> Said {
        Said {
            hello,
            session: uuid::Uuid::new_v4().to_string(),
            count: 0,
            state,
        }
    }

    /// The next thing.
    pub(super) fn next(&mut self, state: EndState) {
        (self.count, self.state) = (self.count + 1, state);
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The id of the room.
    pub(super) fn room(&self) -> &str {
        &self.hello.room
    }
}

/// What becomes of something that came.
#[derive(Debug, PartialEq)]
pub(super) enum Heard {
    /// It is handed on.
    New,
    /// It is handed on, and the other room's carrier has started again: it may have lost what is on its way.
    Begun,
    /// It is dropped.
    Old,
}

/// The other room.
pub(super) struct Peer {
    /// What was handed on last.
    state: EndState,
    /// Who said it. `None` before anything came over this connection.
    session: Option<(String, u64)>,
    /// Another connection that takes back what was said.
    suspect: Option<String>,
    parts: Parts,
    /// When it spoke last, and since when it has committed nothing of what is on its way.
    spoke: Option<Instant>,
    stuck: (Instant, Duration),
}

impl Peer {
    /// What is known of the other room before it speaks: what it said last, or else that it has what it has confirmed.
    pub(super) fn new(own: &EndState, far: Option<EndState>) -> Peer {
        let confirmed = own.out.as_ref().filter(|out| out.acked > 0);
        let came = confirmed.map(|out| Came {
            stream: out.stream.clone(),
            n: out.acked,
            digest: String::new(),
        });
        let state = far.unwrap_or(EndState {
            room: String::new(),
            came,
            out: None,
            agents: Arc::default(),
        });
        let parts = Parts {
            most: limits::FRAME_BYTES as usize,
            ..Parts::default()
        };
        Peer {
            state,
            session: None,
            suspect: None,
            parts,
            spoke: None,
            stuck: (Instant::now(), limits::NATS_STUCK),
        }
    }

    /// How far it is.
    pub(super) fn state(&self) -> &EndState {
        &self.state
    }

    /// Up to which item it has committed them.
    pub(super) fn has(&self) -> u64 {
        self.state.came.as_ref().map_or(0, |came| came.n)
    }

    /// Judges what it says of itself, now or before this connection began. `Err` is why the rooms cannot speak with each other.
    pub(super) fn hear(
        &mut self,
        bytes: &[u8],
        own_room: &str,
        is_now: bool,
    ) -> Result<Heard, String> {
        #[derive(Deserialize)]
        struct Begin {
            hello: Hello,
        }
        if bytes.len() as u64 > limits::LINK_STATE_MOST {
            return Ok(Heard::Old);
        }
        match serde_json::from_slice(bytes) {
            Ok(Begin {
                hello: Hello { version, .. },
            }) if version != VERSION => {
                return Err(format!(
                    "the other room speaks version {version} of the protocol of links, and this program version {VERSION}: \
                     update the older one"
                ));
            }
            Ok(Begin { hello }) if hello.room == own_room => {
                return Err("the link leads to this room itself, or to a copy of it".to_owned());
            }
            _ => {}
        }
        let Ok(Said {
            session,
            count,
            state,
            ..
        }) = serde_json::from_slice(bytes)
        else {
            return Ok(Heard::Old);
        };
        if state.text().len() as u64 > limits::LINK_STATE_MOST {
            return Ok(Heard::Old);
        }
        let heard = self.judge(&session, count, &state, is_now);
        if heard != Heard::Old {
            self.spoke = Some(Instant::now());
            if state.came != self.state.came {
                self.stuck = (Instant::now(), limits::NATS_STUCK);
            }
            (self.session, self.suspect, self.state) = (Some((session, count)), None, state);
        }
        Ok(heard)
    }

    /// A state that takes back what another connection said comes from a carrier that is gone, unless it is said again.
    fn judge(&mut self, session: &str, count: u64, state: &EndState, is_now: bool) -> Heard {
        match &self.session {
            Some((known, last)) if known == session && count <= *last => Heard::Old,
            Some((known, _)) if known == session => Heard::New,
            // Everything was sent when this connection began.
            None if !is_now && follows(&self.state, state) => Heard::New,
            _ if follows(&self.state, state) || self.suspect.as_deref() == Some(session) => {
                Heard::Begun
            }
            _ => {
                self.suspect = Some(session.to_owned());
                Heard::Old
            }
        }
    }

    /// Has it spoken, but committed nothing for long, although there are items up to this one?
    pub(super) fn is_stuck(&mut self, last: u64) -> bool {
        let (since, patience) = self.stuck;
        if last <= self.has() {
            self.stuck.0 = Instant::now();
        }
        let speaks = self
            .spoke
            .is_some_and(|spoke| spoke.elapsed() < 2 * limits::CARRIER_BEAT);
        let is_stuck = last > self.has() && speaks && since.elapsed() > patience;
        if is_stuck {
            self.stuck = (Instant::now(), (patience * 2).min(limits::NATS_STUCK_MOST));
        }
        is_stuck
    }

    /// Adds a part of item `n`. Gives the item, as a frame, once it is whole and undamaged.
    pub(super) fn add(&mut self, n: u64, part: u64, of: u64, bytes: &[u8]) -> Option<Frame> {
        let whole = self.parts.add(n, part, of, bytes)?;
        match serde_json::from_slice(&whole) {
            Ok(Frame::Item(item)) if item.read().is_some_and(|item| item.n == n) => {
                Some(Frame::Item(item))
            }
            _ => None,
        }
    }
}

/// Does a state go on where another one ended?
fn follows(before: &EndState, after: &EndState) -> bool {
    let came = match (&before.came, &after.came) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(before), Some(after)) => before.stream == after.stream && before.n <= after.n,
    };
    let out = match (&before.out, &after.out) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(before), Some(after)) => {
            before.stream == after.stream && before.n <= after.n && before.acked <= after.acked
        }
    };
    came && out
}

/// An item whose parts come one after the other.
#[derive(Debug, Default)]
struct Parts {
    most: usize,
    n: u64,
    of: u64,
    /// The number of the last part.
    last: u64,
    bytes: Vec<u8>,
}

impl Parts {
    fn add(&mut self, n: u64, part: u64, of: u64, bytes: &[u8]) -> Option<Vec<u8>> {
        if part == 1 {
            self.bytes.clear();
            (self.n, self.of, self.last) = (n, of, 0);
        }
        let follows = (self.n, self.of, self.last + 1) == (n, of, part);
        if !follows || self.bytes.len() + bytes.len() > self.most {
            // Its first part starts it again.
            (self.n, self.bytes) = (0, Vec::new());
            return None;
        }
        self.bytes.extend_from_slice(bytes);
        self.last = part;
        (part == of).then(|| {
            self.n = 0;
            std::mem::take(&mut self.bytes)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::links::Sent;

    fn state(came: u64, sent: u64) -> EndState {
        let came = (came > 0).then(|| Came {
            stream: "s".into(),
            n: came,
            digest: "d".into(),
        });
        let out = (sent > 0).then(|| Sent {
            stream: "t".into(),
            n: sent,
            acked: 0,
        });
        EndState {
            room: "far".into(),
            came,
            out,
            agents: Arc::default(),
        }
    }

    fn carrier(state: EndState) -> Said {
        Said::first(
            Hello {
                version: VERSION,
                room: "far".into(),
            },
            state,
        )
    }

    fn peer() -> Peer {
        Peer::new(&state(0, 0), Some(state(5, 5)))
    }

    fn says(peer: &mut Peer, said: &Said) -> Heard {
        peer.hear(&said.bytes(), "own", false)
            .expect("it is understood")
    }

    #[test]
    fn a_word_that_comes_late_or_twice_takes_nothing_back() {
        let (mut peer, mut one) = (peer(), carrier(state(6, 5)));
        let first = one.clone();
        assert_eq!(says(&mut peer, &one), Heard::New);
        one.next(state(7, 5));
        assert_eq!(says(&mut peer, &one), Heard::New);
        assert_eq!(
            (says(&mut peer, &one), says(&mut peer, &first)),
            (Heard::Old, Heard::Old)
        );
        assert_eq!(peer.has(), 7);
    }

    #[test]
    fn the_last_word_of_a_carrier_that_is_gone_is_dropped_and_a_restored_room_is_heard() {
        let (mut peer, gone) = (peer(), carrier(state(6, 5)));
        let mut now = carrier(state(8, 5));
        assert_eq!(
            (says(&mut peer, &now), says(&mut peer, &gone)),
            (Heard::New, Heard::Old)
        );
        now.next(state(9, 5));
        assert_eq!(says(&mut peer, &now), Heard::New);
        let mut restored = carrier(state(2, 5));
        assert_eq!((says(&mut peer, &restored), peer.has()), (Heard::Old, 9));
        restored.next(state(2, 5));
        assert_eq!((says(&mut peer, &restored), peer.has()), (Heard::Begun, 2));
    }

    #[test]
    fn another_version_and_this_room_itself_end_the_connection_and_garbage_is_dropped() {
        let (mut peer, mut said) = (peer(), carrier(state(6, 5)));
        for text in [
            "",
            "{}",
            "[]",
            "\u{0}",
            "{\"hello\":{\"version\":1,\"room\":\"x\"}}",
        ] {
            assert_eq!(
                peer.hear(text.as_bytes(), "own", true),
                Ok(Heard::Old),
                "{text}"
            );
        }
        said.state.room = "r".repeat(limits::LINK_STATE_MOST as usize);
        assert_eq!(peer.hear(&said.bytes(), "own", true), Ok(Heard::Old));
        assert!(
            peer.hear(&carrier(state(6, 5)).bytes(), "far", true)
                .is_err_and(|why| why.contains("itself"))
        );
        let newer = b"{\"hello\":{\"version\":9,\"room\":\"x\"},\"more\":[]}";
        assert!(
            peer.hear(newer, "own", true)
                .is_err_and(|why| why.contains("version 9"))
        );
        assert_eq!(peer.has(), 5);
    }

    #[test]
    fn a_room_that_was_never_heard_has_what_it_confirmed() {
        let mut own = state(0, 9);
        assert_eq!(Peer::new(&own, None).state().came, None);
        own.out.as_mut().expect("it sent").acked = 4;
        assert_eq!(Peer::new(&own, None).has(), 4);
    }

    #[test]
    fn parts_make_an_item_only_without_a_gap() {
        let mut parts = Parts {
            most: 10,
            ..Parts::default()
        };
        assert_eq!(parts.add(1, 1, 1, b"one"), Some(b"one".to_vec()));
        assert_eq!(
            (parts.add(2, 1, 2, b"a"), parts.add(2, 2, 2, b"b")),
            (None, Some(b"ab".to_vec()))
        );
        assert_eq!(
            (
                parts.add(3, 1, 3, b"a"),
                parts.add(3, 3, 3, b"c"),
                parts.add(3, 2, 3, b"b")
            ),
            (None, None, None)
        );
        assert_eq!(
            (
                parts.add(4, 1, 2, b"a"),
                parts.add(5, 2, 2, b"b"),
                parts.add(4, 2, 2, b"b")
            ),
            (None, None, None)
        );
        assert_eq!(
            (parts.add(6, 1, 2, b"123456789"), parts.add(6, 2, 2, b"123")),
            (None, None)
        );
        assert!(parts.bytes.capacity() == 0, "a bound on what is kept");
    }
}
