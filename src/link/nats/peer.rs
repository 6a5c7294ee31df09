//! Checks the form and the limits of the other room's messages before they are forwarded.
//!
//! The servers can deliver a message late, twice, or not at all, and also a message of a carrier that has ended. This is not
//! an error of the other room: a message that does not fit is dropped, and a later message replaces it.

use crate::base::hash::NO_HASH;
use crate::base::limits;
use crate::link::frames::{CarrierFrame, CarrierHello, VERSION};
use crate::log::state::IncomingStream;
use crate::room::links::LinkEndState;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// If the other room speaks, and commits nothing for this time, everything is sent to it again. It doubles up to
/// [`NATS_STUCK_MOST`].
const NATS_STUCK: Duration = Duration::from_secs(60);
/// The longest time until everything is sent again.
const NATS_STUCK_MOST: Duration = Duration::from_secs(1024);

/// A state message: the state of a room, with its sender and its place in the sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StateMessage {
    hello: CarrierHello,
    /// The connection of the carrier, and the number of its earlier messages on this connection.
    session: String,
    count: u64,
    pub(super) state: LinkEndState,
}

impl StateMessage {
    /// The first message of a connection.
    pub(super) fn first(hello: CarrierHello, state: LinkEndState) -> StateMessage {
        StateMessage {
            hello,
            session: uuid::Uuid::new_v4().to_string(),
            count: 0,
            state,
        }
    }

    /// Turns this message into the next one.
    pub(super) fn next(&mut self, state: LinkEndState) {
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

/// The treatment of an incoming message.
#[derive(Debug, PartialEq)]
pub(super) enum MessageTreatment {
    /// It is forwarded.
    New,
    /// It is forwarded. The other room's carrier has restarted, so items in transit can be lost.
    Begun,
    /// It is dropped.
    Old,
}

/// The other room.
pub(super) struct NatsPeer {
    /// The last forwarded state.
    state: LinkEndState,
    /// The sender of that state and its count. `None` before the first message of this connection.
    session: Option<(String, u64)>,
    /// Another sender. Its state was older and was dropped.
    suspect: Option<String>,
    parts: ItemAssembler,
    /// The time of its last message.
    spoke: Option<Instant>,
    /// The time of its last commit, and the longest transit. Later items count as lost.
    stuck: (Instant, Duration),
}

impl NatsPeer {
    /// The known state of the other room before its first message: its last state, else the items that it has confirmed.
    pub(super) fn new(own: &LinkEndState, far: Option<LinkEndState>) -> NatsPeer {
        let confirmed = own.out.as_ref().filter(|out| out.acked > 0);
        let came = confirmed.map(|out| IncomingStream {
            stream: out.stream.clone(),
            n: out.acked,
            digest: NO_HASH,
        });
        let state = far.unwrap_or(LinkEndState {
            room: String::new(),
            came,
            out: None,
            agents: Arc::default(),
        });
        let parts = ItemAssembler {
            most: limits::FRAME_BYTES as usize,
            ..ItemAssembler::default()
        };
        NatsPeer {
            state,
            session: None,
            suspect: None,
            parts,
            spoke: None,
            stuck: (Instant::now(), NATS_STUCK),
        }
    }

    /// Its last forwarded state.
    pub(super) fn state(&self) -> &LinkEndState {
        &self.state
    }

    /// The number of the last item that it has committed.
    pub(super) fn has(&self) -> u64 {
        self.state.came.as_ref().map_or(0, |came| came.n)
    }

    /// Checks a state message. `is_now` is false for a message from before this connection. Fails with the reason if the rooms
    /// cannot communicate.
    pub(super) fn hear(
        &mut self,
        bytes: &[u8],
        own_room: &str,
        is_now: bool,
    ) -> Result<MessageTreatment, String> {
        #[derive(Deserialize)]
        struct StateMessageHello {
            hello: CarrierHello,
        }
        if bytes.len() as u64 > limits::LINK_STATE_MOST {
            return Ok(MessageTreatment::Old);
        }
        match serde_json::from_slice(bytes) {
            Ok(StateMessageHello {
                hello: CarrierHello { version, .. },
            }) if version != VERSION => {
                return Err(format!(
                    "the other room uses version {version} of the link protocol, and this program version {VERSION}: \
                     update the older one"
                ));
            }
            Ok(StateMessageHello { hello }) if hello.room == own_room => {
                return Err("the link leads to this room itself, or to a copy of it".to_owned());
            }
            _ => {}
        }
        let Ok(StateMessage {
            session,
            count,
            state,
            ..
        }) = serde_json::from_slice(bytes)
        else {
            return Ok(MessageTreatment::Old);
        };
        if state.text().len() as u64 > limits::LINK_STATE_MOST {
            return Ok(MessageTreatment::Old);
        }
        let heard = self.judge(&session, count, &state, is_now);
        if heard != MessageTreatment::Old {
            self.spoke = Some(Instant::now());
            if state.came != self.state.came {
                self.stuck = (Instant::now(), NATS_STUCK);
            }
            (self.session, self.suspect, self.state) = (Some((session, count)), None, state);
        }
        Ok(heard)
    }

    /// Judges a state. If it is older than another connection's state and is not repeated, its carrier has ended.
    fn judge(
        &mut self,
        session: &str,
        count: u64,
        state: &LinkEndState,
        is_now: bool,
    ) -> MessageTreatment {
        match &self.session {
            Some((known, last)) if known == session && count <= *last => MessageTreatment::Old,
            Some((known, _)) if known == session => MessageTreatment::New,
            // At the start of this connection, everything was sent.
            None if !is_now && follows(&self.state, state) => MessageTreatment::New,
            _ if follows(&self.state, state) || self.suspect.as_deref() == Some(session) => {
                MessageTreatment::Begun
            }
            _ => {
                self.suspect = Some(session.to_owned());
                MessageTreatment::Old
            }
        }
    }

    /// Returns true if the peer sends messages but has committed nothing for a long time, although items up to `last` exist.
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
            self.stuck = (Instant::now(), (patience * 2).min(NATS_STUCK_MOST));
        }
        is_stuck
    }

    /// Adds a part of item `n`. Returns the item as a frame once it is complete and valid.
    pub(super) fn add(&mut self, n: u64, part: u64, of: u64, bytes: &[u8]) -> Option<CarrierFrame> {
        let whole = self.parts.add(n, part, of, bytes)?;
        match serde_json::from_slice(&whole) {
            Ok(CarrierFrame::Item(item)) if item.read().is_some_and(|item| item.n == n) => {
                Some(CarrierFrame::Item(item))
            }
            _ => None,
        }
    }
}

/// Returns true if `after` is not older than `before`.
fn follows(before: &LinkEndState, after: &LinkEndState) -> bool {
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

/// Assembles an item from its parts, which must arrive in order.
#[derive(Debug, Default)]
struct ItemAssembler {
    most: usize,
    n: u64,
    of: u64,
    /// The number of the last added part.
    last: u64,
    bytes: Vec<u8>,
}

impl ItemAssembler {
    fn add(&mut self, n: u64, part: u64, of: u64, bytes: &[u8]) -> Option<Vec<u8>> {
        if part == 1 {
            self.bytes.clear();
            (self.n, self.of, self.last) = (n, of, 0);
        }
        let follows = (self.n, self.of, self.last + 1) == (n, of, part);
        if !follows || self.bytes.len() + bytes.len() > self.most {
            // The item starts again with its first part.
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
    use crate::room::links::SentStream;

    fn state(came: u64, sent: u64) -> LinkEndState {
        let came = (came > 0).then(|| IncomingStream {
            stream: "s".into(),
            n: came,
            digest: NO_HASH,
        });
        let out = (sent > 0).then(|| SentStream {
            stream: "t".into(),
            n: sent,
            acked: 0,
        });
        LinkEndState {
            room: "far".into(),
            came,
            out,
            agents: Arc::default(),
        }
    }

    fn carrier(state: LinkEndState) -> StateMessage {
        StateMessage::first(
            CarrierHello {
                version: VERSION,
                room: "far".into(),
            },
            state,
        )
    }

    fn peer() -> NatsPeer {
        NatsPeer::new(&state(0, 0), Some(state(5, 5)))
    }

    fn says(peer: &mut NatsPeer, said: &StateMessage) -> MessageTreatment {
        peer.hear(&said.bytes(), "own", false)
            .expect("it is understood")
    }

    #[test]
    fn a_late_or_repeated_state_changes_nothing() {
        let (mut peer, mut one) = (peer(), carrier(state(6, 5)));
        let first = one.clone();
        assert_eq!(says(&mut peer, &one), MessageTreatment::New);
        one.next(state(7, 5));
        assert_eq!(says(&mut peer, &one), MessageTreatment::New);
        assert_eq!(
            (says(&mut peer, &one), says(&mut peer, &first)),
            (MessageTreatment::Old, MessageTreatment::Old)
        );
        assert_eq!(peer.has(), 7);
    }

    #[test]
    fn the_last_state_of_an_ended_carrier_is_dropped_and_a_restored_room_is_accepted() {
        let (mut peer, gone) = (peer(), carrier(state(6, 5)));
        let mut now = carrier(state(8, 5));
        assert_eq!(
            (says(&mut peer, &now), says(&mut peer, &gone)),
            (MessageTreatment::New, MessageTreatment::Old)
        );
        now.next(state(9, 5));
        assert_eq!(says(&mut peer, &now), MessageTreatment::New);
        let mut restored = carrier(state(2, 5));
        assert_eq!(
            (says(&mut peer, &restored), peer.has()),
            (MessageTreatment::Old, 9)
        );
        restored.next(state(2, 5));
        assert_eq!(
            (says(&mut peer, &restored), peer.has()),
            (MessageTreatment::Begun, 2)
        );
    }

    #[test]
    fn another_version_or_a_loop_ends_the_connection_and_garbage_is_dropped() {
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
                Ok(MessageTreatment::Old),
                "{text}"
            );
        }
        said.state.room = "r".repeat(limits::LINK_STATE_MOST as usize);
        assert_eq!(
            peer.hear(&said.bytes(), "own", true),
            Ok(MessageTreatment::Old)
        );
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
    fn a_room_without_a_message_has_the_items_that_it_confirmed() {
        let mut own = state(0, 9);
        assert_eq!(NatsPeer::new(&own, None).state().came, None);
        own.out.as_mut().expect("it sent").acked = 4;
        assert_eq!(NatsPeer::new(&own, None).has(), 4);
    }

    #[test]
    fn parts_without_a_gap_become_an_item() {
        let mut parts = ItemAssembler {
            most: 10,
            ..ItemAssembler::default()
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
        assert!(parts.bytes.capacity() == 0, "no memory is kept");
    }
}
