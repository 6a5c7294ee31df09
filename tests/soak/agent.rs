//! An agent of the soak: drops messages in every way, and takes its mail.

use super::ledger::{Ledger, bounce};
use super::{AGENTS, Bell, name, role};
use crate::files;
use crate::sim::Random;
use crate::town::Town;
use crate::world::World;
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

/// Number of its last messages that an agent remembers, to answer them and to drop them again.
const REMEMBERED: usize = 20;

pub(super) struct Agent<'a> {
    town: &'a Town,
    id: String,
    random: Random,
    ledger: Ledger,
    /// Number of dropped files.
    files: usize,
    /// Id and text of its last messages.
    last: VecDeque<(String, String)>,
    /// Unfinished files that it still holds open, each with its missing part.
    begun: Vec<(File, String)>,
}

impl<'a> Agent<'a> {
    pub(super) fn new(town: &'a Town, n: usize) -> Agent<'a> {
        Agent::called(town, name(n), n as u64)
    }

    pub(super) fn human(town: &'a Town) -> Agent<'a> {
        Agent::called(town, "human".into(), AGENTS as u64)
    }

    fn called(town: &'a Town, id: String, seed: u64) -> Agent<'a> {
        let ledger = Ledger::of(&id, &town.path().join("taken"));
        Agent {
            town,
            id,
            random: Random::new(seed),
            ledger,
            files: 0,
            last: VecDeque::new(),
            begun: Vec::new(),
        }
    }

    /// Sends and takes until the bell rings, and finishes its open files.
    pub(super) fn live(mut self, bell: &Bell, dense: bool) -> Agent<'a> {
        let longest = if dense { 100 } else { 400 };
        while bell.pause(Duration::from_millis(self.random.below(longest) as u64)) {
            self.end_one();
            match self.random.below(200) {
                0 => (0..30).for_each(|_| self.send()),
                _ => self.send(),
            }
            self.take_some();
        }
        while !self.begun.is_empty() {
            self.end_one();
        }
        self
    }

    /// Takes until the bell rings.
    pub(super) fn read_on(mut self, bell: &Bell) -> Agent<'a> {
        while bell.pause(Duration::from_millis(100)) {
            self.take_some();
        }
        self
    }

    pub(super) fn take_the_rest(mut self) -> Ledger {
        let all = self.town.names(&format!("inbox/{}", self.id));
        all.iter().for_each(|name| self.take(name));
        self.ledger.close()
    }

    fn send(&mut self) {
        match self.random.below(100) {
            0..2 => self.send_by_command(),
            2..10 => self.drop_a_bad_file(),
            10..18 => self.drop_again(),
            _ => self.drop_a_message(),
        }
    }

    fn drop_a_message(&mut self) {
        let (to, recipients) = self.choose_recipients();
        let id = format!("m{}", self.files);
        let body = format!("{id} {}", "x".repeat(self.random.below(2000)));
        let mut message = json!({"id": id, "to": to, "body": body});
        if let Some(answered) = self
            .random
            .below(4)
            .checked_sub(3)
            .and_then(|_| self.remembered())
        {
            message["in_reply_to"] = answered.0.into();
        }
        self.ledger
            .expect(&recipients, &format!("{}/{id}", self.id));
        let text = message.to_string();
        self.last.push_back((id, text.clone()));
        if self.last.len() > REMEMBERED {
            self.last.pop_front();
        }
        self.drop_text(&text);
    }

    fn drop_again(&mut self) {
        if let Some((_, text)) = self.remembered() {
            self.ledger.duplicates += 1;
            self.drop_text(&text);
        }
    }

    fn drop_a_bad_file(&mut self) {
        let bad = [
            r#"{"to": "nobody-known", "body": "x"}"#,
            r#"{"to": "all", "from": "human", "body": "x"}"#,
            r#"{"to": nonsense}"#,
            r#"{"to": "a0", "body": "x", "refs": {}}"#,
        ];
        let text = bad[self.random.below(bad.len())];
        let file = self.drop_text(text);
        self.ledger.expect_bounce(&file);
    }

    fn send_by_command(&mut self) {
        let (to, recipients) = self.choose_recipients();
        let to: Vec<&str> = match &to {
            Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        let send = [
            &["send", "-q"],
            to.as_slice(),
            &["by a command", "--as", &self.id],
        ]
        .concat();
        let id = World::ok(self.town, &send);
        self.ledger
            .expect(&recipients, &format!("{}/{}", self.id, id.trim()));
    }

    /// One agent, a role, all agents, or two overlapping addresses; and the recipients.
    fn choose_recipients(&mut self) -> (Value, Vec<String>) {
        let one = match self.random.below(20) {
            0 => "human".to_owned(),
            _ => name(self.random.below(AGENTS)),
        };
        let wanted = ["engineer", "reviewer"][self.random.below(2)];
        let others = |is_in: &dyn Fn(usize) -> bool| -> BTreeSet<String> {
            (0..AGENTS)
                .filter(|n| is_in(*n))
                .map(name)
                .filter(|agent| *agent != self.id)
                .collect()
        };
        let group = others(&|n| role(n) == wanted);
        let (to, recipients) = match self.random.below(20) {
            0..12 => (json!(one), BTreeSet::from([one])),
            12..15 => (json!(format!("all_{wanted}s")), group),
            15..17 => (json!("all"), others(&|_| true)),
            _ => (
                json!([one, format!("@{wanted}s")]),
                group.into_iter().chain([one]).collect(),
            ),
        };
        (to, recipients.into_iter().collect())
    }

    fn remembered(&mut self) -> Option<(String, String)> {
        let which = self.random.below(self.last.len().max(1));
        self.last.get(which).cloned()
    }

    /// Drops a file, in place, by rename, by a link, in two writes, or begun now and closed later;
    /// returns its name.
    fn drop_text(&mut self, text: &str) -> String {
        self.files += 1;
        let name = format!("{:06}.json", self.files);
        let (outbox, half) = (
            self.town.room(&format!("outbox/{}", self.id)),
            text.len() / 2,
        );
        let (path, draft) = (outbox.join(&name), outbox.join(format!(".{name}")));
        let can = "its own outbox";
        match self.random.below(8) {
            0..3 => fs::write(path, text).expect(can),
            3..5 => {
                fs::write(&draft, text).expect(can);
                fs::rename(draft, path).expect(can);
            }
            5 => {
                fs::write(&draft, text).expect(can);
                fs::hard_link(&draft, path).expect(can);
                fs::remove_file(draft).expect(can);
            }
            6 => {
                let mut file = File::create(path).expect(can);
                file.write_all(&text.as_bytes()[..half])
                    .and_then(|()| file.write_all(&text.as_bytes()[half..]))
                    .expect(can);
            }
            _ => {
                // Closed at one of the next turns: until then the router has to leave it alone.
                let mut file = File::options()
                    .create_new(true)
                    .append(true)
                    .open(path)
                    .expect(can);
                file.write_all(&text.as_bytes()[..half]).expect(can);
                self.begun.push((file, text[half..].to_owned()));
            }
        }
        name
    }

    fn end_one(&mut self) {
        if !self.begun.is_empty() {
            let (mut file, rest) = self.begun.remove(0);
            file.write_all(rest.as_bytes()).expect("its own outbox");
        }
    }

    fn take_some(&mut self) {
        for name in self.town.names(&format!("inbox/{}", self.id)) {
            if self.random.below(4) > 0 {
                self.take(&name);
            }
        }
    }

    /// Reads, writes down, and then deletes or moves it.
    fn take(&mut self, name: &str) {
        let inbox = format!("inbox/{}", self.id);
        let below = format!("{inbox}/{name}");
        let mail = self.town.read(&below);
        assert_eq!(mail["to"], *self.id, "{mail:#}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let key = match text(&mail["from"]).as_str() {
            "mailbag" => bounce(&text(&mail["metadata"]["file"])),
            from => format!("{from}/{}", text(&mail["id"])),
        };
        self.ledger.take(&key);
        let path = self.town.room(&below);
        let to = match self.random.below(5) {
            0 => "seen",
            1 => "done",
            _ => return files::remove_file(path),
        };
        let directory = self.town.room(&format!("{inbox}/{to}"));
        files::make_dir(&directory);
        files::rename(path, directory.join(name));
    }
}
