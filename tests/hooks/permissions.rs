//! Permission requests of clients, as approvals to the human.

use super::{recorded, run};
use crate::approvals::{codes, decision, steps};
use crate::files;
use crate::world::{World, lossy, parse_json};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A room with alice.
fn asking(within: &str) -> World {
    World::with("alice").settings(&format!("permission_within = \"{within}\"\n"))
}

/// A hook of alice's session that waits for the human.
struct Waiting {
    hook: Child,
}

impl Waiting {
    /// The recorded request of a client.
    fn start(world: &World, client: &str) -> Waiting {
        Waiting::of(world, client, &recorded(client, "PermissionRequest"))
    }

    fn of(world: &World, client: &str, input: &str) -> Waiting {
        let mut command: Command = world.bare(&["hook", client]);
        command
            .env("MAILBAG_AGENT", "alice")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut hook = command.spawn().expect("the program runs");
        hook.stdin
            .take()
            .expect("a pipe")
            .write_all(input.as_bytes())
            .expect("it reads");
        Waiting { hook }
    }

    /// Its standard output and standard error; it must end with status 0.
    #[track_caller]
    fn ends(self) -> (String, String) {
        let output = self.hook.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (text(output.stdout), text(output.stderr))
    }
}

/// The approval that the human got, once it is there.
#[track_caller]
fn asked(world: &World) -> Value {
    let mut found = None;
    world.wait("the human is asked", || {
        found = world
            .inbox("human")
            .into_iter()
            .find(|mail| mail["type"] == "approval");
        found.is_some()
    });
    found.expect("it was awaited")
}

fn name(approval: &Value) -> String {
    format!("alice/{}", approval["id"].as_str().expect("an id"))
}

/// The person decides at a terminal.
#[track_caller]
fn decide(world: &World, approval: &Value, more: &[&str]) {
    decide_with(world, world.trust(), approval, more);
}

/// A decision at a terminal, with the key in this home directory.
#[track_caller]
fn decide_with(world: &World, home: &Path, approval: &Value, more: &[&str]) {
    let name = name(approval);
    let args = [&["decide", &name], more].concat();
    let output = world.at_terminal_with(&args, "y\n", |command| {
        command.env("MAILBAG_TEST_HOME", home);
    });
    assert!(output.status.success(), "{}", lossy(&output.stdout));
}

fn answer(decision: Value) -> String {
    json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
        .to_string()
        + "\n"
}

#[test]
fn the_human_reads_the_whole_call_and_allows_or_denies_it() {
    // P181
    for client in ["claude", "codex"] {
        let world = asking("5m");
        let waiting = Waiting::start(&world, client);
        let first = asked(&world);
        assert_fields!(first, from: "alice", subject: "Bash: rm -rf build");
        assert_fields!(first, signature: "required", deadline: "5m");
        let body = first["body"].as_str().expect("a body");
        let directory = parse_json(recorded(client, "PermissionRequest"))["cwd"].clone();
        let directory = directory.as_str().expect("a path");
        let call = format!(
            "tool: Bash\ndirectory: {directory}\ncommand:\n| rm -rf build\ndescription:\n| "
        );
        assert!(body.contains(&call), "{body}");
        decide(&world, &first, &["yes"]);
        assert_eq!(
            waiting.ends(),
            (answer(json!({"behavior": "allow"})), String::new()),
            "{client}"
        );

        files::remove_dir(world.room("inbox/human"));
        let waiting = Waiting::start(&world, client);
        let second = asked(&world);
        decide(&world, &second, &["no", "--note", "Keep it."]);
        let (said, complaint) = waiting.ends();
        let said = parse_json(&said);
        let decision = &said["hookSpecificOutput"]["decision"];
        assert_eq!((&decision["behavior"], &*complaint), (&json!("deny"), ""));
        let message = decision["message"].as_str().expect("a reason");
        assert!(
            message.starts_with("mailbag: human denied this call (#")
                && message.ends_with("): Keep it."),
            "{message}"
        );
    }
}

#[test]
fn an_agent_cannot_allow_its_own_call() {
    // P181
    let world = asking("3s");
    let waiting = Waiting::start(&world, "claude");
    let approval = name(&asked(&world));
    files::make_dir(world.decision_key().parent().expect("a directory"));
    files::write(world.decision_key(), "09".repeat(32) + "\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(world.decision_key(), mode).expect("permissions");
    world.mail("human", "forged.json", decision(&approval, "yes"));
    let mut signed = decision(&approval, "yes");
    signed["signature"] = json!("ab".repeat(32));
    world.mail("human", "signed.json", &signed);
    assert_eq!(waiting.ends(), (String::new(), String::new()));
    assert_eq!(steps(&world), ["ask", "expire"]);
    assert_eq!(codes(&world, "human"), ["not_signed", "not_signed"]);
}

#[test]
fn a_decision_that_a_router_with_another_key_recorded_does_not_count() {
    // P181
    let world = asking("5m");
    // An agent starts a router with its own key, and decides with this key.
    let other = tempfile::tempdir().expect("a directory");
    let mut command = world.bare("run");
    command.env("MAILBAG_TEST_HOME", other.path());
    let router = world.router_by(command);
    let waiting = Waiting::start(&world, "claude");
    let first = asked(&world);
    decide_with(&world, other.path(), &first, &["yes"]);
    let (said, complaint) = waiting.ends();
    assert_eq!(
        (&*said, steps(&world)),
        ("", vec!["ask".to_owned(), "decide".to_owned()])
    );
    assert_contains!(
        complaint,
        "is not signed by the person, so it does not count"
    );
    drop(router);
}

#[test]
fn a_call_that_differs_from_what_the_human_read_is_not_allowed() {
    // P181
    let world = asking("5m");
    let command = world.bare("run");
    // The router is stopped until the agent has changed the question.
    let router = world.router_by(command);
    router.signal(rustix::process::Signal::STOP);
    let waiting = Waiting::start(&world, "claude");
    let mut question = None;
    world.wait("the question is in the outbox", || {
        question = world
            .names("outbox/alice")
            .into_iter()
            .find(|name| !name.starts_with('.') && name.ends_with(".json"));
        question.is_some()
    });
    let file = world
        .room("outbox/alice")
        .join(question.expect("it was awaited"));
    let text = files::read_text(&file).replace("rm -rf build", "ls");
    files::write(&file, text);
    router.signal(rustix::process::Signal::CONT);
    let first = asked(&world);
    assert_eq!(first["subject"], "Bash: ls");
    decide(&world, &first, &["yes"]);
    let (said, complaint) = waiting.ends();
    assert_eq!(said, "");
    assert_contains!(
        complaint,
        "is not signed by the person, so it does not count"
    );
}

#[test]
fn without_a_decision_in_time_the_client_asks_by_itself() {
    // P182
    for (client, nothing) in [("claude", ""), ("codex", "{}\n")] {
        let world = asking("1s");
        let waiting = Waiting::start(&world, client);
        assert_eq!(
            waiting.ends(),
            (nothing.to_owned(), String::new()),
            "{client}"
        );
        assert_eq!(steps(&world), ["ask", "expire"]);
    }
}

#[test]
fn a_failure_lets_the_client_ask_by_itself() {
    // P182
    let world = World::with("alice").settings("permission_within = 7\n");
    let output = run(
        &world,
        &["claude"],
        Some("alice"),
        &recorded("claude", "PermissionRequest"),
    );
    let complaint = lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), output.stdout),
        (Some(0), Vec::new()),
        "{complaint}"
    );
    assert_contains!(complaint, "permission_within");
    // A session without an agent, a call that is too long to read, and a dialog with its own
    // answers.
    let world = asking("5m");
    let with = |what: &dyn Fn(&mut Value)| {
        let mut input =
            serde_json::from_str(&recorded("claude", "PermissionRequest")).expect("JSON");
        what(&mut input);
        input.to_string()
    };
    let long = with(&|input| input["tool_input"]["command"] = "x".repeat(20_000).into());
    let question = with(&|input| input["tool_name"] = "AskUserQuestion".into());
    for (agent, input) in [
        (None, recorded("claude", "PermissionRequest")),
        (Some("alice"), long),
        (Some("alice"), question),
    ] {
        let output = run(&world, &["claude"], agent, &input);
        assert_eq!(
            (output.status.code(), output.stdout, output.stderr),
            (Some(0), Vec::new(), Vec::new())
        );
    }
    assert_eq!(steps(&world), Vec::<String>::new());
}

#[test]
fn a_request_that_the_person_answers_in_the_client_is_withdrawn() {
    // P182
    for end in ["the client goes on", "the client ends the hook"] {
        let world = asking("5m");
        let waiting = Waiting::start(&world, "claude");
        let first = asked(&world);
        match end {
            "the client goes on" => {
                let mut input = parse_json(recorded("claude", "PostToolBatch"));
                let own = parse_json(recorded("claude", "PermissionRequest"));
                input["session_id"] = own["session_id"].clone();
                run(&world, &["claude"], Some("alice"), &input.to_string());
            }
            _ => {
                let pid = rustix::process::Pid::from_child(&waiting.hook);
                rustix::process::kill_process(pid, rustix::process::Signal::TERM)
                    .expect("a signal");
            }
        }
        assert_eq!(waiting.ends(), (String::new(), String::new()), "{end}");
        world.pass();
        assert_contains!(
            world.decide("human", &name(&first), "no", &[]).fails(1),
            "was decided already: withdrawn, by alice"
        );
        assert_eq!(steps(&world), ["ask", "withdraw"], "{end}");
    }
}

#[test]
fn text_of_a_tool_cannot_look_like_text_of_the_question() {
    // P181
    let world = asking("5m");
    let mut input = parse_json(recorded("claude", "PermissionRequest"));
    // A sub-agent asks for its session.
    (input["agent_id"], input["agent_type"]) = (json!("a1"), json!("general\npurpose"));
    input["tool_input"] =
        json!({"command": "ls\n\ntool: Read\nfile_path:\n| a.txt", "a\nb": {"c": [1]}});
    let waiting = Waiting::of(&world, "claude", &input.to_string());
    let first = asked(&world);
    let body = first["body"].as_str().expect("a body");
    let own: Vec<&str> = body
        .lines()
        .filter(|line| !line.starts_with("| "))
        .collect();
    assert_eq!(
        own.iter().filter(|line| line.starts_with("tool: ")).count(),
        1,
        "{body}"
    );
    assert_eq!(
        own[0],
        "alice needs permission to use a tool in Claude Code, in a sub-agent (general\\npurpose)."
    );
    assert_contains!(
        body,
        "\n| tool: Read\n| file_path:\n| | a.txt\n",
        "\n| {\"c\":[1]}"
    );
    assert_eq!(first["subject"], "Bash: ls tool: Read file_path: | a.txt");
    decide(&world, &first, &["no"]);
    assert_contains!(waiting.ends().0, "\"behavior\":\"deny\"");
}
