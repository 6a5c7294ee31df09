//! Makes a room with a log of any size, in the router's form, without routing the messages.

use anyhow::{Context, Result};
use mailbag::base::clock::Stamp;
use mailbag::base::hash::{Hash, NO_HASH, hash};
use mailbag::disk::layout;
use mailbag::log::{Log, LogPosition, LogTip};
use mailbag::message::Message;
use mailbag::message::record::{
    AcceptedMessage, Event, MessageName, MessageOrigin, MessageTimes, RecipientGroup, Record,
};
use mailbag::room::Room;
use serde_json::{Map, Value, json, value::to_raw_value};
use std::ffi::OsStr;
use std::path::Path;

/// From the first message to now.
const DAYS: i64 = 30;
/// Conversations that go on at the same time.
const OPEN_THREADS: usize = 200;
/// One message in this many has the rare text.
pub(super) const RARE_EVERY: u64 = 10_000;
/// The rare text.
pub(super) const RARE: &str = "flux capacitor";

const WORDS: &str = "the parser fails on second input since a comment may now end line please look at port 8080 is taken by \
    nginx again build green after rebase main branch was force pushed who holds lease of migration table schema \
    version bumped tests pass locally but not in ci cache miss timeout retry queue worker restarted out memory killed \
    review requested for pull request merged reverted deploy staging production rollback incident closed root cause \
    race condition between two writers lock file stale index corrupted rebuilt from log Größe größer über façade naïve \
    thanks agreed objection proposal decision recorded handoff done blocked waiting need answer before noon token";

const KINDS: [&str; 10] = [
    "message", "message", "message", "request", "question", "answer", "status", "task", "review",
    "handoff",
];

/// A small, fast and deterministic generator: the content of the messages needs no more.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// A conversation, and the last message in it.
struct Thread {
    name: String,
    last: Option<(String, String)>,
}

struct Maker {
    agents: u64,
    log: Log,
    tip: LogTip,
    dice: Dice,
    words: Vec<&'static str>,
    threads: Vec<Thread>,
    seq: u64,
    batch: u64,
    at: i64,
    step: i64,
    prev: Hash,
    number: u64,
    /// The first message that can be a request.
    requests_from: u64,
}

/// Makes a room with messages between this many agents. Only the last `requests` of them can ask for something, because
/// nothing is answered here.
pub(crate) fn room(path: &Path, messages: u64, agents: u64, requests: u64) -> Result<()> {
    let (room, _) = Room::init(path)?;
    let registered: Vec<Value> = (0..agents)
        .map(|n| json!({"id": agent(n), "role": "engineer"}))
        .collect();
    room.dir.replace(
        layout::REGISTRY,
        json!({"version": 1, "agents": registered, "aliases": {}})
            .to_string()
            .as_bytes(),
    )?;
    let span = DAYS * 86_400_000_000;
    let mut maker = Maker {
        agents,
        log: Log::open(&room.dir, LogTip::NONE)?,
        tip: LogTip::NONE,
        dice: Dice(0x9e37_79b9_7f4a_7c15),
        words: WORDS.split_whitespace().collect(),
        threads: (0..OPEN_THREADS)
            .map(|n| Thread {
                name: format!("start-{n}"),
                last: None,
            })
            .collect(),
        seq: 0,
        batch: 0,
        at: Stamp::now().micros() - span,
        step: (span / i64::try_from(messages.max(1))?).max(2),
        prev: NO_HASH,
        number: 0,
        requests_from: messages.saturating_sub(requests),
    };
    let first = Event::Room { room: room.id()? };
    maker.batch(vec![Record::new(first)])?;
    let mut settled = None;
    while maker.number < messages {
        let size = (1 + maker.dice.roll(48)).min(messages - maker.number);
        let mut batch = Vec::new();
        if let Some(range) = settled {
            let mut record = Record::new(Event::Settled {});
            record.settled = vec![range];
            batch.push(record);
        }
        let from = maker.seq + 1 + batch.len() as u64;
        for _ in 0..size {
            batch.push(maker.message()?);
        }
        maker.batch(batch)?;
        settled = Some((from, maker.seq));
    }
    let mut record = Record::new(Event::Settled {});
    record.settled.extend(settled);
    maker.batch(vec![record])?;
    maker.log.commit(maker.tip)?;
    Ok(())
}

/// The name of an agent.
pub(crate) fn agent(number: u64) -> String {
    format!("agent_engineer_{number}")
}

impl Maker {
    fn batch(&mut self, mut records: Vec<Record>) -> Result<()> {
        self.batch += 1;
        let (mut lines, mut last) = (Vec::new(), 0);
        let many = records.len();
        let count = u32::try_from(many)?;
        for (n, record) in records.iter_mut().enumerate() {
            self.seq += 1;
            self.at += if record.accepted().is_some() {
                self.step
            } else {
                1
            };
            (record.seq, record.batch, record.prev) = (self.seq, self.batch, self.prev);
            record.at = Stamp::from_micros(self.at).to_string();
            record.count = (n + 1 == many).then_some(count);
            let line = record.line();
            self.prev = hash(&line);
            last = lines.len() as u64;
            lines.extend(line);
        }
        // Goes on to the next segment when this one is full.
        let start = self.log.end()?;
        let place = |bytes| LogPosition {
            offset: start.offset + bytes,
            ..start
        };
        self.tip = LogTip {
            at: place(last),
            end: place(lines.len() as u64),
            seq: self.seq,
            hash: self.prev,
        };
        Ok(self.log.append(&lines)?)
    }

    fn message(&mut self) -> Result<Record> {
        let sender = self.dice.roll(self.agents);
        let others = if self.dice.roll(20) == 0 {
            5
        } else {
            1 + self.dice.roll(8) / 7
        };
        let to: Vec<String> = (1..=others)
            .map(|n| agent((sender + n * (1 + self.dice.roll(8))) % self.agents))
            .collect();
        let from = agent(sender);
        let millis = u64::try_from(self.at / 1000)?;
        let mut random = [0; 10];
        random
            .iter_mut()
            .for_each(|byte| *byte = self.dice.roll(256) as u8);
        let id = uuid::Builder::from_unix_timestamp_millis(millis, &random)
            .into_uuid()
            .to_string();
        let mut fields = Map::new();
        fields.insert("id".into(), id.clone().into());
        fields.insert(
            "timestamp".into(),
            Stamp::from_micros(self.at).to_string().into(),
        );
        fields.insert("from".into(), from.clone().into());
        fields.insert(
            "to".into(),
            if to.len() == 1 {
                json!(to[0])
            } else {
                json!(to)
            },
        );
        fields.insert("type".into(), self.kind().into());
        if self.dice.roll(10) < 6 {
            self.join_thread(&mut fields, &from, &id);
        }
        if self.dice.roll(4) == 0 {
            let subject = self.text(6);
            fields.insert("subject".into(), subject.into());
        }
        let words = [30, 60, 60, 90, 250][self.dice.roll(5) as usize];
        let mut body = self.text(words);
        if self.number % RARE_EVERY == RARE_EVERY / 2 {
            body += &format!("\nthe {RARE} needs 1.21 GW");
        }
        fields.insert("body".into(), body.into());
        if self.dice.roll(5) == 0 {
            fields.insert(
                "metadata".into(),
                json!({"file": "src/parser.rs", "line": self.dice.roll(900)}),
            );
        }
        self.number += 1;
        self.record(fields, &from, id, to)
    }

    fn kind(&mut self) -> &'static str {
        let kind = KINDS[self.dice.roll(KINDS.len() as u64) as usize];
        if self.number < self.requests_from {
            "message"
        } else {
            kind
        }
    }

    fn record(
        &self,
        fields: Map<String, Value>,
        from: &str,
        id: String,
        to: Vec<String>,
    ) -> Result<Record> {
        let file = format!("{id}.json");
        let origin = MessageOrigin {
            claim: layout::claim(self.number, from, OsStr::new(&file)),
            line: None,
            arrived: None,
        };
        let mut agents: Vec<_> = to.iter().map(|agent| agent.as_str().into()).collect();
        agents.sort();
        agents.dedup();
        let message = to_raw_value(&fields)?;
        let digest = Message::from_fields(fields)
            .context("it has all that a message needs")?
            .digest();
        let name = MessageName {
            from: from.into(),
            id,
            digest,
        };
        Ok(Record::new(Event::Accepted(Box::new(AcceptedMessage {
            origin,
            name,
            to: vec![RecipientGroup {
                via: "direct".into(),
                agents,
            }],
            times: MessageTimes::default(),
            act: None,
            delivery: Default::default(),
            message,
        }))))
    }

    fn join_thread(&mut self, fields: &mut Map<String, Value>, from: &str, id: &str) {
        let n = self.dice.roll(OPEN_THREADS as u64) as usize;
        let ends = self.dice.roll(10) == 0;
        let thread = &mut self.threads[n];
        fields.insert("thread_id".into(), thread.name.clone().into());
        if let Some((from, id)) = thread.last.replace((from.to_owned(), id.to_owned())) {
            fields.insert("in_reply_to".into(), format!("{from}/{id}").into());
        }
        if ends {
            *thread = Thread {
                name: id.to_owned(),
                last: None,
            };
        }
    }

    fn text(&mut self, words: u64) -> String {
        let picked: Vec<&str> = (0..words)
            .map(|_| self.words[self.dice.roll(self.words.len() as u64) as usize])
            .collect();
        picked.join(" ")
    }
}
