//! The model: the content of the room, and the possible outcomes of each dropped file.
//!
//! Without interrupted passes, each file has exactly one fate. An interrupted pass may have stopped anywhere,
//! and a later edit or drop may or may not have counted already. Then a file has every fate that
//! each of the passes would have given it, and the room must show exactly one of them.

use super::acts::{self, Act, Edit};
use super::letters::{Broken, Expires, Flaw, Letter, Mail};
use super::people::{Address, Agent, Name, People, Reach};
use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;
use std::collections::{BTreeMap, BTreeSet};

/// The model as a state machine, with passes that are interrupted or without.
pub(super) struct Model<const CRASHES: bool>;

/// The state of the model.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) people: People,
    /// Every file that was dropped, in order.
    pub(super) files: Vec<File>,
    /// The hour that the clock was set to.
    pub(super) hour: Option<u32>,
    /// The outboxes that the human gets a notice about: surely, or perhaps.
    pub(super) notices: BTreeMap<Name, bool>,
    /// Whether the last pass was interrupted.
    interrupted: bool,
}

/// A file that was dropped.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) sender: Name,
    pub(super) name: String,
    pub(super) letter: Letter,
    pub(super) fates: BTreeSet<Fate>,
    /// It may still stand in its outbox.
    pub(super) open: bool,
    /// Its name is none of a message.
    pub(super) aside: bool,
    /// An interrupted pass may have taken it.
    perhaps_taken: bool,
}

/// A possible outcome of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// Routed to these.
    Accepted(Reach),
    /// Known, and not delivered again.
    Duplicate,
    /// Refused for these reasons, with or without a message to its sender.
    Refused {
        codes: BTreeSet<Name>,
        bounced: bool,
    },
}

impl<const CRASHES: bool> ReferenceStateMachine for Model<CRASHES> {
    type State = State;
    type Transition = Act;

    fn init_state() -> BoxedStrategy<State> {
        Just(State::at_first()).boxed()
    }

    fn transitions(_: &State) -> BoxedStrategy<Act> {
        acts::acts(CRASHES)
    }

    fn apply(state: State, act: &Act) -> State {
        state.after(act)
    }
}

impl State {
    pub(super) fn at_first() -> State {
        State {
            people: People::at_first(),
            files: Vec::new(),
            hour: None,
            notices: BTreeMap::new(),
            interrupted: false,
        }
    }

    /// The state after an act.
    pub(super) fn after(mut self, act: &Act) -> State {
        match act {
            Act::Drop {
                sender,
                letter,
                as_,
            } => self.dropped(sender, letter.clone(), *as_),
            Act::Again { which, as_ } => {
                if !self.files.is_empty() {
                    let file = &self.files[which % self.files.len()];
                    self.dropped(file.sender, file.letter.clone(), *as_);
                }
            }
            Act::Take { .. } => {}
            Act::Edit(edit) => self.people.edit(edit),
            Act::Later(hours) => self.hour = Some(self.hour.unwrap_or(0) + hours),
            Act::Pass => self.pass(),
            Act::Crash { .. } | Act::Fail { .. } => self.perhaps(false),
        }
        self
    }

    fn dropped(&mut self, sender: Name, letter: Letter, as_: acts::Dropping) {
        let (name, fates) = (as_.name(self.files.len()), BTreeSet::new());
        self.files.push(File {
            sender,
            name,
            letter,
            fates,
            open: true,
            aside: as_.aside,
            perhaps_taken: false,
        });
    }

    /// Returns true if the router may take the file: its sender is registered now, or was at an
    /// interrupted pass.
    fn takes(&self, file: &File) -> bool {
        file.open
            && !file.aside
            && !file.letter.is_unfinished()
            && self.people.is_active(file.sender)
    }

    fn pass(&mut self) {
        self.wait();
        if self.interrupted
            || self
                .files
                .iter()
                .any(|file| file.open && file.perhaps_taken)
        {
            self.perhaps(true);
            self.interrupted = false;
            return;
        }
        let mut waiting: Vec<usize> = (0..self.files.len())
            .filter(|n| self.takes(&self.files[*n]))
            .collect();
        waiting.sort_by(|a, b| {
            let key = |n: usize| (self.files[n].sender, &self.files[n].name);
            key(*a).cmp(&key(*b))
        });
        // What uses an id for the second time waits for the next batch, where the first is known.
        while !waiting.is_empty() {
            let mut used = BTreeSet::new();
            let (batch, rest): (Vec<usize>, Vec<usize>) = waiting.into_iter().partition(|n| {
                let file = &self.files[*n];
                self.read(file).is_err()
                    || file.id().is_none_or(|id| used.insert((file.sender, id)))
            });
            for n in batch {
                (self.files[n].fates, self.files[n].open) = (self.fates(n), false);
                self.follow(n, true);
            }
            waiting = rest;
        }
    }

    /// A pass that stopped anywhere, or the pass after it.
    fn perhaps(&mut self, clean: bool) {
        self.interrupted = true;
        if !clean {
            self.wait();
        }
        for n in 0..self.files.len() {
            self.files[n].perhaps_taken |= self.takes(&self.files[n]);
        }
        let open: Vec<usize> = (0..self.files.len())
            .filter(|n| self.files[*n].open)
            .collect();
        let taken: Vec<usize> = open
            .into_iter()
            .filter(|n| self.files[*n].perhaps_taken)
            .collect();
        taken.iter().for_each(|n| self.follow(*n, false));
        for n in &taken {
            let fates = self.fates(*n);
            self.files[*n].fates.extend(fates);
        }
        if clean {
            taken
                .iter()
                .for_each(|n| self.files[*n].open = !self.people.is_active(self.files[*n].sender));
            let done: Vec<usize> = taken.into_iter().filter(|n| !self.files[*n].open).collect();
            let key = |n: usize| {
                (
                    self.files[n].sender,
                    self.files[n].topic().map(|(topic, _)| topic),
                )
            };
            let sure: Vec<usize> = done
                .iter()
                .filter(|n| {
                    done.iter()
                        .all(|other| other == *n || key(*other) != key(**n))
                })
                .copied()
                .collect();
            sure.into_iter().for_each(|n| self.follow(n, true));
        }
    }

    // Files that the router does not take, and the reasons.
    fn wait(&mut self) {
        for file in self
            .files
            .iter_mut()
            .filter(|file| file.open && !file.aside)
        {
            let active = self.people.is_active(file.sender);
            if !active {
                let sure = self.notices.entry(file.sender).or_default();
                // An unfinished file may already be rejected, and a file that was perhaps taken may
                // be gone.
                *sure |= !self.interrupted && !file.perhaps_taken && !file.letter.is_unfinished();
            }
            if file.letter.is_unfinished() {
                let code = if file.letter == Letter::Broken(Broken::Empty) {
                    "empty"
                } else {
                    "truncated"
                };
                file.fates
                    .extend([true, false].map(|bounced| Fate::Refused {
                        codes: BTreeSet::from([code]),
                        bounced,
                    }));
            }
        }
    }

    fn follow(&mut self, n: usize, surely: bool) {
        let file = &self.files[n];
        if let Some((topic, follow)) = file.topic() {
            self.people
                .topics
                .insert((file.sender, topic), surely.then_some(follow));
        }
    }

    /// The flaws of a file that do not depend on its recipients.
    fn read(&self, file: &File) -> Result<(), BTreeSet<Name>> {
        let codes: BTreeSet<Name> = match &file.letter {
            Letter::Broken(Broken::NotJson) => ["not_json"].into(),
            Letter::Broken(Broken::List) => ["not_one_message"].into(),
            Letter::Broken(Broken::KeyTwice) => ["duplicate_key"].into(),
            Letter::Mail(mail) => mail_codes(mail, self.is_over(mail.expires)),
            _ => BTreeSet::new(),
        };
        if codes.is_empty() { Ok(()) } else { Err(codes) }
    }

    /// Returns true if this time has passed.
    pub(super) fn is_over(&self, expires: Option<Expires>) -> bool {
        match expires {
            None => false,
            Some(Expires::LongAgo) => true,
            Some(Expires::At(hour)) => self.hour.is_some_and(|now| now >= hour),
        }
    }

    fn fates(&self, n: usize) -> BTreeSet<Fate> {
        let file = &self.files[n];
        let bounced = self.people.is_active(file.sender);
        let refused = |codes| BTreeSet::from([Fate::Refused { codes, bounced }]);
        let none: &[Address] = &[];
        let to = file.letter.mail().map_or(none, |mail| &mail.to);
        let reached = self.people.reach(file.sender, to);
        if let Err(mut codes) = self.read(file) {
            // Wrong recipients are reported together with the other problems.
            codes.extend(reached.err().unwrap_or_default());
            return refused(codes);
        }
        let mut fates = BTreeSet::new();
        for (other, mail) in self.rivals(n) {
            let same = file.letter.mail().is_some_and(|own| own.is_same(mail));
            let fate = if same {
                [Fate::Duplicate].into()
            } else {
                refused(["id_reused"].into())
            };
            let accepted = |fate: &Fate| matches!(fate, Fate::Accepted(_));
            if !other.open && other.fates.iter().all(accepted) {
                return fate;
            }
            if other.open || other.fates.iter().any(accepted) {
                fates.extend(fate);
            }
        }
        fates.extend(match reached {
            Ok(reach) => [Fate::Accepted(reach)].into(),
            Err(codes) => refused(codes),
        });
        fates
    }

    /// Files of the same sender with the same id that may have come before.
    fn rivals(&self, n: usize) -> impl Iterator<Item = (&File, &Mail)> {
        let file = &self.files[n];
        let others = self
            .files
            .iter()
            .enumerate()
            .filter(move |(other, _)| *other != n)
            .map(|(_, other)| other);
        others
            .filter(|other| !other.open || other.perhaps_taken)
            .filter(move |other| {
                other.sender == file.sender && file.id().is_some() && other.id() == file.id()
            })
            .filter_map(|other| Some((other, other.letter.mail()?)))
    }
}

fn mail_codes(mail: &Mail, over: bool) -> BTreeSet<Name> {
    let flaw = mail.flaw.map(|flaw| match flaw {
        Flaw::Spoofed => "spoofed_sender",
        Flaw::SaysNothing => "no_content",
    });
    flaw.into_iter()
        .chain(over.then_some("expired_already"))
        .collect()
}

impl File {
    /// The id that its sender gave.
    pub(super) fn id(&self) -> Option<u8> {
        self.letter.mail().and_then(|mail| mail.id)
    }

    fn topic(&self) -> Option<(Name, bool)> {
        match &self.letter {
            Letter::Follow { topic, follow } if !self.aside => Some((topic, *follow)),
            _ => None,
        }
    }
}

impl People {
    /// The registry after an edit. One that can't be made changes nothing.
    pub(super) fn edit(&mut self, edit: &Edit) {
        match edit {
            Edit::Add(id, role) if self.agent(id).is_none() => self.agents.push(Agent {
                id,
                role,
                retired: false,
            }),
            Edit::Add(..) => {}
            Edit::Retire(id) => self
                .agent(id)
                .into_iter()
                .for_each(|agent| agent.retired = true),
            Edit::Activate(id) => self
                .agent(id)
                .into_iter()
                .for_each(|agent| agent.retired = false),
            Edit::Role(id, role) => self
                .agent(id)
                .into_iter()
                .for_each(|agent| agent.role = role),
            Edit::Alias(alias, to) => drop(self.aliases.insert(alias, to.clone())),
        }
    }
}
