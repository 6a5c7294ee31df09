//! A command in a terminal: keys, size, signals and the mode of the terminal, as at a real one.

use super::said;
use crate::files;
use crate::world::{World, parse_json, skip};
use serde_json::{Value, json};
use std::process::Command;

/// Runs a program in a terminal of 24 lines and 80 columns, plays the steps, and prints the output.
const DRIVER: &str = r#"
import fcntl, json, os, pty, select, signal, struct, sys, termios, time
steps, argv = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    # As in a terminal that a person opens, whatever runs the tests ignores.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP):
        signal.signal(number, signal.SIG_DFL)
    os.execvp(argv[0], argv)
def size(lines, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
size(24, 80)
shown, deadline = b"", time.time() + 60
def read():
    global shown
    if not select.select([fd], [], [], 0.1)[0]:
        return True
    try:
        more = os.read(fd, 65536)
    except OSError:
        return False
    shown += more
    return bool(more)
def end(problem):
    print(json.dumps({"problem": problem, "shown": shown.decode(errors="replace")}))
    sys.exit(0)
seen = 0
for kind, value in steps:
    if kind == "expect":
        while value.encode() not in shown[seen:]:
            if time.time() > deadline or not read() and value.encode() not in shown[seen:]:
                os.kill(pid, 9)
                end("never shown: " + value)
        seen = shown.index(value.encode(), seen) + len(value)
    elif kind == "send":
        os.write(fd, value.encode())
    else:
        size(*value)
while read():
    if time.time() > deadline:
        os.kill(pid, 9)
        end("it does not end")
os.waitpid(pid, 0)
end(None)
"#;

/// Plays the steps with this shell script at a terminal, where `exec` means `mailbag exec --id
/// alice`. Afterwards the terminal must have its original mode. Returns the output, or `None`
/// without Python.
#[track_caller]
fn at_terminal(world: &World, script: &str, steps: Value) -> Option<String> {
    let program = world.bare("");
    let exec = format!(
        "'{}' exec --id alice",
        program.get_program().to_string_lossy()
    );
    let script = format!(
        "stty -g > before; {}; echo status=$?; stty -g > after",
        script.replace("EXEC", &exec)
    );
    let mut driver = Command::new("python3");
    driver
        .args(["-c", DRIVER, &steps.to_string(), "sh", "-c", &script])
        .current_dir(world.path());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => driver.env(name, value),
            None => driver.env_remove(name),
        };
    }
    let output = driver
        .output()
        .map_err(|e| skip(format_args!("python3 does not start: {e}")))
        .ok()?;
    let played = parse_json(&output.stdout);
    let shown = played["shown"].as_str().unwrap_or_default().to_owned();
    assert_eq!(played["problem"], Value::Null, "{shown}");
    let mode = |file: &str| std::fs::read_to_string(world.path().join(file)).unwrap_or_default();
    assert_eq!(
        mode("after"),
        mode("before"),
        "the mode of the terminal: {shown}"
    );
    Some(shown)
}

#[test]
fn an_interactive_shell_has_a_terminal_and_its_status_is_handed_on() {
    let world = World::new();
    let steps = json!([
        ["expect", "$ "],
        [
            "send",
            "test -t 0 && test -t 1 && test -t 2 && echo all-$((40 + 2))\n"
        ],
        ["expect", "all-42"],
        ["send", "exit 3\n"],
        ["expect", "status=3"]
    ]);
    if at_terminal(&world, "PS1='$ ' EXEC -- bash --norc --noprofile -i", steps).is_some() {
        let last = said(&world, "alice").pop().expect("it ended");
        assert_fields!(last, type: "blocked", metadata.exit_code: 3);
    }
}

#[test]
fn the_size_of_the_window_is_passed_on() {
    let script = "EXEC -- bash -c 'trap \"stty size\" WINCH; stty size; until read -t 0.1 word; do :; done; echo $word'";
    let steps = json!([
        ["expect", "24 80"],
        ["size", [40, 100]],
        ["expect", "40 100"],
        ["send", "done\n"],
        ["expect", "done\r\ndone"],
        ["expect", "status=0"]
    ]);
    at_terminal(&World::new(), script, steps);
}

#[test]
fn keys_go_to_the_command_which_decides_what_they_mean() {
    // dash loses a key's signal if it arrives while dash starts a program, even without mailbag:
    // these commands start no program.
    let handles = "EXEC -- bash -c 'trap \"echo caught; exit 7\" INT; echo up; until read -t 0.1 word; do :; done'";
    let steps = json!([
        ["expect", "up"],
        ["send", "\u{3}"],
        ["expect", "caught"],
        ["expect", "status=7"]
    ]);
    at_terminal(&World::new(), handles, steps);
    let steps = json!([
        ["expect", "up"],
        ["send", "\u{3}"],
        ["expect", "status=130"]
    ]);
    at_terminal(
        &World::new(),
        "EXEC -- sh -c 'echo up; read word; echo read'",
        steps,
    );
    let raw = "EXEC -- sh -c 'stty raw -echo; echo up; dd bs=1 count=1 2>/dev/null | od -An -tu1'";
    let steps = json!([
        ["expect", "up"],
        ["send", "\u{3}"],
        ["expect", "  3"],
        ["expect", "status=0"]
    ]);
    at_terminal(&World::new(), raw, steps);
}

#[test]
fn a_screen_is_passed_on_byte_for_byte_and_not_searched_for_lines() {
    let line = r#"{"type":"status","message":"reading","progress":0.5}"#;
    let screen = format!("\\033[?1049h\\033[2J\\033[5;10Hin the middle\\033[?1049l\\n{line}\\n");
    let world = World::new();
    world.write(
        "../screen",
        screen.replace("\\033", "\u{1b}").replace("\\n", "\n"),
    );
    let Some(shown) = at_terminal(
        &world,
        "EXEC -- cat screen",
        json!([["expect", "status=0"]]),
    ) else {
        return;
    };
    let drawn = "\u{1b}[?1049h\u{1b}[2J\u{1b}[5;10Hin the middle\u{1b}[?1049l\r\n";
    assert!(shown.contains(drawn) && shown.contains(line), "{shown:?}");
    assert!(
        !said(&world, "alice")
            .iter()
            .any(|message| message["subject"] == "reading")
    );
    let shown = at_terminal(
        &world,
        "EXEC --lines -- cat screen",
        json!([["expect", "status=0"]]),
    )
    .unwrap_or_default();
    assert!(shown.contains(drawn) && !shown.contains(line), "{shown:?}");
    assert!(
        said(&world, "alice")
            .iter()
            .any(|message| message["subject"] == "reading")
    );
}

#[test]
fn output_to_a_pipe_is_a_pipe_also_at_a_terminal() {
    let shown = at_terminal(
        &World::new(),
        "EXEC -- sh -c 'test -t 1 || echo \"{\\\"type\\\":\\\"status\\\",\\\"message\\\":\\\"x\\\"}\"; echo out' | cat",
        json!([["expect", "out"], ["expect", "status=0"]]),
    );
    assert!(!shown.unwrap_or_default().contains("message"));
}

#[test]
fn a_signal_from_elsewhere_ends_the_command_and_restores_the_terminal() {
    let script = "EXEC -- sh -c 'stty raw -echo; kill -TERM $(ps -o ppid= -p $PPID); sleep 60'";
    at_terminal(&World::new(), script, json!([["expect", "status=143"]]));
}

#[test]
fn a_command_gets_sighup_when_its_exec_is_killed() {
    let world = World::new();
    let killed = "EXEC -- sh -c 'trap \"echo hung up >> hung; exit\" HUP TERM; echo up; kill -KILL $(ps -o ppid= -p $PPID); sleep 60 & wait'";
    // Only the shell restores the mode in this case.
    let script = format!("{killed}; stty \"$(cat before)\"");
    if at_terminal(&world, &script, json!([["expect", "status=0"]])).is_some() {
        world.wait("the command is told", || world.path().join("hung").exists());
    }
}

/// Plays the steps at the prompt of an interactive shell, where `$LINE` runs this command as alice.
#[track_caller]
fn at_prompt(world: &World, command: &str, steps: &[Value]) -> Option<String> {
    let line = format!("EXEC -- {command}")
        .replace('\\', "\\\\")
        .replace('$', "\\$")
        .replace('"', "\\\"");
    let script = format!("LINE=\"{line}\" PS1='$ ' bash --norc --noprofile -i");
    let first = [json!(["expect", "$ "]), json!(["send", "eval \"$LINE\"\n"])];
    let last = [
        json!(["expect", "$ "]),
        json!(["send", "exit 0\n"]),
        json!(["expect", "status="]),
    ];
    at_terminal(
        world,
        &script,
        Value::Array([&first[..], steps, &last[..]].concat()),
    )
}

/// Waits for the command, suspends it by Ctrl-Z, and uses the shell. The command must then start no program: a shell that waits for the
/// `vfork` of a program is not suspended before that program runs, and the program not before the shell is.
fn suspended() -> Vec<Value> {
    [json!(["expect", "up\r\n"]), json!(["send", "\u{1a}"])]
        .into_iter()
        .chain(stopped())
        .collect()
}

/// Sends a signal to a suspended command, and waits until the shell has no jobs.
fn kill(signal: &str) -> [Value; 2] {
    let kills = format!(
        "kill -{signal} %1; while [ \"$(jobs)\" ]; do sleep 0.1; done; echo gone-$((1 + 1))\n"
    );
    [json!(["send", kills]), json!(["expect", "gone-2"])]
}

fn stopped() -> [Value; 4] {
    let uses = json!(["send", "echo at-$((1 + 1))\n"]);
    [
        json!(["expect", "Stopped"]),
        json!(["expect", "$ "]),
        uses,
        json!(["expect", "at-2"]),
    ]
}

#[test]
fn the_suspend_key_suspends_both_and_fg_continues_both() {
    let continues = [
        json!(["send", "fg\n"]),
        json!(["send", "hello\n"]),
        json!(["expect", "got hello"]),
    ];
    at_prompt(
        &World::new(),
        "sh -c 'echo up; read word; echo got $word'",
        &[suspended(), continues.to_vec()].concat(),
    );
    let stops = [&[json!(["expect", "up\r\n"])], &stopped()[..], &continues].concat();
    at_prompt(
        &World::new(),
        "sh -c 'echo up; kill -STOP $$; read word; echo got $word'",
        &stops,
    );
}

/// Reads each key itself. At Ctrl-Z it suspends itself as a full-screen program does, and at `s` it shows the size.
const RAW: &str = r#"
import os, signal, sys, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"up\r\n")
while (key := os.read(0, 1)) != b"q":
    if key == b"\x1a":
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        os.kill(0, signal.SIGTSTP)
        tty.setraw(0)
        os.write(1, b"back\r\n")
    elif key == b"s":
        size = os.get_terminal_size()
        os.write(1, b"size %d %d\r\n" % (size.lines, size.columns))
    else:
        os.write(1, b"key %d\r\n" % key[0])
termios.tcsetattr(0, termios.TCSADRAIN, before)
"#;

#[test]
fn a_program_that_suspends_itself_is_suspended_and_comes_back_with_its_mode_and_the_new_size() {
    let world = World::new();
    world.write("../raw.py", RAW);
    let back = |size: Value, shown: &str| {
        [
            json!(["size", size]),
            json!(["send", "fg\n"]),
            json!(["expect", "back"]),
            json!(["send", "s"]),
            json!(["expect", shown]),
        ]
    };
    let again = [
        json!(["send", "\u{3}"]),
        json!(["expect", "key 3"]),
        json!(["send", "\u{1a}"]),
    ];
    let quits = [json!(["send", "q"])];
    let steps = [
        &suspended()[..],
        &back(json!([40, 100]), "size 40 100"),
        &again,
        &stopped(),
        &back(json!([24, 80]), "size 24 80"),
        &quits,
    ];
    at_prompt(&world, "python3 raw.py", &steps.concat());
    assert_eq!(
        said(&world, "alice").pop().expect("it ended")["type"],
        "completed"
    );
}

#[test]
fn vim_is_suspended_and_writes_its_file_after_fg() {
    let world = World::new();
    if Command::new("vim").arg("--version").output().is_err() {
        return skip(format_args!("vim is not installed"));
    }
    let begins = [
        json!(["expect", "~"]),
        json!(["send", "ihello\u{1b}\u{1a}"]),
    ];
    let writes = [
        json!(["send", "fg\n"]),
        json!(["expect", "hello"]),
        json!(["send", ":wq written\r"]),
    ];
    let steps = [&begins[..], &stopped(), &writes].concat();
    if at_prompt(&world, "vim -u NONE -i NONE -n", &steps).is_some() {
        assert_eq!(
            std::fs::read_to_string(world.path().join("written")).unwrap_or_default(),
            "hello\n"
        );
    }
}

#[test]
fn a_suspended_command_stays_so_in_the_background() {
    let waits = "bg; until [ \"$(jobs -s)\" ]; do sleep 0.1; done; echo again-$((1 + 1))\n";
    let back = [
        json!(["send", waits]),
        json!(["expect", "again-2"]),
        json!(["send", "fg\n"]),
    ];
    let ends = [json!(["send", "hello\n"]), json!(["expect", "got hello"])];
    let steps = [&suspended()[..], &back, &ends].concat();
    at_prompt(
        &World::new(),
        "sh -c 'echo up; read word; echo got $word'",
        &steps,
    );
}

#[test]
fn a_signal_ends_a_suspended_command() {
    for command in [
        "sh -c 'trap \"exit 7\" TERM; echo up; read word'",
        "sh -c 'echo up; read word'",
    ] {
        let world = World::new();
        let code = if command.contains("trap") { 7 } else { 143 };
        if at_prompt(&world, command, &[&suspended()[..], &kill("TERM")].concat()).is_some() {
            let last = said(&world, "alice").pop().expect("it ended");
            assert_eq!(last["metadata"]["exit_code"], json!(code));
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_suspended_command_ends_when_its_exec_is_killed() {
    let world = World::new();
    let command = "sh -c 'echo $$ $PPID > pids; echo up; read word'";
    if at_prompt(&world, command, &[&suspended()[..], &kill("KILL")].concat()).is_some() {
        let pids = files::read_text(world.path().join("pids"));
        world.wait("both are gone", || {
            pids.split_whitespace()
                .all(|pid| !std::path::Path::new("/proc").join(pid).exists())
        });
    }
}

#[test]
fn a_command_that_cannot_be_started_is_said_as_without_a_terminal() {
    for (command, code, why) in [
        ("./nowhere", 127, "No such file"),
        ("./plain", 126, "Permission denied"),
    ] {
        let world = World::new();
        world.write("../plain", "text");
        let status = json!([["expect", why], ["expect", format!("status={code}")]]);
        if at_terminal(&world, &format!("EXEC -- {command}"), status).is_some() {
            let last = said(&world, "alice").pop().expect("it ended");
            assert_contains!(last["subject"].to_string(), "cannot run");
        }
    }
}

#[test]
fn a_signal_that_ends_the_command_is_said_as_without_a_terminal() {
    for (name, number) in [("KILL", 9), ("SEGV", 11), ("HUP", 1)] {
        let world = World::new();
        let steps = json!([["expect", format!("status={}", 128 + number)]]);
        if at_terminal(&world, &format!("EXEC -- sh -c 'kill -{name} $$'"), steps).is_some() {
            let last = said(&world, "alice").pop().expect("it ended");
            assert_eq!(last["metadata"]["signal"], format!("SIG{name}"), "{last}");
        }
    }
}
