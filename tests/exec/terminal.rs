//! A command in a terminal: keys, size, signals and the mode of the terminal, as at a real one.

use super::said;
use crate::world::{World, skip};
use serde_json::{Value, json};
use std::process::Command;

/// Runs a program in a terminal of 24 lines and 80 columns, plays the steps, and prints what was shown.
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

/// Plays the steps with this shell script at a terminal, in which `exec` stands for `mailbag exec --id alice`. Then the terminal has
/// the same mode as before. Returns what was shown, or nothing if there is no Python here.
#[track_caller]
fn at_terminal(world: &World, script: &str, steps: Value) -> Option<String> {
    let program = world.bare(&[]);
    let exec = format!("'{}' exec --id alice", program.get_program().to_string_lossy());
    let script = format!("stty -g > before; {}; echo status=$?; stty -g > after", script.replace("EXEC", &exec));
    let mut driver = Command::new("python3");
    driver.args(["-c", DRIVER, &steps.to_string(), "sh", "-c", &script]).current_dir(world.path());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => driver.env(name, value),
            None => driver.env_remove(name),
        };
    }
    let output = driver.output().map_err(|e| skip(format_args!("python3 does not start: {e}"))).ok()?;
    let played: Value = serde_json::from_slice(&output.stdout).expect("what the driver says");
    let shown = played["shown"].as_str().unwrap_or_default().to_owned();
    assert_eq!(played["problem"], Value::Null, "{shown}");
    let mode = |file: &str| std::fs::read_to_string(world.path().join(file)).unwrap_or_default();
    assert_eq!(mode("after"), mode("before"), "the mode of the terminal: {shown}");
    Some(shown)
}

#[test]
fn an_interactive_shell_has_a_terminal_and_its_status_is_handed_on() {
    let world = World::new();
    let steps = json!([
        ["expect", "$ "],
        ["send", "test -t 0 && test -t 1 && test -t 2 && echo all-$((40 + 2))\n"],
        ["expect", "all-42"],
        ["send", "exit 3\n"],
        ["expect", "status=3"]
    ]);
    if at_terminal(&world, "PS1='$ ' EXEC -- bash --norc --noprofile -i", steps).is_some() {
        let last = said(&world, "alice").pop().expect("it ended");
        assert_eq!((&last["type"], &last["metadata"]["exit_code"]), (&json!("blocked"), &json!(3)));
    }
}

#[test]
fn the_size_of_the_window_is_passed_on() {
    let script =
        "EXEC -- bash -c 'trap \"stty size\" WINCH; stty size; until read -t 0.1 word; do :; done; echo $word'";
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
    let handles = "EXEC -- sh -c 'trap \"echo caught; exit 7\" INT; echo up; while :; do sleep 0.1; done'";
    let steps = json!([["expect", "up"], ["send", "\u{3}"], ["expect", "caught"], ["expect", "status=7"]]);
    at_terminal(&World::new(), handles, steps);
    let steps = json!([["expect", "up"], ["send", "\u{3}"], ["expect", "status=130"]]);
    at_terminal(&World::new(), "EXEC -- sh -c 'echo up; sleep 60; echo slept'", steps);
    let raw = "EXEC -- sh -c 'stty raw -echo; echo up; dd bs=1 count=1 2>/dev/null | od -An -tu1'";
    let steps = json!([["expect", "up"], ["send", "\u{3}"], ["expect", "  3"], ["expect", "status=0"]]);
    at_terminal(&World::new(), raw, steps);
}

#[test]
fn a_screen_is_passed_on_byte_for_byte_and_not_searched_for_lines() {
    let line = r#"{"type":"status","message":"reading","progress":0.5}"#;
    let screen = format!("\\033[?1049h\\033[2J\\033[5;10Hin the middle\\033[?1049l\\n{line}\\n");
    let world = World::new();
    world.write("../screen", screen.replace("\\033", "\u{1b}").replace("\\n", "\n"));
    let Some(shown) = at_terminal(&world, "EXEC -- cat screen", json!([["expect", "status=0"]])) else { return };
    let drawn = "\u{1b}[?1049h\u{1b}[2J\u{1b}[5;10Hin the middle\u{1b}[?1049l\r\n";
    assert!(shown.contains(drawn) && shown.contains(line), "{shown:?}");
    assert!(!said(&world, "alice").iter().any(|message| message["subject"] == "reading"));
    let shown = at_terminal(&world, "EXEC --lines -- cat screen", json!([["expect", "status=0"]])).unwrap_or_default();
    assert!(shown.contains(drawn) && !shown.contains(line), "{shown:?}");
    assert!(said(&world, "alice").iter().any(|message| message["subject"] == "reading"));
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
    let script = "EXEC -- sh -c 'stty raw -echo; kill -TERM $PPID; sleep 60'";
    at_terminal(&World::new(), script, json!([["expect", "status=143"]]));
}

#[test]
fn a_command_whose_exec_is_killed_is_hung_up() {
    let world = World::new();
    let killed =
        "EXEC -- sh -c 'trap \"echo hung up >> hung; exit\" HUP TERM; echo up; kill -KILL $PPID; sleep 60 & wait'";
    // Nobody restores the mode then but the shell.
    let script = format!("{killed}; stty \"$(cat before)\"");
    if at_terminal(&world, &script, json!([["expect", "status=0"]])).is_some() {
        world.wait("the command is told", || world.path().join("hung").exists());
    }
}

#[test]
fn the_suspend_key_suspends_both_and_fg_continues_both() {
    for waits in ["read word", "kill -STOP $$; read word"] {
        let world = World::new();
        let exec = format!("EXEC -- sh -c 'echo up; {waits}; echo got $word'");
        let (suspend, key) = if waits.starts_with("kill") { ("", "") } else { ("send", "\u{1a}") };
        let mut steps = vec![json!(["expect", "$ "]), json!(["send", "eval \"$LINE\"\n"]), json!(["expect", "up\r\n"])];
        steps.extend((!suspend.is_empty()).then(|| json!([suspend, key])));
        steps.extend([
            json!(["expect", "Stopped"]),
            json!(["expect", "$ "]),
            json!(["send", "echo at-$((1 + 1))\n"]),
            json!(["expect", "at-2"]),
            json!(["send", "fg\n"]),
            json!(["send", "hello\n"]),
            json!(["expect", "got hello"]),
            json!(["expect", "$ "]),
            json!(["send", "exit 0\n"]),
            json!(["expect", "status=0"]),
        ]);
        let script =
            format!("LINE=\"{}\" PS1='$ ' bash --norc --noprofile -i", exec.replace('$', "\\$").replace('"', "\\\""));
        at_terminal(&world, &script, Value::Array(steps));
    }
}
