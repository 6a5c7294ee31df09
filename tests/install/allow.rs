//! The rules that let agents use mail without a question: their list, and their removal.

use super::{Desk, meaning};
use crate::world::parse_json;
use serde_json::Value;

/// Commands that always need a question.
const NEVER: [&str; 21] = [
    "agent",
    "archive",
    "backup",
    "decide",
    "dismiss",
    "doctor",
    "exec",
    "hook",
    "init",
    "generate",
    "install",
    "log",
    "log accept-gap",
    "mcp",
    "rejected",
    "run",
    "settings",
    "share",
    "trust",
    "uninstall",
    "up",
];

const CLAUDE: &str = ".claude/settings.json";
const ALLOW: [&str; 2] = ["permissions", "allow"];

/// The rules of a list in the settings of a project.
fn listed(desk: &Desk, file: &str, [outer, inner]: [&str; 2]) -> Vec<String> {
    let rules = meaning(&desk.text(file))[outer][inner]
        .as_array()
        .cloned()
        .unwrap_or_default();
    rules
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// The commands that Claude Code may run, by name.
fn commands(desk: &Desk) -> Vec<String> {
    let rules = listed(desk, CLAUDE, ALLOW);
    let commands = rules
        .iter()
        .filter_map(|rule| rule.strip_prefix("Bash(mailbag ")?.strip_suffix(":*)"));
    commands.map(str::to_owned).collect()
}

#[test]
fn claude_code_may_read_and_send_and_nothing_else() {
    // P194
    let desk = Desk::new();
    desk.ok("install claude");
    let commands = commands(&desk);
    for name in [
        "read", "inbox", "send", "reply", "ack", "wait", "list", "thread", "who", "pending",
        "claims", "claim",
    ] {
        assert!(commands.contains(&name.to_owned()), "{name}: {commands:?}");
    }
    assert!(
        !commands
            .iter()
            .any(|name| NEVER.contains(&name.as_str()) || name.contains('*')),
        "{commands:?}"
    );
    let all = listed(&desk, CLAUDE, ALLOW);
    let tools: Vec<&String> = all
        .iter()
        .filter(|rule| rule.starts_with("mcp__"))
        .collect();
    // The second name is the name of a plugin's server.
    for name in [
        "mcp__mailbag__fetch_inbox",
        "mcp__plugin_mailbag_mailbag__fetch_inbox",
    ] {
        assert!(tools.contains(&&name.to_owned()), "{name}");
    }
    assert_eq!(
        tools.len() + commands.len(),
        all.len(),
        "only commands and tools of mailbag"
    );
}

#[test]
fn a_person_s_own_rule_that_makes_gemini_cli_reject_all_commands_is_reported() {
    // P428
    for file in [".gemini/settings.json", "home/.gemini/settings.json"] {
        let desk = Desk::new();
        desk.write(
            file,
            r#"{"tools": {"allowed": ["write_file", "run_shell_command(git status)"]}}"#,
        );
        let ran = desk.run("install gemini");
        let warning = "the rule “run_shell_command(git status)” in ";
        assert!(
            ran.code == 0 && ran.err.contains(warning) && ran.err.contains("reject all other"),
            "{file}: {ran:?}"
        );
        let findings = |desk: &Desk| {
            let found = parse_json(&desk.run("doctor --json").out);
            let all = found["findings"].as_array().cloned().expect("findings");
            all.into_iter()
                .filter(|one| one["code"] == "commands_shut_out")
                .collect::<Vec<_>>()
        };
        let found = findings(&desk);
        assert!(
            found.len() == 1 && found[0]["what"].to_string().contains(file),
            "{found:?}"
        );
        let settings = desk
            .text(file)
            .replace("run_shell_command(git status)", "read_file");
        desk.write(file, settings);
        assert_eq!(findings(&desk), Vec::<Value>::new(), "{file}");
    }
}

#[test]
fn other_clients_get_rules_for_tools_alone_or_none() {
    // P194 With a rule for a command, Gemini CLI would reject all other commands, and Qwen Code would allow more.
    let desk = Desk::new();
    for client in ["claude", "gemini", "qwen", "codex", "opencode"] {
        desk.ok(&["install", client]);
    }
    let mut tools = listed(&desk, CLAUDE, ALLOW);
    tools.retain(|rule| rule.starts_with("mcp__mailbag__"));
    assert_eq!(listed(&desk, ".qwen/settings.json", ALLOW), tools);
    let of_gemini = tools.join(" ").replace("mcp__mailbag__", "mcp_mailbag_");
    let gemini = listed(&desk, ".gemini/settings.json", ["tools", "allowed"]);
    assert_eq!(gemini.join(" "), of_gemini);
    for client in ["codex", "opencode"] {
        assert_eq!(desk.status(client)["allow"], Value::Null);
    }
    assert!(meaning(&desk.text("opencode.json"))["permission"].is_null());
    assert!(!desk.is_there(".codex/rules"));
}

#[test]
fn rules_that_would_switch_off_the_persons_own_are_not_added_and_a_note_says_so() {
    let desk = Desk::new();
    let text = "{ \"tools\": { \"allowed\": [\"run_shell_command(make)\"] } }\n";
    desk.write("home/.gemini/settings.json", text);
    assert_contains!(
        desk.run("install gemini").err,
        "would replace your own in tools.allowed"
    );
    assert!(meaning(&desk.text(".gemini/settings.json"))["tools"].is_null());
    desk.ok("uninstall gemini");
    assert!(!desk.is_there(".gemini/settings.json"));
    // For the user, ours stand before theirs.
    desk.ok("install gemini --user");
    assert_contains!(
        desk.text("home/.gemini/settings.json"),
        "mcp_mailbag_fetch_inbox",
        "run_shell_command(make)"
    );
    desk.ok("uninstall gemini --user");
    assert_eq!(desk.text("home/.gemini/settings.json"), text);
}

#[test]
fn rules_go_although_the_person_has_rules_of_their_own_now() {
    let desk = Desk::new();
    desk.write(".gemini/settings.json", "{}\n");
    desk.ok("install gemini");
    desk.write(
        "home/.gemini/settings.json",
        "{ \"tools\": { \"allowed\": [\"run_shell_command(make)\"] } }\n",
    );
    desk.ok("uninstall gemini");
    assert_eq!(desk.text(".gemini/settings.json"), "{}\n");
}

#[test]
fn a_command_that_is_allowed_names_no_file_but_what_it_attaches() {
    // P194
    let desk = Desk::new();
    desk.ok("install claude");
    for name in commands(&desk) {
        let words: Vec<&str> = name.split(' ').chain(["--help"]).collect();
        let help = desk.ok(&words);
        let own = help.split("Global options").next().unwrap_or(&help);
        for value in ["<FILE>", "<PATH>", "<DIR>", "<PROGRAM>", "<COMMAND>"] {
            let lines: Vec<&str> = own
                .lines()
                // `--file` and `--exec` are for persons; tests/actor.rs and tests/waiting/exec.rs try them.
                .filter(|line| line.contains(value))
                .filter(|line| {
                    !["--attach", "--file", "--exec"]
                        .iter()
                        .any(|own| line.contains(own))
                })
                .collect();
            assert!(lines.is_empty(), "{name}: {lines:?}");
        }
    }
}

#[test]
fn the_rules_of_the_person_stay_where_they_are_and_ours_go_alone() {
    // P194
    let text = "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls:*)\",\n      \"Bash(mailbag inbox:*)\"\n    ],\n    \
                \"deny\": [\"Bash(rm:*)\"]\n  }\n}\n";
    let desk = Desk::new();
    desk.write(CLAUDE, text);
    desk.ok("install claude");
    let rules = listed(&desk, CLAUDE, ALLOW);
    assert_eq!(
        rules[rules.len() - 2..],
        ["Bash(ls:*)", "Bash(mailbag inbox:*)"],
        "theirs are last"
    );
    assert_eq!(
        rules
            .iter()
            .filter(|rule| *rule == "Bash(mailbag inbox:*)")
            .count(),
        1
    );
    // A person adds a rule, so the file is not simply restored.
    let more = desk
        .text(CLAUDE)
        .replace("\"Bash(ls:*)\",", "\"Bash(ls:*)\",\n      \"Bash(cat:*)\",");
    desk.write(CLAUDE, &more);
    desk.ok("uninstall claude");
    assert_eq!(
        desk.text(CLAUDE),
        text.replace("\"Bash(ls:*)\",", "\"Bash(ls:*)\",\n      \"Bash(cat:*)\",")
    );
}

#[test]
fn whether_the_rules_are_there_is_said() {
    let desk = Desk::new();
    assert_eq!(desk.status("claude")["allow"], false);
    desk.ok("install claude");
    assert_eq!(desk.status("claude")["allow"], true);
    let fewer = desk
        .text(CLAUDE)
        .replace("      \"Bash(mailbag inbox:*)\",\n", "");
    desk.write(CLAUDE, fewer);
    assert_eq!(desk.status("claude")["allow"], false);
    desk.ok("install claude");
    assert_eq!(
        desk.status("claude")["allow"],
        true,
        "a missing rule is added again"
    );
}

#[test]
fn a_wrong_type_of_the_rules_list_is_an_error_that_changes_no_file() {
    let desk = Desk::new();
    for wrong in [
        r#"{"permissions": []}"#,
        r#"{"permissions": {"allow": "all"}}"#,
    ] {
        desk.write(CLAUDE, wrong);
        let before = desk.files();
        assert_contains!(
            desk.fails(1, "install claude"),
            "\"permissions",
            "nothing was changed"
        );
        assert!(desk.files() == before);
    }
}

#[test]
fn empty_lists_and_lists_in_one_line_are_as_they_were_afterwards() {
    let desk = Desk::new();
    for text in [
        "{\"permissions\":{\"allow\":[\"Bash(ls:*)\"]}}",
        "{ \"permissions\": { \"allow\": [] } }\n",
        "{\n\t\"permissions\": {}\n}\n",
        "{\n  \"permissions\": {\n    \"defaultMode\": \"plan\"\n  }\n}\n",
    ] {
        desk.write(CLAUDE, text);
        let before = desk.files();
        desk.ok("install claude");
        assert!(commands(&desk).len() > 15, "{text}");
        desk.ok("uninstall claude");
        assert!(desk.files() == before, "{text}: {}", desk.text(CLAUDE));
    }
}
