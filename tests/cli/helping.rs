//! `mailbag help`: the commands of daily work, all commands, and the page of one command.

use crate::world::World;
use clap::Command;

#[test]
fn help_shows_the_commands_of_daily_work_on_24_lines() {
    let help = World::empty().ok("--help");
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
    assert_contains!(help, "mailbag help --all");
}

#[test]
fn help_all_has_every_command_once_below_its_group() {
    let help = World::empty().ok("help --all");
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
    let world = World::alice_and_bob();
    assert_eq!(world.ok(""), world.ok("status"));
    assert_eq!(world.json(""), world.json("status"));
    let empty = World::empty();
    assert_contains!(empty.ok(""), "mailbag up");
    assert_contains!(empty.fails(3, "--json"), "not_found");
    assert_contains!(empty.fails(3, "--room missing"), "missing");
}

#[test]
fn the_help_command_prints_the_same_as_the_help_option() {
    let world = World::empty();
    assert_eq!(world.ok("help"), world.ok("--help"));
    assert_eq!(world.ok("help send"), world.ok("send --help"));
    assert_eq!(world.ok("help agent add"), world.ok("agent add --help"));
    assert_contains!(world.fails(2, "help sned"), "sned");
    assert_contains!(world.fails(2, "help whoami"), "agent show");
}

#[test]
fn the_number_in_a_printed_row_names_its_message() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hello");
    let (inbox, list) = (world.ok("inbox bob"), world.ok("list --as bob"));
    let follow = world.ok("list --follow --as bob --idle 1ms");
    for row in [inbox, list, follow] {
        let name = row
            .split_whitespace()
            .find(|word| word.starts_with('#'))
            .unwrap_or_else(|| panic!("{row}"));
        assert_contains!(world.ok(&format!("read {name} --as bob")), "hello"; "{name}");
        assert_contains!(world.ok(&["read", name.trim_start_matches('#'), "--as", "bob"]), "hello"; "{name}");
    }
}
