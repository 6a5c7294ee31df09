//! The panel of a wide screen, older messages, and groups of equal items.

use super::answers::{approval, say, world};
use super::terminal::Terminal;

#[test]
fn a_wide_screen_has_a_panel_of_the_agents_with_unread_mail_claims_and_items() {
    let world = world();
    world.ok("claim src/parser src/lexer --as writer");
    world.send("planner", "writer", "hello");
    say(&world, "planner", &approval("d", "Deploy?", &["yes", "no"]));
    let Some(terminal) = Terminal::run(&world, (110, 24), &["watch"]) else {
        return;
    };
    for part in [
        "Agents ",
        "writer online 1 unread",
        "owns src/parser and 1 more",
        "planner online",
    ] {
        terminal.wait(part, |screen| screen.contains(part));
    }
    terminal.wait("the item of planner", |screen| {
        screen
            .lines()
            .any(|line| line.trim_start().len() < line.len() && line.contains("  ! 1 approval #"))
    });
    terminal.resize(109, 24);
    terminal.wait("no panel", |screen| !screen.contains("Agents "));
}

#[test]
fn paging_up_and_home_show_older_messages_and_end_the_newest() {
    let world = world();
    for n in 0..120 {
        world.drop_file(
            "planner",
            &format!("{n:03}.json"),
            format!(r#"{{"to": "writer", "body": "number {n:03}"}}"#),
        );
    }
    world.pass();
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch", "--last", "10"]) else {
        return;
    };
    terminal.wait("the newest", |screen| screen.contains("number 119"));
    for _ in 0..4 {
        terminal.keys(&["PPage"]);
    }
    terminal.wait("older messages", |screen| {
        screen.contains("number 07") && !screen.contains("number 119")
    });
    terminal.keys(&["Home"]);
    terminal.wait("the first", |screen| screen.contains("number 000"));
    terminal.keys(&["End"]);
    terminal.wait("the newest again", |screen| screen.contains("number 119"));
    terminal.text("bc");
    terminal.keys(&["Home", "a", "End", "d"]);
    terminal.wait("the line", |screen| screen.contains("human> abcd"));
}

#[test]
fn another_width_keeps_the_entry_at_the_top_of_the_screen() {
    let world = world();
    let body = "word ".repeat(30);
    let lines: Vec<String> = (0..60)
        .map(|n| format!(r#"{{"to": "writer", "body": "number {n:03} {body}"}}"#))
        .collect();
    world.route("planner", "all.ndjson", lines.join("\n") + "\n");
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch"]) else {
        return;
    };
    terminal.keys(&["Home"]);
    terminal.wait("the first", |screen| screen.contains("number 000"));
    let whole = format!("    number 000 {}", body.trim_end());
    terminal.resize(220, 24);
    terminal.wait("a message in one line", |screen| {
        screen.lines().any(|line| line.starts_with(&whole))
    });
    terminal.resize(80, 24);
    terminal.wait("the first, in several lines", |screen| {
        screen.contains("number 000") && !screen.contains(&whole)
    });
}

#[test]
fn equal_reports_of_the_router_are_one_row_as_on_the_page() {
    let world = world();
    for n in 0..4 {
        world.drop_file(
            "human",
            &format!("{n}.json"),
            r#"{"to": "no-such-agent", "body": "x"}"#,
        );
    }
    say(&world, "planner", &approval("d", "Deploy?", &["yes", "no"]));
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch"]) else {
        return;
    };
    terminal.wait("a row for the group", |screen| {
        screen.contains("-   4 rejections, oldest") && screen.contains("! 1 approval")
    });
    assert!(!terminal.screen().contains("- 2 rejection"));
}
