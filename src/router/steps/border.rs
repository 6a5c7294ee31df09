//! What may cross a link, in step 5.

use crate::base::error::Problem;
use crate::base::hash::is_hash_of;
use crate::message::Message;
use crate::message::address::{Address, quoted};
use crate::message::id::{HUMAN, tag_of};
use crate::message::link::stays_here;
use crate::message::record::Group;
use crate::room::resolve::Via;
use crate::room::settings::Accept;
use crate::router::parts::Config;
use serde_json::Value;

/// The recipients, if the message may reach them.
pub(super) fn check(
    config: &Config,
    from: &str,
    message: &Message,
    to: Vec<Group>,
) -> Result<Vec<Group>, Vec<Problem>> {
    let problems = match tag_of(from) {
        Some(tag) => check_arrived(config, tag, message, &to),
        None => check_leaving(message, &to).into_iter().collect(),
    };
    if problems.is_empty() { Ok(to) } else { Err(problems) }
}

fn check_leaving(message: &Message, to: &[Group]) -> Option<Problem> {
    let far = to.iter().flat_map(|group| &group.agents).find(|agent| tag_of(agent).is_some())?;
    let why = stays_here(message)?;
    let problem = Problem::new("stays_in_room", format!("this message cannot go to {far}: {why}"));
    Some(problem.at("/to").fix("send a message of another type, with what the other room needs in its body"))
}

fn check_arrived(config: &Config, tag: &str, message: &Message, to: &[Group]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(why) = stays_here(message) {
        problems.push(Problem::new("stays_in_room", format!("this message cannot come from another room: {why}")));
    }
    if message.by_mention() || message.addresses().is_empty() {
        // A name in its body is a name of the room that sent it.
        problems.push(Problem::new("no_recipient", "a message from another room names its recipients in `to`"));
    }
    let attached = message.fields().get("attachments").and_then(Value::as_array);
    if attached.into_iter().flatten().any(|attachment| attachment.get("path").is_some()) {
        let what = "it attaches a file by a path, which is in its own room";
        problems.push(Problem::new("stays_in_room", what).at("/attachments"));
    }
    let is_wrong = |attachment: &Value| {
        let text = |field: &str| attachment.get(field).and_then(Value::as_str);
        text("sha256").zip(text("content")).is_some_and(|(digest, content)| !is_hash_of(digest, content.as_bytes()))
    };
    if attached.into_iter().flatten().any(is_wrong) {
        let what = "the text of an attachment is not the one of its sha256";
        problems.push(Problem::new("bad_attachment", what).at("/attachments"));
    }
    let accept = config.settings().links.get(tag).map_or(&[][..], |link| &link.accept);
    let mut refuse = |address: &str, accept: Accept| {
        let what = format!("this room takes no mail for {} from the room {tag}", quoted(address));
        let fix =
            format!("write to an agent by name or role; here, a person can add {:?} to `accept`", accept.as_str());
        problems.push(Problem::new("not_accepted", what).at("/to").fix(fix));
    };
    for address in message.addresses() {
        if let Some(kind) = kind(address).filter(|kind| !accept.contains(kind)) {
            refuse(address, kind);
        }
    }
    // `@engineer` can be a role.
    let is_role = |via: &str| via == Via::Role.as_str();
    let has_roles = || message.addresses().iter().any(|address| kind(address) == Some(Accept::Roles));
    if to.iter().any(|group| is_role(&group.via)) && !accept.contains(&Accept::Roles) && !has_roles() {
        refuse(message.addresses().first().map_or("", String::as_str), Accept::Roles);
    }
    // Also where an alias reaches the human.
    let reaches_human = to.iter().flat_map(|group| &group.agents).any(|agent| **agent == *HUMAN);
    let is_named = message.addresses().iter().any(|address| kind(address) == Some(Accept::Human));
    if reaches_human && !accept.contains(&Accept::Human) && !is_named {
        let what = format!("this room takes no mail for the human from the room {tag}");
        let fix = "write to an agent; here, a person can add \"human\" to `accept`";
        problems.push(Problem::new("not_accepted", what).at("/to").fix(fix));
    }
    problems
}

/// The kind of an address. `None` for one that is rejected in any case.
fn kind(address: &str) -> Option<Accept> {
    Some(match Address::parse(address).ok()? {
        Address::Word(word) | Address::At(word) if word == HUMAN => Accept::Human,
        Address::Word(_) | Address::At(_) => Accept::Agents,
        Address::Role(_) | Address::Any(_) => Accept::Roles,
        Address::All | Address::Glob(_) => Accept::All,
        Address::Topic(_) | Address::Capability(_) | Address::Owner(_) | Address::Lane(_) => Accept::Topics,
        Address::Remote { .. } => return None,
    })
}
