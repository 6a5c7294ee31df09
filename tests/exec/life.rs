//! The identity of the command while it runs, and its end.

use super::{exec, present, report, said, says, words};
use crate::files;
use crate::town::Town;
use crate::world::World;
use rustix::process::Signal;
use serde_json::json;

#[test]
fn the_environment_says_who_and_where_it_is() {
    let world = World::new().settings("context = \"../shared\"\n");
    let print = "env | grep -E '^(MAILBAG|MAOS)_' | grep -v -e TEST -e TRUST | sort";
    let out = world.ok(&[
        "exec", "--id", "alice", "--role", "engineer", "--", "sh", "-c", print,
    ]);
    let room = world.room("").canonicalize().expect("a room");
    let room = room.display().to_string();
    let shown: Vec<&str> = out
        .lines()
        .map(|line| line.split_once('=').expect("a variable").1)
        .collect();
    let (hold, session) = (shown[1], shown[7]);
    let context = format!("{room}/../shared");
    assert_eq!(
        shown,
        [
            "alice", hold, "engineer", &room, "alice", "engineer", &room, session, &context
        ]
    );
    assert!(hold.starts_with("alice~"), "{hold}");
    assert_eq!(
        uuid::Uuid::parse_str(session)
            .expect("an id")
            .get_version_num(),
        7
    );
    assert!(
        said(&world, "alice")
            .iter()
            .all(|message| message["metadata"]["session_id"] == session)
    );
    let mut command = world.program(&["exec", "--id", "bob", "--", "sh", "-c", print]);
    command
        .env("MAOS_SESSION_ID", "s1")
        .env("MAILBAG_ROLE", "of another")
        .env("MAILBAG_AGENT", "carol");
    let out = String::from_utf8(command.output().expect("it runs").stdout).expect("text");
    assert_contains!(out, "MAOS_SESSION_ID=s1\n", "MAILBAG_AGENT=bob\n");
    assert!(
        !out.contains("ROLE"),
        "an agent without a role has none: {out}"
    );
}

#[test]
fn a_helper_works_under_exec_without_configuration() {
    for with_router in [false, true] {
        let mut town = Town::of("bob");
        if with_router {
            town.start(&[]);
        }
        files::write(
            town.path().join("mailbag.py"),
            include_str!("../../docs/helpers/mailbag.py"),
        );
        let script = "from mailbag import Mailbag; mail = Mailbag(); \
            mail.send_message('bob', 'status', None, 'hi'); print(mail.read_messages()[0]['body'])";
        town.ok("agent add alice");
        town.send("bob", "alice", "are you there?");
        town.wait_for_mail("alice", 1);
        assert_eq!(
            town.ok(&["exec", "--id", "alice", "--", "python3", "-c", script]),
            "are you there?\n"
        );
        assert_eq!(town.wait_for_mail("bob", 1)[0]["body"], "hi");
        town.verify();
    }
}

#[test]
fn an_exec_agent_is_online_while_it_runs_and_offline_afterwards() {
    let world = World::new();
    let mut command = exec(&world, "--id alice --role engineer -- sh -c 'echo up; cat'");
    says(&mut command, &world, "up");
    let alice = world.json("agent show alice");
    assert_fields!(alice, role: "engineer", status: "online");
    assert_eq!(
        (
            present(&world, "alice")["presence"].clone(),
            report(&world, "alice")["text"].clone()
        ),
        (json!("online"), json!("started sh"))
    );
    drop(command.child.stdin.take());
    command.ends(&world, 0);
    assert_eq!(world.json("agent show alice")["status"], "offline");
    assert!(!world.room("sessions/alice.json").exists());
}

#[test]
fn an_agent_retired_during_exec_stays_retired() {
    let world = World::new();
    let mut command = exec(&world, "--id alice -- sh -c 'echo up; cat'");
    says(&mut command, &world, "up");
    world.ok("agent set alice --status retired");
    drop(command.child.stdin.take());
    assert_eq!(command.ends(&world, 0), "up\n");
    assert_eq!(world.json("agent show alice")["status"], "retired");
    assert_contains!(
        world.fails(65, "exec --id alice -- true"),
        "alice is retired"
    );
}

#[test]
fn another_role_a_person_and_a_bad_name_are_refused() {
    let world = World::with("bob").agent("alice", "--role engineer");
    let before = world.read("registry.json");
    let refused = |code, words: &[&str]| {
        world.fails(code, &[&["exec"], words, &["--", "touch", "ran"]].concat())
    };
    assert_contains!(
        refused(2, &["--id", "alice", "--role", "writer"]),
        "registered with the role engineer"
    );
    assert_contains!(
        refused(2, &["--id", "bob", "--role", "writer"]),
        "without a role"
    );
    assert_contains!(refused(2, &["--id", "human"]), "human is the person");
    refused(65, &["--id", "a/b"]);
    refused(65, &["--id", "all"]);
    assert_contains!(refused(2, &["--id", "alice", "--timeout", "1s"]), "--after");
    world.fails(2, "exec --id alice --role engineer");
    assert!(!world.path().join("ran").exists() && world.read("registry.json") == before);
    world.ok("exec --id alice --role engineer -- true");
}

#[test]
fn exec_ends_with_the_command_s_status_and_reports_it() {
    let world = World::new();
    files::write(world.path().join("plain"), "no program");
    for (code, words, text) in [
        (0, vec!["true"], "completed: ended with exit status 0"),
        (
            3,
            vec!["sh", "-c", "exit 3"],
            "blocked: ended with exit status 3",
        ),
        (
            255,
            vec!["sh", "-c", "exit 255"],
            "blocked: ended with exit status 255",
        ),
        (
            143,
            vec!["sh", "-c", "kill -TERM $$"],
            "blocked: ended by SIGTERM",
        ),
        (
            137,
            vec!["sh", "-c", "kill -KILL $$"],
            "blocked: ended by SIGKILL",
        ),
        (
            127,
            vec!["no-such-program"],
            "blocked: cannot run \"no-such-program\": No such file or directory (os error 2)",
        ),
        (
            126,
            vec!["./plain"],
            "blocked: cannot run \"plain\": Permission denied (os error 13)",
        ),
    ] {
        let ran = world.run(&[&["exec", "--id", "alice", "--"], words.as_slice()].concat());
        assert_eq!(ran.code, code, "{words:?}: {ran:?}");
        assert_eq!(
            super::words(&world, "alice").last().map(String::as_str),
            Some(text),
            "{words:?}"
        );
        let last = said(&world, "alice").pop().expect("it said so");
        assert_eq!(last["metadata"]["exit_code"], code);
        let signal = if code > 130 && code < 200 {
            json!(text.split(' ').next_back())
        } else {
            json!(null)
        };
        assert_eq!(last["metadata"]["signal"], signal);
    }
    // What fails after it said that it was done is not done.
    let script = "echo '{\"type\":\"complete\"}'; exit 4";
    world.fails(4, &["exec", "--id", "alice", "--", "sh", "-c", script]);
    assert_eq!(
        words(&world, "alice")[14..],
        [
            "status: started sh",
            "completed: completed",
            "blocked: ended with exit status 4"
        ]
    );
}

#[test]
fn arguments_are_not_written_into_the_log() {
    let world = World::new();
    world.ok("exec --id alice -- /bin/echo --token=secret");
    let log = world.text("log/00000001.ndjson");
    assert!(log.contains("started echo") && !log.contains("secret"));
}

#[test]
fn a_second_one_is_refused_with_who_holds_the_agent() {
    let world = World::new();
    let again = |words: &[&str]| world.run(&[&["exec", "--id", "alice", "--"], words].concat());
    let mut first = exec(&world, "--id alice -- sh -c 'echo up; cat'");
    says(&mut first, &world, "up");
    let holder = format!("alice is held by exec (process {})", first.child.id());
    let complaint = again(&["touch", "ran"]).fails(75);
    assert!(complaint.contains(&holder), "{complaint}");
    assert_eq!(
        present(&world, "alice")["declared"],
        "online",
        "the first one is not disturbed"
    );
    drop(first.child.stdin.take());
    first.ends(&world, 0);
    let program = env!("CARGO_BIN_EXE_mailbag");
    assert_contains!(
        again(&[program, "exec", "--id", "alice", "--", "touch", "ran"]).fails(75),
        "the surrounding session"
    );
    assert!(!world.path().join("ran").exists());
    assert_eq!(again(&["echo", "now"]).ok(), "now\n");
}

/// Without a mechanism that ends the command with its wrapper, the command continues.
#[cfg(target_os = "linux")]
#[test]
fn killing_exec_ends_its_command_and_frees_the_name() {
    let world = World::new();
    let script = "trap 'echo told >> told; exit' TERM; echo up; while :; do read x || tail -f /dev/null & wait; done";
    let mut command = exec(&world, &["--id", "alice", "--", "bash", "-c", script]);
    says(&mut command, &world, "up");
    command.signal(Signal::KILL);
    command.ended(&world);
    world.wait("the command was told", || {
        world.path().join("told").exists()
    });
    assert_eq!(
        world.json("agent show alice")["status"],
        "online",
        "nobody was there to say otherwise"
    );
    assert_eq!(world.ok("exec --id alice -- echo again"), "again\n");
}

#[test]
fn a_client_that_the_command_is_gets_its_mail_by_hooks() {
    let world = World::alice_and_bob();
    world.send("bob", "alice", "the port is 8080");
    let event = json!({"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup", "cwd": world.path()});
    let program = env!("CARGO_BIN_EXE_mailbag");
    // The process between them is a client, not a shell.
    let script = format!(
        "import subprocess, sys; sys.stdout.write(subprocess.run([{program:?}, 'hook', 'claude'], input={:?}, \
         capture_output=True, text=True).stdout)",
        event.to_string()
    );
    assert_contains!(
        world.ok(&["exec", "--id", "alice", "--", "python3", "-c", &script]),
        "bob"
    );
    assert!(
        !world.room("sessions/alice.json").exists(),
        "the hold was the command's, and ended with it"
    );
    // P190
    assert_eq!(world.names("sessions"), [""; 0], "its session got no name");
    assert!(!world.text("registry.json").contains("alder"));
}

#[test]
fn exec_holds_its_agent_again_after_the_sessions_were_deleted() {
    // P81, P99
    let world = World::with("bob").settings("session_lease = \"3s\"\n");
    let mut command = exec(
        &world,
        "--id alice -- sh -c 'echo held by $MAILBAG_HOLD; cat'",
    );
    says(&mut command, &world, "held by alice~");
    let out = command.out();
    let hold = out
        .split_whitespace()
        .find(|word| word.starts_with("alice~"))
        .expect("its hold")
        .to_owned();
    // The command may be writing into it.
    world.wait("the sessions are deleted", || {
        std::fs::remove_dir_all(world.room("sessions")).is_ok()
    });
    let file = world.room("sessions/holds").join(hold);
    world.wait("it holds its agent again under the same name", || {
        std::fs::File::open(&file).is_ok_and(|file| file.try_lock_shared().is_err())
    });
    drop(command.child.stdin.take());
    command.ended(&world);
    assert!(!file.exists(), "the hold ends with the command");
}
