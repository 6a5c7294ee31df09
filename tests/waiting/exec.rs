//! `wait --exec`: a command for each message, which is read only after the command has succeeded.

use super::Beside;
use crate::files;
use crate::town::Town;
use crate::world::World;
use rustix::process::Signal;
use serde_json::json;

/// Starts `wait --exec` for bob with this command line, with the program in the variable `MAILBAG`.
fn handle(world: &World, line: &str, more: &[&str]) -> Beside {
    let words = [&["wait", "--as", "bob", "--exec", line], more].concat();
    let mut command = world.bare(&words);
    command.env("MAILBAG", assert_cmd::cargo::cargo_bin!("mailbag"));
    command.stdin(std::process::Stdio::null());
    Beside::by(world, command)
}

fn seen(world: &World) -> usize {
    world.names("inbox/bob/seen").len()
}

#[track_caller]
fn is_unread(world: &World) {
    assert_eq!((world.inbox("bob").len(), seen(world)), (1, 0));
}

#[test]
fn a_message_of_200_000_bytes_arrives_whole_and_is_read_after_the_command_succeeded() {
    // P86
    for with_router in [false, true] {
        let mut town = Town::alice_and_bob();
        if with_router {
            town.start(&[]);
        }
        let body = "0123456789".repeat(20_000);
        let line = "cat > letter; test -e go && mv letter done";
        let handler = handle(&town, line, &[]);
        let message = json!({"to": "bob", "subject": "big", "body": body});
        town.mail("alice", "a.json", message);
        town.wait("the command has it", || town.path().join("letter").exists());
        town.wait("it failed", || handler.err().contains("exit status: 1"));
        is_unread(&town);
        files::write(town.path().join("go"), "");
        town.wait("it is read", || seen(&town) == 1);
        let letter = files::read_text(town.path().join("done"));
        assert!(
            letter.starts_with("from: alice\n") && letter.contains(&body),
            "{}",
            letter.len()
        );
        handler.signal(Signal::TERM);
        handler.ends(&town, 143);
        town.verify();
    }
}

#[test]
fn a_reply_from_a_client_that_the_command_starts_is_the_agent_s() {
    // P86
    let world = World::alice_and_bob();
    let line = r#"id=$(sed -n 's/^id: .*(#\(.*\))/\1/p'); export CLAUDE_CODE_SESSION_ID=of-carol; "$MAILBAG" reply "$id" 'got it'"#;
    let handler = handle(&world, line, &[]);
    world.send("alice", "bob", "which port?");
    world.wait("it is answered", || world.bodies("alice") == ["got it"]);
    assert_eq!(world.inbox("alice")[0]["from"], "bob");
    world.wait("it is read", || seen(&world) == 1);
    handler.signal(Signal::INT);
    handler.ends(&world, 130);
}

#[test]
fn an_agent_cannot_start_commands_by_the_rule_that_lets_it_wait() {
    // P86, P194
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hello");
    let ran = world.run_env("wait --as bob --exec 'touch ran'", "CLAUDECODE", "1");
    assert_contains!(ran.fails(2), "only a person can wait with --exec");
    assert!(!world.path().join("ran").exists());
    is_unread(&world);
}

#[test]
fn a_command_that_fails_twice_is_started_again_after_a_growing_delay() {
    // P86
    let world = World::alice_and_bob();
    let line = "date +%s%N >> starts; test $(wc -l < starts) -ge 3";
    let handler = handle(&world, line, &[]);
    world.send("alice", "bob", "hello");
    world.wait("it is read", || seen(&world) == 1);
    let starts = files::read_text(world.path().join("starts"));
    let starts = starts.lines().map(|at| at.parse().expect("a number"));
    let starts: Vec<u64> = starts.collect();
    assert_eq!(starts.len(), 3);
    let second = 1_000_000_000;
    assert!(starts[1] - starts[0] >= second, "{starts:?}");
    assert!(starts[2] - starts[1] >= 2 * second, "{starts:?}");
    let said = handler.err();
    assert_eq!(
        said.matches("ended with exit status: 1").count(),
        2,
        "{said}"
    );
    // Other mail is handled while one message fails.
    files::write(world.path().join("starts"), "");
    drop(handler);
    let handler = handle(&world, "grep -q good && echo done >> good", &[]);
    world.send("alice", "bob", "bad");
    world.wait("it failed", || handler.err().contains("exit status: 1"));
    world.send("alice", "bob", "good");
    world.wait("the other one is read", || seen(&world) == 2);
    assert_eq!(world.bodies("bob"), ["bad"]);
}

#[test]
fn a_signal_reaches_the_command_and_its_message_stays_unread() {
    // P86
    let world = World::alice_and_bob();
    let line = "trap 'echo told > told; exit 3' TERM; echo up > up; while :; do sleep 0.1; done";
    let handler = handle(&world, line, &[]);
    world.send("alice", "bob", "hello");
    world.wait("it runs", || world.path().join("up").exists());
    handler.signal(Signal::TERM);
    handler.ends(&world, 143);
    assert!(
        world.path().join("told").exists(),
        "the command was told before the end"
    );
    is_unread(&world);
    // A command that succeeds after the signal has handled its message.
    let line = "trap 'exit 0' TERM; echo up > again; while :; do sleep 0.1; done";
    let handler = handle(&world, line, &[]);
    world.wait("it runs", || world.path().join("again").exists());
    handler.signal(Signal::TERM);
    handler.ends(&world, 143);
    assert_eq!((world.inbox("bob").len(), seen(&world)), (0, 1));
}

#[test]
fn the_command_is_no_person_and_gets_json_on_request_and_only_matching_mail() {
    // P86
    let world = World::alice_and_bob();
    let line = r#"cat >> mails; env -u MAILBAG_TEST_ANCESTRY "$MAILBAG" agent set human --name Boss 2> refused; true"#;
    let handler = handle(&world, line, &["--json", "--type", "question"]);
    world.send("alice", "bob", "by the way");
    let question = json!({"to": "bob", "type": "question", "body": "which port?"});
    world.mail("alice", "q.json", question);
    world.wait("it is read", || seen(&world) == 1);
    let mail = crate::world::parse_json(files::read_text(world.path().join("mails")));
    assert_fields!(mail, from: "alice", body: "which port?");
    assert_contains!(
        files::read_text(world.path().join("refused")),
        "only a person"
    );
    assert_eq!(world.bodies("bob"), ["by the way"]);
    drop(handler);
}

#[test]
fn the_command_ends_when_its_waiter_is_killed() {
    // P86
    let world = World::alice_and_bob();
    let mut handler = handle(
        &world,
        "trap 'echo told > told; exit' TERM; echo up > up; while :; do sleep 0.1; done",
        &[],
    );
    world.send("alice", "bob", "hello");
    world.wait("it runs", || world.path().join("up").exists());
    handler.signal(Signal::KILL);
    handler.ended(&world);
    world.wait("the command is told", || world.path().join("told").exists());
    assert_eq!(world.inbox("bob").len(), 1);
}
