//! The mail that recipients took, kept outside the room, and its check in the end.

use super::letters::Letter;
use super::tracer::{End, Outcome};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// One file that a recipient took.
#[derive(Debug)]
struct Taken {
    recipient: String,
    name: String,
    bytes: Vec<u8>,
    /// The power was cut before a sync made the taking durable, so the same file may be there again.
    may_return: bool,
    /// A sync has made the taking durable.
    firm: bool,
}

/// The mail that the recipients took.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    taken: Vec<Taken>,
    figures: Figures,
}

/// The results of a sweep, and its line of figures.
#[derive(Debug, Default, Clone)]
pub(crate) struct Figures {
    pub(crate) points: usize,
    /// The number of reached points: the program ended before the others.
    pub(crate) reached: usize,
    pub(crate) lost: usize,
    pub(crate) duplicated: usize,
    pub(crate) damaged: usize,
    pub(crate) left_over: usize,
    /// The one permitted case: the same file again, after a power cut that also undid its taking.
    pub(crate) undone: usize,
    /// Files that recovery rightly put aside: ends of the log that were never committed.
    pub(crate) set_aside: usize,
    /// Power cuts that took a record of the log before the router had acknowledged it.
    pub(crate) in_flight: usize,
    /// The failures, each with its place.
    pub(crate) complaints: Vec<String>,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { points, reached, lost, duplicated, damaged, left_over, undone, set_aside, in_flight, .. } = self;
        write!(f, "points tried {points}, lost {lost}, duplicated {duplicated}, damaged {damaged}, ")?;
        write!(f, "left over {left_over} (reached {reached}, torn ends set aside {set_aside}, takings undone by cuts {undone}, cuts that took a record in flight {in_flight})")
    }
}

impl Figures {
    /// One point, reached if the program was killed or a call failed.
    pub(crate) fn of(outcome: &Outcome) -> Figures {
        let is_reached = outcome.end == End::Killed || outcome.failed > 0;
        Figures { points: 1, reached: usize::from(is_reached), ..Figures::default() }
    }

    pub(crate) fn is_green(&self) -> bool {
        self.lost + self.duplicated + self.damaged + self.left_over == 0
    }

    pub(crate) fn add(&mut self, other: Figures) {
        self.points += other.points;
        self.reached += other.reached;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.damaged += other.damaged;
        self.left_over += other.left_over;
        self.undone += other.undone;
        self.set_aside += other.set_aside;
        self.in_flight += other.in_flight;
        self.complaints.extend(other.complaints);
    }

    pub(crate) fn lost(&mut self, what: String) {
        self.lost += 1;
        self.complaints.push(format!("lost: {what}"));
    }

    pub(crate) fn duplicated(&mut self, what: String) {
        self.duplicated += 1;
        self.complaints.push(format!("duplicated: {what}"));
    }

    pub(crate) fn damaged(&mut self, what: String) {
        self.damaged += 1;
        self.complaints.push(format!("damaged: {what}"));
    }

    pub(crate) fn left_over(&mut self, what: String) {
        self.left_over += 1;
        self.complaints.push(format!("left over: {what}"));
    }
}

impl Ledger {
    /// A recipient takes a file out of its inbox.
    pub(crate) fn take(&mut self, recipient: &str, name: &str, bytes: Vec<u8>) {
        let before = self.taken.iter_mut().find(|taken| taken.recipient == recipient && taken.name == name);
        match before {
            None => {
                let (recipient, name) = (recipient.to_owned(), name.to_owned());
                self.taken.push(Taken { recipient, name, bytes, may_return: false, firm: false });
            }
            Some(taken) if taken.may_return && taken.bytes == bytes => {
                taken.may_return = false;
                self.figures.undone += 1;
            }
            Some(_) => self.figures.duplicated(format!("{name} came to {recipient} once more")),
        }
    }

    /// A sync has made everything taken so far durable.
    pub(crate) fn firm(&mut self) {
        self.taken.iter_mut().for_each(|taken| taken.firm = true);
    }

    /// The power went.
    pub(crate) fn power_went(&mut self) {
        self.taken.iter_mut().for_each(|taken| taken.may_return |= !taken.firm);
    }

    /// The name and the content of each copy that was taken.
    pub(crate) fn copies(&self) -> Vec<(String, Vec<u8>)> {
        self.taken.iter().map(|taken| (taken.name.clone(), taken.bytes.clone())).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.taken.len() + self.figures.undone
    }

    /// Checks that every letter has reached each of its recipients, once and whole.
    pub(crate) fn figures(&self, letters: &[Letter]) -> Figures {
        let mut figures = self.figures.clone();
        let known: BTreeMap<&str, &Letter> =
            letters.iter().filter(|letter| !letter.recipients.is_empty()).map(|l| (&*l.token, l)).collect();
        let mut came: HashMap<(&str, &str), usize> = HashMap::new();
        for Taken { recipient, name, bytes, .. } in &self.taken {
            let copy: Value = serde_json::from_slice(bytes).unwrap_or_default();
            let Some(letter) = copy["metadata"]["token"].as_str().and_then(|token| known.get(token)) else {
                let text = String::from_utf8_lossy(&bytes[..bytes.len().min(400)]);
                figures.damaged(format!("{recipient} got {name} of {} bytes: {text}", bytes.len()));
                continue;
            };
            if let Some(wrong) = letter.wrong_with(recipient, &copy) {
                figures.damaged(format!("{name}: {wrong}"));
            }
            *came.entry((&letter.token, recipient)).or_default() += 1;
        }
        for letter in known.values() {
            for recipient in &letter.recipients {
                match came.remove(&(&*letter.token, *recipient)).unwrap_or_default() {
                    0 => figures.lost(format!("{} from {} for {recipient}", letter.token, letter.sender)),
                    1 => {}
                    n => figures.duplicated(format!("{} came to {recipient} {n} times", letter.token)),
                }
            }
        }
        came.keys().for_each(|(token, who)| figures.damaged(format!("{token} came to {who}, who is not addressed")));
        figures
    }
}
