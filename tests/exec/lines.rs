//! The lines of a command's output that are for mailbag: each becomes a message, and is not shown.

use super::{exec, report, said, words};
use crate::files;
use crate::town::Town;
use crate::world::World;
use serde_json::json;

/// Runs a command as alice that prints this, and returns standard output and standard error.
fn print(world: &World, text: &str) -> (String, String) {
    files::write(world.path().join("printed"), text);
    let ran = world.run("exec --id alice -- cat printed");
    assert_eq!(ran.code, 0, "{ran:?}");
    (ran.out, ran.err)
}

#[test]
fn each_line_for_mailbag_becomes_a_message_and_is_not_shown() {
    for with_router in [false, true] {
        let mut town = Town::of("bob alice");
        if with_router {
            town.start(&[]);
        }
        files::write(town.path().join("notes.md"), "found it\n");
        let (out, err) = print(
            &town,
            "first\n\
             {\"type\":\"status\",\"message\":\"reading\",\"progress\":0.10,\"step\":3}\n\
             between\n\
             {\"type\":\"dependency\",\"waiting_for\":\"bob\",\"reason\":\"needs the port\"}\r\n\
             { \"type\": \"artifact\", \"path\": \"notes.md\", \"description\": \"what I found\" }\n\
             {\"type\":\"complete\",\"result\":{\"ok\":true},\"outputs\":[\"notes.md\"]}",
        );
        assert_eq!((out.as_str(), err.as_str()), ("first\nbetween\n", ""));
        town.wait("all is in the log", || said(&town, "alice").len() == 5);
        let told = [
            "status: started cat",
            "status: reading",
            "blocked: waits for bob: needs the port",
        ];
        let made = ["announcement: artifacts: notes.md", "completed: completed"];
        assert_eq!(words(&town, "alice"), [&told[..], &made[..]].concat());
        let said = said(&town, "alice");
        assert_eq!(
            (
                said[1]["metadata"]["progress"].to_string(),
                &said[1]["metadata"]["step"]
            ),
            ("0.10".into(), &json!(3))
        );
        assert_eq!(said[2]["metadata"]["waiting_for"], json!(["bob"]));
        assert_eq!(said[3]["attachments"][0]["path"], "artifacts/notes.md");
        let result = json!({"ok": true});
        assert_fields!(said[4]["metadata"], result: result, outputs: ["notes.md"]);
        assert_eq!(town.text("context/artifacts/notes.md"), "found it\n");
        assert_eq!(town.wait_for_mail("bob", 1)[0]["body"], "what I found");
        assert!(
            said[..3].iter().all(|message| message["got_by"].is_null()),
            "nobody is woken: {said:#?}"
        );
        town.wait("who says so", || {
            report(&town, "alice")["type"] == "completed"
        });
    }
}

#[test]
fn a_status_line_is_visible_while_the_command_still_runs() {
    let world = World::new();
    let line = r#"{"type":"status","message":"half of it","progress":0.5}"#;
    let mut command = exec(
        &world,
        &[
            "--id",
            "alice",
            "--",
            "sh",
            "-c",
            &format!("echo '{line}'; cat"),
        ],
    );
    world.wait("who says so", || {
        report(&world, "alice")["text"] == "half of it"
    });
    assert_eq!(report(&world, "alice")["progress"].to_string(), "0.5");
    assert_eq!(super::present(&world, "alice")["declared"], "online");
    drop(command.child.stdin.take());
    command.ends(&world, 0);
    assert_eq!(
        words(&world, "alice").last().map(String::as_str),
        Some("completed: ended with exit status 0")
    );
}

#[test]
fn an_invalid_status_line_is_passed_on_unchanged_with_a_warning() {
    let world = World::new();
    let lines = [
        r#"{"type":"status","message":"x","progress":7}"#,
        r#"{"type":"status","code":200}"#,
        r#"{"type":"artifact","path":"nowhere.md"}"#,
        r#"{"type":"artifact","path":"printed","category":"../x"}"#,
        r#"{"type":"complete","outputs":7}"#,
        r#"{"type":"result","result":"of another program"}"#,
        r#"{"type":"status","message":"cut o"#,
    ];
    let text = lines.join("\n");
    let (out, err) = print(&world, &text);
    assert_eq!(out, text);
    for why in [
        "not a number from 0 to 1",
        "the field message is missing",
        "nowhere.md",
        "category",
        "not a list of strings",
    ] {
        assert!(err.contains(why), "{why}: {err}");
    }
    assert_eq!(
        err.matches("invalid line in the output").count(),
        5,
        "{err}"
    );
    assert_eq!(
        words(&world, "alice"),
        ["status: started cat", "completed: ended with exit status 0"]
    );
}

#[test]
fn warnings_of_wrong_lines_end_at_some_time() {
    let (out, err) = print(&World::new(), &"{\"type\":\"status\"}\n".repeat(500));
    assert_eq!(
        (out.lines().count(), err.lines().count()),
        (500, 21),
        "{err}"
    );
}

#[test]
fn a_name_in_a_status_reaches_nobody() {
    let world = World::with("bob");
    let text = "asks @bob\nand @nobody";
    print(
        &world,
        &json!({"type": "status", "message": text}).to_string(),
    );
    let said = said(&world, "alice");
    assert_fields!(said[1], subject: "asks @bob", metadata.message: text);
    assert!(world.inbox("bob").is_empty() && said[1]["got_by"].is_null());
}

#[test]
fn an_artifact_in_the_context_is_announced_without_a_copy() {
    let world = World::with("bob");
    let script = r#"mkdir -p "$MAOS_SHARED_CONTEXT/research" && echo x > "$MAOS_SHARED_CONTEXT/research/a.md" &&
        echo "{\"type\":\"artifact\",\"path\":\"$MAOS_SHARED_CONTEXT/research/a.md\"}""#;
    assert_eq!(
        world.ok(&["exec", "--id", "alice", "--", "sh", "-c", script]),
        ""
    );
    let mail = &world.inbox("bob")[0];
    assert_fields!(mail, subject: "research: a.md", attachments.0.path: "research/a.md");
    assert!(!world.room("context/artifacts").exists());
}

#[test]
fn a_dependency_on_an_unknown_agent_gets_a_suggestion() {
    let world = World::with("bob");
    let (out, err) = print(&world, r#"{"type":"dependency","waiting_for":["bobb"]}"#);
    assert!(
        out.is_empty() && err.contains("did you mean bob"),
        "{out}{err}"
    );
    assert_eq!(
        said(&world, "alice")[1]["metadata"]["waiting_for"],
        json!(["bobb"])
    );
}

#[test]
fn a_supervisor_gets_a_message_only_if_the_command_fails() {
    let world = World::with("boss").agent("alice", "--supervisor boss");
    world.ok("exec --id alice -- true");
    world.fails(3, "exec --id alice -- sh -c 'exit 3'");
    let mail = world.inbox("boss");
    assert_eq!(mail.len(), 1, "{mail:#?}");
    assert_fields!(mail[0], type: "blocked", metadata.exit_code: 3);
}

#[test]
fn a_line_too_long_for_a_message_is_passed_on_unchanged() {
    let world = World::new().settings("message_bytes = 4096\n");
    let line = json!({"type": "complete", "result": "x".repeat(3900)}).to_string();
    assert!(
        line.len() < 4096,
        "by itself it is no longer than a message"
    );
    let (out, err) = print(&world, &line);
    assert_eq!(out, line);
    assert_contains!(err, "invalid line in the output", "4096");
    assert_eq!(
        words(&world, "alice"),
        ["status: started cat", "completed: ended with exit status 0"]
    );
}
