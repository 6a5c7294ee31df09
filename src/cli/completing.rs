//! Shell completions: commands and options, and from the room the agents and the numbers of messages.
//!
//! Only plain characters reach the shell, because a shell could run other characters as commands.

use crate::query::history::{MessageCriteria, MessageFilter};
use crate::query::view::MessageView;
use crate::query::{identity, inbox, list};
use crate::room::registry::Registry;
use crate::room::{self, Room};
use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use std::path::PathBuf;

/// The variable that a shell sets to ask for candidates. No other program uses it.
pub(super) const VARIABLE: &str = "MAILBAG_COMPLETE";
/// Maximum number of messages, the newest.
const MESSAGES: usize = 50;

/// Answers a shell that asks for completions; `false` if none asks. An error offers nothing.
pub(super) fn answer() -> bool {
    let here = std::env::current_dir().ok();
    let env = CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .bin("mailbag")
        .completer("mailbag")
        .shells(Shells::builtins());
    env.try_complete(std::env::args_os(), here.as_deref())
        .unwrap_or(std::env::var_os(VARIABLE).is_some())
}

/// The command line, with the candidates for each word.
fn command() -> Command {
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
        .map(ToString::to_string)
        .unwrap_or_default();
    let words: fn() -> Vec<String> = match (value.as_str(), arg.get_id().as_str(), command) {
        (_, "id", "add") => return arg,
        ("AGENT" | "ADDRESS" | "ADDRESS... BODY", ..)
        | (_, "id", "show" | "set" | "remove")
        | (_, "name", "join") => agents,
        ("ID" | "ID|THREAD" | "APPROVAL" | "ITEM", ..) => messages,
        _ => return arg,
    };
    arg.add(ArgValueCandidates::new(
        move || -> Vec<CompletionCandidate> {
            words().into_iter().map(CompletionCandidate::new).collect()
        },
    ))
}

/// The agents, by names without special characters.
fn agents() -> Vec<String> {
    let Some((_, registry)) = look() else {
        return Vec::new();
    };
    let there = registry.agents().iter().filter(|agent| !agent.is_retired());
    there.map(|agent| agent.id.to_string()).collect()
}

/// The numbers of the caller's unread messages, then of the messages that it sent, newest first.
fn messages() -> Vec<String> {
    let Some((room, registry)) = look() else {
        return Vec::new();
    };
    let Some(agent) = asker(&room, &registry) else {
        return Vec::new();
    };
    let unread = inbox::newest(&room, &agent, MESSAGES, None);
    let unread = unread.iter().flat_map(|(heads, ..)| heads.iter().rev());
    let mut numbers: Vec<u64> = unread
        .filter_map(|mail| MessageView::from(mail).seq)
        .collect();
    let sent = MessageCriteria {
        from: Some(agent),
        ..MessageCriteria::default()
    };
    let sent = MessageFilter::new(&room, sent)
        .and_then(|filter| list::list(&room, filter, Some(MESSAGES)));
    let sent: Vec<_> = sent.into_iter().flatten().flatten().collect();
    numbers.extend(
        sent.iter()
            .rev()
            .filter_map(|past| MessageView::from(past).seq),
    );
    numbers.iter().map(ToString::to_string).collect()
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

/// The words of the line that is being typed.
fn typed_words() -> Vec<String> {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.skip_while(|word| word != "--").collect()
}

/// The value of an option in the line that is being typed.
fn option(name: &str) -> Option<String> {
    let words = typed_words();
    let value = words
        .iter()
        .enumerate()
        .find_map(|(n, word)| match word.strip_prefix(name)? {
            "" => words.get(n + 1).cloned(),
            rest => rest.strip_prefix('=').map(str::to_owned),
        });
    value.filter(|value| !value.is_empty())
}
