//! How the streams and subjects of a link are called. The room `fit` publishes below `mailbag.po.fit` what it says to `po`.

use crate::room::settings::{stream_of, token};

/// The names of a link.
#[derive(Debug, Clone)]
pub(super) struct Names {
    own: String,
    peer: String,
    /// The streams that have what is for this room, and what is for the other one.
    streams: [String; 2],
}

/// What a message is.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    /// How far the other room is.
    State,
    /// Items that it misses.
    Again,
    /// Part `part` of `of` of item `n`.
    Item { n: u64, part: u64, of: u64 },
}

impl Names {
    /// The names of the link to the room `peer`, which knows this one as `own`.
    pub(super) fn new(own: &str, peer: &str) -> Names {
        Names {
            own: token(own),
            peer: token(peer),
            streams: [own, peer].map(stream_of),
        }
    }

    /// The stream that has what is for this room.
    pub(super) fn own_stream(&self) -> String {
        self.streams[0].clone()
    }

    /// The stream that has what is for the other room.
    pub(super) fn peer_stream(&self) -> String {
        self.streams[1].clone()
    }

    /// The subjects of each of these streams.
    pub(super) fn subjects(&self) -> [String; 2] {
        [&self.own, &self.peer].map(|room| format!("mailbag.{room}.*.>"))
    }

    /// The consumer of what the other room says to this one.
    pub(super) fn consumer(&self) -> &str {
        &self.peer
    }

    /// The subjects of what the other room says to this one.
    pub(super) fn heard(&self) -> String {
        format!("mailbag.{}.{}.>", self.own, self.peer)
    }

    /// What answers of the servers come to.
    pub(super) fn inbox(&self) -> String {
        format!("_INBOX_mailbag_{}", self.own)
    }

    pub(super) fn subject(&self, kind: &Kind) -> String {
        let begin = format!("mailbag.{}.{}", self.peer, self.own);
        match kind {
            Kind::State => format!("{begin}.state"),
            Kind::Again => format!("{begin}.again"),
            Kind::Item { n, part, of } => format!("{begin}.item.{n}.{part}.{of}"),
        }
    }

    /// What a message with this subject is. `None` for any other one.
    pub(super) fn kind(&self, subject: &str) -> Option<Kind> {
        let rest = subject.strip_prefix(&*self.heard().trim_end_matches('>').to_owned())?;
        let words: Vec<&str> = rest.split('.').collect();
        match words.as_slice() {
            ["state"] => Some(Kind::State),
            ["again"] => Some(Kind::Again),
            ["item", n, part, of] => {
                let (n, part, of) = (n.parse().ok()?, part.parse().ok()?, of.parse().ok()?);
                (n > 0 && 1 <= part && part <= of).then_some(Kind::Item { n, part, of })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_room_says_the_other_one_hears() {
        let (fit, po) = (Names::new("fit.west", "po"), Names::new("po", "fit.west"));
        assert_eq!(fit.subject(&Kind::State), "mailbag.po.fit%2Ewest.state");
        assert_eq!(
            (po.own_stream(), fit.peer_stream()),
            ("mailbag_po".into(), "mailbag_po".into())
        );
        for kind in [
            Kind::State,
            Kind::Again,
            Kind::Item {
                n: 7,
                part: 2,
                of: 3,
            },
        ] {
            assert_eq!(po.kind(&fit.subject(&kind)).as_ref(), Some(&kind));
            assert_eq!(
                fit.kind(&fit.subject(&kind)),
                None,
                "its own words are not for it"
            );
        }
    }

    #[test]
    fn another_subject_is_nothing() {
        let po = Names::new("po", "fit");
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
