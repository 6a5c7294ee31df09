//! `mailbag watch`: answers to the human's pending items.

use super::terminal::Terminal;
use crate::beside::Beside;
use crate::world::{World, parse_json};
use serde_json::{Value, json};

pub(super) fn world() -> World {
    World::with("planner writer")
}

/// `mailbag ask human` of planner, which waits.
fn asks(world: &World, args: &[&str]) -> Beside {
    Beside::start(
        world,
        &[&["ask", "human", "--as", "planner"], args].concat(),
    )
}

/// An agent drops a message, and another process delivers it.
fn tell(world: &World, agent: &str, message: &Value) {
    world.mail(agent, &format!("{}.json", uuid::Uuid::now_v7()), message);
}

/// An agent drops a message, and it is delivered.
pub(super) fn say(world: &World, agent: &str, message: &Value) {
    tell(world, agent, message);
    world.pass();
}

pub(super) fn approval(id: &str, title: &str, options: &[&str]) -> Value {
    json!({"id": id, "to": "human", "type": "approval", "subject": title, "options": options})
}

fn question(id: &str, title: &str) -> Value {
    json!({"id": id, "to": "human", "type": "question", "body": title})
}

/// The human's pending items: number and title.
fn pending(world: &World) -> Vec<(u64, String)> {
    let list = world.json("pending --as human");
    list["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| {
            (
                item["seq"].as_u64().expect("a number"),
                item["title"].as_str().expect("text").to_owned(),
            )
        })
        .collect()
}

/// The messages of the human in the log, as types, recipients and bodies.
pub(super) fn written(world: &World) -> Vec<String> {
    let log = world.ok("log --event accepted --json");
    let records = log.lines().map(parse_json);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    records
        .filter(|record| record["from"] == "human")
        .map(|record| {
            let message = &record["message"];
            let option = text(&message["option"]) + &text(&message["body"]);
            format!(
                "{} {} {option}",
                text(&message["type"]),
                text(&message["in_reply_to"])
            )
            .trim()
            .to_owned()
        })
        .collect()
}

#[test]
fn a_planner_asks_and_three_keystrokes_let_its_command_go_on() {
    let world = world();
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch"]) else {
        return;
    };
    assert!(!terminal.screen().contains("you, oldest"));
    let ask = asks(
        &world,
        &[
            "Deploy?",
            "--options",
            "yes,no",
            "--deadline",
            "30m",
            "--else",
            "no",
        ],
    );
    terminal.wait(
        "the approval is shown with a number and a count",
        |screen| {
            let row = screen
                .lines()
                .find(|line| line.starts_with("! 1 approval #"))
                .unwrap_or_default();
            row.ends_with("m left “Deploy?” [yes, no]") && screen.contains("! 1 needs you, oldest ")
        },
    );
    terminal.keys(&["1", "y"]);
    terminal.wait("what the key does is shown", |screen| {
        screen.contains("Enter shows the text, then decides yes: approval #")
    });
    terminal.decide();
    assert_eq!(ask.ends(&world, 0), "yes\n");
    terminal.wait("the item is gone and the outcome is shown", |screen| {
        !screen.contains("1 approval")
            && !screen.contains("you, oldest")
            && screen.contains("of planner: yes")
    });
}

#[test]
fn with_two_items_each_number_means_its_own() {
    let world = world();
    say(
        &world,
        "planner",
        &approval("late", "Later?", &["yes", "no"]),
    );
    let mut soon = approval("soon", "Soon?", &["ship it", "wait"]);
    soon["deadline"] = "1h".into();
    say(&world, "writer", &soon);
    let Some(terminal) = Terminal::run(&world, (100, 24), &["watch"]) else {
        return;
    };
    terminal.wait("the one with a deadline comes first", |screen| {
        let rows: Vec<&str> = screen
            .lines()
            .filter(|line| line.starts_with("! "))
            .collect();
        rows.len() == 2
            && rows[0].contains(" 1 approval")
            && rows[0].contains("“Soon?” [“ship it”, wait]")
            && rows[1].contains("“Later?”")
    });
    terminal.text("2 no");
    terminal.decide();
    terminal.wait("the second is gone", |screen| {
        !screen.contains("“Later?” [") && screen.contains("planner: no")
    });
    terminal.text("1 2");
    terminal.decide();
    terminal.wait("the first is gone", |screen| {
        screen.contains("writer: wait") && !screen.contains("you, oldest")
    });
    assert_eq!(
        written(&world),
        ["decision planner/late no", "decision writer/soon wait"]
    );
}

#[test]
fn a_number_is_not_reused_for_another_item_while_the_person_types() {
    // P185
    let world = world();
    say(
        &world,
        "planner",
        &approval("first", "First?", &["yes", "no"]),
    );
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch"]) else {
        return;
    };
    terminal.wait("it is shown", |screen| screen.contains("! 1 approval"));
    terminal.text("1 y");
    world.decide("human", "planner/first", "no", &[]).ok();
    for n in 0..10 {
        tell(
            &world,
            "planner",
            &approval(&format!("a{n}"), &format!("More {n}?"), &["yes", "no"]),
        );
    }
    terminal.wait("the others are shown, and this one as settled", |screen| {
        screen.contains("! 2 approval")
            && screen.contains("1 is settled: approval #")
            && !screen.contains("! 1 approval")
    });
    terminal.keys(&["Enter"]);
    terminal.wait("the outcome is named and the line stays", |screen| {
        screen.contains("planner/first was decided already: no, by human")
            && screen.contains("human> 1 y")
    });
    assert_eq!(
        (pending(&world).len(), written(&world)),
        (10, vec!["decision planner/first no".to_owned()])
    );
    // The line is corrected.
    terminal.keys(&["C-u"]);
    terminal.text("2n");
    terminal.decide();
    terminal.wait("another one is decided", |screen| {
        screen.contains("of planner: no")
    });
    assert_eq!(written(&world)[1..], ["decision planner/a0 no"]);
}

#[test]
fn a_wrong_word_stays_in_the_line_with_the_options() {
    let world = world();
    say(
        &world,
        "planner",
        &approval("d", "Deploy?", &["stage", "stop"]),
    );
    let Some(terminal) = Terminal::run(&world, (140, 24), &["watch"]) else {
        return;
    };
    terminal.wait("it is shown", |screen| screen.contains("! 1 approval"));
    for wrong in ["1 maybe", "1 st"] {
        terminal.text(wrong);
        terminal.keys(&["Enter"]);
        terminal.wait("the options are named", |screen| {
            screen.contains("does not answer the approval")
                && screen.contains(&format!("human> {wrong}"))
                && screen.contains("write 1 and one of: stage, stop, dismiss")
        });
        terminal.keys(&["C-u"]);
    }
    assert_eq!((pending(&world).len(), written(&world)), (1, Vec::new()));
}

#[test]
fn a_number_without_an_item_is_an_error_and_never_a_message_to_the_channel() {
    // P186
    let world = world();
    let Some(terminal) = Terminal::run(&world, (100, 24), &["watch", "main"]) else {
        return;
    };
    for line in ["1 yes", "1y", "#12 yes", "3 things to do", "12 yes"] {
        terminal.text(line);
        terminal.keys(&["Enter"]);
        terminal.wait("the error is beside the line", |screen| {
            screen.contains("no open item has the number")
                && screen.contains(&format!("human> {line}"))
        });
        terminal.keys(&["C-u"]);
    }
    assert_eq!(written(&world), Vec::<String>::new());
    // A blank in front makes it a message, and so does a text that only begins with digits.
    for line in [" 3 things to do", "2026 was long", "1st draft is done"] {
        terminal.text(line);
        terminal.keys(&["Enter"]);
        terminal.wait("it is sent", |screen| {
            screen.contains("sent to the channel main")
        });
    }
    let sent = [
        "user  3 things to do",
        "user  2026 was long",
        "user  1st draft is done",
    ];
    world.wait("all are accepted", || written(&world) == sent);
}

#[test]
fn a_question_is_answered_by_its_number_or_by_the_name_of_who_asks() {
    // P187
    let world = world();
    say(&world, "planner", &question("port", "Which port?"));
    say(&world, "writer", &question("title", "Which title?"));
    let seq = pending(&world)[0].0;
    let Some(terminal) = Terminal::run(&world, (100, 24), &["watch"]) else {
        return;
    };
    terminal.wait("both are shown", |screen| screen.contains("- 2 question"));
    terminal.text(&format!("#{seq} use 8080"));
    terminal.keys(&["Enter"]);
    terminal.wait("one is left", |screen| {
        screen.contains("1 needs you") && screen.contains("replied to #")
    });
    terminal.text("@writer The Tempest");
    terminal.wait("what the key does is shown", |screen| {
        screen.contains("Enter replies to question #")
    });
    terminal.keys(&["Enter"]);
    terminal.wait("none is left", |screen| {
        screen.contains("replied to") && !screen.contains("needs you")
    });
    assert_eq!(
        written(&world),
        [
            "answer planner/port use 8080",
            "answer writer/title The Tempest"
        ]
    );
    terminal.text("@writer thanks");
    terminal.keys(&["Enter"]);
    terminal.wait("it is a message", |screen| {
        screen.contains("sent to writer")
    });
    world.wait("it answers nothing", || {
        written(&world)
            .last()
            .is_some_and(|last| last == "message  thanks")
    });
}

#[test]
fn a_name_and_an_option_decide_and_several_items_ask_for_the_number() {
    // P187
    let world = world();
    say(&world, "planner", &approval("one", "One?", &["yes", "no"]));
    let Some(terminal) = Terminal::run(&world, (180, 24), &["watch"]) else {
        return;
    };
    terminal.wait("it is shown", |screen| screen.contains("! 1 approval"));
    terminal.text("@planner why?");
    terminal.keys(&["Enter"]);
    terminal.wait("prose decides nothing and says so", |screen| {
        screen.contains("sent to planner; the approval #")
            && screen.contains("is still open: write 1 and one of: yes")
    });
    terminal.text("@planner YES");
    terminal.decide();
    terminal.wait("an option decides", |screen| {
        screen.contains("of planner: yes") && !screen.contains("you, oldest")
    });
    tell(&world, "planner", &approval("two", "Two?", &["yes", "no"]));
    tell(&world, "planner", &question("three", "Three?"));
    terminal.wait("both are shown", |screen| screen.contains("2 need you"));
    terminal.text("@planner no");
    terminal.keys(&["Enter"]);
    terminal.wait("both are named", |screen| {
        screen.contains("this could answer 2 items of planner")
            && screen.contains("human> @planner no")
            && screen.contains("“Two?”")
            && screen.contains("“Three?”")
    });
    assert_eq!((written(&world).len(), pending(&world).len()), (2, 2));
    // A text that is not an option can only answer the question.
    terminal.keys(&["BSpace", "BSpace"]);
    terminal.text("four");
    terminal.keys(&["Enter"]);
    terminal.wait("one is left", |screen| screen.contains("1 needs you"));
    assert_eq!(
        written(&world).last().map(String::as_str),
        Some("answer planner/three four")
    );
}

#[test]
fn offers_rejected_messages_and_unwanted_items_are_settled_by_words() {
    let world = world();
    for subject in ["docs", "src"] {
        say(
            &world,
            "writer",
            &json!({"type": "claim", "claims": [subject]}),
        );
        say(
            &world,
            "writer",
            &json!({"to": "human", "type": "handoff", "claims": [subject]}),
        );
    }
    say(&world, "human", &json!({"to": "editor", "body": "welcome"}));
    say(&world, "planner", &question("q", "Is it late?"));
    let Some(terminal) = Terminal::run(&world, (120, 30), &["watch"]) else {
        return;
    };
    terminal.wait("all are shown", |screen| screen.contains("4 need you"));
    let number = |kind: &str, title: &str| {
        terminal
            .lines()
            .into_iter()
            .find(|line| line.starts_with("- ") && line.contains(kind) && line.contains(title))
            .expect("a row")[2..3]
            .to_owned()
    };
    let answer = |number: String, word: &str, said: &str| {
        terminal.text(&format!("{number} {word}"));
        terminal.keys(&["Enter"]);
        terminal.wait(said, |screen| screen.contains(said));
    };
    answer(number("offer", "docs"), "accept", "granted: docs");
    answer(number("offer", "src"), "d", "declined: src");
    answer(number("question", "late"), "dismiss", "dismissed #");
    answer(number("rejection", "editor"), "dismiss", "dismissed #");
    terminal.wait("nothing is left", |screen| !screen.contains("you, oldest"));
    assert_contains!(world.json("claims").to_string(), "\"human\"");
    tell(
        &world,
        "planner",
        &json!({"type": "claim", "claims": ["docs/intro.md"], "wait": true}),
    );
    terminal.wait("the claim is in the way", |screen| {
        screen.contains("waits for docs/intro.md")
    });
    answer(
        number("claim", "docs/intro.md"),
        "release",
        "released: docs",
    );
}

#[test]
fn at_every_width_an_item_is_one_line_and_a_title_forges_neither_a_line_nor_a_colour() {
    // P103
    let world = world();
    let title = "Deploy?\u{1b}[31m\u{202e}\n! 9 approval #99 human” [forged] \u{9b}2J";
    say(
        &world,
        "planner",
        &approval("d", title, &["yes", "no ] “x”"]),
    );
    say(&world, "writer", &question("q", &"你好 ".repeat(60)));
    let Some(terminal) = Terminal::open(&world, (40, 24), &["watch"]) else {
        return;
    };
    let rows = |screen: &str| {
        screen
            .lines()
            .filter(|line| line.contains(" 1 approval") || line.contains(" 2 question"))
            .count()
    };
    terminal.wait("each is one line", |screen| {
        screen.contains("! 2 need you, oldest") && rows(screen) == 2
    });
    assert!(
        terminal
            .screen()
            .lines()
            .any(|line| line.starts_with("- 2 question") && line.ends_with('…'))
    );
    terminal.text("1 ");
    terminal.wait("the options are shown although the row is cut", |screen| {
        screen.contains("one of:")
    });
    terminal.resize(200, 24);
    terminal.wait("the row is whole", |screen| {
        screen
            .lines()
            .any(|line| line.starts_with("! 1 approval") && line.trim_end().ends_with(']'))
    });
    let screen = terminal.screen();
    assert!(
        !screen.contains(['\u{1b}', '\u{202e}', '\u{9b}']),
        "{screen:?}"
    );
    assert_eq!(
        screen.lines().filter(|line| line.starts_with("! ")).count(),
        1,
        "{screen}"
    );
    let row = screen
        .lines()
        .find(|line| line.starts_with("! 1 approval"))
        .expect("the row");
    assert_eq!(
        (row.matches('“').count(), row.find("forged") < row.find('”')),
        (2, true),
        "{row}"
    );
}

#[test]
fn urgent_items_have_a_sign_and_optionally_a_colour() {
    let world = world();
    say(&world, "planner", &approval("d", "Deploy?", &["yes", "no"]));
    say(&world, "writer", &question("q", "Which port?"));
    for wants_colour in [true, false] {
        let mut program = world.bare("watch");
        if wants_colour {
            program.env_remove("NO_COLOR");
        }
        let Some(terminal) = Terminal::of(&world, (80, 24), program) else {
            return;
        };
        terminal.wait("both are shown", |screen| {
            screen.contains("! 1 approval") && screen.contains("- 2 question")
        });
        let coloured = terminal.coloured();
        let has = |colour: &str, row: &str| {
            coloured
                .lines()
                .any(|line| line.contains(row) && line.contains(colour))
        };
        let is_coloured = [
            has("[38;5;1m! 1", "! 1 approval"),
            has("[38;5;3m", "- 2 question"),
        ];
        assert_eq!(is_coloured, [wants_colour; 2], "{coloured:?}");
    }
}

#[test]
fn items_after_the_ninth_are_answered_by_their_record_numbers() {
    let world = world();
    for n in 0..12 {
        say(
            &world,
            "planner",
            &question(&format!("q{n}"), &format!("Question {n}?")),
        );
    }
    let Some(terminal) = Terminal::run(&world, (100, 24), &["watch"]) else {
        return;
    };
    terminal.wait(
        "the most urgent are shown, and the number of the others",
        |screen| {
            screen.contains("- 6 question")
                && screen.contains("and 6 more;")
                && screen.contains("12 need you")
        },
    );
    let last = pending(&world)[11].0;
    terminal.text(&format!("#{last} dismiss"));
    terminal.keys(&["Enter"]);
    terminal.wait("one less", |screen| screen.contains("11 need you"));
    terminal.text("9 the ninth");
    terminal.keys(&["Enter"]);
    terminal.wait("two less", |screen| screen.contains("10 need you"));
    assert_eq!(
        written(&world).last().map(String::as_str),
        Some("answer planner/q8 the ninth")
    );
}

#[test]
fn tab_completes_names_numbers_and_answers_and_a_question_mark_shows_the_keys() {
    let world = world();
    say(
        &world,
        "planner",
        &approval("d", "Deploy?", &["stage", "stop"]),
    );
    let Some(terminal) = Terminal::run(&world, (100, 30), &["watch"]) else {
        return;
    };
    terminal.wait("it is shown", |screen| screen.contains("! 1 approval"));
    for (typed, line) in [
        ("@pl", "@planner"),
        ("wri", "@writer"),
        ("", "1"),
        ("1 sto", "1 stop"),
        ("1 d", "1 dismiss"),
    ] {
        terminal.text(typed);
        terminal.keys(&["Tab", "|"]);
        terminal.wait(line, |screen| screen.contains(&format!("human> {line} |")));
        terminal.keys(&["C-u"]);
    }
    terminal.text("1 s");
    terminal.keys(&["Tab"]);
    terminal.wait("the words that are possible are shown", |screen| {
        screen.contains("human> 1 st")
            && screen.lines().any(|line| line.trim_end() == "stage  stop")
    });
    terminal.keys(&["C-u", "?"]);
    terminal.wait("the help is shown", |screen| {
        screen.contains("decide item 1") && screen.contains("Ctrl-u, Ctrl-c")
    });
    terminal.keys(&["?"]);
    terminal.wait("the timeline is shown", |screen| {
        !screen.contains("decide item 1")
    });
    terminal.resize(40, 24);
    // The terminal library can miss a key that comes together with a new size.
    terminal.wait("the new size is drawn", |screen| screen.contains("“Deplo…"));
    terminal.keys(&["?"]);
    terminal.wait("the help fits", |screen| {
        screen.contains("1 yes, 1y") && screen.contains("? closes this help")
    });
    assert_eq!(written(&world), Vec::<String>::new());
}

#[test]
fn bytes_that_are_not_utf_8_change_nothing() {
    let world = world();
    say(&world, "planner", &approval("d", "Deploy?", &["yes", "no"]));
    world.drop_file(
        "human",
        "bad.json",
        b"{\"to\": \"planner\", \"body\": \"\xff\xfe\"}",
    );
    world.pass();
    let Some(terminal) = Terminal::run(&world, (100, 24), &["watch"]) else {
        return;
    };
    terminal.wait("the rejected file is an item", |screen| {
        screen.contains("2 need you") && screen.contains("- 2 rejection")
    });
    terminal.bytes(&["ff", "fe", "c3", "28"]);
    terminal.keys(&["C-u", "1", "n"]);
    terminal.decide();
    terminal.wait("it is decided", |screen| {
        screen.contains("of planner: no") && screen.contains("1 needs you")
    });
}
