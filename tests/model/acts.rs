//! The acts that change a room.

use super::letters::{Broken, Expires, Flaw, Letter, Mail, instant};
use super::people::{AGENTS, ALIASES, Address, Name, PATTERNS, ROLES, TOPICS};
use crate::sim::Fate;
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt;

/// Something that happens.
#[derive(Clone)]
pub(super) enum Act {
    /// A sender drops a letter.
    Drop {
        sender: Name,
        letter: Letter,
        as_: Dropping,
    },
    /// A sender drops a file that it dropped before, under a new name.
    Again { which: usize, as_: Dropping },
    /// A recipient takes one of its unread messages.
    Take {
        agent: Name,
        which: usize,
        way: Taking,
    },
    /// A person edits the registry.
    Edit(Edit),
    /// Advances the time by hours; the first one starts today.
    Later(u32),
    /// A pass over the room.
    Pass,
    /// A pass and a crash at one of its steps. `choice` chooses one of the disks that the crash can leave.
    Crash {
        step: usize,
        fate: Fate,
        choice: usize,
    },
    /// A pass with one failing call, or with failing calls from then on.
    Fail {
        call: usize,
        error: usize,
        lasts: bool,
    },
}

/// The name of a file in an outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dropping {
    /// The first character of its name: files of one outbox are read in the order of their names.
    pub(super) first: char,
    /// True for a name without the form of a message file.
    pub(super) aside: bool,
}

/// A recipient's action on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taking {
    ToSeen,
    Delete,
    Elsewhere,
}

/// An edit of the registry.
#[derive(Debug, Clone)]
pub(super) enum Edit {
    Add(Name, Name),
    Retire(Name),
    Activate(Name),
    Role(Name, Name),
    Alias(Name, Vec<Address>),
}

/// Any act, with crashes and failing calls or without.
pub(super) fn acts(crashes: bool) -> BoxedStrategy<Act> {
    let sender = || prop_oneof![8 => select(&AGENTS[..4]), 1 => select(&AGENTS[..])];
    let drop = (sender(), letter(), dropping()).prop_map(|(sender, letter, as_)| Act::Drop {
        sender,
        letter,
        as_,
    });
    let again = (0..64usize, dropping()).prop_map(|(which, as_)| Act::Again { which, as_ });
    let way = select(vec![Taking::ToSeen, Taking::Delete, Taking::Elsewhere]);
    let takers = [&AGENTS[..], &["human"]].concat();
    let take = (select(takers), 0..8usize, way).prop_map(|(agent, which, way)| Act::Take {
        agent,
        which,
        way,
    });
    let crash = (0..64usize, select(&Fate::ALL[..]), 0..1000usize)
        .prop_map(|(step, fate, choice)| Act::Crash { step, fate, choice });
    let fail = (0..1000usize, 0..1000usize, any::<bool>())
        .prop_map(|(call, error, lasts)| Act::Fail { call, error, lasts });
    prop_oneof![
        12 => drop,
        4 => again,
        5 => take,
        4 => edit().prop_map(Act::Edit),
        1 => (1..12u32).prop_map(Act::Later),
        6 => Just(Act::Pass),
        if crashes { 4 } else { 0 } => crash,
        if crashes { 2 } else { 0 } => fail,
    ]
    .boxed()
}

fn letter() -> impl Strategy<Value = Letter> {
    let broken = vec![
        Broken::NotJson,
        Broken::List,
        Broken::KeyTwice,
        Broken::Empty,
        Broken::Truncated,
    ];
    let follow = (select(&TOPICS[..]), any::<bool>())
        .prop_map(|(topic, follow)| Letter::Follow { topic, follow });
    prop_oneof![10 => mail().prop_map(Letter::Mail), 2 => follow, 1 => select(broken).prop_map(Letter::Broken)]
}

fn mail() -> impl Strategy<Value = Mail> {
    let to = prop_oneof![3 => prop::collection::vec(address(), 1), 1 => prop::collection::vec(address(), 1..4)];
    let id = prop::option::weighted(0.6, 0..4u8);
    let expires = prop_oneof![
        6 => Just(None),
        1 => Just(Some(Expires::LongAgo)),
        2 => (1..24u32).prop_map(|hours| Some(Expires::At(hours))),
    ];
    let flaw = prop_oneof![12 => Just(None), 1 => Just(Some(Flaw::Spoofed)), 1 => Just(Some(Flaw::SaysNothing))];
    (to, id, 0..3u8, expires, flaw, prop::bool::weighted(0.2)).prop_map(
        |(to, id, body, expires, flaw, spelled)| Mail {
            to,
            id,
            body,
            expires,
            flaw,
            spelled,
        },
    )
}

fn address() -> impl Strategy<Value = Address> {
    prop_oneof![
        8 => select(&AGENTS[..]).prop_map(Address::Agent),
        1 => Just(Address::Bob),
        1 => Just(Address::Human),
        1 => Just(Address::Nobody),
        2 => Just(Address::All),
        2 => select(&ROLES[..]).prop_map(Address::Role),
        2 => select(&ROLES[..]).prop_map(Address::Any),
        2 => select(&PATTERNS[..]).prop_map(Address::Pattern),
        3 => select(&TOPICS[..]).prop_map(Address::Topic),
        1 => Just(Address::Capability),
        2 => select(&ALIASES[..]).prop_map(Address::Alias),
    ]
}

fn dropping() -> impl Strategy<Value = Dropping> {
    let first = select(vec!['a', 'm', 'z']);
    (first, prop::bool::weighted(0.03)).prop_map(|(first, aside)| Dropping { first, aside })
}

fn edit() -> impl Strategy<Value = Edit> {
    let target = prop_oneof![
        select(&AGENTS[..]).prop_map(Address::Agent),
        select(&ROLES[..]).prop_map(Address::Role),
        select(&TOPICS[..]).prop_map(Address::Topic),
        Just(Address::Capability),
    ];
    prop_oneof![
        (select(&AGENTS[4..]), select(&ROLES[..])).prop_map(|(agent, role)| Edit::Add(agent, role)),
        select(&AGENTS[..]).prop_map(Edit::Retire),
        select(&AGENTS[..]).prop_map(Edit::Activate),
        (select(&AGENTS[..]), select(&ROLES[..])).prop_map(|(agent, role)| Edit::Role(agent, role)),
        (select(&ALIASES[..]), prop::collection::vec(target, 1..3))
            .prop_map(|(alias, to)| Edit::Alias(alias, to)),
    ]
}

impl Dropping {
    /// The name of the so manieth file that is dropped.
    pub(super) fn name(self, number: usize) -> String {
        format!(
            "{}{number:03}.{}",
            self.first,
            if self.aside { "txt" } else { "json" }
        )
    }
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Act::Drop {
                sender,
                letter,
                as_,
            } => write!(f, "{sender} drops {letter:?}{as_}"),
            Act::Again { which, as_ } => write!(
                f,
                "dropped again: of the files so far the one at {which}{as_}"
            ),
            Act::Take { agent, which, way } => {
                write!(f, "{agent} takes unread message {which}: {way:?}")
            }
            Act::Edit(edit) => write!(f, "the registry is edited: {edit:?}"),
            Act::Later(hours) => write!(f, "{hours} hours pass, counted from {} on", instant(0)),
            Act::Pass => write!(f, "a pass"),
            Act::Crash { step, fate, choice } => {
                write!(
                    f,
                    "a pass and a crash at step {step}: {fate:?}, disk {choice}"
                )
            }
            Act::Fail { call, error, lasts } => {
                let from_then_on = if *lasts { " from then on" } else { "" };
                write!(
                    f,
                    "a pass whose call {call} fails with error {error}{from_then_on}"
                )
            }
        }
    }
}

impl fmt::Display for Dropping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.aside { ".txt" } else { ".json" };
        write!(f, " as {}…{end}", self.first)
    }
}
