//! The room against the model: what became of every file, and what every recipient found.

use super::letters::Letter;
use super::people::{AGENTS, HUMAN, Name};
use super::room::Room;
use super::state::{Fate, File, State};
use mailbag::log::state::unreached_subject;
use mailbag::message::record::{EventKind, Record};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The place of an expired unread copy, below its inbox.
pub(super) const EXPIRED: &str = "expired";

/// The outcome of a message in the log.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub(super) event: EventKind,
    /// The recipients.
    to: BTreeSet<Name>,
    /// The subject of the router's notice to the human.
    about: Option<String>,
    /// The subject of the notice if an address reaches no agent.
    unreached: Option<String>,
}

/// Everything in the log that is about a message, by number.
pub(super) fn outcomes(room: &Room) -> BTreeMap<u64, Outcome> {
    let mut outcomes = BTreeMap::new();
    for segment in room.log() {
        for line in segment
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let record: Record = serde_json::from_slice(line).expect("a record");
            if matches!(
                record.kind(),
                EventKind::Accepted
                    | EventKind::Rejected
                    | EventKind::Duplicate
                    | EventKind::Notice
            ) {
                let to = record
                    .recipients()
                    .filter_map(|(agent, _)| known(agent))
                    .collect();
                let is_mail = record
                    .accepted()
                    .is_some_and(|accepted| accepted.act.is_none());
                let name = || unreached_subject(record.from()?, record.id()?).into();
                let unreached = if is_mail { name() } else { None };
                outcomes.insert(
                    record.seq,
                    Outcome {
                        event: record.kind(),
                        to,
                        about: record.about().map(str::to_owned),
                        unreached,
                    },
                );
            }
        }
    }
    outcomes
}

fn known(agent: &str) -> Option<Name> {
    AGENTS
        .into_iter()
        .chain([HUMAN])
        .find(|name| *name == agent)
}

/// Everything that is wrong with the room.
pub(super) fn complaints(room: &Room, state: &State) -> Vec<String> {
    let mut compared = Compared {
        room,
        state,
        outcomes: outcomes(room),
        wrong: room.found.again.clone(),
    };
    let became = compared.files();
    compared.ids(&became);
    compared.copies(&became);
    compared.notices();
    compared.unreached();
    compared.left_over();
    compared.wrong
}

/// The number in the log and the fate of each file; both are unknown while it waits.
type Became = Vec<Option<(u64, Fate)>>;

/// A use of an id: the number in the log, the file, and its fate.
type Used<'a> = (u64, &'a File, &'a Fate);

struct Compared<'a> {
    room: &'a Room,
    state: &'a State,
    outcomes: BTreeMap<u64, Outcome>,
    wrong: Vec<String>,
}

impl Compared<'_> {
    fn files(&mut self) -> Became {
        let retired = [
            ("sent", self.retired("sent")),
            ("rejected", self.retired("rejected")),
        ];
        let blocked = self.room.blocked();
        let mut became = Vec::new();
        for file in &self.state.files {
            let said = format!("{} of {} ({:?})", file.name, file.sender, file.letter);
            let key = (file.sender.to_owned(), file.name.clone());
            let mut places: Vec<(&str, u64)> = Vec::new();
            let numbers =
                |list: &BTreeMap<_, Vec<u64>>| list.get(&key).cloned().unwrap_or_default();
            retired.iter().for_each(|(place, list)| {
                places.extend(numbers(list).into_iter().map(|seq| (*place, seq)))
            });
            let waiting = format!("outbox/{}/{}", file.sender, file.name);
            let waits = self.room.exists(&waiting);
            let fate = match &*places {
                [] if waits => None,
                [(place, seq)] if !waits => Some((*seq, self.fate(file, place, *seq))),
                several => {
                    self.wrong.push(format!(
                        "lost or doubled: {said}: in its outbox {waits}, and in {several:?}"
                    ));
                    None
                }
            };
            match &fate {
                Some((_, fate)) if !file.fates.iter().any(|one| allows(one, fate)) => {
                    self.wrong.push(format!(
                        "{said}: is {fate:?}, and the model says {:?}",
                        file.fates
                    ));
                }
                None if waits && !file.open => self.wrong.push(format!(
                    "{said} still waits, and should be {:?}",
                    file.fates
                )),
                None if waits && !file.aside => {
                    let place = format!("outbox/{}", file.sender);
                    if !blocked
                        .iter()
                        .any(|one| one.path == waiting || one.path == place)
                    {
                        self.wrong.push(format!("{said} waits without a reason"));
                    }
                }
                _ => {}
            }
            became.push(fate);
        }
        became
    }

    /// The originals in `sent/` or `rejected/`: by sender and name, their numbers.
    fn retired(&mut self, place: &str) -> BTreeMap<(String, String), Vec<u64>> {
        let mut all: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for agent in AGENTS {
            for name in self.room.names(&format!("{place}/{agent}")) {
                match name.split_once('~') {
                    Some((seq, original)) if !name.ends_with(".error.json") => {
                        all.entry((agent.to_owned(), original.to_owned()))
                            .or_default()
                            .extend(seq.parse::<u64>());
                    }
                    Some(_) => {}
                    None => self
                        .wrong
                        .push(format!("{place}/{agent}/{name} has no number")),
                }
            }
        }
        all
    }

    fn fate(&mut self, file: &File, place: &str, seq: u64) -> Fate {
        let path = format!("{place}/{}/{seq}~{}", file.sender, file.name);
        if self.room.read(&path) != Some(file.letter.bytes()) {
            self.wrong.push(format!("{path} is not as it was dropped"));
        }
        let outcome = self.outcomes.get(&seq);
        let to = outcome
            .map(|outcome| outcome.to.clone())
            .unwrap_or_default();
        match (place, outcome.map(|outcome| outcome.event)) {
            ("sent", Some(EventKind::Accepted)) => Fate::Accepted(super::people::Reach {
                surely: to,
                ..Default::default()
            }),
            ("sent", Some(EventKind::Duplicate)) => Fate::Duplicate,
            ("rejected", Some(EventKind::Rejected)) => Fate::Refused {
                codes: self.codes(file, seq),
                bounced: !to.is_empty(),
            },
            (place, event) => {
                self.wrong.push(format!(
                    "{} is in {place}, and {event:?} in the log",
                    file.name
                ));
                Fate::Duplicate
            }
        }
    }

    fn codes(&mut self, file: &File, seq: u64) -> BTreeSet<Name> {
        let name = format!("{seq}~{}.error.json", file.name.trim_end_matches(".json"));
        let path = format!("rejected/{}/{name}", file.sender);
        let explained: Value = self
            .room
            .read(&path)
            .map(|bytes| serde_json::from_slice(&bytes).expect("JSON"))
            .unwrap_or_default();
        let problems = explained["problems"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if problems.is_empty() {
            self.wrong.push(format!("{path} explains nothing"));
        }
        // The model's codes are all there are here; any other shows as a difference.
        problems
            .iter()
            .map(|problem| {
                CODES
                    .into_iter()
                    .find(|code| problem["code"] == *code)
                    .unwrap_or("?")
            })
            .collect()
    }

    /// An id is used once; a repeated id is a duplicate or rejected, depending on the content.
    fn ids(&mut self, became: &Became) {
        let mut used: BTreeMap<(Name, u8), Vec<Used<'_>>> = BTreeMap::new();
        for (file, fate) in self.state.files.iter().zip(became) {
            if let (Some(id), Some((seq, fate))) = (file.id(), fate) {
                used.entry((file.sender, id))
                    .or_default()
                    .push((*seq, file, fate));
            }
        }
        for ((sender, id), mut all) in used {
            all.sort_by_key(|(seq, ..)| *seq);
            let mut first: Option<&File> = None;
            for (seq, file, fate) in all {
                let same =
                    first.and_then(|first| Some(first.letter.mail()?.is_same(file.letter.mail()?)));
                let fits = match fate {
                    Fate::Accepted(_) => same.is_none(),
                    Fate::Duplicate => same == Some(true),
                    Fate::Refused { codes, .. } => {
                        !codes.contains("id_reused") || same == Some(false)
                    }
                };
                if !fits && matches!(fate, Fate::Accepted(_)) {
                    self.wrong
                        .push(format!("m-{id} of {sender} was routed once more, as {seq}"));
                } else if !fits {
                    self.wrong
                        .push(format!("m-{id} of {sender}, message {seq}, is {fate:?}"));
                }
                if matches!(fate, Fate::Accepted(_)) {
                    first = Some(file);
                }
            }
        }
    }

    /// Every recipient found each of its messages once and complete, and no other file.
    fn copies(&mut self, became: &Became) {
        let mut found: BTreeMap<(Name, u64), usize> = BTreeMap::new();
        let letters: BTreeMap<u64, &File> = became
            .iter()
            .zip(&self.state.files)
            .filter_map(|(fate, file)| Some((fate.as_ref()?.0, file)))
            .collect();
        for ((agent, name), bytes) in &self.room.found.copies {
            let copy: Value = serde_json::from_slice(bytes).unwrap_or_default();
            let seq = copy["delivery"]["seq"].as_u64().unwrap_or_default();
            *found.entry((agent, seq)).or_default() += 1;
            let is_for = self
                .outcomes
                .get(&seq)
                .is_some_and(|outcome| outcome.to.contains(agent));
            if !is_for || copy["to"] != **agent {
                self.wrong
                    .push(format!("{agent} found {name}, which is for {}", copy["to"]));
            }
            let accepted = self
                .outcomes
                .get(&seq)
                .filter(|outcome| outcome.event == EventKind::Accepted)
                .cloned();
            let file = letters.get(&seq).filter(|_| accepted.is_some());
            self.wrong.extend(
                file.and_then(|file| differs(file, &copy))
                    .map(|what| format!("{agent}, {name}: {what}")),
            );
            self.still_there(agent, name, file.copied(), accepted.as_ref());
        }
        for (seq, outcome) in &self.outcomes {
            for agent in outcome
                .to
                .iter()
                .filter(|_| outcome.event != EventKind::Duplicate)
            {
                match found.get(&(agent, *seq)) {
                    Some(1) => {}
                    None => self
                        .wrong
                        .push(format!("lost: message {seq} for {agent}: {outcome:?}")),
                    Some(n) => self.wrong.push(format!(
                        "message {seq} came to {agent} {n} times, so once more"
                    )),
                }
            }
        }
    }

    // Only the reader takes a message out of an inbox, unless the message has expired. An unfinished file of its sender or of
    // one of its recipients delays the expiry.
    fn still_there(
        &mut self,
        agent: Name,
        name: &str,
        file: Option<&File>,
        came: Option<&Outcome>,
    ) {
        let taken = self.room.found.taken.contains(&(agent, name.to_owned()));
        let expires = file
            .and_then(|file| file.letter.mail())
            .and_then(|mail| mail.expires);
        let unread = format!("inbox/{agent}/{name}");
        let is_over = self.state.is_over(expires);
        let place = if is_over {
            format!("inbox/{agent}/{EXPIRED}/{name}")
        } else {
            unread.clone()
        };
        let is_concerned = |one: &File| {
            file.is_some_and(|file| file.sender == one.sender)
                || came.is_some_and(|came| came.to.contains(one.sender))
        };
        let is_delayed = is_over
            && self.room.exists(&unread)
            && self
                .state
                .files
                .iter()
                .any(|one| self.room.is_left_unfinished(one) && is_concerned(one));
        if !taken && !self.room.exists(&place) && !is_delayed {
            self.wrong.push(format!("unread, but gone: {place}"));
        }
    }

    fn notices(&mut self) {
        for agent in AGENTS {
            let about = format!("outbox:{agent}");
            let told = self
                .outcomes
                .values()
                .filter(|outcome| outcome.about.as_deref() == Some(&about))
                .count();
            let fits = match self.state.notices.get(agent) {
                None => told == 0,
                Some(false) => told <= 1,
                Some(true) => told == 1,
            };
            if !fits {
                self.wrong
                    .push(format!("the human was told of {about} {told} times"));
            }
        }
    }

    /// A message without recipients has one notice; every other one at most one.
    fn unreached(&mut self) {
        for (seq, outcome) in &self.outcomes {
            let Some(about) = &outcome.unreached else {
                continue;
            };
            let notices = self
                .outcomes
                .values()
                .filter(|other| other.about.as_ref() == Some(about))
                .count();
            if notices > 1 || outcome.to.is_empty() && notices == 0 {
                self.wrong.push(format!(
                    "message {seq} to {:?} has {notices} notices {about}",
                    outcome.to
                ));
            }
        }
    }

    fn left_over(&mut self) {
        for directory in ["spool/claim", "spool/stage"] {
            for name in self.room.all_names(directory) {
                self.wrong.push(format!(
                    "left over: {directory}/{name}; blocked: {:?}",
                    self.room.blocked()
                ));
            }
        }
    }
}

/// Every code of the model.
const CODES: [Name; 14] = [
    "unknown_recipient",
    "retired_recipient",
    "empty_role",
    "empty_capability",
    "empty_pattern",
    "id_reused",
    "expired_already",
    "spoofed_sender",
    "no_content",
    "not_json",
    "not_one_message",
    "duplicate_key",
    "truncated",
    "empty",
];

fn allows(said: &Fate, seen: &Fate) -> bool {
    match (said, seen) {
        (Fate::Accepted(reach), Fate::Accepted(got)) => reach.fits(&got.surely),
        (said, seen) => said == seen,
    }
}

/// The part of the letter that its copy lacks.
fn differs(file: &File, copy: &Value) -> Option<String> {
    let Letter::Mail(mail) = &file.letter else {
        return Some("a copy of no mail".into());
    };
    let mut fields = mail.fields();
    let to = fields.shift_remove("to").unwrap_or_default();
    fields.insert("addressed_to".into(), to);
    fields.insert("from".into(), file.sender.into());
    fields.insert("type".into(), "message".into());
    fields
        .iter()
        .find_map(|(field, wanted)| (copy[field] != *wanted).then(|| field.clone()))
        .map(|field| format!("{field} is {}, not {}", copy[&field], fields[&field]))
}
