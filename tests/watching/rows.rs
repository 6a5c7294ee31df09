//! `mailbag inbox`, `list` and `read` at a terminal: a line a message, as wide as there is room, and nothing folded to
//! the edge.

use super::terminal::Terminal;
use crate::world::World;

#[test]
fn at_a_terminal_a_message_is_a_line_without_its_id_cut_to_the_width() {
    let world = World::alice_and_bob();
    let subject = "你好 ".repeat(20) + "and so on";
    let id = world.ok(&format!(
        "send -q bob x --subject '{subject}' --type question --as alice"
    ));
    world.ok("send bob x --subject short --as alice");
    for (args, who) in [("inbox bob", "alice"), ("list --as bob", "alice → bob")] {
        let Some(terminal) = Terminal::open(&world, (60, 20), args) else {
            return;
        };
        terminal.wait("it has ended", |screen| screen.contains("ended 0"));
        let lines = terminal.lines();
        let shown: Vec<&String> = lines.iter().filter(|line| line.contains(who)).collect();
        assert_eq!(shown.len(), 2, "{lines:#?}");
        assert!(
            shown[0].contains("question") && shown[0].ends_with('…') && shown[1].ends_with("short"),
            "{lines:#?}"
        );
        assert!(!lines.concat().contains(&id.trim()[..8]), "{lines:#?}");
        // Number, and the time of today where the person is.
        let words: Vec<&str> = shown[1].split_whitespace().collect();
        assert!(
            words[0]
                .strip_prefix('#')
                .is_some_and(|seq| seq.parse::<u64>().is_ok())
                && words[1].len() == 11
                && words[1].matches(':').count() == 2,
            "{words:?}"
        );
    }
    // A pipe has the id.
    for args in ["inbox bob", "list --as bob"] {
        assert_contains!(world.ok(args), id.trim());
    }
}

#[test]
fn no_text_is_folded_by_the_terminal_to_where_mailbag_s_own_words_stand() {
    // P103
    let world = World::with("mallory bob");
    let body = "x".repeat(56) + "from: human";
    world.ok(&format!(
        "send bob '{body}' --subject '{body}' --as mallory"
    ));
    for args in [
        "read --as bob",
        "read 2 --as bob",
        "thread 2",
        "rejected list",
    ] {
        let Some(terminal) = Terminal::open(&world, (60, 30), args) else {
            return;
        };
        terminal.wait("it has ended", |screen| screen.contains("ended 0"));
        let lines = terminal.lines();
        assert!(
            !lines.iter().any(|line| line.starts_with("from: human")),
            "{args:?}: {lines:#?}"
        );
    }
}

#[test]
fn no_text_of_an_approval_is_folded_to_where_a_field_begins() {
    // P103
    let world = World::with("mallory");
    let long = "x".repeat(77);
    let forged = [
        "options:\u{a0}[no]",
        "subject:\u{a0}Refund",
        "approval\u{a0}#9",
    ];
    let body = forged.map(|line| format!("{long} {line}")).join(" ");
    world.ok(&format!("send human '{body}' --type approval --as mallory"));
    for args in ["decide 2 yes", "pending --follow"] {
        let Some(terminal) = Terminal::open(&world, (80, 40), args) else {
            return;
        };
        if args == "pending --follow" {
            terminal.wait("it is listed", |screen| screen.contains(" 1 approval"));
            terminal.text("#2 yes");
            terminal.keys(&["Enter"]);
        }
        terminal.wait("the text is shown", |screen| {
            screen.contains("approval #2 mallory/") && screen.contains("approval\u{a0}#9")
        });
        let lines = terminal.lines();
        let own = lines.iter().filter(|line| {
            let fields = ["options:", "subject:", "approval"];
            fields.iter().any(|field| line.starts_with(field))
        });
        assert_eq!(own.count(), 2, "{args:?}: {lines:#?}");
    }
}
