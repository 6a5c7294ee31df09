//! Waking: an idle agent is woken once for new mail, and only for mail that needs it.

mod recorded;

use crate::files;
use crate::town::{Town, so_within};
use crate::world::World;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;

/// A program that writes its arguments and input into a file, one line a run.
fn alarm(words: &[&str]) -> Value {
    let script = "printf '%s|' \"$@\" >> woken; echo >> woken; echo rang";
    let mut argv = vec!["sh", "-c", script, "sh"];
    argv.extend(words);
    json!({"argv": argv, "every": "1s"})
}

/// A room where bob is woken like this, and a router that runs.
fn town(wake: Value) -> Town {
    Town::with(&[json!({"id": "alice"}), json!({"id": "bob", "wake": wake})])
        .quick()
        .run()
}

/// The input of the alarm so far, one line for each run.
fn rung(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.path().join("woken")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits until the alarm has run this often, and returns its input.
#[track_caller]
fn wait_for(town: &Town, times: usize) -> Vec<String> {
    town.wait(&format!("bob is woken {times} times"), || {
        rung(town).len() >= times
    });
    rung(town)
}

/// The alarm ignores earlier mail: only a last message wakes bob.
#[track_caller]
fn only_the_last_wakes(town: &Town) {
    town.mail(
        "alice",
        "last.json",
        json!({"to": "bob", "body": "the last"}),
    );
    let rung = wait_for(town, 1);
    assert!(rung.len() == 1 && rung[0].contains("the last"), "{rung:?}");
}

#[test]
fn mail_that_comes_together_wakes_once_and_tells_what_it_is() {
    // P87
    let town = town(alarm(&["{agent}", "{count}", "{text}"]));
    for n in 1..=3 {
        town.mail(
            "alice",
            &format!("{n}.json"),
            json!({"id": format!("m{n}"), "to": "bob", "body": format!("note {n}")}),
        );
    }
    let rung = wait_for(&town, 1);
    assert!(rung[0].starts_with("bob|3|mailbag: 3 unread:"), "{rung:?}");
    town.wait("the log has what it printed", || {
        town.words().contains("woke bob") && town.words().contains("rang")
    });
    let announced = town.names("inbox/bob/.announced");
    assert_eq!(announced.len(), 3, "who got the text has been told");
}

#[test]
fn low_priority_and_acks_wake_nobody() {
    // P87
    let town = town(alarm(&["{text}"]));
    town.mail(
        "bob",
        "q.json",
        json!({"id": "q", "to": "alice", "body": "which port?"}),
    );
    town.wait_for_mail("alice", 1);
    town.mail(
        "alice",
        "a.json",
        json!({"to": "bob", "body": "by the way", "priority": "low"}),
    );
    town.mail(
        "alice",
        "b.json",
        json!({"to": "bob", "type": "ack", "refs": ["q"], "status": "actioned", "body": "done"}),
    );
    town.wait_for_mail("bob", 2);
    only_the_last_wakes(&town);
}

#[test]
fn an_agent_that_has_read_its_mail_is_not_woken() {
    // P87
    let town = town(alarm(&["{text}"]));
    town.mail(
        "alice",
        "a.json",
        json!({"to": "bob", "body": "read at once"}),
    );
    town.wait_for_mail("bob", 1);
    town.ok("read --as bob");
    only_the_last_wakes(&town);
}

#[test]
fn a_working_agent_gets_mail_by_its_hook_and_is_not_woken() {
    // P87
    let town = town(alarm(&["{text}"]));
    let hook = |event: &str| {
        let input =
            json!({"hook_event_name": event, "session_id": "s1", "source": "startup"}).to_string();
        town.pipe("hook claude --as bob", input).out
    };
    hook("UserPromptSubmit");
    town.mail(
        "alice",
        "a.json",
        json!({"to": "bob", "body": "in the middle of it"}),
    );
    town.wait_for_mail("bob", 1);
    assert!(
        !so_within(Duration::from_secs(3), || !rung(&town).is_empty()),
        "{:?}",
        rung(&town)
    );
    assert_contains!(hook("PostToolBatch"), "in the middle of it");
    hook("Stop");
    only_the_last_wakes(&town);
}

#[test]
fn a_program_that_fails_leaves_its_mail_untold_and_the_trouble_in_the_log() {
    // P87
    let town = town(json!({"argv": ["sh", "-c", "echo no such bell; exit 3", "sh", "{text}"]}));
    town.mail("alice", "a.json", json!({"to": "bob", "body": "hello"}));
    town.wait("the log tells", || {
        town.words().contains("cannot wake bob") && town.words().contains("no such bell")
    });
    town.wait("nobody was told", || {
        town.names("inbox/bob/.announced").is_empty()
    });
}

#[test]
fn a_program_that_hangs_is_ended_with_what_it_started() {
    // P86
    let town =
        town(json!({"argv": ["sh", "-c", "sleep 600 & echo $! > pid; wait"], "within": "1s"}));
    town.mail("alice", "a.json", json!({"to": "bob", "body": "hello"}));
    town.wait("the log tells", || {
        town.words().contains("it was killed after 1s")
    });
    let pid = files::read_text(town.path().join("pid"));
    let stat = format!("/proc/{}/stat", pid.trim());
    town.wait("the child is gone", || {
        !std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z"))
    });
}

#[test]
fn a_missing_wake_program_is_reported_and_delays_no_mail() {
    let town = town(json!({"argv": ["/no/such/program"]}));
    town.mail("alice", "a.json", json!({"to": "bob", "body": "hello"}));
    town.wait("the log tells", || town.words().contains("cannot wake bob"));
    town.is_alive("alice", "bob");
}

#[test]
fn mail_that_came_while_no_router_ran_wakes_when_one_does() {
    // P85
    let mut town = Town::with(&[
        json!({"id": "alice"}),
        json!({"id": "bob", "wake": alarm(&["{text}"])}),
    ])
    .quick();
    town.send("alice", "bob", "from before");
    assert_eq!(town.bodies("bob"), ["from before"]);
    assert!(
        rung(&town).is_empty(),
        "a command that sends starts no programs"
    );
    town.start(&[]);
    assert_contains!(wait_for(&town, 1)[0], "from before");
}

#[test]
fn commands_and_single_passes_start_no_wake_programs() {
    // P85
    let mut town = Town::with(&[
        json!({"id": "alice"}),
        json!({"id": "bob", "wake": alarm(&["{text}"])}),
    ])
    .quick();
    town.send("alice", "bob", "first");
    let looks: [&[&str]; 4] = [
        &["inbox", "bob"],
        &["read", "--as", "bob"],
        &["search", "first", "--as", "bob"],
        &["run", "--once"],
    ];
    for look in looks {
        town.ok(look);
    }
    town.send("alice", "bob", "second");
    let stop = json!({"hook_event_name": "Stop", "session_id": "s1"}).to_string();
    assert_contains!(town.pipe("hook claude --as bob", stop).out, "second");
    // It routes for longer than a router collects mail before a wake.
    let wait = town
        .bare("wait --as alice --timeout 4s")
        .stderr(Stdio::null())
        .spawn();
    town.mail("alice", "third.json", json!({"to": "bob", "body": "third"}));
    town.wait_for_mail("bob", 2);
    assert_eq!(
        wait.expect("it starts").wait().expect("it ends").code(),
        Some(4)
    );
    assert!(rung(&town).is_empty(), "{:?}", rung(&town));
    town.start(&[]);
    assert_contains!(wait_for(&town, 1)[0], "third");
}

/// A room with bob as an idle session of Codex, and a replacement for `codex` that records its
/// arguments.
fn town_of_codex() -> Town {
    town_of_codex_with(
        json!({"by": "codex"}),
        &format!("{BEGINS}\nprintf '%s|' \"$@\" >> woken; echo >> woken"),
    )
}

/// The hooks of the turn that begins when Codex has the message.
const BEGINS: &str = "for event in UserPromptSubmit Stop; do
  printf '{\"hook_event_name\":\"%s\",\"session_id\":\"%s\"}' $event \"$3\" | \"$PROGRAM\" hook codex --as bob > /dev/null
done";

/// The same, with this way to wake it, and this stand-in.
fn town_of_codex_with(wake: Value, script: &str) -> Town {
    let mut town = Town::with(&[
        json!({"id": "alice"}),
        json!({"id": "carol"}),
        json!({"id": "bob", "wake": wake}),
    ])
    .quick();
    let codex = town.write("../bin/codex", format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&codex, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a mode");
    for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
        fire(&town, event);
    }
    let path = std::env::var("PATH").expect("a PATH");
    let mut router = town.bare("run");
    router.env("PROGRAM", assert_cmd::cargo::cargo_bin!("mailbag"));
    router.env(
        "PATH",
        format!("{}:{path}", codex.parent().expect("a directory").display()),
    );
    town.start_by(router);
    town
}

/// Fires a hook of bob's session of Codex.
fn fire(world: &World, event: &str) {
    let input =
        json!({"hook_event_name": event, "session_id": "s1", "source": "startup"}).to_string();
    world.pipe("hook codex --as bob", input);
}

#[test]
fn a_session_that_codex_cannot_wake_is_woken_as_the_registry_says_and_status_says_so() {
    // P149
    let bell = json!([
        "sh",
        "-c",
        "printf 'bell|%s|' \"$1\" >> woken; echo >> woken",
        "sh",
        "{text}"
    ]);
    let wake = json!({"by": "codex", "else": bell, "every": "1s"});
    let town = town_of_codex_with(wake, "echo 'codex|' >> woken; exit 1");
    let unloaded = || town.json("status")["unloaded"].clone();
    assert_eq!(unloaded(), json!([]), "its session has just called");
    town.mail(
        "alice",
        "a.json",
        json!({"id": "m1", "to": "bob", "body": "to a thread that is not loaded"}),
    );
    let rung = wait_for(&town, 2);
    assert!(
        rung[0] == "codex|" && rung[1].starts_with("bell|mailbag: 1 unread"),
        "{rung:?}"
    );
    town.wait("the mail is announced", || {
        town.names("inbox/bob/.announced").len() == 1
    });
    // Its end is known, so Codex is not asked.
    fire(&town, "SessionEnd");
    let one = unloaded()[0].clone();
    assert_fields!(one, agent: "bob", state: "ended", session: "s1");
    let said = town.ok("status");
    assert_contains!(said, "not loaded", "sh is started instead");
    assert_contains!(said, "-> codex resume s1");
    town.mail(
        "alice",
        "b.json",
        json!({"to": "bob", "body": "to a session that has ended"}),
    );
    assert!(wait_for(&town, 3)[2].starts_with("bell|"));
    assert_eq!(town.json("pending --as human")["items"], json!([]));
}

#[test]
fn mail_of_a_running_exchange_wakes_codex_immediately_and_other_mail_once_a_minute() {
    // P101
    let town = town_of_codex();
    town.mail(
        "alice",
        "a.json",
        json!({"to": "bob", "body": "which port?"}),
    );
    assert!(wait_for(&town, 1)[0].starts_with("queue|--thread|s1|--message|mailbag: 1 unread"));
    town.mail(
        "bob",
        "b.json",
        json!({"id": "asked", "to": "alice", "body": "of which server?"}),
    );
    town.mail(
        "carol",
        "c.json",
        json!({"to": "bob", "body": "something else"}),
    );
    assert!(
        !so_within(Duration::from_secs(3), || rung(&town).len() > 1),
        "{:?}",
        rung(&town)
    );
    town.mail(
        "alice",
        "d.json",
        json!({"to": "bob", "in_reply_to": "asked", "body": "of the test server"}),
    );
    let rung = wait_for(&town, 2);
    // bob wrote to alice just now, so her mail needs no reference.
    town.mail(
        "alice",
        "e.json",
        json!({"to": "bob", "body": "and a second question"}),
    );
    wait_for(&town, 3);
    // One line, although the text has several.
    assert_contains!(files::read_text(town.path().join("woken")), "of the test server", "something else"; "{rung:?}");
}

#[test]
fn a_conversation_without_end_wakes_ten_times_and_then_once_a_minute() {
    // P101
    let town = town_of_codex();
    let answers = || {
        rung(&town)
            .iter()
            .filter(|line| line.contains("queue|"))
            .count()
    };
    for n in 1..=10 {
        let message = json!({"to": "bob", "thread_id": "endless", "body": format!("answer {n}")});
        town.mail("alice", &format!("{n}.json"), message);
        town.wait(&format!("bob is woken {n} times"), || answers() == n);
    }
    town.mail(
        "alice",
        "11.json",
        json!({"to": "bob", "thread_id": "endless", "body": "answer 11"}),
    );
    assert!(
        !so_within(Duration::from_secs(3), || answers() > 10),
        "{:?}",
        rung(&town)
    );
}

#[test]
fn a_message_that_codex_takes_and_holds_is_a_failed_wake() {
    // P422
    let town = town_of_codex_with(
        json!({"by": "codex"}),
        "printf '%s|' \"$@\" >> woken; echo >> woken",
    );
    town.mail(
        "alice",
        "a.json",
        json!({"id": "m1", "to": "bob", "body": "are you there?"}),
    );
    wait_for(&town, 1);
    town.wait("the log has the failure", || {
        town.ok("trace alice/m1").contains("wake failed")
    });
    let trace = town.ok("trace alice/m1");
    assert!(
        trace.contains("Codex holds messages for this session") && !trace.contains("succeeded"),
        "{trace}"
    );
    assert_contains!(town.ok("who"), "wake failed");
    assert!(
        town.names("inbox/bob/.announced").is_empty(),
        "the next prompt announces it"
    );
}

#[test]
fn codex_is_not_asked_to_wake_a_session_that_the_person_interrupted() {
    // P422
    let town = town_of_codex();
    fire(&town, "UserPromptSubmit");
    fire(&town, "Interrupt");
    town.mail(
        "alice",
        "a.json",
        json!({"id": "m1", "to": "bob", "body": "are you there?"}),
    );
    town.wait("the log has the failure", || {
        town.ok("trace alice/m1").contains("wake failed")
    });
    assert!(rung(&town).is_empty(), "{:?}", rung(&town));
    assert_contains!(
        town.json("pending --as human")["items"].to_string(),
        "type a prompt in its terminal"
    );
}

#[test]
fn arguments_reach_the_program_as_they_are_and_no_shell_reads_them() {
    // P86
    let town = town(json!({"argv": ["printf", "%s", "{text}{no}{agent}"]}));
    town.mail(
        "alice",
        "a.json",
        json!({"to": "bob", "body": "$(touch pwned) `touch pwned` {agent}; touch pwned"}),
    );
    town.wait("the log has it", || {
        town.words()
            .contains("$(touch pwned) `touch pwned` {agent}; touch pwned")
    });
    assert_contains!(town.words(), "{no}bob");
    assert!(!town.path().join("pwned").exists());
}

#[test]
fn agent_set_accepts_valid_ways_to_wake_and_rejects_others() {
    let world = World::with("bob");
    for (how, wake) in [
        ("codex", json!({"by": "codex"})),
        ("nobody", json!({"by": "nobody"})),
        (r#"["bell","{text}"]"#, json!({"argv": ["bell", "{text}"]})),
        (
            r#"{"argv":["bell"],"every":"5m","mine":1}"#,
            json!({"argv": ["bell"], "every": "5m", "mine": 1}),
        ),
    ] {
        world.ok(&["agent", "set", "bob", "--wake", how]);
        assert_eq!(world.json("agent show bob")["wake"], wake, "{how}");
    }
    let otherwise = r#"{"by":"codex","else":["bell"]}"#;
    world.ok(&["agent", "set", "bob", "--wake", otherwise]);
    assert_eq!(
        world.json("trust")["programs"][1]["program"],
        json!(["bell"])
    );
    for wrong in [
        r#"{"by":"claude","else":["bell"]}"#,
        "emacs",
        "[]",
        "[1]",
        r#"{"argv":["a"],"every":"often"}"#,
        r#"{"by":"codex","argv":["a"]}"#,
    ] {
        world.fails(2, &["agent", "set", "bob", "--wake", wrong]);
    }
    world.write(
        "registry.json",
        r#"{"version":1,"agents":[{"id":"bob","wake":{"by":"smoke"}}]}"#,
    );
    assert_contains!(
        world.fails(65, "agent list"),
        "agents[0].wake",
        "claude, codex, nobody"
    );
}

#[test]
fn a_wake_by_the_session_is_announced_if_a_session_is_known() {
    for (argument, is_woken) in [("{text}", true), ("{session}", false)] {
        let said = town(alarm(&[argument])).ok("send bob hello --as alice");
        assert_eq!(
            said.contains("will be woken"),
            is_woken,
            "{argument}: {said}"
        );
    }
}
