//! Steps 4 and 5: is it a message, and who is it for?

use super::stage::Ruled;
use super::{compose, lines};
use crate::base::clock::Stamp;
use crate::base::error::{Problem, Result};
use crate::base::limits;
use crate::disk::failpoint::{self, Failpoint};
use crate::log;
use crate::log::lookup::Pace;
use crate::message::dialects::{self, Spelled};
use crate::message::record::{Act, Event, Group, Hash, Record};
use crate::message::status::Receipt;
use crate::message::{self, Message, schema};
use crate::room::registry::{Registry, Status};
use crate::room::resolve::{self, Recipient, Standing};
use crate::room::sessions::Calls;
use crate::router::projections::roster;
use crate::router::{Addressed, Checked, Letters, Router, temporary};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A claim that was read.
pub(crate) struct Letter {
    pub(crate) claim: String,
    pub(crate) agent: Arc<str>,
    pub(crate) original: String,
    /// Which of the claim's lines it is, where that holds a message a line.
    pub(crate) source: Option<Source>,
    pub(crate) content: Result<Value, Problem>,
}

/// A line of a claim that holds a message a line.
pub(crate) struct Source {
    pub(crate) line: u32,
    pub(crate) text: Vec<u8>,
    /// Do further lines of the claim follow in a later batch?
    pub(crate) more: bool,
}

/// What the check found.
pub(crate) enum Verdict {
    /// A message, and its digest.
    Message(Box<Message>, Hash),
    /// Every problem; with the id that the sender gave, if one can be made out, and whether it is an ack.
    Problems { problems: Vec<Problem>, id: Option<String>, ack: bool },
}

/// What is to be done with a letter.
pub(crate) enum Ruling {
    /// Deliver it to these.
    Accept { message: Box<Message>, digest: Hash, to: Vec<Group>, act: Option<Act> },
    /// It is in the log already, at this number.
    Duplicate { of: u64, id: String, digest: Hash },
    /// An earlier one of this batch has the same id and content.
    Again { id: String, digest: Hash },
    /// Refuse it; the bounce goes to the sender unless it is an ack.
    Reject { problems: Vec<Problem>, id: Option<String>, ack: bool },
    /// Tell somebody.
    Notice { about: String, message: Box<Message> },
}

impl Router {
    /// Step 4: spelling, schema, rules. All problems of a message are found, not the first.
    pub(crate) fn check(&self, Letters(letters): Letters) -> Vec<Checked> {
        let now = Stamp::now();
        letters.into_iter().map(|letter| check_one(letter, &self.registry, now)).collect()
    }

    /// Step 5: the recipients, worked out once; who joins later doesn't get it.
    pub(crate) fn resolve(&mut self, checked: Vec<Checked>) -> Result<Addressed> {
        let registry = self.registry.clone();
        let pace = std::mem::take(&mut self.pace);
        let mut standing = Crowd { router: self, taken: HashMap::new(), claimed: HashMap::new(), pace };
        let mut ruled = Vec::with_capacity(checked.len());
        let mut ids = lines::Ids::default();
        let (mut put_back, mut unknown) = (Vec::new(), Vec::new());
        for Checked(letter, verdict) in checked {
            let ruling = match verdict {
                Verdict::Problems { problems, id, ack } => Ruling::Reject { problems, id, ack },
                Verdict::Message(message, digest) => {
                    let known = ids.meet(&letter, message.id(), &digest);
                    let seen = standing.router.seen_before(&letter.agent, message.id(), &digest);
                    let ruled = match (known, seen) {
                        // The same id twice in one batch: the second is looked up once the first is in the log.
                        (lines::Met::Before, _) => {
                            put_back.push(letter.claim);
                            continue;
                        }
                        (lines::Met::Ruled(ruling), _) => Ok(ruling),
                        (lines::Met::New, Ok(Some(ruling))) => Ok(ruling),
                        (lines::Met::New, Ok(None)) => judge(&registry, &letter.agent, message, digest, &mut standing),
                        (lines::Met::New, Err(e)) => Err(e),
                    };
                    let ruling = match ruled {
                        Ok(ruling) => ruling,
                        Err(e) => {
                            unknown.push((letter.claim, temporary(e)?));
                            continue;
                        }
                    };
                    ids.ruled(&letter, &ruling);
                    ruling
                }
            };
            let Letter { claim, agent, original, source, .. } = letter;
            ruled.push(Ruled { claim: Some(claim), agent, original, source, ruling });
        }
        self.pace = standing.pace;
        self.claims.extend(put_back);
        ruled.retain(|ruled: &Ruled| unknown.iter().all(|(claim, _)| ruled.claim.as_ref() != Some(claim)));
        unknown.into_iter().for_each(|(claim, e)| self.put_back(Some(claim), &e));
        ruled.extend(self.rule_notices());
        Ok(Addressed(ruled))
    }

    fn rule_notices(&mut self) -> Vec<Ruled> {
        let notices = std::mem::take(&mut self.notices);
        self.held.extend(notices.iter().cloned());
        let rule = |notice: crate::router::Notice| {
            let message = compose::own(notice.kind, &notice.to, &notice.subject, &notice.body, notice.more);
            let ruling = Ruling::Notice { about: notice.about, message: Box::new(message) };
            Ruled {
                claim: None,
                agent: crate::message::id::MAILBAG.into(),
                original: String::new(),
                source: None,
                ruling,
            }
        };
        notices.into_iter().map(rule).collect()
    }

    // A (sender, id) that the log holds is a duplicate if the content is the same, and refused if it isn't. What was
    // archived is forgotten.
    fn seen_before(&self, agent: &str, id: &str, digest: &Hash) -> Result<Option<Ruling>> {
        if !failpoint::on(Failpoint::DuplicateCheck) {
            return Ok(None);
        }
        for place in self.state.ids.places(agent, id) {
            let Some(line) = log::read_live(&self.room.dir, place)? else { continue };
            let Ok(record) = serde_json::from_slice::<Record>(&line.bytes) else { continue };
            let is_it = record.event == Event::Accepted
                && record.from.as_deref() == Some(agent)
                && record.id.as_deref() == Some(id);
            if is_it && record.digest == Some(*digest) {
                return Ok(Some(Ruling::Duplicate { of: record.seq, id: id.to_owned(), digest: *digest }));
            }
            if is_it {
                let what = format!(
                    "the id {id:?} was used before, by message {} of {}, with other content",
                    record.seq, record.at
                );
                let problem =
                    Problem::new("id_reused", what).at("/id").fix("give each message its own id, or leave it out");
                return Ok(Some(Ruling::Reject { problems: vec![problem], id: Some(id.to_owned()), ack: false }));
            }
        }
        Ok(None)
    }
}

fn check_one(mut letter: Letter, registry: &Registry, now: Stamp) -> Checked {
    let content = std::mem::replace(&mut letter.content, Ok(Value::Null));
    let value = match content {
        Ok(value) => value,
        Err(problem) => {
            return Checked(letter, Verdict::Problems { problems: vec![problem], id: None, ack: false });
        }
    };
    let id =
        value.get("id").and_then(Value::as_str).filter(|id| crate::message::id::is_message_id(id)).map(str::to_owned);
    let ack = value.get("type").and_then(Value::as_str) == Some("ack");
    let name = registry.agent(&letter.agent).and_then(|agent| agent.name.as_deref());
    // Kept for a refusal: wrong recipients are told together with whatever else is wrong.
    let recipients = recipients(&value);
    let verdict = match schema::check_as(value, &letter.agent, name.as_slice(), now) {
        Ok(message) => {
            let digest = message.digest();
            Verdict::Message(Box::new(message), digest)
        }
        Err(mut problems) => {
            problems.extend(wrong_recipients(registry, &letter.agent, recipients));
            problems.truncate(limits::PROBLEMS);
            Verdict::Problems { problems, id, ack }
        }
    };
    Checked(letter, verdict)
}

/// What of a message says who it is for, in any spelling.
fn recipients(message: &Value) -> Map<String, Value> {
    const FIELDS: [&str; 4] = ["to", "addressed", "to_agent", "routing"];
    let given = FIELDS.iter().filter_map(|field| Some(((*field).to_owned(), message.get(field)?.clone())));
    given.collect()
}

fn wrong_recipients(registry: &Registry, agent: &str, recipients: Map<String, Value>) -> Vec<Problem> {
    let Spelled { fields, origins, .. } = dialects::spell(recipients);
    let addresses = match fields.get("to") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    let problems = resolve::resolve(registry, agent, &addresses, false, &mut Nobody).err().unwrap_or_default();
    schema::in_the_senders_words(problems, &origins)
}

/// Stands in where it doesn't matter how anybody stands.
pub(crate) struct Nobody;

impl Standing for Nobody {
    fn unread(&self, _: &str) -> usize {
        0
    }

    fn online(&self, _: &str) -> bool {
        false
    }

    fn last_active(&self, _: &str) -> Stamp {
        Stamp::default()
    }

    fn taken(&mut self, _: &str) {}
}

/// Who gets it, and what the router has to do for it.
fn judge(
    registry: &Registry,
    agent: &Arc<str>,
    message: Box<Message>,
    digest: Hash,
    standing: &mut Crowd<'_>,
) -> Result<Ruling> {
    let ack = message.kind() == "ack";
    let reject = |problems| Ruling::Reject { problems, id: Some(message.id().to_owned()), ack };
    let to = match address(registry, agent, &message, standing) {
        Ok(to) => to,
        Err(problems) => return Ok(reject(problems)),
    };
    let act = match ack {
        false => compose::act(&message),
        true => match judge_ack(standing, agent, &message)? {
            Ok(receipts) => Some(Act::Ack(receipts)),
            Err(problems) => return Ok(reject(problems)),
        },
    };
    Ok(Ruling::Accept { message, digest, to, act })
}

fn judge_ack(standing: &mut Crowd<'_>, agent: &Arc<str>, ack: &Message) -> Result<Result<Vec<Receipt>, Vec<Problem>>> {
    let Crowd { router, claimed, pace, .. } = standing;
    super::ack::judge(&router.room.dir, &router.state, agent, ack, claimed, pace)
}

fn address(
    registry: &Registry,
    agent: &str,
    message: &Message,
    standing: &mut Crowd<'_>,
) -> Result<Vec<Group>, Vec<Problem>> {
    match resolve::resolve(registry, agent, message.addresses(), message.by_mention(), standing) {
        Err(problems) => Err(problems),
        Ok(none) if none.is_empty() && message.by_mention() && !message::may_go_to_channel_alone(message.kind()) => {
            let problem = Problem::new("no_recipient", "nobody that the body mentions is known here");
            Err(vec![problem.at("/body").fix("name the recipients in `to`; `mailbag agent list` shows them")])
        }
        Ok(recipients) => Ok(groups(recipients)),
    }
}

fn groups(recipients: Vec<Recipient>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for Recipient { agent, via } in recipients {
        match groups.iter_mut().rev().find(|group| group.via == via.as_str()) {
            Some(group) => group.agents.push(agent),
            None => groups.push(Group { via: via.as_str().into(), agents: vec![agent] }),
        }
    }
    groups
}

/// How everybody stands, for `any_<role>`: asked for only by who needs it.
struct Crowd<'a> {
    router: &'a Router,
    taken: HashMap<String, usize>,
    /// What acks of this batch have claimed.
    claimed: super::ack::Claimed,
    /// How often acks may have the whole log looked through.
    pace: Pace,
}

impl Standing for Crowd<'_> {
    fn unread(&self, agent: &str) -> usize {
        self.router.state.mailboxes.count(agent) + self.taken.get(agent).copied().unwrap_or(0)
    }

    fn online(&self, agent: &str) -> bool {
        self.router.registry.agent(agent).is_some_and(|agent| agent.status != Status::Offline)
    }

    fn was_seen(&self, agent: &str) -> bool {
        let calls = Calls::of(&self.router.room.dir);
        roster::is_there(agent, (&self.router.state, &calls), Stamp::now())
    }

    fn last_active(&self, agent: &str) -> Stamp {
        self.router.state.active.get(agent).copied().unwrap_or_default()
    }

    fn taken(&mut self, agent: &str) {
        // Counted from the moment that somebody asks: `any_` is rare, and most batches have none.
        *self.taken.entry(agent.to_owned()).or_default() += 1;
    }
}
