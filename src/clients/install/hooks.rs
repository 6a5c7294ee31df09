//! Finds, adds and removes our hooks in JSON settings.

use super::clients::{HookConfiguration, HookJob, PLUGIN, SILENT};
use super::json::{EditError, JsonFile, JsonStep, ListEnd, look, wrong_kind};
use super::servers::{is_empty, is_program};
use crate::base::text::unquoted_shell_word;
use crate::clients::kind::Client;
use serde_json::{Value, json};

/// The settings key of hooks.
const HOOKS: &str = "hooks";
/// The key of a hook's command.
const COMMAND: &str = "command";

/// One of our hooks and its position.
pub(super) struct OwnHook {
    pub(super) group: usize,
    pub(super) hook: usize,
    pub(super) job: HookJob,
    /// Its program and agent, if it has exactly our format.
    pub(super) wanted: Option<HookConfiguration>,
}

impl OwnHook {
    /// The steps to the hook: the key of hooks, the event, the group, the list in the group, and the hook.
    fn place(&self, event: &'static str) -> [JsonStep; 5] {
        [
            HOOKS.into(),
            event.into(),
            self.group.into(),
            HOOKS.into(),
            self.hook.into(),
        ]
    }
}

/// Our hooks in a client's settings.
#[derive(Debug, Default)]
pub(super) struct InstalledHooks {
    /// Whether any is installed.
    pub(super) any: bool,
    /// Events without our hook.
    pub(super) missing: Vec<&'static str>,
    /// Their program and agent.
    pub(super) wanted: Option<HookConfiguration>,
    /// Whether hooks send permission requests to the human.
    pub(super) approvals: bool,
}

/// Adds missing hooks, and updates hooks with another agent or program path. A hook that the user has extended by hand
/// stays unchanged.
pub(super) fn put(
    json: &mut JsonFile,
    client: Client,
    wanted: &HookConfiguration,
) -> Result<(), EditError> {
    // Without the option, a hook that is there stays.
    let approval = client
        .approval_event()
        .filter(|event| wanted.approvals || !ours(json, client, event).is_empty());
    let events: Vec<&'static str> = approval.into_iter().chain(client.events()).collect();
    match json.value().get(HOOKS) {
        None => return json.put(&[], HOOKS, &all(client, wanted)),
        Some(Value::Object(_)) => {}
        Some(other) => return Err(wrong_kind("hooks", other, "an object {…}")),
    }
    // Each event is inserted at the top, so start with the last.
    events
        .iter()
        .rev()
        .try_for_each(|event| put_event(json, client, event, wanted))
}

/// The hooks of all events.
pub(super) fn all(client: Client, wanted: &HookConfiguration) -> Value {
    let events = client.all_events();
    let events = events.filter(|event| wanted.approvals || client.facts().approval != Some(*event));
    events
        .map(|event| (event.to_owned(), json!([group(client, event, wanted)])))
        .collect()
}

fn put_event(
    json: &mut JsonFile,
    client: Client,
    event: &'static str,
    wanted: &HookConfiguration,
) -> Result<(), EditError> {
    match json.value()[HOOKS].get(event) {
        None => {
            return json.put(
                &[HOOKS.into()],
                event,
                &json!([group(client, event, wanted)]),
            );
        }
        Some(Value::Array(_)) => {}
        Some(other) => return Err(wrong_kind(&format!("hooks.{event}"), other, "a list […]")),
    }
    let ours = ours(json, client, event);
    if ours.is_empty() {
        let place = [HOOKS.into(), event.into()];
        return json.push(&place, &group(client, event, wanted), client.end());
    }
    for one in ours.iter().filter(|one| one.wanted.is_some()) {
        let place = one.place(event);
        let there = look(&json.value(), &place).cloned().unwrap_or_default();
        let fresh = client.handler(one.job, event, wanted);
        if there.get(COMMAND) != fresh.get(COMMAND) {
            let place = [&place[..], &[COMMAND.into()]].concat();
            json.replace(&place, &fresh[COMMAND])?;
        }
    }
    let missing = client
        .jobs(event)
        .iter()
        .filter(|job| !ours.iter().any(|one| one.job == **job));
    let list = &ours[0].place(event)[..4];
    missing
        .copied()
        .try_for_each(|job| json.push(list, &client.handler(job, event, wanted), ListEnd::Back))
}

/// Removes our hooks, and containers that become empty.
pub(super) fn take_out(json: &mut JsonFile, client: Client) -> Result<(), EditError> {
    for event in client.all_events() {
        // The last first, so that earlier indexes stay valid.
        for one in ours(json, client, event).into_iter().rev() {
            let place = one.place(event);
            json.take_out(&place)?;
            // Remove the group with its last hook, the event with its last group, and `hooks` with its last event.
            let holders = [(4, 3), (2, 2), (1, 1)];
            for (list, holder) in holders {
                if !look(&json.value(), &place[..list]).is_some_and(is_empty) {
                    break;
                }
                json.take_out(&place[..holder])?;
            }
        }
    }
    Ok(())
}

/// Finds our hooks in a client's settings.
pub(super) fn find(json: &JsonFile, client: Client) -> InstalledHooks {
    let mut found = InstalledHooks::default();
    for event in client.events() {
        let ours = ours(json, client, event);
        let all = client
            .jobs(event)
            .iter()
            .all(|job| ours.iter().any(|one| one.job == *job));
        found.any |= !ours.is_empty();
        if !all {
            found.missing.push(event);
        }
        found.wanted = found
            .wanted
            .or_else(|| ours.into_iter().find_map(|one| one.wanted));
    }
    let asks = client
        .approval_event()
        .map(|event| ours(json, client, event))
        .unwrap_or_default();
    found.approvals = !asks.is_empty();
    found.any |= found.approvals;
    found.wanted = found
        .wanted
        .or_else(|| asks.into_iter().find_map(|one| one.wanted));
    if let Some(wanted) = &mut found.wanted {
        wanted.approvals = found.approvals;
    }
    found
}

fn group(client: Client, event: &str, wanted: &HookConfiguration) -> Value {
    let hooks: Vec<Value> = client
        .jobs(event)
        .iter()
        .map(|job| client.handler(*job, event, wanted))
        .collect();
    match client.matcher(event) {
        Some(matcher) => json!({ "matcher": matcher, HOOKS: hooks }),
        None => json!({ HOOKS: hooks }),
    }
}

/// Our hooks of an event, in order.
pub(super) fn ours(json: &JsonFile, client: Client, event: &str) -> Vec<OwnHook> {
    let value = json.value();
    let groups = value[HOOKS][event].as_array().cloned().unwrap_or_default();
    let mut all = Vec::new();
    for (group, hooks) in groups.iter().enumerate() {
        for (hook, handler) in hooks[HOOKS].as_array().into_iter().flatten().enumerate() {
            let read = [HookJob::Tell, HookJob::Wake]
                .into_iter()
                .find_map(|job| Some((job, read(handler, client, job)?)));
            all.extend(read.map(|(job, wanted)| OwnHook {
                group,
                hook,
                job,
                wanted,
            }));
        }
    }
    all
}

/// Recognizes a hook that does this job. `None` if it is not ours, `Some(None)` if the user has changed it.
pub(super) fn read(
    handler: &Value,
    client: Client,
    job: HookJob,
) -> Option<Option<HookConfiguration>> {
    if handler["type"] != "command" {
        return None;
    }
    let command = handler[COMMAND].as_str()?;
    let verbs: Vec<String> = client.words(job, &HookConfiguration::default());
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_ours = words.iter().enumerate().any(|(at, word)| {
        let rest = &words[at + 1..];
        is_program(word.trim_matches(['\'', '"']))
            && rest.len() >= verbs.len()
            && rest.iter().zip(&verbs).all(|(a, b)| a == b)
    });
    is_ours.then(|| read_call(command, client, job))
}

/// The program and agent of a command that has exactly our format.
fn read_call(command: &str, client: Client, job: HookJob) -> Option<HookConfiguration> {
    let (_, call) = command.split_once(SILENT)?;
    let call = call.strip_prefix("exec ").unwrap_or(call);
    let call = call.strip_suffix(client.behind())?;
    let (words, agent) = match call.rsplit_once(" --as ") {
        Some((words, agent)) => (words, Some(agent.to_owned())),
        None => (call, None),
    };
    let mut wanted = HookConfiguration {
        program: "x".into(),
        agent,
        is_plugin: words.ends_with(PLUGIN),
        ..HookConfiguration::default()
    };
    let tail = client.call(job, &wanted);
    wanted.program = unquoted_shell_word(call.strip_suffix(&tail[1..])?);
    (command == client.line(job, &wanted)).then_some(wanted)
}
