//! Finds, adds and removes our hooks in the `config.toml` of Kimi CLI: one table of `[[hooks]]` for each event.

use super::blocks::{append, without};
use super::clients::{HookConfiguration, HookJob};
use super::hooks::{InstalledHooks, read};
use super::json::EditError;
use super::toml::{parse, set, with_line_ends};
use crate::clients::kind::Client;
use serde_json::json;
use toml_edit::{DocumentMut, Item, Table};

const HOOKS: &str = "hooks";

/// Adds missing hooks to a file's text, and updates hooks with another agent or program.
pub(super) fn put(
    text: &str,
    client: Client,
    wanted: &HookConfiguration,
) -> Result<String, EditError> {
    let mut document = parse(text)?;
    if document
        .get(HOOKS)
        .is_some_and(|hooks| !hooks.is_array_of_tables())
    {
        return Err(EditError::new(
            "has \"hooks\" as a list in one value; write each hook as a table [[hooks]]",
        ));
    }
    let found = find_in(&document, client);
    let text = if found.wanted.is_none_or(|there| there == *wanted) {
        text.to_owned()
    } else {
        let line = client.line(HookJob::Tell, wanted);
        for table in tables(&mut document) {
            if is_ours(table, client) == Some(true) {
                set(&mut table["command"], &line);
            }
        }
        with_line_ends(text, document.to_string())
    };
    let missing = client
        .events()
        .filter(|event| !found.any || found.missing.contains(event));
    let missing = tables_of(client, missing, wanted);
    Ok(if missing.is_empty() {
        text
    } else {
        append(&text, &missing)
    })
}

/// Removes our hooks from a file's text.
pub(super) fn take_out(text: &str, client: Client) -> Result<String, EditError> {
    let mut document = parse(text)?;
    let found = find_in(&document, client);
    if !found.any {
        return Ok(text.to_owned());
    }
    // Unchanged hooks are cut exactly as they were added.
    let block = tables_of(client, client.events(), &found.wanted.unwrap_or_default());
    if let Some(rest) = without(text, &block).next() {
        return Ok(rest);
    }
    if let Some(hooks) = document
        .get_mut(HOOKS)
        .and_then(Item::as_array_of_tables_mut)
    {
        hooks.retain(|table| is_ours(table, client).is_none());
        if hooks.is_empty() {
            document.remove(HOOKS);
        }
    }
    Ok(with_line_ends(text, document.to_string()))
}

/// Finds our hooks in a file's text.
pub(super) fn find(text: &str, client: Client) -> Result<InstalledHooks, EditError> {
    Ok(find_in(&parse(text)?, client))
}

fn find_in(document: &DocumentMut, client: Client) -> InstalledHooks {
    let all = document.get(HOOKS).and_then(Item::as_array_of_tables);
    let ours: Vec<&Table> = all
        .into_iter()
        .flatten()
        .filter(|table| is_ours(table, client).is_some())
        .collect();
    let events: Vec<&str> = ours
        .iter()
        .filter_map(|table| table.get("event")?.as_str())
        .collect();
    InstalledHooks {
        any: !ours.is_empty(),
        missing: client
            .events()
            .filter(|event| !events.contains(event))
            .collect(),
        wanted: ours
            .iter()
            .find_map(|table| command_of(table, client).flatten()),
        approvals: false,
    }
}

/// The program and agent of a hook of ours. `Some(None)` if the user has changed it.
fn command_of(table: &Table, client: Client) -> Option<Option<HookConfiguration>> {
    let command = table.get("command")?.as_str()?;
    read(
        &json!({"type": "command", "command": command}),
        client,
        HookJob::Tell,
    )
}

/// Returns true for a hook that has exactly our form.
fn is_ours(table: &Table, client: Client) -> Option<bool> {
    command_of(table, client).map(|wanted| wanted.is_some())
}

fn tables(document: &mut DocumentMut) -> impl Iterator<Item = &mut Table> {
    document
        .get_mut(HOOKS)
        .and_then(Item::as_array_of_tables_mut)
        .into_iter()
        .flat_map(|hooks| hooks.iter_mut())
}

/// Hooks as text.
fn tables_of(
    client: Client,
    events: impl Iterator<Item = &'static str>,
    wanted: &HookConfiguration,
) -> String {
    events.map(|event| table(client, event, wanted)).collect()
}

/// A hook as text.
fn table(client: Client, event: &str, wanted: &HookConfiguration) -> String {
    let mut table = Table::new();
    table["event"] = toml_edit::value(event);
    if let Some(matcher) = client.matcher(event) {
        table["matcher"] = toml_edit::value(matcher);
    }
    table["command"] = toml_edit::value(client.line(HookJob::Tell, wanted));
    let seconds = client.facts().hook(event).map_or(0, |hook| hook.seconds);
    table["timeout"] = toml_edit::value(i64::try_from(seconds).unwrap_or(i64::MAX));
    format!("[[{HOOKS}]]\n{table}")
}
