//! References to messages: `#12` by number, `alice/msg_7` by sender and id, `msg_7` by id, and `12` by number or id.
//! All commands and fields use this syntax. Commands and tools also find a message by a prefix of its id.

use crate::message::id::{self, is_sender};

/// A reference as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    sender: Option<String>,
    id: Option<String>,
    seq: Option<u64>,
}

/// The fewest characters of a prefix of an id. The index finds ids by them.
pub const PREFIX_CHARACTERS: usize = 8;

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

    /// The id in it.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The number in it.
    pub fn seq(&self) -> Option<u64> {
        self.seq
    }

    /// Returns true if this is a complete reference to the message.
    pub fn is_of(&self, from: &str, id: &str, seq: Option<u64>) -> bool {
        let is_number = self.seq.is_some() && self.seq == seq;
        let is_sender = self.sender.as_deref().is_none_or(|sender| sender == from);
        is_number || is_sender && self.id.as_deref() == Some(id)
    }

    /// The text as a prefix of ids, for a person who types it. `None` if it is too short, or has a sender or `#`.
    pub fn prefix(&self) -> Option<&str> {
        if self.sender.is_some() {
            return None;
        }
        self.id
            .as_deref()
            .filter(|text| text.len() >= PREFIX_CHARACTERS)
    }
}

impl<T> ReferenceResolution<T> {
    /// Several matches are ambiguous.
    pub fn of(mut found: Vec<T>) -> ReferenceResolution<T> {
        match found.len() {
            0 => ReferenceResolution::None,
            1 => ReferenceResolution::One(found.remove(0)),
            _ => ReferenceResolution::Several(found),
        }
    }
}

/// The id or number in a reference, without `#` and without the sender.
pub fn bare(reference: &str) -> &str {
    let reference = reference.strip_prefix('#').unwrap_or(reference);
    reference.rsplit('/').next().unwrap_or(reference)
}

// A text with a leading zero is not a number but an id.
fn seq(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_complete_reference_is_parsed() {
        let is_of = |text: &str| {
            Reference::parse(text).is_some_and(|one| one.is_of("alice", "0192f3-a", Some(12)))
        };
        for whole in ["#12", "12", "0192f3-a", "alice/0192f3-a"] {
            assert!(is_of(whole), "{whole}");
        }
        for other in [
            "0192f3",
            "0",
            "0192",
            "alice/0192",
            "0192f3-ab",
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
            assert!(!is_of(other), "{other}");
        }
    }

    #[test]
    fn a_prefix_is_a_long_text_without_a_sender() {
        for (text, prefix) in [
            ("deploy-12", Some("deploy-12")),
            ("deploy-1", Some("deploy-1")),
            ("12345678", Some("12345678")),
            ("deploy-", None),
            ("alice/deploy-12", None),
            ("#12345678", None),
        ] {
            let reference = Reference::parse(text).expect("a reference");
            assert_eq!(reference.prefix(), prefix, "{text}");
        }
    }

    #[test]
    fn two_matches_are_ambiguous() {
        assert_eq!(
            ReferenceResolution::of(vec![1]),
            ReferenceResolution::One(1)
        );
        assert_eq!(
            ReferenceResolution::of(vec![1, 2]),
            ReferenceResolution::Several(vec![1, 2])
        );
        assert_eq!(
            ReferenceResolution::of(Vec::<u8>::new()),
            ReferenceResolution::None
        );
    }
}
