//! Commands in a sandbox: in another PID namespace, where no number of a process outside means anything, and with parts
//! of the room that can only be read.

use crate::files;
use crate::guard::repository;
use crate::town::{Town, copy_environment};
use crate::world::{Ran, Words, World, lossy, skip};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The limit for a command: a second for the router, and the start on a busy machine.
const SOON: Duration = Duration::from_secs(8);

/// Returns true if this user can make such a sandbox on this machine.
fn can_be_made() -> bool {
    let made = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--mount-proc", "true"])
        .output();
    let can = made.is_ok_and(|made| made.status.success());
    if !can {
        skip("this user can make no namespaces with `unshare`");
    }
    can
}

/// The program in its own PID namespace, with these directories of the room read-only.
fn inside(world: &World, read_only: &str, args: &(impl Words + ?Sized)) -> Command {
    let program = world.bare(args);
    let mut sandbox = Command::new("unshare");
    // What runs in it ends with it: a sandbox that lives on would keep the mounts of other tests.
    sandbox.args([
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-ec",
    ]);
    sandbox.arg("for d in $READ_ONLY; do mount --bind $d $d; mount -o remount,bind,ro $d; done; \"$@\"; exit $?");
    sandbox
        .arg("sh")
        .arg(program.get_program())
        .args(program.get_args())
        .current_dir(world.path());
    let paths: Vec<String> = read_only
        .split_whitespace()
        .map(|below| world.room(below).display().to_string())
        .collect();
    sandbox
        .env("READ_ONLY", paths.join(" "))
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    copy_environment(&program, &mut sandbox);
    sandbox
}

/// Runs it, which must not take long.
#[track_caller]
fn run(command: &mut Command) -> Ran {
    let begun = Instant::now();
    let output = command.output().expect("the sandbox starts");
    let took = begun.elapsed();
    assert!(took < SOON, "it took {took:?}: {output:?}");
    Ran::new(command.get_args(), &output)
}

#[track_caller]
fn run_inside(world: &World, args: &(impl Words + ?Sized)) -> Ran {
    run(&mut inside(world, "", args))
}

#[test]
fn no_command_in_another_namespace_waits_for_a_router_outside_that_routes() {
    // P97
    if !can_be_made() {
        return;
    }
    let town = Town::alice_and_bob().run();
    let seq = |mail: &Value| {
        mail["delivery"]["seq"]
            .as_u64()
            .map(|seq| seq.to_string())
            .unwrap_or_default()
    };
    let sent = run_inside(&town, "send bob 'from within' --as alice");
    assert_eq!((sent.code, sent.err.as_str()), (0, ""));
    let mail = town.wait_for_mail("bob", 1).remove(0);
    for args in [
        &["inbox", "bob"][..],
        &["list", "--as", "bob"],
        &["search", "within", "--as", "bob"],
        &["thread", &seq(&mail), "--as", "bob"],
        &["status"],
        &["run", "--once"],
        &["read", "--as", "bob"],
        &["wait", "--as", "bob", "--timeout", "100ms"],
    ] {
        let ran = run_inside(&town, args);
        let wanted = if args[0] == "wait" { 4 } else { 0 };
        assert_eq!(ran.code, wanted, "{args:?}: {}", ran.err);
        assert!(!ran.err.contains("cannot deliver"), "{args:?}: {}", ran.err);
        assert!(
            args[0] != "read" || ran.out.contains("from within"),
            "{}",
            ran.out
        );
    }
    assert_eq!(
        town.names("inbox/bob/seen").len(),
        1,
        "what was shown was read"
    );
    town.is_alive("alice", "bob");
}

#[test]
fn no_command_outside_waits_for_a_router_in_another_namespace_that_routes() {
    // P97
    if !can_be_made() {
        return;
    }
    let mut town = Town::alice_and_bob();
    let router = inside(&town, "", "run");
    town.start_by(router);
    let begun = Instant::now();
    town.send("alice", "bob", "from outside");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    town.wait_for_bodies("bob", &["from outside"]);
    assert_eq!(town.json("status")["router"]["mode"], "run");
    assert_contains!(town.pass(), "a router runs");
}

#[test]
fn the_agent_of_a_session_outside_is_not_free_in_another_namespace() {
    // P80
    if !can_be_made() {
        return;
    }
    let world = World::with("alice");
    let mut join = world.program("join alice");
    assert!(
        join.env("CLAUDE_CODE_SESSION_ID", "s1")
            .output()
            .expect("it runs")
            .status
            .success()
    );
    assert!(
        world.read("sessions/alice.json")["process"]["pid"].is_number(),
        "its process is known"
    );
    let second = run(inside(&world, "", "join alice").env("CLAUDE_CODE_SESSION_ID", "s2"));
    assert_eq!(second.code, 75, "{}", second.err);
    assert_contains!(second.err, "held by claude session s1");
}

#[test]
fn an_agent_sends_and_reads_with_only_its_own_directories_writable() {
    if !can_be_made() {
        return;
    }
    let own = "spool log sent sessions";
    let mut town = Town::alice_and_bob();
    for below in own.split_whitespace() {
        files::make_dir(town.room(below));
    }
    town.start(&[]);
    let sent = run(&mut inside(&town, own, "send bob 'from within' --as alice"));
    assert_eq!((sent.code, sent.err.as_str()), (0, ""));
    town.wait_for_bodies("bob", &["from within"]);
    let read = run(&mut inside(&town, own, "read --as bob"));
    assert_eq!((read.code, read.err.as_str()), (0, ""));
    assert!(
        read.out.contains("from within") && town.count("bob") == 0,
        "{}",
        read.out
    );
    town.stop();
    let alone = run(&mut inside(&town, own, "send bob later --as alice"));
    assert_eq!(alone.code, 0, "it is kept: {}", alone.err);
    assert_contains!(alone.err, "mailbag run", "no router is running");
    town.start(&[]);
    town.wait_for_bodies("bob", &["later"]);
}

#[test]
fn in_a_read_only_room_commands_follow_a_router_and_wait_for_none_without_one() {
    // P256
    if !can_be_made() {
        return;
    }
    let own = "spool log sent sessions";
    let mut town = Town::alice_and_bob();
    for below in own.split_whitespace() {
        files::make_dir(town.room(below));
    }
    town.start(&[]);
    town.mail("alice", "x.json", json!({"to": "bob", "body": "dropped"}));
    let read = run(&mut inside(&town, own, "inbox bob"));
    assert!(read.code == 0 && read.out.contains("dropped"), "{read:?}");
    town.stop();
    let commands: [&[&str]; 4] = [
        &["inbox", "bob"],
        &["list", "--as", "bob"],
        &["status"],
        &["send", "bob", "later", "--as", "alice"],
    ];
    for words in commands {
        let begun = Instant::now();
        let ran = run(&mut inside(&town, own, words));
        let took = begun.elapsed();
        assert!(
            ran.code == 0 && took < Duration::from_secs(4),
            "{words:?}, {took:?}: {ran:?}"
        );
    }
}

#[test]
fn read_shows_a_message_in_a_read_only_room_and_it_stays_unread() {
    if !can_be_made() {
        return;
    }
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hello");
    let read = run(&mut inside(&world, "inbox outbox", "read --as bob"));
    assert!(read.code != 0 && read.out.contains("hello"), "{read:?}");
    assert_contains!(read.err, "mark as");
    assert_eq!(world.bodies("bob"), ["hello"]);
}

#[test]
fn a_pass_that_does_not_end_keeps_a_command_for_no_longer_than_a_second() {
    // P97
    let world = World::alice_and_bob();
    world.send("alice", "bob", "before");
    let holder = json!({"pid": 1, "mode": "pass", "since": "2026-01-01T00:00:00Z"});
    let held = File::open(world.write("spool/lock", format!("{holder}\n"))).expect("the lock");
    held.lock().expect("nobody routes");
    let begun = Instant::now();
    let read = world.run("read --as bob");
    assert!(
        begun.elapsed() < SOON && begun.elapsed() > Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    assert!(read.code == 0 && read.out.contains("before"), "{read:?}");
    let hint = if cfg!(target_os = "linux") {
        format!("process {} holds", std::process::id())
    } else {
        "holds".into()
    };
    assert!(
        read.err.contains("another command is routing") && read.err.contains(&hint),
        "{}",
        read.err
    );
}

#[test]
fn a_message_that_was_not_printed_is_not_read() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hello");
    let full = || {
        File::options()
            .write(true)
            .open("/dev/full")
            .expect("a full device")
            .into()
    };
    let unread = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        Stdio::from(writer)
    };
    for what in ["a full disk", "a pipe that nobody reads"] {
        for args in [
            &["read", "--as", "bob"][..],
            &["read", "--all", "--json", "--as", "bob"],
        ] {
            let mut command = world.bare(args);
            command.stdout(if what == "a full disk" {
                full()
            } else {
                unread()
            });
            let output = command
                .stdin(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .and_then(std::process::Child::wait_with_output);
            output.expect("it runs");
            assert_eq!(world.bodies("bob"), ["hello"], "{what}: {args:?}");
        }
    }
}

#[test]
fn a_message_that_arrives_after_its_client_was_killed_is_not_read() {
    let world = World::alice_and_bob();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut wait = world.bare("wait --read --as bob --timeout 1m");
    let mut wait = wait
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    world.wait("it waits", || {
        world.json("status")["router"]["mode"] == "alongside"
    });
    drop(reader);
    world.send("alice", "bob", "hello");
    world.wait("it ends", || wait.try_wait().expect("a child").is_some());
    assert_eq!(world.bodies("bob"), ["hello"]);
    assert!(
        world.names("inbox/bob/.announced").is_empty(),
        "and it is told again"
    );
}

#[test]
fn a_command_that_may_not_write_says_where_and_what_to_do() {
    if !can_be_made() {
        return;
    }
    let world = World::alice_and_bob();
    world.ok("join alice --session s1");
    for (read_only, args) in [
        ("sessions", &["join", "alice", "--session", "s1"][..]),
        ("outbox", &["send", "bob", "hello", "--as", "alice"]),
    ] {
        let ran = run(&mut inside(&world, read_only, args));
        let says = |part: &str| ran.err.contains(part);
        assert!(
            ran.code != 0 && says(&format!("/{read_only}/")) && says("Read-only"),
            "{}",
            ran.err
        );
        assert!(says("allow it to write to the whole room"), "{}", ran.err);
    }
}

/// A command in the sandbox of Codex, which allows no write to a socket. `.ci/run` installs Codex.
fn in_codex(world: &World, args: &[&str]) -> Command {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = world.bare(&[""; 0]);
    let mut codex = Command::new(target.join("../node/node_modules/.bin/codex"));
    codex
        .args(["sandbox", "-c", "sandbox_mode=\"workspace-write\"", "--"])
        .args(args)
        .current_dir(world.path())
        .stdin(Stdio::null());
    copy_environment(&program, &mut codex);
    // Codex makes no helper programs in a temporary directory.
    codex.env("CODEX_HOME", target.join("codex-home"));
    codex
}

/// Commands with arguments, for commands that do not run without any. A command that waits for a signal gets one.
const WITH_ARGUMENTS: [&str; 20] = [
    "ask bob which? --as alice --timeout 100ms",
    "ack 2 --as bob",
    "claim src/a --as alice",
    "release src/a --as alice",
    "send bob hello --as alice",
    "reply 2 yes --as bob",
    "read --as bob",
    "inbox bob",
    "thread 2 --as bob",
    "trace 2",
    "search hello --as bob",
    "wait --as alice --timeout 100ms",
    "context --as bob",
    "up --dry-run",
    "install codex --dry-run",
    "install git --dry-run",
    "watch",
    "list --follow",
    "run",
    "web",
];

#[test]
fn no_command_aborts_in_the_sandbox_of_codex_and_a_signal_ends_it() {
    let world = World::with("alice bob");
    std::fs::create_dir_all(Path::new(env!("CARGO_TARGET_TMPDIR")).join("codex-home"))
        .expect("a directory");
    let made = in_codex(&world, &["true"]).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return skip("Codex is not installed, or can make no sandbox here");
    }
    repository(world.path());
    let known = mailbag::cli::command();
    let given: BTreeSet<&str> = WITH_ARGUMENTS
        .iter()
        .filter_map(|words| words.split(' ').next())
        .collect();
    let others = known.get_subcommands().map(clap::Command::get_name);
    let others = others.filter(|name| !given.contains(name) && *name != "mcp");
    let program = world.bare(&[""; 0]).get_program().to_owned();
    let program = program.to_str().expect("a path");
    let all: Vec<&str> = WITH_ARGUMENTS.into_iter().chain(others).collect();
    let check = |words: &str| {
        let line = ["timeout", "-k", "5", "2", program];
        let line = [&line[..], &words.split(' ').collect::<Vec<_>>()].concat();
        let output = in_codex(&world, &line).output().expect("it starts");
        let (code, said) = (output.status.code(), lossy(&output.stderr));
        // 124 is the end by SIGTERM, and 137 by the SIGKILL that follows.
        assert!(
            code.is_some_and(|code| code < 128 && code != 101),
            "{words}: {code:?}: {said}"
        );
        let is_reader = [
            "who",
            "doctor",
            "status",
            "up --dry-run",
            "list",
            "inbox bob",
        ];
        assert!(
            !is_reader.contains(&words) || code < Some(2),
            "{words}: {code:?}: {said}"
        );
    };
    std::thread::scope(|scope| {
        for some in all.chunks(all.len().div_ceil(3)) {
            scope.spawn(|| some.iter().for_each(|words| check(words)));
        }
    });
}
