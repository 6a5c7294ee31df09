//! Signals reach the command, once each.

use super::{by, exec, says, waits, words};
use crate::files;
use crate::town::Town;
use crate::world::World;
use rustix::process::Signal;

/// Prints the name of every signal, and ends at SIGTERM.
const TELL: &str =
    "trap 'echo INT' INT; trap 'echo HUP' HUP; trap 'echo QUIT' QUIT; trap 'echo USR1' USR1
    trap 'echo TERM; exit 7' TERM; tail -f /dev/null & helper=$!; trap 'kill $helper' EXIT
    echo up; while :; do wait; done";

#[test]
fn a_signal_is_handed_on_and_the_command_decides() {
    let world = World::new();
    let mut command = exec(&world, &["--id", "alice", "--", "bash", "-c", TELL]);
    says(&mut command, &world, "up\n");
    for (signal, name) in [
        (Signal::INT, "INT"),
        (Signal::HUP, "HUP"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR1, "USR1"),
    ] {
        command.signal(signal);
        says(&mut command, &world, &format!("{name}\n"));
    }
    command.signal(Signal::TERM);
    assert_eq!(command.ends(&world, 7), "up\nINT\nHUP\nQUIT\nUSR1\nTERM\n");
    assert_eq!(
        words(&world, "alice").last().map(String::as_str),
        Some("blocked: ended with exit status 7")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_comes_before_the_command_keeps_it_from_beginning() {
    let world = World::with("alice");
    let lock = std::fs::File::options()
        .write(true)
        .open(world.room("spool/registry.lock"))
        .expect("it was locked");
    lock.lock().expect("nobody holds it");
    let command = exec(&world, "--id alice -- touch begun");
    let status = format!("/proc/{}/status", command.child.id());
    world.wait("it hears signals", || {
        let status = files::read_text(&status);
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .expect("a mask");
        u64::from_str_radix(caught.trim(), 16).expect("a mask") & 1 << (libc::SIGTERM - 1) != 0
    });
    command.signal(Signal::TERM);
    world.wait("the signal was taken", || {
        let status = files::read_text(&status);
        status
            .lines()
            .filter(|line| line.starts_with("SigPnd:") || line.starts_with("ShdPnd:"))
            .all(|line| line.ends_with("\t0000000000000000"))
    });
    drop(lock);
    command.ends(&world, 143);
    assert!(!world.path().join("begun").exists());
    let last = words(&world, "alice").pop().unwrap_or_default();
    assert_eq!(last, "blocked: ended by SIGTERM before it started");
    assert_eq!(world.json("agent show alice")["status"], "offline");
}

#[cfg(target_os = "linux")]
#[test]
fn the_command_inherits_ignored_signals() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_mailbag");
    let mut nohup = world.bare("");
    let inner = "echo up; kill -HUP $$; echo still there";
    nohup = {
        let mut command = std::process::Command::new("nohup");
        command
            .args([program, "exec", "--id", "alice", "--", "sh", "-c", inner])
            .current_dir(nohup.get_current_dir().expect("a directory"));
        command
    };
    assert_eq!(by(&world, nohup).ends(&world, 0), "up\nstill there\n");
}

/// A command that is started to ignore these signals.
fn ignoring(world: &World, signals: &str, args: &[&str]) -> std::process::Command {
    let program = world.bare(args);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("trap '' {signals}; exec \"$@\""), "sh"]);
    shell
        .arg(program.get_program())
        .args(program.get_args())
        .current_dir(world.path())
        .env("NO_COLOR", "1");
    shell
}

#[test]
fn an_interrupt_that_is_ignored_ends_neither_the_command_nor_a_wait_and_sigterm_does() {
    let world = World::with("alice");
    let script = "echo up; kill -INT $$; kill -HUP $$; echo still there; exec tail -f /dev/null";
    let ignored = ignoring(
        &world,
        "INT HUP TERM",
        &["exec", "--id", "bob", "--", "sh", "-c", script],
    );
    let mut bob = by(&world, ignored);
    says(&mut bob, &world, "still there");
    bob.signal(Signal::INT);
    bob.signal(Signal::HUP);
    bob.signal(Signal::TERM);
    bob.ends(&world, 143);
    assert_eq!(
        words(&world, "bob").last().map(String::as_str),
        Some("blocked: ended by SIGTERM")
    );
    let ignored = ignoring(
        &world,
        "INT HUP",
        &[
            "exec", "--id", "carol", "--after", "alice", "--", "echo", "begun",
        ],
    );
    let mut carol = by(&world, ignored);
    waits(&mut carol, &world, "carol");
    carol.signal(Signal::INT);
    carol.signal(Signal::HUP);
    carol.signal(Signal::TERM);
    carol.ends(&world, 143);
    let last = words(&world, "carol").pop().unwrap_or_default();
    assert_eq!(last, "blocked: ended by SIGTERM before it started");
}

#[test]
fn a_router_that_is_started_to_ignore_an_interrupt_ends_by_sigterm_alone() {
    let mut town = Town::alice_and_bob();
    let ignored = ignoring(&town, "INT HUP TERM", &["run"]);
    town.start_by(ignored);
    town.router().signal(Signal::INT);
    town.router().signal(Signal::HUP);
    town.is_alive("alice", "bob");
    town.stop();
}

/// Runs its arguments in a separate terminal, presses Ctrl-C when `up` appears, and prints the
/// terminal's content and the status.
const TERMINAL: &str = r#"
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
seen, pressed = b"", False
while True:
    try:
        some = os.read(terminal, 4096)
    except OSError:
        break
    if not some:
        break
    seen += some
    if b"up\r\n" in seen and not pressed:
        pressed = True
        os.write(terminal, b"\x03")
sys.stdout.write(seen.decode().replace("\r\n", "\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

#[test]
fn ctrl_c_at_a_terminal_reaches_the_command_once() {
    let world = World::new();
    // A second SIGINT would end it with another status; the clock shows that none arrived.
    let script = "import signal, sys, time
count = 0
def told(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, told)
print('up', flush=True)
while count == 0:
    signal.pause()
time.sleep(0.5)
print('told', count, sys.stdin.isatty(), flush=True)";
    let program = env!("CARGO_BIN_EXE_mailbag");
    let mut command = std::process::Command::new("python3");
    command.args([
        "-c", TERMINAL, program, "exec", "--id", "alice", "--", "python3", "-c", script,
    ]);
    command.current_dir(world.path()).env("NO_COLOR", "1");
    assert_contains!(by(&world, command).ends(&world, 0), "told 1 True");
}
