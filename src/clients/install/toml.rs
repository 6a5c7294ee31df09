//! Adds and removes the MCP server in Codex's `config.toml`.

use super::blocks::{append, eol, without};
use super::clients::HookConfiguration;
use super::json::EditError;
use super::servers::{AGENT, NAME, foreign, is_ours};
use crate::query::identity;
use crate::room::ROOM_VARIABLES;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

const SERVERS: &str = "mcp_servers";

/// Adds our MCP server to a file's text.
pub(super) fn put(text: &str, wanted: &HookConfiguration) -> Result<String, EditError> {
    let mut document = parse(text)?;
    let there = document.get(SERVERS).and_then(|servers| servers.get(NAME));
    if let Some(there) = there {
        let found = server_of(there).ok_or_else(|| foreign(SERVERS))?;
        if found == *wanted {
            return Ok(text.to_owned());
        }
        change(&mut document, wanted);
        return Ok(with_line_ends(text, document.to_string()));
    }
    if document
        .get(SERVERS)
        .is_some_and(|servers| !servers.is_table_like())
    {
        return Err(EditError::new(format!(
            "has {SERVERS:?}, which is not a table; correct or remove it"
        )));
    }
    // A table at the end of the file never splits another one. Only an inline table must contain the entry itself.
    let appended = append(text, &block(wanted));
    if server(&appended).is_ok_and(|server| server.as_ref() == Some(wanted)) {
        return Ok(appended);
    }
    document[SERVERS][NAME] = Item::Value(Value::InlineTable(table(wanted).into_inline_table()));
    Ok(with_line_ends(text, document.to_string()))
}

/// Removes our MCP server from a file's text.
pub(super) fn take_out(text: &str) -> Result<String, EditError> {
    let mut document = parse(text)?;
    let Some(wanted) = server_in(&document) else {
        return Ok(text.to_owned());
    };
    // An unchanged entry is cut exactly as it was added.
    let cut = without(text, &block(&wanted)).find(|rest| matches!(server(rest), Ok(None)));
    if let Some(rest) = cut {
        return Ok(rest);
    }
    let servers = document.get_mut(SERVERS).and_then(Item::as_table_like_mut);
    let is_empty = servers.map(|servers| {
        servers.remove(NAME);
        servers.is_empty()
    });
    if is_empty == Some(true) {
        document.remove(SERVERS);
    }
    Ok(with_line_ends(text, document.to_string()))
}

/// The program and agent of our MCP server in a file.
pub(super) fn server(text: &str) -> Result<Option<HookConfiguration>, EditError> {
    Ok(server_in(&parse(text)?))
}

/// A string or boolean at a path, as text.
pub(super) fn text_at(text: &str, path: &[&str]) -> Option<String> {
    let document = parse(text).ok()?;
    let found = path
        .iter()
        .try_fold(document.as_item(), |item, key| item.get(key))?;
    found
        .as_str()
        .map(str::to_owned)
        .or_else(|| found.as_bool().map(|truth| truth.to_string()))
}

fn server_in(document: &DocumentMut) -> Option<HookConfiguration> {
    server_of(document.get(SERVERS)?.get(NAME)?)
}

fn server_of(server: &Item) -> Option<HookConfiguration> {
    let program = server.get("command")?.as_str()?;
    let mut arguments = server.get("args")?.as_array()?.iter();
    let agent = server
        .get("env")
        .and_then(|env| env.get(AGENT))
        .and_then(Item::as_str);
    is_ours(program, arguments.find_map(Value::as_str)).then(|| HookConfiguration {
        program: program.to_owned(),
        agent: agent.map(str::to_owned),
        ..HookConfiguration::default()
    })
}

fn change(document: &mut DocumentMut, wanted: &HookConfiguration) {
    let server = &mut document[SERVERS][NAME];
    set(&mut server["command"], &wanted.program);
    if let Some(passed) = server.get_mut("env_vars") {
        let decor = passed.as_value().map(|value| value.decor().clone());
        *passed = table(wanted)["env_vars"].clone();
        if let (Some(value), Some(decor)) = (passed.as_value_mut(), decor) {
            *value.decor_mut() = decor;
        }
    }
    match &wanted.agent {
        Some(agent) if server.get("env").is_some_and(Item::is_table_like) => {
            set(&mut server["env"][AGENT], agent)
        }
        Some(_) => server["env"] = table(wanted)["env"].clone(),
        None => {
            let env = server.get_mut("env").and_then(Item::as_table_like_mut);
            let is_empty = env.map(|env| {
                env.remove(AGENT);
                env.is_empty()
            });
            if let (Some(true), Some(server)) = (is_empty, server.as_table_like_mut()) {
                server.remove("env");
            }
        }
    }
}

/// Replaces a string and keeps the whitespace and comments around it.
pub(super) fn set(item: &mut Item, text: &str) {
    let decor = item.as_value().map(|value| value.decor().clone());
    let mut value = Value::from(text);
    if let Some(decor) = decor {
        *value.decor_mut() = decor;
    }
    *item = Item::Value(value);
}

/// The table as text.
fn block(wanted: &HookConfiguration) -> String {
    format!("[{SERVERS}.{NAME}]\n{}", table(wanted))
}

fn table(wanted: &HookConfiguration) -> Table {
    let mut table = Table::new();
    table["command"] = toml_edit::value(wanted.program.as_str());
    table["args"] = toml_edit::value(Array::from_iter(["mcp"]));
    // Codex passes on only the listed variables: the room and, if the agent is not fixed, the agent.
    let mut passed = Array::from_iter(ROOM_VARIABLES);
    if wanted.agent.is_none() {
        passed.extend(identity::VARIABLES);
    }
    table["env_vars"] = toml_edit::value(passed);
    if let Some(agent) = &wanted.agent {
        let mut env = toml_edit::InlineTable::new();
        env.insert(AGENT, Value::from(agent.as_str()));
        table["env"] = toml_edit::value(env);
    }
    table
}

/// Restores the line ends of the file, which the library normalizes.
pub(super) fn with_line_ends(before: &str, after: String) -> String {
    match eol(before) {
        "\r\n" => after.replace("\r\n", "\n").replace('\n', "\r\n"),
        _ => after,
    }
}

pub(super) fn parse(text: &str) -> Result<DocumentMut, EditError> {
    text.parse::<DocumentMut>().map_err(|e| {
        let at = e.span().map_or(0, |span| span.start).min(text.len());
        let before = text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() as u64 + 1;
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        let why = e.message().lines().next().unwrap_or_default().to_owned();
        EditError {
            line: Some(line),
            what: format!("is not valid TOML: {why} at column {column}"),
        }
    })
}
