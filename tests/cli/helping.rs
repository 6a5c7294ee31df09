//! Help: every command has one short line, its examples work, and `mailbag help` shows all of it.

use crate::world::World;
use clap::Command;

/// Every command and verb, with the words that call it.
fn commands() -> Vec<(String, Command)> {
    fn collect(command: &Command, before: &str, all: &mut Vec<(String, Command)>) {
        for verb in command.get_subcommands() {
            let words = format!("{before}{} ", verb.get_name());
            all.push((words.trim_end().to_owned(), verb.clone()));
            collect(verb, &words, all);
        }
    }
    let mut all = Vec::new();
    collect(&mailbag::cli::command(), "", &mut all);
    all
}

#[test]
fn a_command_says_in_one_short_line_what_it_does() {
    for (name, command) in commands() {
        let line = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(
            !line.is_empty() && line.chars().count() <= 60 && !line.contains('\n'),
            "{name}: {line}"
        );
        assert!(
            line.starts_with(|c: char| c.is_ascii_uppercase()) && !line.ends_with('.'),
            "{name}: {line}"
        );
    }
}

#[test]
fn every_option_has_help_and_as_has_the_same_name_everywhere() {
    for (name, command) in commands() {
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(
                help.starts_with(|c: char| !c.is_ascii_lowercase()),
                "{name} {}: {help}",
                arg.get_id()
            );
            if arg.get_long() == Some("as") {
                assert_eq!(
                    arg.get_value_names().map(|names| names.len()),
                    Some(1),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn every_example_is_a_command_line_that_is_understood() {
    let root = mailbag::cli::command();
    let all = commands()
        .into_iter()
        .map(|(_, command)| command)
        .chain([root.clone()]);
    let mut seen = 0;
    for command in all {
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(
            help.starts_with("Example"),
            "{}: {help}",
            command.get_name()
        );
        for line in help.lines().filter_map(|line| line.strip_prefix("  ")) {
            let Some(words) = words_of(line) else {
                continue;
            };
            seen += 1;
            if let Err(e) = root.clone().try_get_matches_from(words) {
                panic!("{}: {line}\n{e}", command.get_name());
            }
        }
    }
    assert!(seen > 100, "only {seen} examples were found");
}

/// The words of the first call of mailbag in a line of a shell; empty without a call.
fn words_of(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), _) if q == c => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | ';' | '>') if words.iter().any(|word| word == "mailbag") => break,
            (None, ' ' | '|' | ';' | '>') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    // `claude mcp add mailbag` is a call of another program.
    let is_setting = |word: &str| word.contains('=') || word.starts_with('{');
    let at = words.iter().position(|word| word == "mailbag")?;
    let pipes = line[..line.find("mailbag")?].trim_end().ends_with('|');
    (pipes || words[..at].iter().all(|word| is_setting(word))).then(|| words.split_off(at))
}

#[test]
fn help_shows_the_commands_of_daily_work_on_24_lines() {
    let help = World::empty().ok(&["--help"]);
    assert!(help.lines().count() <= 24, "{help}");
    let known = mailbag::cli::command();
    let shown: Vec<&str> = help
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .collect();
    assert_eq!(shown.len(), 12, "{help}");
    for name in shown {
        assert!(known.find_subcommand(name).is_some(), "{name}");
    }
    assert!(help.contains("mailbag help --all"), "{help}");
}

#[test]
fn help_all_has_every_command_once_below_its_group() {
    let help = World::empty().ok(&["help", "--all"]);
    let headings = [
        "Mail:",
        "Conversation:",
        "Work:",
        "People:",
        "Setup:",
        "Service:",
        "Options:",
    ];
    let found: Vec<&str> = help
        .lines()
        .filter(|line| headings.contains(line))
        .collect();
    assert_eq!(found, headings, "{help}");
    let list: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Mail:")
        .take_while(|line| *line != "Options:")
        .collect();
    let command = mailbag::cli::command();
    let visible: Vec<&Command> = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .collect();
    assert!(visible.len() <= 48, "{} commands", visible.len());
    for command in visible {
        let about = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        let lines = list.iter().filter(|line| {
            line.trim_start()
                .starts_with(&format!("{} ", command.get_name()))
        });
        let lines: Vec<_> = lines.collect();
        assert!(
            lines.len() == 1 && lines[0].ends_with(&about),
            "{}: {lines:?}",
            command.get_name()
        );
    }
}

#[test]
fn without_a_command_the_state_of_the_room_is_shown_or_how_to_begin() {
    let world = World::with(&["alice", "bob"]);
    assert_eq!(world.ok(&[]), world.ok(&["status"]));
    assert_eq!(world.json(&[]), world.json(&["status"]));
    let empty = World::empty();
    assert!(empty.ok(&[]).contains("mailbag up"));
    assert!(empty.fails(3, &["--json"]).contains("not_found"));
    assert!(empty.fails(3, &["--room", "missing"]).contains("missing"));
}

#[test]
fn a_merged_or_unknown_command_gets_the_right_form() {
    let world = World::with(&["alice", "bob"]);
    for (word, form) in [
        ("accept", "mailbag handoff --accept"),
        ("check", "mailbag send --dry-run --file FILE"),
        ("completions", "mailbag generate completions SHELL"),
        ("decline", "mailbag handoff --decline"),
        ("digest", "mailbag log digest"),
        ("done", "mailbag take --done ID"),
        ("events", "mailbag log events"),
        ("explain", "mailbag send --dry-run ADDRESS"),
        ("follow", "mailbag list --follow"),
        ("helper", "mailbag generate helper LANGUAGE"),
        ("man", "mailbag generate man DIR"),
        ("milestone", "mailbag send TEXT --type milestone"),
        ("schema", "mailbag generate schema"),
        ("ls", "mailbag list"),
    ] {
        let error = world.fails(2, &[word]);
        assert!(error.contains(&format!("`{form}`")), "{word}: {error}");
        let error = world.fails(2, &["--json", word]);
        let error: serde_json::Value = serde_json::from_str(&error).expect("JSON");
        assert_eq!(error["error"]["code"], "usage");
        assert_eq!(error["error"]["cure"], format!("run `{form}`"));
    }
}

#[test]
fn the_help_command_prints_the_same_as_the_help_option() {
    let world = World::empty();
    assert_eq!(world.ok(&["help"]), world.ok(&["--help"]));
    assert_eq!(world.ok(&["help", "send"]), world.ok(&["send", "--help"]));
    assert_eq!(
        world.ok(&["help", "agent", "add"]),
        world.ok(&["agent", "add", "--help"])
    );
    assert!(world.fails(2, &["help", "sned"]).contains("sned"));
    assert!(world.fails(2, &["help", "digest"]).contains("log digest"));
}

#[test]
fn the_number_in_a_printed_row_names_its_message() {
    let world = World::with(&["alice", "bob"]);
    world.ok(&["send", "bob", "hello", "--as", "alice"]);
    let (inbox, list) = (
        world.ok(&["inbox", "bob"]),
        world.ok(&["list", "--as", "bob"]),
    );
    let follow = world.ok(&["list", "--follow", "--as", "bob", "--idle", "1ms"]);
    for row in [inbox, list, follow] {
        let name = row
            .split_whitespace()
            .find(|word| word.starts_with('#'))
            .unwrap_or_else(|| panic!("{row}"));
        assert!(
            world.ok(&["read", name, "--as", "bob"]).contains("hello"),
            "{name}"
        );
        assert!(
            world
                .ok(&["read", name.trim_start_matches('#'), "--as", "bob"])
                .contains("hello"),
            "{name}"
        );
    }
}
