//! References to messages: `#12` by number, `alice/msg_7` by sender and id, `msg_7` by id, `12` by number or id, and
//! `msg` by a prefix of an id. All commands and fields use this syntax.

use crate::message::id::{self, is_sender};

/// A reference as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    sender: Option<String>,
    id: Option<String>,
    seq: Option<u64>,
}

/// How a message matches a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceMatch {
    /// By its full id or its number.
    Whole,
    /// By a prefix of its id.
    Beginning,
}

/// The result of resolving a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceResolution<T> {
    /// One message matches.
    One(T),
    /// No message matches.
    None,
    /// Several messages match.
    Several(Vec<T>),
}

impl Reference {
    /// Reads a reference. `None` if no message can have this name.
    pub fn parse(text: &str) -> Option<Reference> {
        if let Some(number) = text.strip_prefix('#') {
            return Some(Reference {
                sender: None,
                id: None,
                seq: Some(seq(number)?),
            });
        }
        let (sender, id) = match text.split_once('/') {
            Some((sender, id)) => (Some(sender), id),
            None => (None, text),
        };
        let is_one = id::is_message_id(id) && sender.is_none_or(is_sender);
        let seq = if sender.is_none() { seq(id) } else { None };
        is_one.then(|| Reference {
            sender: sender.map(str::to_owned),
            id: Some(id.to_owned()),
            seq,
        })
    }

    /// The sender in it.
    pub fn sender(&self) -> Option<&str> {
        self.sender.as_deref()
    }

    /// The id in it, or a prefix of one.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The number in it.
    pub fn seq(&self) -> Option<u64> {
        self.seq
    }

    /// How this message matches. `None` if it does not.
    pub fn fit(&self, from: &str, id: &str, seq: Option<u64>) -> Option<ReferenceMatch> {
        if self.seq.is_some() && self.seq == seq {
            return Some(ReferenceMatch::Whole);
        }
        if self.sender.as_deref().is_some_and(|sender| sender != from) {
            return None;
        }
        let rest = id.strip_prefix(self.id.as_deref()?)?;
        Some(if rest.is_empty() {
            ReferenceMatch::Whole
        } else {
            ReferenceMatch::Beginning
        })
    }
}

/// Chooses the match. Full names take precedence over prefixes; several equal matches are ambiguous.
pub fn choose<T>(found: Vec<(ReferenceMatch, T)>) -> ReferenceResolution<T> {
    let (whole, begun): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|(fit, _)| *fit == ReferenceMatch::Whole);
    let best = if whole.is_empty() { begun } else { whole };
    let mut best: Vec<T> = best.into_iter().map(|(_, one)| one).collect();
    match best.len() {
        0 => ReferenceResolution::None,
        1 => ReferenceResolution::One(best.remove(0)),
        _ => ReferenceResolution::Several(best),
    }
}

/// The id or number in a reference, without `#` and without the sender.
pub fn bare(reference: &str) -> &str {
    let reference = reference.strip_prefix('#').unwrap_or(reference);
    reference.rsplit('/').next().unwrap_or(reference)
}

// A text with a leading zero is not a number but the prefix of an id.
fn seq(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spelling_of_a_reference_is_parsed() {
        let fit = |text: &str| {
            Reference::parse(text).and_then(|one| one.fit("alice", "0192f3-a", Some(12)))
        };
        for whole in ["#12", "12", "0192f3-a", "alice/0192f3-a"] {
            assert_eq!(fit(whole), Some(ReferenceMatch::Whole), "{whole}");
        }
        for begun in ["0192f3", "0", "0192", "alice/0192"] {
            assert_eq!(fit(begun), Some(ReferenceMatch::Beginning), "{begun}");
        }
        for other in [
            "#1",
            "1",
            "012",
            "bob/0192f3-a",
            "#0192f3-a",
            "",
            "/a",
            "a/b/c",
            "\"",
            "#",
            "#+12",
            "alice/12",
        ] {
            assert_eq!(fit(other), None, "{other}");
        }
    }

    #[test]
    fn a_complete_name_takes_precedence_over_a_prefix_and_two_matches_are_ambiguous() {
        use ReferenceMatch::{Beginning, Whole};
        assert_eq!(
            choose(vec![(Beginning, 1), (Whole, 2)]),
            ReferenceResolution::One(2)
        );
        assert_eq!(
            choose(vec![(Beginning, 1), (Beginning, 2)]),
            ReferenceResolution::Several(vec![1, 2])
        );
        assert_eq!(
            choose(Vec::<(ReferenceMatch, u8)>::new()),
            ReferenceResolution::None
        );
    }
}
