//! The names of the streams and subjects of a link. The room `fit` publishes its messages to `po` below `mailbag.po.fit`.

use crate::room::settings::{stream_of, token};

/// The names of a link.
#[derive(Debug, Clone)]
pub(super) struct NatsNames {
    own: String,
    peer: String,
    /// The streams with the messages to this room and to the other room.
    streams: [String; 2],
}

/// The kind of a message.
#[derive(Debug, PartialEq)]
pub(super) enum NatsMessageKind {
    /// The state of the sender.
    State,
    /// A request to send items again.
    Again,
    /// Part `part` of `of` of item `n`.
    Item { n: u64, part: u64, of: u64 },
}

impl NatsNames {
    /// The names of the link to the room `peer`, which knows this one as `own`.
    pub(super) fn new(own: &str, peer: &str) -> NatsNames {
        NatsNames {
            own: token(own),
            peer: token(peer),
            streams: [own, peer].map(stream_of),
        }
    }

    /// The stream with the messages to this room.
    pub(super) fn own_stream(&self) -> String {
        self.streams[0].clone()
    }

    /// The stream with the messages to the other room.
    pub(super) fn peer_stream(&self) -> String {
        self.streams[1].clone()
    }

    /// The subjects of both streams.
    pub(super) fn subjects(&self) -> [String; 2] {
        [&self.own, &self.peer].map(|room| format!("mailbag.{room}.*.>"))
    }

    /// The consumer of the messages from the other room.
    pub(super) fn consumer(&self) -> &str {
        &self.peer
    }

    /// The subjects of the messages from the other room.
    pub(super) fn heard(&self) -> String {
        format!("mailbag.{}.{}.>", self.own, self.peer)
    }

    /// The subject for answers of the servers.
    pub(super) fn inbox(&self) -> String {
        format!("_INBOX_mailbag_{}", self.own)
    }

    pub(super) fn subject(&self, kind: &NatsMessageKind) -> String {
        let begin = format!("mailbag.{}.{}", self.peer, self.own);
        match kind {
            NatsMessageKind::State => format!("{begin}.state"),
            NatsMessageKind::Again => format!("{begin}.again"),
            NatsMessageKind::Item { n, part, of } => format!("{begin}.item.{n}.{part}.{of}"),
        }
    }

    /// The kind of a message with this subject. `None` for an unknown subject.
    pub(super) fn kind(&self, subject: &str) -> Option<NatsMessageKind> {
        let rest = subject.strip_prefix(&*self.heard().trim_end_matches('>').to_owned())?;
        let words: Vec<&str> = rest.split('.').collect();
        match words.as_slice() {
            ["state"] => Some(NatsMessageKind::State),
            ["again"] => Some(NatsMessageKind::Again),
            ["item", n, part, of] => {
                let (n, part, of) = (n.parse().ok()?, part.parse().ok()?, of.parse().ok()?);
                (n > 0 && 1 <= part && part <= of).then_some(NatsMessageKind::Item { n, part, of })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_reads_the_subjects_that_the_other_room_writes() {
        let (fit, po) = (
            NatsNames::new("fit.west", "po"),
            NatsNames::new("po", "fit.west"),
        );
        assert_eq!(
            fit.subject(&NatsMessageKind::State),
            "mailbag.po.fit%2Ewest.state"
        );
        assert_eq!(
            (po.own_stream(), fit.peer_stream()),
            ("mailbag_po".into(), "mailbag_po".into())
        );
        for kind in [
            NatsMessageKind::State,
            NatsMessageKind::Again,
            NatsMessageKind::Item {
                n: 7,
                part: 2,
                of: 3,
            },
        ] {
            assert_eq!(po.kind(&fit.subject(&kind)).as_ref(), Some(&kind));
            assert_eq!(
                fit.kind(&fit.subject(&kind)),
                None,
                "a room does not read its own messages"
            );
        }
    }

    #[test]
    fn an_unknown_subject_has_no_kind() {
        let po = NatsNames::new("po", "fit");
        for rest in [
            "",
            "x",
            "state.x",
            "item",
            "item.1",
            "item.0.1.1",
            "item.1.0.1",
            "item.1.2.1",
            "item.x.1.1",
        ] {
            assert_eq!(po.kind(&format!("mailbag.po.fit.{rest}")), None, "{rest}");
        }
        let huge = format!("mailbag.po.fit.item.{}0.1.1", u64::MAX);
        assert!(po.kind(&huge).is_none() && po.kind("mailbag.po.fitness.state").is_none());
    }
}
