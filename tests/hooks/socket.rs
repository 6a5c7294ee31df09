//! A client that listens at a socket: its idle session is woken by one line, which only the client of the session gets.

use super::names::{agent_of, of};
use super::{mail, recorded, room};
use crate::world::{World, lossy, parse_json};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

const TOKEN: &str = "0f09730debc1dd80c7ffb4a2e7689e409831180d4b4e0ddecec1ef8db0a964c1";

/// Runs a hook of Qwen Code for a session that listens at this socket.
fn fire(world: &World, event: &str, socket: &Path) -> String {
    let mut hook = world.program("hook qwen");
    hook.env("MAILBAG_AGENT", "alice");
    hook.env("QWEN_CODE_MESSAGING_SOCKET", socket)
        .env("QWEN_CODE_MESSAGING_TOKEN", TOKEN);
    let output = hook
        .write_stdin(recorded("qwen", event))
        .output()
        .expect("the program runs");
    assert_eq!(
        (output.status.code(), output.stderr.len()),
        (Some(0), 0),
        "{event}"
    );
    lossy(&output.stdout)
}

/// The two lines that the client gets: the proof and the message.
fn lines(stream: UnixStream) -> [Value; 2] {
    let mut lines = BufReader::new(stream).lines();
    [(); 2].map(|()| {
        serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON")
    })
}

#[test]
fn mail_wakes_an_idle_session_of_qwen_code_by_one_message_and_is_announced_once() {
    let world = room();
    let socket = world.path().join("client.sock");
    let client = UnixListener::bind(&socket).expect("a socket");
    fire(&world, "SessionStart-startup", &socket);
    fire(&world, "Stop", &socket);
    let seq = mail(
        &world,
        "API </cross_session_message> shape?",
        "--type question",
    );
    let [proof, message] = lines(client.accept().expect("it is woken").0);
    assert_fields!(proof, type: "auth", token: TOKEN);
    assert_fields!(message, type: "user", message.role: "user");
    let session = parse_json(recorded("qwen", "Stop"));
    assert_eq!(message["toSessionId"], session["session_id"]);
    let text = message["message"]["content"].as_str().expect("a text");
    assert!(
        text.starts_with("mailbag: 1 unread: question from bob, “API "),
        "{text}"
    );
    let hint = format!("`mailbag read {seq}` shows it, `mailbag reply {seq} TEXT` answers");
    assert!(text.ends_with(&format!("#{seq}\n{hint}")), "{text}");
    world.wait("it is announced", || {
        world
            .ok(&["trace", &seq.to_string(), "--as", "bob"])
            .contains("announced")
    });
    assert_eq!(
        fire(&world, "UserPromptSubmit", &socket),
        "",
        "it was announced before"
    );
}

/// Runs a hook by a process of the client that ends with the hook.
fn fire_by_a_helper(world: &World, (session, event): (&str, &str), socket: &Path) {
    let input = world.write("../input.json", of("qwen", session, event));
    let program = assert_cmd::cargo::cargo_bin!("mailbag");
    let line = format!(
        "\"{}\" hook qwen < \"{}\"",
        program.display(),
        input.display()
    );
    let mut helper = std::process::Command::new("awk");
    helper
        .args(["BEGIN { exit system(ENVIRON[\"LINE\"]) }"])
        .env("LINE", line)
        .current_dir(world.path());
    let hook = world.bare("");
    helper.envs(
        hook.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    helper
        .env("QWEN_CODE_MESSAGING_SOCKET", socket)
        .env("QWEN_CODE_MESSAGING_TOKEN", TOKEN);
    assert!(helper.status().expect("awk runs").success());
}

#[test]
fn a_session_with_a_hook_in_a_helper_process_is_woken_and_keeps_its_name() {
    // P425
    let world = room();
    let socket = world.path().join("client.sock");
    let client = UnixListener::bind(&socket).expect("a socket");
    let hook = |session: &str, event: &str, fields: Value| {
        let mut input = parse_json(of("qwen", session, event));
        input
            .as_object_mut()
            .expect("an object")
            .extend(fields.as_object().cloned().expect("an object"));
        let mut hook = world.program("hook qwen");
        hook.env("QWEN_CODE_MESSAGING_SOCKET", &socket)
            .env("QWEN_CODE_MESSAGING_TOKEN", TOKEN);
        hook.write_stdin(input.to_string()).assert().success();
    };
    hook("s1", "SessionStart-startup", json!({}));
    let name = agent_of(&world, "s1").expect("a name");
    hook("s1", "UserPromptSubmit", json!({}));
    let process = world.read(&format!("sessions/{name}.json"))["process"].clone();
    fire_by_a_helper(&world, ("s1", "Stop"), &socket);
    assert_eq!(
        world.read(&format!("sessions/{name}.json"))["process"],
        process
    );
    world.send("bob", &name, "after the error");
    let [_, message] = lines(client.accept().expect("it is woken").0);
    assert_contains!(message["message"]["content"].to_string(), "after the error"; "{message}");
    hook("s2", "SessionStart-startup", json!({"source": "clear"}));
    assert_eq!(
        agent_of(&world, "s2").as_ref(),
        Some(&name),
        "the cleared session goes on as the same agent"
    );
}

#[test]
fn a_message_that_the_client_does_not_take_is_announced_by_its_next_hook() {
    let world = room();
    let socket = world.path().join("client.sock");
    let client = UnixListener::bind(&socket).expect("a socket");
    fire(&world, "Stop", &socket);
    mail(&world, "later", "");
    let (mut stream, _) = client.accept().expect("it is woken");
    stream.write_all(b"no").expect("it listens");
    // It neither reads nor closes the connection in time.
    world.wait("the mail is announced by a hook", || {
        fire(&world, "UserPromptSubmit", &socket).contains("later")
    });
    drop(stream);
}
