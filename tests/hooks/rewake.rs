//! `wait --rewake`: only mail wakes a stopped session, and only once.

use super::{fire, mail, recorded, room, run};
use crate::files;
use crate::town::so_within;
use crate::world::{World, lossy, parse_json};
use mailbag::base::clock::Stamp;
use mailbag::base::limits;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// Starts to wait behind alice's session, as Claude Code does at each stop.
fn watch(world: &World) -> Child {
    watch_at(world, "Stop")
}

/// Starts to wait as Claude Code does at this event.
fn watch_at(world: &World, event: &str) -> Child {
    watch_for(world, &[], &recorded("claude", event))
}

fn watch_for(world: &World, variables: &[(&str, &str)], input: &str) -> Child {
    let mut wait = world.bare("wait --rewake");
    wait.env("MAILBAG_AGENT", "alice")
        .envs(variables.iter().copied());
    let mut wait = wait
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    wait.stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes())
        .expect("it reads");
    wait
}

/// A session of alice that has stopped.
fn stopped() -> World {
    let world = room();
    fire(&world, "claude", "SessionStart-startup");
    fire(&world, "claude", "Stop");
    world
}

/// Waits until a process waits for the session.
#[track_caller]
fn wait_until_it_waits(world: &World) {
    world.wait("somebody waits", || {
        world.json("status")["router"]["mode"] == "alongside"
    });
}

#[track_caller]
fn ended(wait: Child) -> Output {
    wait.wait_with_output().expect("it ends")
}

/// The end of the first announcement in a session.
fn hint(seq: u64) -> String {
    format!("`mailbag read {seq}` shows it, `mailbag reply {seq} TEXT` answers")
}

#[test]
fn mail_wakes_a_stopped_session_and_is_announced_once() {
    // P193
    let world = stopped();
    let wait = watch(&world);
    let seq = mail(&world, "API shape?", "--type question");
    let woke = ended(wait);
    let told = lossy(&woke.stderr);
    assert_eq!(
        (woke.status.code(), woke.stdout.len()),
        (Some(2), 0),
        "{told}"
    );
    assert_eq!(
        told,
        format!(
            "mailbag: 1 unread: question from bob, “API shape?”, #{seq}\n{}\n",
            hint(seq)
        )
    );
    assert_eq!(
        fire(&world, "claude", "UserPromptSubmit"),
        "",
        "it was told"
    );
    assert_eq!(world.bodies("alice"), ["API shape?"], "and is unread");
}

#[test]
fn mail_of_low_priority_wakes_nobody() {
    let world = stopped();
    let wait = watch(&world);
    wait_until_it_waits(&world);
    mail(&world, "by the way", "--priority low");
    mail(&world, "now", "");
    assert_contains!(
        lossy(&ended(wait).stderr),
        "2 unread, 1 new: message from bob, “now”"
    );
}

#[test]
fn a_second_waiter_of_a_session_ends() {
    let world = stopped();
    let first = watch(&world);
    wait_until_it_waits(&world);
    let second = ended(watch(&world));
    assert_eq!((second.status.code(), second.stderr.len()), (Some(0), 0));
    mail(&world, "hello", "");
    assert_eq!(ended(first).status.code(), Some(2));
}

#[test]
fn a_working_session_gets_mail_by_its_hooks_and_is_not_woken() {
    let world = stopped();
    let wait = watch(&world);
    wait_until_it_waits(&world);
    fire(&world, "claude", "UserPromptSubmit");
    mail(&world, "in the middle of it", "");
    assert_contains!(
        fire(&world, "claude", "PostToolBatch"),
        "in the middle of it"
    );
    fire(&world, "claude", "Stop");
    mail(&world, "after it", "");
    let told = lossy(&ended(wait).stderr);
    assert!(
        told.contains("after it") && !told.contains("in the middle"),
        "{told}"
    );
}

#[test]
fn a_session_that_was_woken_rests_at_its_next_stop_and_is_woken_again() {
    let world = stopped();
    let wait = watch(&world);
    mail(&world, "one", "");
    assert_eq!(ended(wait).status.code(), Some(2));
    fire(&world, "claude", "UserPromptSubmit-notification");
    assert_eq!(fire(&world, "claude", "Stop-again"), "");
    let wait = watch(&world);
    wait_until_it_waits(&world);
    let began = Instant::now();
    mail(&world, "two", "");
    assert_contains!(lossy(&ended(wait).stderr), "“two”");
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "it was taken for at work: {:?}",
        began.elapsed()
    );
}

#[test]
fn a_session_that_was_never_prompted_is_woken() {
    // P100
    let world = room();
    let wait = watch_at(&world, "SessionStart-startup");
    fire(&world, "claude", "SessionStart-startup");
    wait_until_it_waits(&world);
    // Its tool server starts later, which does not count as a call of the agent.
    let mut lease = world.read("sessions/alice.json");
    lease["event"] = json!("start");
    world.write("sessions/alice.json", lease.to_string());
    let began = Instant::now();
    mail(&world, "good morning", "");
    let woke = ended(wait);
    assert!(
        began.elapsed() < limits::WAITER_BUSY,
        "it was taken for at work: {:?}",
        began.elapsed()
    );
    let told = lossy(&woke.stderr);
    assert!(
        woke.status.code() == Some(2) && told.contains("“good morning”"),
        "{told}"
    );
}

#[test]
fn mail_announced_at_the_start_does_not_wake_the_session() {
    // P100
    let world = room();
    mail(&world, "from before", "");
    let wait = watch_at(&world, "SessionStart-startup");
    wait_until_it_waits(&world);
    assert_contains!(
        fire(&world, "claude", "SessionStart-startup"),
        "from before"
    );
    mail(&world, "new", "");
    let told = lossy(&ended(wait).stderr);
    assert!(
        told.contains("“new”") && !told.contains("from before"),
        "{told}"
    );
}

#[test]
fn after_esc_which_no_hook_tells_of_a_session_is_woken_within_seconds() {
    // P100
    let world = room();
    fire(&world, "claude", "SessionStart-startup");
    fire(&world, "claude", "UserPromptSubmit");
    let wait = watch_at(&world, "UserPromptSubmit");
    wait_until_it_waits(&world);
    let began = Instant::now();
    mail(&world, "are you there?", "");
    assert_eq!(ended(wait).status.code(), Some(2));
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "it was taken for at work: {:?}",
        began.elapsed()
    );
}

#[test]
fn after_esc_a_session_is_woken_as_soon_as_the_file_of_its_client_says_that_it_is_idle() {
    // P423
    let world = room();
    fire(&world, "claude", "SessionStart-startup");
    fire(&world, "claude", "UserPromptSubmit");
    let lease = world.read("sessions/alice.json");
    let file = world
        .path()
        .join(format!("claude/sessions/{}.json", lease["process"]["pid"]));
    files::make_dir(file.parent().expect("a directory"));
    let say = |status: &str, session: &Value| {
        let text = json!({"sessionId": session, "status": status, "statusUpdatedAt": Stamp::now().micros() / 1_000 + 1});
        files::write(&file, text.to_string());
    };
    say("busy", &lease["session"]);
    let home = world.path().join("claude").display().to_string();
    let mut wait = watch_for(
        &world,
        &[("CLAUDE_CONFIG_DIR", &home)],
        &recorded("claude", "UserPromptSubmit"),
    );
    wait_until_it_waits(&world);
    mail(&world, "are you there?", "");
    say("idle", &json!("another session of this process"));
    assert!(
        !so_within(Duration::from_secs(2), || wait
            .try_wait()
            .expect("a state")
            .is_some()),
        "it works"
    );
    let began = Instant::now();
    say("idle", &lease["session"]);
    assert_eq!(ended(wait).status.code(), Some(2));
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "it was taken for at work: {:?}",
        began.elapsed()
    );
}

#[test]
fn a_session_is_woken_immediately_after_a_turn_that_ended_with_an_error() {
    // P100
    let world = room();
    let failure = parse_json(recorded("claude", "StopFailure"));
    let of_its_session = |event: &str| {
        let mut input = parse_json(recorded("claude", event));
        input["session_id"] = failure["session_id"].clone();
        run(&world, &["claude"], Some("alice"), &input.to_string())
    };
    of_its_session("SessionStart-startup");
    of_its_session("UserPromptSubmit");
    assert_eq!(
        fire(&world, "claude", "StopFailure"),
        "",
        "its output is dropped"
    );
    let wait = watch_at(&world, "StopFailure");
    wait_until_it_waits(&world);
    let began = Instant::now();
    mail(&world, "try again", "");
    assert_eq!(ended(wait).status.code(), Some(2));
    assert!(
        began.elapsed() < limits::WAITER_BUSY,
        "it was taken for at work: {:?}",
        began.elapsed()
    );
}

#[test]
fn a_session_that_was_cleared_is_woken_and_who_waited_for_the_one_before_ends() {
    // P100
    let world = stopped();
    let before = watch(&world);
    wait_until_it_waits(&world);
    fire(&world, "claude", "SessionEnd-clear");
    let after = watch_at(&world, "SessionStart-clear");
    fire(&world, "claude", "SessionStart-clear");
    assert_eq!(ended(before).status.code(), Some(0));
    wait_until_it_waits(&world);
    mail(&world, "go on", "");
    assert_contains!(lossy(&ended(after).stderr), "“go on”");
}

#[test]
fn twenty_messages_that_come_close_together_wake_once() {
    // P100
    let world = stopped();
    let wait = watch(&world);
    wait_until_it_waits(&world);
    for n in 1..=20 {
        let message = json!({"to": "alice", "body": format!("note {n}")});
        world.mail("bob", &format!("{n}.json"), &message);
    }
    let told = lossy(&ended(wait).stderr);
    assert!(told.starts_with("mailbag: 20 unread:"), "{told}");
    assert_eq!(
        fire(&world, "claude", "UserPromptSubmit-notification"),
        "",
        "all of it was announced"
    );
}

#[test]
fn a_waiter_ends_with_its_session_and_when_another_session_has_the_agent() {
    let world = stopped();
    let wait = watch(&world);
    wait_until_it_waits(&world);
    let mut lease = world.read("sessions/alice.json");
    // No process was started before the machine was.
    lease["process"]["pid"] = json!(std::process::id());
    lease["process"]["started"] = json!(0);
    world.write("sessions/alice.json", lease.to_string());
    assert_eq!(
        ended(wait).status.code(),
        Some(0),
        "its session's process is gone"
    );

    fire(&world, "claude", "Stop");
    let wait = watch(&world);
    wait_until_it_waits(&world);
    world.ok("join alice --session another --take-over");
    assert_eq!(ended(wait).status.code(), Some(0));
}

#[test]
fn nothing_waits_for_a_sub_agent_a_client_that_would_wait_for_it_or_a_line_that_makes_no_sense() {
    let world = stopped();
    let helper =
        recorded("claude", "UserPromptSubmit").replacen('{', "{\"agent_id\":\"helper\",", 1);
    let mut waits = vec![watch_for(&world, &[], &helper)];
    // As older and newer versions of `claude -p` say it.
    for variable in [
        ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
        ("CLAUDE_CODE_SESSION_ATTENDED", "0"),
    ] {
        waits.push(watch_for(&world, &[variable], &recorded("claude", "Stop")));
    }
    for wait in waits {
        let ended = ended(wait);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    }
    world.ok("wait --rewake --no-such-option");
    world.pipe("wait --rewake", "{").ok();
}

#[test]
fn hooks_of_claude_code_do_nothing_when_another_client_runs_them() {
    // Copilot CLI would wait for the hook that waits for mail.
    let world = room();
    mail(&world, "API shape?", "");
    let input = recorded("copilot", "SessionStart-new");
    for hook in [&["wait", "--rewake"][..], &["hook", "claude"]] {
        let run = |name: &str, value: &str| {
            let mut hook = world.program(hook);
            hook.env("COPILOT_CLI", "1")
                .env("MAILBAG_AGENT", "alice")
                .env(name, value)
                .timeout(Duration::from_secs(20));
            hook.write_stdin(input.clone()).output().expect("it ends")
        };
        let output = run("CLAUDE_CODE_SESSION_ID", "that-of-an-outer-session");
        assert!(
            output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
            "{output:?}"
        );
    }
    assert!(
        world.json("agent show alice").get("session").is_none(),
        "it took no session"
    );
    // Claude Code in the shell of Copilot CLI.
    let mut hook = world.program("hook claude");
    let session = parse_json(recorded("claude", "SessionStart-startup"));
    hook.env("COPILOT_CLI", "1").env("MAILBAG_AGENT", "alice");
    hook.env(
        "CLAUDE_CODE_SESSION_ID",
        session["session_id"].as_str().expect("an id"),
    );
    let output = hook
        .write_stdin(recorded("claude", "SessionStart-startup"))
        .output()
        .expect("it ends");
    assert_contains!(lossy(&output.stdout), "API shape?"; "{output:?}");
}
