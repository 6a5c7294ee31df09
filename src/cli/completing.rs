//! Shell completions: commands and options, and from the room agents, roles, topics, channels, unread messages,
//! rejected files, the caller's claims and open offers, links and the agents of other rooms.
//!
//! Only names of plain characters reach the shell, because a shell could run others as commands.

use crate::disk::layout;
use crate::message;
use crate::message::id;
use crate::query::claims::{self, ClaimList};
use crate::query::{identity, inbox, links};
use crate::room::registry::Registry;
use crate::room::{self, Room};
use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The variable with which a shell asks. Other programs must not use the same one.
pub(super) const VARIABLE: &str = "MAILBAG_COMPLETE";
/// Maximum number of messages, the newest.
const MESSAGES: usize = 50;

/// Answers a shell that asks for completions; `false` if none asks. An error offers nothing.
pub(super) fn answer() -> bool {
    let here = std::env::current_dir().ok();
    let env = CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .bin("mailbag")
        .completer("mailbag");
    env.try_complete(std::env::args_os(), here.as_deref())
        .unwrap_or(std::env::var_os(VARIABLE).is_some())
}

/// The command line, with the candidates for each word.
pub(super) fn command() -> Command {
    offer(super::command())
}

fn offer(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|arg| offer_values(&name, arg))
        .mut_subcommands(offer)
}

fn offer_values(command: &str, arg: Arg) -> Arg {
    let value = arg
        .get_value_names()
        .and_then(|names| names.first())
        .map(|name| name.to_string())
        .unwrap_or_default();
    let candidates: fn() -> Vec<String> = match (value.as_str(), arg.get_id().as_str(), command) {
        ("AGENT", ..) | (_, "id", "show" | "set" | "retire" | "remove") | (_, "name", "join") => {
            agents
        }
        ("ADDRESS" | "ADDRESS... BODY", ..) => addresses,
        ("ID" | "ID|THREAD", ..) => messages,
        ("SEQ|NAME", ..) => rejected,
        ("TOPIC", ..) => topics,
        ("SUBJECT", _, "release" | "handoff") => subjects,
        ("OFFER", ..) => offers,
        ("TAG", ..) => tags,
        ("TYPE", ..) => || message::TYPES.iter().map(|kind| kind.to_string()).collect(),
        ("PRIORITY", ..) => || message::PRIORITIES.map(str::to_owned).to_vec(),
        (_, "role", _) => roles,
        (_, "channel" | "channels", _) | ("NAME", _, "show" | "watch") => channels,
        _ => return arg,
    };
    let plain = move || {
        candidates()
            .into_iter()
            .filter(|word| is_plain(word))
            .map(CompletionCandidate::new)
            .collect()
    };
    arg.add(ArgValueCandidates::new(
        move || -> Vec<CompletionCandidate> { plain() },
    ))
}

fn is_plain(word: &str) -> bool {
    !word.starts_with('-')
        && word
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-#@:/".contains(&b))
}

fn agents() -> Vec<String> {
    let Some((_, registry)) = look() else {
        return Vec::new();
    };
    let there = registry.agents().iter().filter(|agent| !agent.is_retired());
    there.map(|agent| agent.id.to_string()).collect()
}

fn addresses() -> Vec<String> {
    let mut all = agents();
    all.extend(
        roles()
            .into_iter()
            .flat_map(|role| [format!("all_{role}"), format!("any_{role}")]),
    );
    all.extend(topics().into_iter().map(|topic| format!("#{topic}")));
    all.extend(
        look()
            .iter()
            .flat_map(|(_, registry)| registry.lanes().iter().map(|lane| lane.address.clone())),
    );
    all.push("all".into());
    all.extend(remote());
    all
}

/// The known agents of other rooms, and their roles.
fn remote() -> BTreeSet<String> {
    let remote = look()
        .and_then(|(room, _)| links::remote(&room).ok())
        .unwrap_or_default();
    let role = |one: &links::Remote| {
        Some(id::far(
            id::tag_of(&one.id)?,
            &format!("all_{}", one.role.as_ref()?),
        ))
    };
    let roles: Vec<String> = remote.iter().filter_map(role).collect();
    remote.into_iter().map(|one| one.id).chain(roles).collect()
}

fn tags() -> Vec<String> {
    let links = look()
        .and_then(|(room, _)| links::list(&room).ok())
        .unwrap_or_default();
    links.into_iter().map(|link| link.tag).collect()
}

fn roles() -> Vec<String> {
    of_agents(|agent| agent.role.iter().cloned().collect())
}

fn topics() -> Vec<String> {
    of_agents(|agent| agent.topics.clone())
}

fn of_agents(words: fn(&crate::room::registry::Agent) -> Vec<String>) -> Vec<String> {
    let Some((_, registry)) = look() else {
        return Vec::new();
    };
    let all: BTreeSet<String> = registry.agents().iter().flat_map(words).collect();
    all.into_iter().collect()
}

fn channels() -> Vec<String> {
    let Some((room, _)) = look() else {
        return Vec::new();
    };
    names(&room, Path::new(layout::CHANNELS))
        .into_iter()
        .filter(|name| id::is_name(name))
        .collect()
}

/// The unread messages of the caller by id, and its sent messages by number.
fn messages() -> Vec<String> {
    let Some((room, registry)) = look() else {
        return Vec::new();
    };
    let Some(agent) = asker(&room, &registry) else {
        return Vec::new();
    };
    let unread = inbox::newest(&room, &agent, MESSAGES, None);
    let mut all: Vec<String> = unread
        .into_iter()
        .flat_map(|(heads, ..)| heads.into_iter().map(|mail| mail.id))
        .collect();
    all.reverse();
    all.extend(numbers(&room, &layout::sent(&agent)));
    all
}

/// What the caller owns or waits for.
fn subjects() -> Vec<String> {
    let Some(list) = claims() else {
        return Vec::new();
    };
    let waiting = list
        .waiting
        .into_iter()
        .flat_map(|one| one.subjects)
        .map(|one| one.to_string());
    list.claims
        .into_iter()
        .map(|one| one.claim.subject.to_string())
        .chain(waiting)
        .collect()
}

fn offers() -> Vec<String> {
    claims()
        .map(|list| list.offers.iter().map(|one| one.seq.to_string()).collect())
        .unwrap_or_default()
}

fn claims() -> Option<ClaimList> {
    let (room, registry) = look()?;
    let agent = asker(&room, &registry)?;
    claims::list(&room, Some(&agent)).ok()
}

fn rejected() -> Vec<String> {
    let Some((room, _)) = look() else {
        return Vec::new();
    };
    let agents = names(&room, Path::new(layout::REJECTED));
    agents
        .iter()
        .flat_map(|agent| numbers(&room, &layout::rejected(agent)))
        .collect()
}

fn numbers(room: &Room, directory: &Path) -> Vec<String> {
    let mut numbers: Vec<u64> = names(room, directory)
        .iter()
        .filter_map(|name| layout::read_retired(name))
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
        .iter()
        .rev()
        .take(MESSAGES)
        .map(u64::to_string)
        .collect()
}

fn names(room: &Room, directory: &Path) -> Vec<String> {
    let Ok(listing) = room.dir.sub(directory).and_then(|dir| dir.list()) else {
        return Vec::new();
    };
    listing
        .flatten()
        .filter_map(|entry| entry.name.into_string().ok())
        .collect()
}

fn look() -> Option<(Room, Registry)> {
    let asked = option("--room")
        .map(PathBuf::from)
        .or_else(room::named_by_environment);
    let place = room::find(asked.as_deref(), &std::env::current_dir().ok()?).ok()?;
    let room = Room::open(&place).ok()?;
    let registry = room.registry().ok()?;
    Some((room, registry))
}

fn asker(room: &Room, registry: &Registry) -> Option<String> {
    let who = identity::who(option("--as").as_deref(), || Ok(room.clone())).ok()?;
    who.in_registry(registry)
        .ok()
        .map(|agent| agent.id.to_string())
}

/// The value of an option in the line that is being typed.
fn option(name: &str) -> Option<String> {
    let words: Vec<String> = std::env::args().skip_while(|word| word != "--").collect();
    let behind = |(n, word): (usize, &String)| match word.strip_prefix(name)? {
        "" => words.get(n + 1).cloned(),
        rest => rest.strip_prefix('=').map(str::to_owned),
    };
    words
        .iter()
        .enumerate()
        .find_map(behind)
        .filter(|value| !value.is_empty())
}
