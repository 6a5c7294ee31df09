//! The rules that let an agent use mail without a question: only single commands and tools.

use super::clients::{ClientDirectories, FileFormat, InstallPart, InstallScope, TargetFile};
use super::json::{EditError, JsonFile, JsonStep, ListEnd, look};
use super::servers::is_empty;
use super::{read_file, text};
use crate::clients::kind::{AllowRules, Client};
use crate::clients::mcp;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The commands that read and write mail and claims. A name with a space allows one subcommand of a
/// command with others. For an agent, none of them runs a program, decides for the person, changes who
/// is registered, or edits settings.
pub(super) const COMMANDS: [&str; 19] = [
    "ack", "ask", "claim", "claims", "context", "handoff", "inbox", "join", "list", "pending",
    "read", "release", "reply", "search", "send", "status", "thread", "wait", "who",
];

/// The rules of a client, if its settings have a list of them.
pub(super) fn rules(client: Client) -> Vec<String> {
    let AllowRules::List { command, tools, .. } = client.facts().allow else {
        return Vec::new();
    };
    let commands = COMMANDS
        .iter()
        .filter_map(|name| Some(command?.replacen('*', name, 1)));
    let tools = tools
        .iter()
        .flat_map(|rule| mcp::tool_names().map(|name| rule.replace('*', name)));
    commands.chain(tools).collect()
}

/// Returns true if our rules in the project would hide the user's rules, because the project's list replaces the user's list.
pub(super) fn would_replace_theirs(
    client: Client,
    scope: InstallScope,
    homes: &ClientDirectories,
) -> bool {
    let replaces = matches!(
        client.facts().allow,
        AllowRules::List { replaces: true, .. }
    );
    let ours = rules(client);
    replaces
        && scope == InstallScope::Project
        && listed_in(client, InstallScope::User, homes)
            .is_some_and(|rules| rules.iter().any(|rule| !ours.contains(rule)))
        && !listed_in(client, InstallScope::Project, homes)
            .is_some_and(|rules| rules.iter().any(|rule| ours.contains(rule)))
}

/// A rule of the person that makes a client reject all other shell commands, including mailbag, with its file.
pub(super) fn exclusive(client: Client, homes: &ClientDirectories) -> Option<(String, PathBuf)> {
    let AllowRules::List {
        exclusive: Some(begin),
        ..
    } = client.facts().allow
    else {
        return None;
    };
    // A project's list replaces the user's list.
    let scopes = [InstallScope::Project, InstallScope::User];
    let (rules, scope) = scopes
        .into_iter()
        .find_map(|scope| Some((listed_in(client, scope, homes)?, scope)))?;
    let rule = rules.into_iter().find(|rule| rule.starts_with(begin))?;
    Some((rule, file_with_rules(client, scope, homes)?.path))
}

fn file_with_rules(
    client: Client,
    scope: InstallScope,
    homes: &ClientDirectories,
) -> Option<TargetFile> {
    let mut targets = client.targets(scope, homes).into_iter();
    targets.find(|target| target.parts.contains(&InstallPart::Allow))
}

/// The rules in a client's file. An unreadable file is reported elsewhere.
fn listed_in(
    client: Client,
    scope: InstallScope,
    homes: &ClientDirectories,
) -> Option<Vec<String>> {
    let target = file_with_rules(client, scope, homes)?;
    let FileFormat::Json(dialect) = target.format else {
        return None;
    };
    let file = read_file(&target.path).ok()?;
    let json = JsonFile::read(text(&file).ok()??, dialect).ok()?;
    look(&json.value(), &place(client)).map(|_| listed(&json, client))
}

/// The keys of the list.
fn keys(client: Client) -> &'static [&'static str] {
    match client.facts().allow {
        AllowRules::List { at, .. } => at,
        AllowRules::None => &[],
    }
}

fn place(client: Client) -> Vec<JsonStep> {
    keys(client).iter().map(|key| JsonStep::Key(key)).collect()
}

/// Our rules in a file.
pub(super) fn found(json: &JsonFile, client: Client) -> Vec<String> {
    let listed = listed(json, client);
    rules(client)
        .into_iter()
        .filter(|rule| listed.contains(rule))
        .collect()
}

/// Adds the missing rules.
pub(super) fn put(json: &mut JsonFile, client: Client) -> Result<(), EditError> {
    let (keys, at, listed) = (keys(client), place(client), listed(json, client));
    let missing: Vec<String> = rules(client)
        .into_iter()
        .filter(|rule| !listed.contains(rule))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut value = json.value();
    for (n, key) in keys.iter().enumerate() {
        let last = n + 1 == keys.len();
        match value.get(*key) {
            None => {
                let mut rest = json!(missing);
                for key in keys[n + 1..].iter().rev() {
                    rest = json!({ *key: rest });
                }
                return json.put(&at[..n], key, &rest);
            }
            Some(Value::Array(_)) if last => {}
            Some(Value::Object(_)) if !last => {}
            Some(_) => {
                let kind = if last {
                    "a list […]"
                } else {
                    "an object {…}"
                };
                return Err(EditError::new(format!(
                    "has something else than {kind} as {:?}; correct or remove it",
                    keys[..=n].join(".")
                )));
            }
        }
        value = value[*key].clone();
    }
    // Each is inserted at the top, so start with the last.
    missing
        .iter()
        .rev()
        .try_for_each(|rule| json.push(&at, &json!(rule), ListEnd::Front))
}

/// Removes our rules, except for rules that existed before, and containers that become empty.
pub(super) fn take_out(
    json: &mut JsonFile,
    client: Client,
    kept: &[String],
) -> Result<(), EditError> {
    let at = place(client);
    for rule in rules(client).iter().filter(|rule| !kept.contains(rule)) {
        // A rule may be there twice.
        while let Some(index) = listed(json, client).iter().position(|there| there == rule) {
            json.take_out(&[&at[..], &[JsonStep::At(index)]].concat())?;
            for depth in (1..=at.len()).rev() {
                if !look(&json.value(), &at[..depth]).is_some_and(is_empty) {
                    break;
                }
                json.take_out(&at[..depth])?;
            }
        }
    }
    Ok(())
}

fn listed(json: &JsonFile, client: Client) -> Vec<String> {
    let value = json.value();
    let list = look(&value, &place(client)).and_then(Value::as_array);
    // Something that is not a rule keeps its index.
    list.into_iter()
        .flatten()
        .map(|rule| rule.as_str().unwrap_or_default().to_owned())
        .collect()
}
