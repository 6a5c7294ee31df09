//! The caller: an agent, a person or an unknown process, with real parents and real terminals.

use crate::approvals::{approval, steps};
use crate::files;
use crate::world::{World, skip};
use mailbag::disk::process_ancestry::ProcessAncestry;
use mailbag::room::sessions::KNOWN;
use serde_json::{Value, json};
use std::process::Command;

/// A terminal program: starts a command in a terminal of its own. It has no parent except init, as if a person had
/// started it, and the name in the first argument. Without a name it keeps its own. The second argument is typed.
const TERMINAL: &str = r#"
import ctypes, json, os, pty, sys
name, typed, argv = sys.argv[1], sys.argv[2], sys.argv[3:]
ours, theirs = os.pipe()
if os.fork() == 0:
    os.close(ours)
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    while os.getppid() != 1 and not open("/proc/%d/comm" % os.getppid()).read().startswith("systemd"):
        if open("/proc/%d/stat" % os.getppid()).read().split(")")[1].split()[0] == "Z":
            continue
        break
    if name:
        ctypes.CDLL(None).prctl(15, name.encode())
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(argv[0], argv)
    os.write(fd, typed.encode())
    shown = b""
    while True:
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        shown += more
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(theirs, json.dumps([status, shown.decode(errors="replace")]).encode())
    os._exit(0)
os.close(theirs)
print(open(ours).read())
"#;

/// A world with an open approval `d`, and a directory `bin` with programs.
fn asked() -> World {
    let world = World::alice_and_bob();
    world.route("alice", "a.json", approval("d", json!("human"), json!({})));
    world
}

/// The status and the output of a line at the prompt of a shell, in a terminal program of this name. The person answers yes.
fn in_terminal(world: &World, name: &str, script: &str) -> Option<(i32, String)> {
    typed(world, name, &["sh", "-m", "-c"], script, "y\n")
}

/// The status and the output of a shell script in a terminal program of this name, by this shell, with this typed text.
/// `MAILBAG` stands for the program with its room, `CLEAN` for a command that clears the environment. Nothing if this machine
/// hides the parents of its processes.
fn typed(
    world: &World,
    name: &str,
    shell: &[&str],
    script: &str,
    text: &str,
) -> Option<(i32, String)> {
    if let Some(reason) = ProcessAncestry::of_this_process().hidden {
        skip(reason);
        return None;
    }
    let program = world.bare("");
    let path = std::env::var("PATH").unwrap_or_default();
    let trust = world.trust().display();
    let clean = format!("env -i PATH='{path}' MAILBAG_TRUST_DIR={trust} MAILBAG_TEST_KEEPS=all");
    let ours = format!(
        "{} --room {}",
        program.get_program().to_string_lossy(),
        world.room("").display()
    );
    let script = script
        .replace("MAILBAG ", &format!("{ours} "))
        .replace("CLEAN", &clean);
    let script = script.replace("DIGEST", &world.digest("human", "d"));
    let script = format!("{script}\nstatus=$?; exit $status");
    let mut driver = Command::new("python3");
    driver
        .args(["-c", TERMINAL, name, text])
        .args(shell)
        .arg(script)
        .current_dir(world.path())
        .env_clear();
    driver
        .env("PATH", path)
        .env("MAILBAG_TRUST_DIR", world.trust())
        .env("MAILBAG_TEST_KEEPS", "all");
    let output = driver
        .output()
        .map_err(|e| skip(format_args!("python3 does not start: {e}")))
        .ok()?;
    Some(serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}")))
}

/// Checks that a script in a terminal does not decide `d`, and names this evidence.
#[track_caller]
fn rejected(world: &World, script: &str, evidence: &str) {
    let Some((_, shown)) = in_terminal(world, "xterm", script) else {
        return;
    };
    assert!(
        shown.contains("only a person can") && shown.contains(evidence),
        "{script}: {shown}"
    );
    assert_eq!(steps(world), ["ask"], "{script}: {shown}");
}

/// A program in the world's directory.
fn script(world: &World, name: &str, text: &str) {
    let path = world.path().join(name);
    let program = world.bare("");
    let ours = format!(
        "{} --room {} ",
        program.get_program().to_string_lossy(),
        world.room("").display()
    );
    let text = text
        .replace("MAILBAG ", &ours)
        .replace("DIGEST", &world.digest("human", "d"));
    files::write(&path, format!("#!/bin/sh\n{text}\n"));
    files::set_mode(path, 0o755);
}

const DECIDE: &str = "MAILBAG decide d yes --as human --digest DIGEST";

#[test]
fn a_person_at_a_terminal_decides_also_with_a_pipe() {
    let world = asked();
    let Some((status, shown)) = in_terminal(&world, "xterm", "MAILBAG pending | cat") else {
        return;
    };
    assert!(status == 0 && shown.contains("Deploy?"), "{shown}");
    let decide = "MAILBAG decide d yes --digest DIGEST | cat";
    let (_, shown) =
        typed(&world, "xterm", &["sh", "-m", "-c"], decide, "n\n").expect("a terminal");
    assert!(
        shown.contains("Do you want to decide as human? [y/N]"),
        "{shown}"
    );
    assert!(shown.contains("the answer was no"), "{shown}");
    assert_eq!(steps(&world), ["ask"]);
    let (status, shown) = in_terminal(&world, "xterm", decide).expect("a terminal");
    assert!(status == 0 && shown.contains("decided"), "{shown}");
    assert_eq!(steps(&world), ["ask", "decide"]);
}

#[test]
fn a_command_of_a_script_or_another_program_in_the_terminal_is_not_of_the_person() {
    let world = asked();
    script(&world, "tool", &format!("env -i PATH=\"$PATH\" {DECIDE}"));
    rejected(&world, "./tool", "(tool) runs a script");
    let runs = format!("timeout --foreground 60 {DECIDE}");
    rejected(&world, &runs, "(timeout) is not a shell");
    let background = format!("{DECIDE} & wait");
    rejected(&world, &background, "not in the foreground");
    for shell in [&["sh", "-c"][..], &["sh", "-e", "-c"]] {
        if let Some((_, shown)) = typed(&world, "tmux", shell, DECIDE, "y\n") {
            assert!(shown.contains("only a person can"), "{shown}");
        }
    }
    assert_eq!(steps(&world), ["ask"]);
}

#[test]
fn each_variable_of_a_client_makes_the_caller_an_agent_even_if_it_is_empty() {
    // P135
    let world = asked();
    for (variable, client) in KNOWN
        .iter()
        .flat_map(mailbag::room::sessions::KnownClient::variables)
    {
        let said = world.run_env("decide d yes --as human", variable, "");
        assert_contains!(
            said.fails(2),
            &format!("the environment has {variable}, which {client} sets")
        );
    }
    assert_eq!(steps(&world), ["ask"]);
}

#[test]
fn a_command_below_exec_is_an_agent_with_a_cleared_environment_a_terminal_and_no_parent() {
    // P135
    let world = asked();
    let exec = "MAILBAG exec --id t --role x --";
    rejected(
        &world,
        &format!("{exec} {DECIDE}"),
        "the environment has MAILBAG_HOLD, which mailbag exec sets",
    );
    rejected(
        &world,
        &format!("{exec} CLEAN {DECIDE}"),
        "the parent process",
    );
    rejected(
        &world,
        &format!("{exec} CLEAN script -qec '{DECIDE}' /dev/null | cat"),
        "starts programs for agents",
    );
    let detached = format!(
        "{exec} sh -c \"CLEAN setsid -f script -qec '{DECIDE}; echo done' out >/dev/null; \
         until grep -q done out; do :; done\" | cat; cat out"
    );
    rejected(&world, &detached, "runs a script, and not a prompt");
}

#[test]
fn a_command_below_a_client_is_an_agent_whatever_started_the_client() {
    let world = asked();
    let hidden = format!("env -i PATH=\"$PATH\" script -qec '{DECIDE}' /dev/null");
    script(&world, "claude", &hidden);
    rejected(&world, "CLEAN ./claude", "(claude) is a program of claude");
    script(&world, "gemini", &hidden);
    files::copy("/bin/sh", world.path().join("node"));
    rejected(
        &world,
        "CLEAN ./node ./gemini --yolo",
        "(node) is a program of gemini",
    );
}

#[test]
fn a_caller_with_hidden_parents_or_without_a_terminal_is_unknown() {
    let world = asked();
    rejected(
        &world,
        &format!("setsid -w {DECIDE}"),
        "no controlling terminal",
    );
    let exec = format!("exec {DECIDE}");
    rejected(&world, &exec, "no shell started this process");
    match rustix::process::geteuid().is_root() {
        true => rejected(
            &world,
            &format!("unshare --pid --fork --mount-proc {DECIDE}"),
            "in a container or another PID namespace",
        ),
        false => skip("a new PID namespace needs root"),
    }
}

/// The actions that only a person may take, as arguments, each with a part of the error.
const ACTIONS: [(&[&str], &str); 16] = [
    (
        &["decide", "d", "yes", "--as", "human"],
        "only a person can",
    ),
    (
        &[
            "reply", "alice/d", "go", "--type", "decision", "--as", "human",
        ],
        "only a person can",
    ),
    (&["trust", "--yes"], "only a person can change consent"),
    (&["trust", "--revoke"], "only a person can change consent"),
    (
        &["link", "add", "po", "host:/srv/po", "--carrier", "ssh"],
        "only a person can change links",
    ),
    (
        &["link", "add", "po", "--carrier", "none"],
        "only a person can change links",
    ),
    (
        &["link", "remove", "far", "--bounce"],
        "only a person can change links",
    ),
    (&["web", "--json"], "only a person can open the page"),
    (
        &["join", "bob", "--session", "s9", "--take-over"],
        "only a person can take over the name of a live session",
    ),
    (
        &["release", "--of", "bob", "--as", "human"],
        "only a person can",
    ),
    (
        &[
            "send",
            "alice",
            "x",
            "--attach",
            "/etc/passwd",
            "--as",
            "bob",
        ],
        "cannot attach",
    ),
    (
        &["share", "/etc/passwd", "--category", "x", "--as", "bob"],
        "cannot attach",
    ),
    (
        &["agent", "set", "human", "--name", "Boss"],
        "only a person can change the entry of the human",
    ),
    (
        &["agent", "add", "dave", "--capability", "steward"],
        "only a person can make an agent a steward",
    ),
    (
        &["agent", "set", "bob", "--capability", "x,steward"],
        "only a person can make an agent a steward",
    ),
    (
        &["install", "claude", "--approvals"],
        "only a person can install approvals by mail",
    ),
];

/// A world with an object for each of the actions.
fn ready() -> World {
    let world = asked();
    files::make_dir(world.path().join(".git"));
    let link = "tag = \"fit\"\n[links.far]\ncarrier = \"ssh\"\naddress = \"host:/srv/far\"\n";
    world.write("settings.toml", link);
    world.route("alice", "bad.json", r#"{"to": "bob", "body": 7}"#);
    world.ok("join bob --session s1 --client claude");
    world.ok("claim src/** --as bob");
    world
}

/// The files of a room that show an action.
fn traces(world: &World) -> Vec<Value> {
    let text =
        |below: &str| Value::from(std::fs::read_to_string(world.room(below)).unwrap_or_default());
    let names = |below: &str| json!(world.names(below));
    let mut traces = vec![
        text("settings.toml"),
        text("charter.md"),
        names("inbox/alice"),
        names("rejected/alice"),
    ];
    traces.extend([
        world.read("sessions/bob.json")["session"].clone(),
        world.read("registry.json"),
    ]);
    traces.push(json!(world.ok("trust --list")));
    traces
}

#[test]
fn no_action_of_a_person_is_open_to_an_agent_or_an_unknown_caller() {
    // P108, P135
    let world = ready();
    let before = traces(&world);
    for (args, error) in ACTIONS {
        for (variable, value) in [
            ("CLAUDE_CODE_SESSION_ID", "s7"),
            ("MAILBAG_TEST_ANCESTRY", "agent"),
            ("MAILBAG_TEST_ANCESTRY", "unknown"),
        ] {
            let ran = world.run_env(args, variable, value);
            assert!(
                ran.code == 2 && ran.err.contains(error),
                "{args:?} with {variable}={value}: {ran:?}"
            );
        }
    }
    assert_eq!(
        (traces(&world), steps(&world)),
        (before, vec!["ask".to_owned()])
    );
}

#[test]
fn no_action_of_a_person_is_open_below_exec_with_a_cleared_environment_and_a_terminal() {
    // P135
    let world = ready();
    let before = traces(&world);
    let quoted = |args: &[&str]| {
        args.iter()
            .map(|word| format!("\"{}\" ", word.replace('"', "\\\"")))
            .collect::<String>()
    };
    script(
        &world,
        "actions",
        &ACTIONS
            .iter()
            .map(|(args, _)| format!("MAILBAG {}; echo status=$?\n", quoted(args)))
            .collect::<String>(),
    );
    let run = "MAILBAG exec --id t --role x -- CLEAN script -qec ./actions /dev/null";
    let Some((_, shown)) = in_terminal(&world, "xterm", run) else {
        return;
    };
    assert_eq!(shown.matches("status=2").count(), ACTIONS.len(), "{shown}");
    for (args, error) in ACTIONS {
        assert!(
            shown.replace("\r\n", "\n").contains(error),
            "{args:?}: {shown}"
        );
    }
    assert_eq!(traces(&world)[..5], before[..5], "{shown}");
    assert_eq!(steps(&world), ["ask"]);
}

#[test]
fn an_unknown_caller_reads_and_sends_also_as_human() {
    let world = asked();
    for args in [
        &["send", "alice", "hello", "--as", "human"][..],
        &["inbox", "--as", "human"],
        &["pending", "--as", "human"],
    ] {
        world.run_env(args, "MAILBAG_TEST_ANCESTRY", "unknown").ok();
    }
    let unnamed = world.run_env("inbox", "MAILBAG_TEST_ANCESTRY", "unknown");
    assert_contains!(unnamed.fails(2), "unidentified session");
}

#[test]
fn the_page_has_no_form_for_consent_links_settings_or_names() {
    let routes = include_str!("../src/web/routes.rs");
    let forms: Vec<&str> = routes
        .split("post(forms::")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(name, _)| name)
        .collect();
    let own = [
        "send_again",
        "send",
        "fix",
        "answer",
        "dismiss",
        "mark_read",
        "enter",
    ];
    assert_eq!(
        forms.iter().find(|name| !own.contains(name)),
        None,
        "a new form: may a person do that on the page?"
    );
}

#[test]
fn the_table_of_ways_around_a_person_explains_each_of_its_cells() {
    let text = include_str!("../docs/security.md");
    let (_, section) = text
        .split_once("## Who may act as the person?")
        .expect("the section");
    let (section, _) = section.split_once("\n## ").expect("the next section");
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    let ways = rows.iter().filter(|row| row.len() == 12);
    let meanings: Vec<&str> = rows
        .iter()
        .filter(|row| row.len() == 3)
        .map(|row| row[0])
        .collect();
    let actions: Vec<&Vec<&str>> = ways.skip(1).collect();
    assert!(actions.len() >= 12, "{}", actions.len());
    for action in actions {
        let unexplained = action[1..].iter().find(|cell| !meanings.contains(*cell));
        assert_eq!(unexplained, None, "{action:?}");
    }
}

#[test]
fn an_agent_checks_no_file_by_its_name() {
    // P194
    let world = World::alice_and_bob();
    let message = r#"{"to": "bob", "body": "hi"}"#;
    world.write("x.json", message);
    let file = world.room("x.json").display().to_string();
    let words = ["send", "--dry-run", "--as", "alice", "--file", &file];
    assert_eq!(world.run(&words).code, 0);
    let ran = world.run_env(&words, "CLAUDECODE", "1");
    assert!(ran.code != 0 && ran.err.contains("--file -"), "{ran:?}");
}
