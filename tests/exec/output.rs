//! The command's output is passed on unchanged and immediately.

use super::{exec, words};
use crate::files;
use crate::world::World;
use std::io::{Read, Write};
use std::process::Stdio;

#[test]
fn other_output_is_passed_on_byte_for_byte() {
    let world = World::new().settings("message_bytes = 100_000\n");
    let mut bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for part in [
        "{\"a\":\"\u{fffd}\"}\r\n",
        "\n\n{}\n{\n[]\n",
        "{ \"type\" : \"thread.started\" }\n",
        "é{\"type\":\"status\"}\n",
    ] {
        bytes.extend(part.bytes());
    }
    // Longer than a message, and than a reasonable buffer.
    bytes.extend(
        format!(
            "{{\"type\":\"status\",\"message\":\"{}\"}}\n",
            "x".repeat(3_000_000)
        )
        .bytes(),
    );
    bytes.extend(b"{\"type\":\"status\",\"message\":\"\xff\"}\n{\"no\": \"end\"");
    files::write(world.path().join("bytes"), &bytes);
    let output = world
        .bare("exec --id alice -- cat bytes")
        .output()
        .expect("it runs");
    assert!(
        output.stdout == bytes,
        "{} of {} bytes",
        output.stdout.len(),
        bytes.len()
    );
    assert_eq!(output.stderr, b"");
}

#[test]
fn a_prompt_appears_before_its_line_ends() {
    for prompt in ["name? ", "{user}> ", "{ ", "\u{1b}[1m>"] {
        let world = World::new();
        let script = "printf '%s' \"$0\"; read name; printf 'hello %s' \"$name\"; cat";
        let mut command = world.bare(&["exec", "--id", "alice", "--", "sh", "-c", script, prompt]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (mut to, mut from) = (
            child.stdin.take().expect("a pipe"),
            child.stdout.take().expect("a pipe"),
        );
        // A lone `{` and blanks may still become a line for mailbag.
        let held = prompt.trim_end() == "{";
        let mut seen = vec![0; if held { 0 } else { prompt.len() }];
        from.read_exact(&mut seen).expect("the prompt comes");
        assert_eq!(
            String::from_utf8_lossy(&seen),
            if held { "" } else { prompt }
        );
        to.write_all(b"Ada\n").expect("it reads");
        drop(to);
        let mut rest = String::new();
        from.read_to_string(&mut rest).expect("text");
        assert_eq!(rest, format!("{}hello Ada", if held { prompt } else { "" }));
        assert!(child.wait().expect("a child").success());
    }
}

#[test]
fn standard_error_is_the_commands_own() {
    let world = World::new();
    let status = r#"{"type":"status","message":"only on standard output"}"#;
    let ran = world.run(&[
        "exec",
        "--id",
        "alice",
        "--",
        "sh",
        "-c",
        &format!("echo out; echo '{status}' >&2"),
    ]);
    assert_eq!(
        (ran.out.as_str(), ran.err),
        ("out\n", format!("{status}\n"))
    );
    assert_eq!(words(&world, "alice").len(), 2);
}

#[test]
fn a_command_gets_sigpipe_when_the_reader_of_exec_ends() {
    let world = World::new();
    let mut command = world.bare("exec --id alice -- yes");
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut some = [0; 4];
    child
        .stdout
        .take()
        .expect("a pipe")
        .read_exact(&mut some)
        .expect("it says yes");
    assert_eq!(
        (&some, child.wait().expect("a child").code()),
        (b"y\ny\n", Some(128 + libc::SIGPIPE))
    );
    assert_eq!(
        words(&world, "alice").last().map(String::as_str),
        Some("blocked: ended by SIGPIPE")
    );
}

#[test]
fn exec_ends_although_a_background_process_keeps_the_output_open() {
    let world = World::new();
    let script = "tail -f /dev/null & echo $! > pid; printf '{\"held\"'";
    let command = exec(&world, &["--id", "alice", "--", "sh", "-c", script]);
    assert_eq!(command.ends(&world, 0), "{\"held\"");
    let pid = files::read_text(world.path().join("pid"));
    crate::town::tool("kill", [pid.trim().as_ref()]);
}

#[test]
fn exec_passes_on_output_that_arrives_just_after_the_command_ended() {
    let world = World::new();
    let script = "exec > >(cat; echo last); echo first";
    for _ in 0..5 {
        let command = exec(&world, &["--id", "alice", "--", "bash", "-c", script]);
        assert_eq!(command.ends(&world, 0), "first\nlast\n");
    }
}
