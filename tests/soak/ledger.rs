//! The sent and the taken messages of each agent: each message once.

use crate::files;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// One agent's part, and all of them summed up.
pub(super) struct Ledger {
    pub(super) messages: usize,
    pub(super) refused: usize,
    pub(super) duplicates: usize,
    /// The expected messages: recipient and message name.
    expected: Vec<(String, String)>,
    taken: Vec<(String, String)>,
    reader: String,
    record: PathBuf,
    writer: Option<File>,
}

/// The result of the comparison.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) copies: usize,
    pub(super) lost: Vec<(String, String)>,
    pub(super) repeated: Vec<(String, String)>,
    pub(super) strange: Vec<(String, String)>,
}

impl Verdict {
    pub(super) fn is_good(&self) -> bool {
        self.copies > 0
            && self.lost.is_empty()
            && self.repeated.is_empty()
            && self.strange.is_empty()
    }
}

impl Ledger {
    /// A reader's ledger; each taken message is recorded in this directory before it is touched.
    pub(super) fn of(reader: &str, directory: &Path) -> Ledger {
        files::make_dir(directory);
        let record = directory.join(reader);
        let writer = File::options()
            .create(true)
            .append(true)
            .open(&record)
            .expect("the world");
        Ledger {
            messages: 0,
            refused: 0,
            duplicates: 0,
            expected: Vec::new(),
            taken: Vec::new(),
            reader: reader.to_owned(),
            record,
            writer: Some(writer),
        }
    }

    pub(super) fn expect(&mut self, recipients: &[String], key: &str) {
        self.messages += 1;
        self.expected
            .extend(recipients.iter().map(|one| (one.clone(), key.to_owned())));
    }

    pub(super) fn expect_bounce(&mut self, file: &str) {
        self.refused += 1;
        self.expected.push((self.reader.clone(), bounce(file)));
    }

    /// One line by one write, before the file is deleted or moved.
    pub(super) fn take(&mut self, key: &str) {
        let writer = self.writer.as_mut().expect("it is still open");
        writer
            .write_all(format!("{key}\n").as_bytes())
            .expect("room for a line");
    }

    /// Reads the record back.
    pub(super) fn close(mut self) -> Ledger {
        self.writer = None;
        let lines = files::read_text(&self.record);
        self.taken = lines
            .lines()
            .map(|key| (self.reader.clone(), key.to_owned()))
            .collect();
        self
    }

    pub(super) fn sum(parts: Vec<Ledger>) -> Ledger {
        let sum = |mut all: Ledger, one: Ledger| {
            all.messages += one.messages;
            all.refused += one.refused;
            all.duplicates += one.duplicates;
            all.expected.extend(one.expected);
            all.taken.extend(one.taken);
            all
        };
        parts.into_iter().reduce(sum).expect("somebody took part")
    }

    /// The copies of accepted messages, without bounces.
    pub(super) fn copies(&self) -> usize {
        self.expected.len() - self.refused
    }

    pub(super) fn compare(&self) -> Verdict {
        let mut times: BTreeMap<&(String, String), (usize, usize)> = BTreeMap::new();
        self.expected
            .iter()
            .for_each(|one| times.entry(one).or_default().0 += 1);
        self.taken
            .iter()
            .for_each(|one| times.entry(one).or_default().1 += 1);
        let those = |is_it: &dyn Fn(usize, usize) -> bool| -> Vec<(String, String)> {
            let found = times
                .iter()
                .filter(|(_, (expected, taken))| is_it(*expected, *taken));
            found.map(|(one, _)| (*one).clone()).collect()
        };
        Verdict {
            copies: self.taken.len(),
            lost: those(&|expected, taken| taken < expected),
            repeated: those(&|expected, taken| expected > 0 && taken > expected),
            strange: those(&|expected, _| expected == 0),
        }
    }
}

/// The name of a file's bounce.
pub(super) fn bounce(file: &str) -> String {
    format!("the refusal of {file}")
}

#[test]
fn the_ledger_finds_lost_repeated_and_unknown_messages() {
    let world = tempfile::tempdir().expect("a directory");
    let mut ledger = Ledger::of("bob", world.path());
    let bob = ["bob".to_owned()];
    ["once", "lost", "twice"]
        .iter()
        .for_each(|key| ledger.expect(&bob, key));
    ledger.expect_bounce("x.json");
    [&bounce("x.json"), "once", "twice", "unknown", "twice"]
        .iter()
        .for_each(|key| ledger.take(key));
    let verdict = Ledger::sum(vec![ledger.close()]).compare();
    let keys = |of: &[(String, String)]| {
        of.iter()
            .map(|(_, key)| key.clone())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(!verdict.is_good());
    assert_eq!(
        [&verdict.lost, &verdict.repeated, &verdict.strange].map(|of| keys(of)),
        ["lost", "twice", "unknown"].map(str::to_owned)
    );
}
