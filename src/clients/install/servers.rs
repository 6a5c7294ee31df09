//! Finds, adds and removes our MCP server in JSON settings.

use super::clients::HookConfiguration;
use super::json::{EditError, JsonFile, JsonStep, wrong_kind};
use crate::clients::kind::{Client, McpServerForm};
use crate::query::identity;
use serde_json::{Map, Value, json};

/// The name of our MCP server, and of our program.
pub(super) const NAME: &str = "mailbag";
/// The environment variable of the server that has the agent.
pub(super) const AGENT: &str = identity::VARIABLES[0];
/// The fields of a server that we write.
const FIELDS: [&str; 4] = ["command", "args", "env", "environment"];

impl McpServerForm {
    const ALL: [McpServerForm; 2] = [McpServerForm::Plain, McpServerForm::Words];

    /// The settings key of MCP servers.
    fn key(self) -> &'static str {
        match self {
            McpServerForm::Plain => "mcpServers",
            McpServerForm::Words => "mcp",
        }
    }

    /// The field with environment variables.
    fn environment(self) -> &'static str {
        match self {
            McpServerForm::Plain => "env",
            McpServerForm::Words => "environment",
        }
    }

    /// The program and the arguments that a server is started with.
    fn words(self, server: &Value) -> Vec<String> {
        let program = server["command"].as_str().map(str::to_owned);
        let list = if self == McpServerForm::Words {
            &server["command"]
        } else {
            &server["args"]
        };
        let list = list
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned);
        program.into_iter().chain(list).collect()
    }

    fn is_ours(self, server: &Value) -> bool {
        let words = self.words(server);
        words
            .split_first()
            .is_some_and(|(program, rest)| is_ours(program, rest.first().map(String::as_str)))
    }

    /// Our entry.
    fn entry(self, wanted: &HookConfiguration) -> Value {
        let mut server = match self {
            McpServerForm::Plain => json!({"command": wanted.program, "args": ["mcp"]}),
            McpServerForm::Words => json!({"type": "local", "command": [wanted.program, "mcp"]}),
        };
        if let Some(agent) = &wanted.agent {
            server[self.environment()] = json!({ AGENT: agent });
        }
        server
    }

    /// Our entry, merged with fields that the user added.
    fn merged(self, there: &Value, wanted: &Value) -> Value {
        let mut fields: Map<String, Value> = there.as_object().cloned().unwrap_or_default();
        for key in ["command", "args"] {
            if let Some(value) = wanted.get(key) {
                fields.insert(key.into(), value.clone());
            }
        }
        let name = self.environment();
        let env = fields.entry(name).or_insert_with(|| json!({}));
        if let Value::Object(env) = env {
            match wanted.get(name).and_then(|env| env.get(AGENT)) {
                Some(agent) => env.insert(AGENT.into(), agent.clone()),
                None => env.shift_remove(AGENT),
            };
        }
        if fields.get(name).is_some_and(is_empty) {
            fields.shift_remove(name);
        }
        Value::Object(fields)
    }
}

/// The servers of a plugin: ours alone.
pub(super) fn all(client: Client, wanted: &HookConfiguration) -> Value {
    json!({ NAME: client.facts().servers.entry(wanted) })
}

/// Adds our MCP server.
pub(super) fn put(
    json: &mut JsonFile,
    client: Client,
    wanted: &HookConfiguration,
) -> Result<(), EditError> {
    let form = client.facts().servers;
    let (key, server) = (form.key(), form.entry(wanted));
    match json.value().get(key) {
        None => json.put(&[], key, &all(client, wanted)),
        Some(Value::Object(servers)) => match servers.get(NAME) {
            None => json.put(&[key.into()], NAME, &server),
            Some(there) if form.is_ours(there) => {
                let same = FIELDS.iter().all(|key| there.get(key) == server.get(key));
                if same {
                    Ok(())
                } else {
                    json.replace(&[key.into(), NAME.into()], &form.merged(there, &server))
                }
            }
            Some(_) => Err(foreign(key)),
        },
        Some(other) => Err(wrong_kind(key, other, "an object {…}")),
    }
}

/// Removes our MCP server.
pub(super) fn take_out(json: &mut JsonFile) -> Result<(), EditError> {
    let Some((form, _)) = found(json) else {
        return Ok(());
    };
    let key: JsonStep = form.key().into();
    json.take_out(&[key.clone(), NAME.into()])?;
    if json.value().get(form.key()).is_some_and(is_empty) {
        json.take_out(&[key])
    } else {
        Ok(())
    }
}

/// The program and agent of our MCP server.
pub(super) fn find(json: &JsonFile) -> Option<HookConfiguration> {
    let (form, server) = found(json)?;
    let agent = server
        .get(form.environment())
        .and_then(|env| env.get(AGENT))
        .and_then(Value::as_str);
    let program = form.words(&server).into_iter().next()?;
    Some(HookConfiguration {
        program,
        agent: agent.map(str::to_owned),
        ..HookConfiguration::default()
    })
}

/// Our server and its form.
fn found(json: &JsonFile) -> Option<(McpServerForm, Value)> {
    let value = json.value();
    McpServerForm::ALL.into_iter().find_map(|form| {
        let server = value.get(form.key())?.get(NAME)?;
        form.is_ours(server).then(|| (form, server.clone()))
    })
}

/// The error for another MCP server with our name.
pub(super) fn foreign(under: &str) -> EditError {
    EditError::new(format!(
        "already has another MCP server called \"mailbag\" in {under}; rename or remove that server"
    ))
}

/// Whether an MCP server with this program and first argument is ours.
pub(super) fn is_ours(program: &str, argument: Option<&str>) -> bool {
    is_program(program) && argument == Some("mcp")
}

/// Whether a path leads to a program of our name.
pub(super) fn is_program(path: &str) -> bool {
    path.rsplit('/').next() == Some(NAME)
}

/// Whether an object or a list is empty.
pub(super) fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}
