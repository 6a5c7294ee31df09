//! Shell completions: commands and options, and from the room agents, roles, topics, channels, messages, open items,
//! rejected files, claims, links and the agents of other rooms.
//!
//! Only plain characters reach the shell, because a shell could run other characters as commands.

use super::show::row::cut;
use crate::base::text::joined;
use crate::commands::rejected::{self, RejectedSelection};
use crate::disk::layout;
use crate::message;
use crate::message::{APPROVAL, id};
use crate::query::claims::{self, ClaimList};
use crate::query::explain::known_addresses;
use crate::query::history::{MessageCriteria, MessageFilter};
use crate::query::pending::{self, PendingItem};
use crate::query::view::MessageView;
use crate::query::{identity, inbox, links, list};
use crate::room::registry::Registry;
use crate::room::{self, Room};
use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{self, ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The variable that a shell sets to ask for candidates. No other program uses it.
pub(super) const VARIABLE: &str = "MAILBAG_COMPLETE";
/// The supported shells.
pub(super) const SHELLS: Shells<'static> =
    Shells(&[&DescribingBash, &Elvish, &Fish, &Powershell, &Zsh]);
/// Maximum number of messages, the newest.
const MESSAGES: usize = 50;
/// The longest description, in columns.
const DESCRIPTION: usize = 60;

/// Answers a shell that asks for completions; `false` if none asks. An error offers nothing.
pub(super) fn answer() -> bool {
    let here = std::env::current_dir().ok();
    let env = CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .bin("mailbag")
        .completer("mailbag")
        .shells(SHELLS);
    env.try_complete(std::env::args_os(), here.as_deref())
        .unwrap_or(std::env::var_os(VARIABLE).is_some())
}

/// Bash, which has no descriptions of its own: a list of candidates shows them after the values. A candidate that bash
/// inserts has no description.
struct DescribingBash;

impl DescribingBash {
    /// The values of `COMP_TYPE` for lists of candidates.
    const LISTS: [&str; 3] = ["33", "63", "64"];
}

impl EnvCompleter for DescribingBash {
    fn name(&self) -> &'static str {
        Bash.name()
    }

    fn is(&self, name: &str) -> bool {
        Bash.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> std::io::Result<()> {
        Bash.write_registration(var, name, bin, completer, buf)
    }

    fn write_complete(
        &self,
        cmd: &mut Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> std::io::Result<()> {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        if !Self::LISTS.contains(&&*variable("_CLAP_COMPLETE_COMP_TYPE")) {
            return Bash.write_complete(cmd, args, current_dir, buf);
        }
        let index = variable("_CLAP_COMPLETE_INDEX").parse().unwrap_or_default();
        let candidates = engine::complete(cmd, args, index, current_dir)?;
        let is_choice = candidates.len() > 1;
        let lines: Vec<String> = candidates
            .iter()
            .map(|candidate| {
                let value = candidate.get_value().to_string_lossy();
                // The commands and options are too many for a line each.
                match candidate.get_help() {
                    Some(help) if is_choice && candidate.get_tag().is_some() => {
                        format!("{value}  ({help})")
                    }
                    _ => value.into_owned(),
                }
            })
            .collect();
        let separator = variable("_CLAP_IFS");
        for (n, line) in lines.iter().enumerate() {
            let separator = if n > 0 { separator.as_str() } else { "" };
            write!(buf, "{separator}{line}")?;
        }
        Ok(())
    }
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
        .map(ToString::to_string)
        .unwrap_or_default();
    let items: Option<fn() -> Vec<CompletionCandidate>> = match (value.as_str(), command) {
        ("ID", "add" | "show" | "set" | "retire" | "remove") => None,
        ("ID" | "ID|THREAD", "reply") => Some(questions_and_messages),
        ("ID" | "ID|THREAD", _) => Some(messages),
        ("APPROVAL", _) => Some(approvals),
        ("ITEM", _) => Some(open_items),
        ("SEQ|NAME", _) => Some(rejected),
        ("OFFER", _) => Some(offers),
        _ => None,
    };
    if let Some(items) = items {
        return arg.add(ArgValueCandidates::new(items));
    }
    let words: fn() -> Vec<String> = match (value.as_str(), arg.get_id().as_str(), command) {
        ("AGENT", ..) | (_, "id", "show" | "set" | "retire" | "remove") | (_, "name", "join") => {
            agents
        }
        ("ADDRESS" | "ADDRESS... BODY", ..) => addresses,
        ("TOPIC", ..) => topics,
        ("SUBJECT", _, "release" | "handoff") => subjects,
        ("TAG", ..) => tags,
        ("OPTION", _, "decide") => options,
        ("TYPE", ..) => || message::TYPES.iter().map(ToString::to_string).collect(),
        ("PRIORITY", ..) => || message::Priority::WORDS.map(str::to_owned).to_vec(),
        (_, "role", _) => roles,
        (_, "channel" | "channels", _) | ("NAME", _, "show" | "watch") => channels,
        _ => return arg,
    };
    arg.add(ArgValueCandidates::new(
        move || -> Vec<CompletionCandidate> {
            let plain = words().into_iter().filter(|word| is_plain(word));
            plain.map(CompletionCandidate::new).collect()
        },
    ))
}

/// A message or an item by its number, with a description.
fn numbered(seq: u64, description: &str) -> CompletionCandidate {
    let number = seq.to_string();
    CompletionCandidate::new(&number)
        .help(Some(plain_text(description).into()))
        .tag(Some("items".into()))
        .id(Some(number))
}

/// A text without the characters that a shell expands.
fn plain_text(text: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || " .,:;_-#/@=+%".contains(c);
    let text = text.replace(|c| !is_safe(c), " ");
    cut(
        &text.split_whitespace().collect::<Vec<_>>().join(" "),
        DESCRIPTION,
    )
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
    let known = look().and_then(|(room, _)| known_addresses(&room).ok());
    known.into_iter().flatten().collect()
}

fn tags() -> Vec<String> {
    let links = look()
        .and_then(|(room, _)| links::list(&room).ok())
        .unwrap_or_default();
    links.into_iter().map(|link| link.tag).collect()
}

fn roles() -> Vec<String> {
    let registry = look().map(|(_, registry)| registry);
    let roles = registry.iter().flat_map(Registry::roles);
    roles.map(|(role, _)| role.to_owned()).collect()
}

fn topics() -> Vec<String> {
    let registry = look().map(|(_, registry)| registry);
    let topics = registry.iter().flat_map(Registry::topics);
    topics.map(|(topic, _)| topic.to_owned()).collect()
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

/// The unread messages of the caller, then the messages that it sent, newest first. An id is offered once its beginning
/// is typed.
fn messages() -> Vec<CompletionCandidate> {
    let Some((room, registry)) = look() else {
        return Vec::new();
    };
    let Some(agent) = asker(&room, &registry) else {
        return Vec::new();
    };
    let unread = inbox::newest(&room, &agent, MESSAGES, None);
    let sent = MessageCriteria {
        from: Some(agent),
        ..MessageCriteria::default()
    };
    let sent = MessageFilter::new(&room, sent)
        .and_then(|filter| list::list(&room, filter, Some(MESSAGES)));
    let mut all = Vec::new();
    for mail in unread.iter().flat_map(|(heads, ..)| heads.iter().rev()) {
        all.extend(message_candidates(&MessageView::from(mail)));
    }
    let sent: Vec<_> = sent.into_iter().flatten().flatten().collect();
    for past in sent.iter().rev() {
        all.extend(message_candidates(&MessageView::from(past)));
    }
    all
}

fn message_candidates(view: &MessageView<'_>) -> Vec<CompletionCandidate> {
    let mut candidates = Vec::new();
    if let Some(seq) = view.seq {
        candidates.push(numbered(seq, &format!("{}: {}", view.from, view.about())));
    }
    if is_plain(view.id) {
        candidates.push(CompletionCandidate::new(view.id).hide(view.seq.is_some()));
    }
    candidates
}

fn questions_and_messages() -> Vec<CompletionCandidate> {
    let questions = pending_items()
        .into_iter()
        .filter(|item| item.kind == "question");
    questions
        .map(|item| item_candidate(&item))
        .chain(messages())
        .collect()
}

fn approvals() -> Vec<CompletionCandidate> {
    let approvals = pending_items()
        .into_iter()
        .filter(|item| item.kind == APPROVAL);
    approvals.map(|item| item_candidate(&item)).collect()
}

fn open_items() -> Vec<CompletionCandidate> {
    let numbered = pending_items().into_iter().filter(|item| item.seq > 0);
    numbered.map(|item| item_candidate(&item)).collect()
}

fn item_candidate(item: &PendingItem) -> CompletionCandidate {
    numbered(
        item.seq,
        &format!("{} from {}: {}", item.kind, item.from, item.title),
    )
}

/// The options of the approvals that the line names.
fn options() -> Vec<String> {
    let words = typed_words();
    let named = pending_items().into_iter().filter(|item| {
        words
            .iter()
            .any(|word| word.trim_start_matches('#') == item.seq.to_string())
    });
    named.flat_map(|item| item.options).collect()
}

fn pending_items() -> Vec<PendingItem> {
    let list = look().and_then(|(room, registry)| {
        let agent = asker(&room, &registry)?;
        pending::pending(&room, &agent).ok()
    });
    list.map(|list| list.items).unwrap_or_default()
}

/// The subjects that the caller owns or waits for.
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

fn offers() -> Vec<CompletionCandidate> {
    let offers = claims().map(|list| list.offers).unwrap_or_default();
    offers
        .iter()
        .map(|offer| {
            numbered(
                offer.seq,
                &format!("{}: {}", offer.from, joined(&offer.subjects)),
            )
        })
        .collect()
}

fn claims() -> Option<ClaimList> {
    let (room, registry) = look()?;
    let agent = asker(&room, &registry)?;
    claims::list(&room, Some(&agent)).ok()
}

fn rejected() -> Vec<CompletionCandidate> {
    let files = look().and_then(|(room, _)| rejected::list(&room, &RejectedSelection::All).ok());
    files
        .iter()
        .flatten()
        .rev()
        .take(MESSAGES)
        .map(|file| {
            numbered(
                file.seq,
                &format!("{}: {}: {}", file.agent, file.name, file.what),
            )
        })
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
