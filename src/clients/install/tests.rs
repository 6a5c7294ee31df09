//! Our entries in the settings of `fixtures/settings`: additions, and unchanged parts.

use super::clients::FileFormat;
use super::form::InstallMethod;
use super::*;
use json::JsonDialect;
use serde_json::{Value, json};

const PROGRAM: &str = "/bin/mailbag";

/// A client's settings.
struct Fixture {
    name: String,
    client: Client,
    target: TargetFile,
    text: String,
}

impl Fixture {
    /// Reads a file of `fixtures/settings`. Its name begins with the client.
    fn read(name: &str) -> Fixture {
        let (_, file) = name.rsplit_once('/').unwrap_or(("", name));
        let word = file.split('-').next().expect("a client");
        let client = Client::parse(word).expect(name);
        let homes = ClientDirectories {
            project: "/project".into(),
            home: "/home".into(),
        };
        let target = client
            .targets(InstallScope::Project, &homes)
            .into_iter()
            .map(|target| target.for_form(InstallMethod::Settings))
            .find(|target| match target.format {
                FileFormat::Toml => name.ends_with(".toml"),
                FileFormat::Json(_) => {
                    name.ends_with(".json") && target.parts.contains(&InstallPart::Hooks)
                }
                _ => false,
            });
        Fixture {
            name: name.to_owned(),
            client,
            target: target.expect(name),
            text: std::fs::read_to_string(format!("fixtures/settings/{name}")).expect(name),
        }
    }

    /// All valid settings.
    fn all() -> Vec<Fixture> {
        let names = std::fs::read_dir("fixtures/settings")
            .expect("fixtures")
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let settings = names.filter(|name| name.ends_with(".json") || name.ends_with(".toml"));
        let all: Vec<Fixture> = settings.map(|name| Fixture::read(&name)).collect();
        assert!(all.len() > 20, "{} fixtures", all.len());
        all
    }

    fn all_json() -> impl Iterator<Item = Fixture> {
        Fixture::all()
            .into_iter()
            .filter(|fixture| fixture.name.ends_with(".json"))
    }

    fn try_install(&self, text: &str) -> Result<String, EditError> {
        let wanted = HookConfiguration {
            program: PROGRAM.to_owned(),
            ..HookConfiguration::default()
        };
        edit(&self.target, text, self.client, &wanted)
    }

    /// The text with our entries.
    fn installed(&self) -> String {
        self.try_install(&self.text).expect(&self.name)
    }
}

/// Settings as a client reads them, without comments and a byte order mark.
fn meaning(text: &str) -> Value {
    let plain = text.trim_start_matches('\u{feff}');
    serde_json::from_str(plain).unwrap_or_else(|_| {
        let json = JsonFile::read(text, JsonDialect::Commas);
        json.expect(text).value()
    })
}

/// The commands of all hooks for an event.
fn commands(settings: &Value, event: &str) -> Vec<String> {
    let groups = settings["hooks"][event].as_array().into_iter().flatten();
    groups
        .flat_map(|group| group["hooks"].as_array().into_iter().flatten())
        .filter_map(|hook| hook["command"].as_str())
        .map(str::to_owned)
        .collect()
}

/// Checks that the person's settings are unchanged apart from our entries.
#[track_caller]
fn assert_kept(now: &Value, before: &Value, place: &str) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            let kept: Vec<&String> = now.keys().filter(|key| before.contains_key(*key)).collect();
            assert_eq!(kept, before.keys().collect::<Vec<_>>(), "order in {place}");
            for (key, value) in before {
                assert_kept(&now[key], value, &format!("{place}.{key}"));
            }
        }
        (Value::Array(before), Value::Array(now)) => {
            let mut rest = now.iter();
            for one in before {
                assert!(rest.any(|other| other == one), "{place} lost {one}");
            }
        }
        _ => assert_eq!(now, before, "{place}"),
    }
}

#[test]
fn each_event_gets_a_hook_and_other_settings_keep_their_meaning() {
    for fixture in Fixture::all_json() {
        let Fixture { name, client, .. } = &fixture;
        let (before, after) = (meaning(&fixture.text), meaning(&fixture.installed()));
        assert_kept(&after, &before, name);
        let events = match client {
            Client::Claude => {
                "SessionStart UserPromptSubmit PreToolUse PostToolBatch Stop StopFailure SessionEnd"
            }
            Client::Codex => "SessionStart UserPromptSubmit PreToolUse PostToolUse Stop",
            Client::Qwen => {
                "SessionStart UserPromptSubmit PreToolUse PostToolUse Stop StopFailure SessionEnd"
            }
            Client::Copilot => {
                "SessionStart UserPromptSubmit PreToolUse PostToolUse Stop SessionEnd"
            }
            _ => "SessionStart BeforeAgent BeforeTool AfterTool AfterAgent SessionEnd",
        };
        let call = format!("{PROGRAM} hook {}", client.as_str());
        let line = match client {
            Client::Gemini | Client::Copilot => format!("{call} || exit 0"),
            _ => format!("exec {call}"),
        };
        for event in events.split(' ') {
            let theirs = commands(&before, event);
            let mut ours = commands(&after, event);
            ours.retain(|one| !theirs.contains(one));
            let guard = format!("command -v {PROGRAM} >/dev/null 2>&1 || exit 0; ");
            assert_eq!(ours[0], format!("{guard}{line}"), "{name} {event}");
            let wakes = *client == Client::Claude
                && !["PreToolUse", "PostToolBatch", "SessionEnd"].contains(&event);
            assert_eq!(
                ours.len(),
                1 + usize::from(wakes),
                "{name} {event}: {ours:?}"
            );
        }
    }
}

#[test]
fn a_diff_touches_only_our_lines() {
    // Settings or lists in one line are changed in this line. Codex counts hooks, so ours are at the end, after a comma.
    let others = [
        "claude-minified.json",
        "claude-odd.json",
        "codex-config-dotted.toml",
        "codex-config-inline.toml",
        "codex-hooks-at-stop.json",
        "codex-hooks.json",
        "copilot-own-hooks.json",
    ];
    let mut count = 0;
    for fixture in Fixture::all() {
        let name = &fixture.name;
        let is_empty = ["empty", "blank", "no-last"]
            .iter()
            .any(|word| name.contains(word));
        if others.contains(&name.as_str()) || is_empty {
            continue;
        }
        count += 1;
        let (before, after) = (&fixture.text, fixture.installed());
        let mut lines = after.split_inclusive('\n');
        for line in before.split_inclusive('\n') {
            // A list of rules in one line gets ours in this line.
            let is_list = line.trim_start().starts_with("\"allow\": [\"");
            assert!(
                is_list || lines.any(|other| other == line),
                "{name}: {line:?} is changed in\n{after}"
            );
        }
        let crlf = after.matches("\r\n").count();
        let all = after.matches('\n').count();
        let expected = if before.contains("\r\n") { all } else { 0 };
        assert_eq!(crlf, expected, "{name}: lines that end with CRLF");
    }
    assert!(count >= 10, "{count} fixtures");
}

#[test]
fn a_hook_of_codex_keeps_its_number_and_only_gets_a_comma() {
    let fixture = Fixture::read("codex-hooks-at-stop.json");
    let after = fixture.installed();
    let (before, now) = (meaning(&fixture.text), meaning(&after));
    assert_eq!(now["hooks"]["Stop"][0], before["hooks"]["Stop"][0]);
    for line in fixture.text.lines() {
        assert!(
            after.lines().any(|other| other == line),
            "{line:?} in\n{after}"
        );
    }
    assert!(
        after.contains("      },\n      {\n        \"hooks\": ["),
        "{after}"
    );
}

fn toml_servers(text: &str) -> Option<::toml::Value> {
    let mut config: ::toml::Table = text.parse().expect("TOML");
    config.remove("mcp_servers")
}

#[test]
fn toml_keeps_its_comments_and_each_kind_of_table_takes_the_server() {
    for fixture in Fixture::all() {
        let Fixture { name, text, .. } = &fixture;
        if !name.ends_with(".toml") {
            continue;
        }
        let after = fixture.installed();
        for comment in text.lines().filter_map(|line| line.split_once('#')) {
            assert!(
                after.contains(comment.1),
                "{name} lost {comment:?}:\n{after}"
            );
        }
        let now = toml_servers(&after).expect(name);
        assert_eq!(now["mailbag"]["args"][0].as_str(), Some("mcp"), "{name}");
        if let Some(docs) = toml_servers(text).and_then(|servers| servers.get("docs").cloned()) {
            assert_eq!(now["docs"], docs, "{name}");
        }
    }
}

fn without_empty(mut value: Value) -> Value {
    if let Some(events) = value["hooks"].as_object_mut() {
        events.retain(|_, groups| *groups != json!([]));
    }
    value
        .as_object_mut()
        .expect("an object")
        .retain(|_, value| !value.is_null() && *value != json!({}));
    value
}

#[test]
fn removal_takes_only_our_entries_from_a_rewritten_file() {
    for fixture in Fixture::all_json() {
        let mut rewritten = meaning(&fixture.installed());
        rewritten["added"] = json!(true);
        let rewritten = serde_json::to_string_pretty(&rewritten).expect("JSON");
        let after = undo(&fixture.target, &rewritten, fixture.client).expect(&fixture.name);
        let mut expected = meaning(&fixture.text);
        expected["added"] = json!(true);
        let (after, expected) = (without_empty(meaning(&after)), without_empty(expected));
        assert_eq!(after, expected, "{}", fixture.name);
    }
}

#[test]
fn the_place_of_a_mistake_and_its_kind_are_named() {
    for (name, line, expected) in [
        ("claude-not-json.json", Some(3), "is not valid JSON"),
        ("claude-comment.json", Some(2), "column 3"),
        (
            "gemini-not-json.json",
            Some(1),
            "is not valid JSON: Unterminated object",
        ),
        ("codex-not-toml.toml", Some(2), "is not valid TOML"),
        (
            "claude-hooks-list.json",
            None,
            "a list as \"hooks\", expected an object",
        ),
        (
            "claude-event-object.json",
            None,
            "an object as \"hooks.Stop\", expected a list",
        ),
        ("claude-list.json", None, "not a JSON object"),
        ("claude-twice.json", None, "\"hooks\" twice"),
        (
            "gemini-servers-text.json",
            None,
            "a string as \"mcpServers\"",
        ),
        (
            "gemini-foreign-server.json",
            None,
            "another MCP server called \"mailbag\"",
        ),
        (
            "codex-foreign-server.toml",
            None,
            "another MCP server called \"mailbag\"",
        ),
        ("codex-servers-text.toml", None, "\"mcp_servers\""),
        ("gemini-only-a-comment.json", None, "only comments"),
    ] {
        let fixture = Fixture::read(&format!("wrong/{name}"));
        let wrong = fixture.try_install(&fixture.text).expect_err(name);
        assert!(wrong.what.contains(expected), "{name}: {wrong:?}");
        if line.is_some() {
            assert_eq!(wrong.line, line, "{name}: {wrong:?}");
        }
    }
}
