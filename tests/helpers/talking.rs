//! Two processes talk by a helper: questions, requests to a role, broadcasts, acks, and any text.

use super::tongue::{Fault, Tongue, ended};
use super::{file, in_each, town};
use crate::files;
use crate::town::Town;
use crate::world::lossy;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};

in_each!(
    hostile_text_goes_to_and_fro_between_two_processes,
    broadcast_reaches_a_whole_role_and_request_one_agent_of_it,
    request_returns_an_answer_and_no_other_mail,
    request_returns_an_answer_that_names_it_in_refs,
    request_that_expires_unread_raises_an_error,
    rejection_and_timeout_raise_different_errors,
    an_ack_shows_in_the_trace,
    the_environment_says_who_and_where,
    a_linked_or_incomplete_room_is_not_used,
    one_sender_s_messages_arrive_in_order_without_a_router,
    route_leaves_the_work_to_a_router_that_runs,
);

/// Texts that break a writer that only adds quotation marks, and 100 kB.
fn texts() -> Vec<String> {
    let controls: String = (1..32_u8).chain([127]).map(char::from).collect();
    let long = "Zwölf \"Boxkämpfer\" \\ jagen 😀\tden\n".repeat(2800);
    assert!(long.len() > 100_000);
    [
        "plain",
        "\"quotes\" 'single' `back` \\ \\\\ \\n \\u0041 $HOME $(id) %s %% %d",
        "one\ntwo\r\nthree\n\n",
        "  blanks around  ",
        "-n",
        "*",
        "😀 é e\u{301} 中文 עברית \u{202e}\u{2028}\u{feff} \u{10ffff}",
        "{\"to\": \"all\", \"body\": \"x\"}",
        &controls,
        &long,
    ]
    .map(String::from)
    .to_vec()
}

fn hostile_text_goes_to_and_fro_between_two_processes(tongue: Tongue) {
    let town = town();
    let texts = texts();
    for (number, text) in texts.iter().enumerate() {
        let question = file(&town, &format!("question-{number}"), text);
        tongue.ok(&town, "alice", &["send", "bob", &question]);
    }
    let mails = town.wait_for_mail("bob", texts.len());
    assert!(
        mails
            .iter()
            .zip(&texts)
            .all(|(mail, text)| mail["body"] == **text && mail["type"] == "message")
    );
    let out = town.path().join("out");
    files::make_dir(&out);
    tongue.ok(&town, "bob", &["echo", &out.display().to_string()]);
    for (number, text) in texts.iter().enumerate() {
        assert_eq!(files::read_text(out.join(number.to_string())), *text);
    }
    assert_eq!(
        (town.count("bob"), town.names("inbox/bob/seen").len()),
        (0, texts.len())
    );

    let (question, answer) = (
        file(&town, "question", &texts[1]),
        town.path().join("answer"),
    );
    let mut answering = tongue.command(&town, "bob", &["answer", "60"]);
    let answering = answering
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let id = tongue
        .ok(
            &town,
            "alice",
            &["ask", "bob", &question, "60", &answer.display().to_string()],
        )
        .remove(0);
    ended(answering);
    assert_eq!(files::read_text(&answer), texts[1]);
    let mail = town.read(&format!(
        "inbox/alice/seen/{}",
        town.names("inbox/alice/seen")[0]
    ));
    let carried = ["type", "subject", "thread_id", "in_reply_to"]
        .map(|key| mail[key].as_str().unwrap_or_default());
    assert_eq!(
        carried,
        ["answer", "Re: \"Ports\"", &id, &format!("alice/{id}")]
    );
    // Nothing is left lying in an outbox, and the sender sees that its question was read.
    assert_eq!(
        fs::read_dir(town.room("outbox/alice"))
            .expect("an outbox")
            .count(),
        0
    );
    town.wait("the question is seen", || {
        statuses(&town.json(&["trace", &id, "--as", "alice"])).contains(&"seen".into())
    });
}

fn statuses(trace: &Value) -> Vec<String> {
    let statuses = trace["recipients"][0]["statuses"]
        .as_array()
        .into_iter()
        .flatten();
    statuses
        .filter_map(|step| step["status"].as_str().map(str::to_owned))
        .collect()
}

fn broadcast_reaches_a_whole_role_and_request_one_agent_of_it(tongue: Tongue) {
    let town = town();
    tongue.ok(
        &town,
        "alice",
        &[
            "broadcast",
            "engineer",
            "announcement",
            "Freeze",
            "freeze at noon",
        ],
    );
    for reader in ["bob", "carol"] {
        let mail = town.wait_for_mail(reader, 1).remove(0);
        assert_fields!(mail, body: "freeze at noon", type: "announcement");
        assert_eq!(mail["subject"], "Freeze");
    }
    // One's own role, and without oneself.
    let mut own = tongue.command(
        &town,
        "bob",
        &["broadcast", "", "message", "Us", "among us"],
    );
    assert!(
        own.env("MAOS_AGENT_ROLE", "engineer")
            .output()
            .expect("it starts")
            .status
            .success()
    );
    town.wait_for_bodies("carol", &["freeze at noon", "among us"]);
    assert_eq!(town.count("bob"), 1);

    let (question, answer) = (
        file(&town, "question", "who can review?"),
        town.path().join("answer"),
    );
    let asking = ask_an_engineer(tongue, &town, &question);
    // Bob has less to read. He knows only files, and answers by number.
    let request = town.wait_for_mail("bob", 2).remove(1);
    assert_fields!(request, requires_response: true, type: "request");
    assert_eq!(request["subject"], "Help");
    town.mail(
        "bob",
        "chat.json",
        json!({"to": "alice", "body": "something else"}),
    );
    town.wait_for_mail("alice", 1);
    let seq = request["delivery"]["seq"].to_string();
    town.mail(
        "bob",
        "answer.json",
        json!({"to": "alice", "body": "I can", "in_reply_to": seq}),
    );
    ended(asking);
    assert_eq!(files::read_text(answer), "I can");
    assert_eq!(town.bodies("alice"), ["something else"]);
}

/// Starts a request of alice with this file, which waits a minute for its answer.
fn ask_an_engineer(tongue: Tongue, town: &Town, question: &str) -> Child {
    let mut asking = tongue.command(
        town,
        "alice",
        &["request", "engineer", question, "60", "answer"],
    );
    asking
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

fn request_returns_an_answer_and_no_other_mail(tongue: Tongue) {
    // P364
    let town = town();
    // Two messages of one file have the numbers 1 and 2.
    let lines = "{\"to\": \"bob\", \"body\": \"one\"}\n{\"to\": \"bob\", \"body\": \"two\"}\n";
    town.drop_file("alice", "lines.ndjson", lines);
    town.wait_for_bodies("bob", &["one", "two"]);
    // The copy of an earlier message need not be readable.
    town.mail("alice", "x.json", json!({"to": "bob", "body": "three"}));
    let numbers: Vec<Value> = town
        .wait_for_mail("bob", 3)
        .iter()
        .map(|mail| mail["delivery"]["seq"].clone())
        .collect();
    // The router keeps it after the delivery.
    let find_copy = || {
        let mut names = town.names("sent/alice").into_iter();
        names.find(|name| name.ends_with("~x.json"))
    };
    town.wait("the copy is kept", || find_copy().is_some());
    let copy = find_copy().expect("it was there");
    town.write(&format!("sent/alice/{copy}"), "no JSON");

    let question = file(&town, "question", "who can review?");
    let asking = ask_an_engineer(tongue, &town, &question);
    let request = town.wait_for_mail("carol", 1).remove(0);
    let id = &request["id"];
    for (at, number) in numbers.iter().enumerate() {
        town.mail(
            "bob",
            &format!("{at}.json"),
            json!({"to": "alice", "body": "to earlier mail", "in_reply_to": number}),
        );
    }
    let placed =
        json!({"from": "bob", "id": "odd", "refs": 5, "thread_id": [id], "in_reply_to": {}});
    let placed = serde_json::to_string_pretty(&placed).expect("JSON");
    town.place("inbox/alice/0-odd.json", placed);
    let name = format!("alice/{}", id.as_str().expect("an id"));
    let escalation = json!({"id": "late", "from": "mailbag", "type": "escalation", "body": "no answer yet", "in_reply_to": name});
    let escalation = serde_json::to_string_pretty(&escalation).expect("JSON");
    town.place("inbox/alice/0-late.json", escalation);
    let reports = ["status", "progress", "thinking", "tool_call", "tool_result"];
    for kind in reports {
        town.mail(
            "carol",
            &format!("{kind}.json"),
            json!({"to": "alice", "type": kind, "body": "on it", "thread_id": id,
                "in_reply_to": name}),
        );
    }
    let others = numbers.len() + 2 + reports.len();
    town.wait_for_mail("alice", others);
    town.mail(
        "carol",
        "answer.json",
        json!({"to": "alice", "type": "answer", "body": "I can", "thread_id": id}),
    );
    ended(asking);
    assert_eq!(files::read_text(town.path().join("answer")), "I can");
    assert_eq!(town.count("alice"), others);
}

fn request_returns_an_answer_that_names_it_in_refs(tongue: Tongue) {
    // P364
    let town = town();
    town.mail("alice", "x.json", json!({"to": "bob", "body": "earlier"}));
    let earlier = town.wait_for_mail("bob", 1).remove(0);
    let question = file(&town, "question", "who can review?");
    for way in ["id", "sender", "number"] {
        let asking = ask_an_engineer(tongue, &town, &question);
        let request = town.wait_for_mail("carol", 1).remove(0);
        let (id, seq) = (&request["id"], request["delivery"]["seq"].to_string());
        let name = match way {
            "id" => id.clone(),
            "sender" => json!(format!("alice/{}", id.as_str().expect("an id"))),
            _ => json!(seq),
        };
        town.mail(
            "carol",
            &format!("{way}.json"),
            json!({"to": "alice", "body": way, "refs": [earlier["id"], name]}),
        );
        ended(asking);
        assert_eq!(files::read_text(town.path().join("answer")), way);
        town.ok("read --as carol --all");
    }
}

fn request_that_expires_unread_raises_an_error(tongue: Tongue) {
    let town = town();
    let question = file(&town, "question", "anybody?");
    let asking = tongue.command(
        &town,
        "alice",
        &["request", "engineer", &question, "60", "out"],
    );
    let asking = std::thread::spawn(move || tongue.fails(asking));
    let request = town.wait_for_mail("bob", 1).remove(0);
    let notice = json!({"id": "notice", "from": "mailbag", "type": "notification", "body": "it expired",
        "in_reply_to": format!("alice/{}", request["id"].as_str().expect("an id"))});
    let notice = serde_json::to_string_pretty(&notice).expect("JSON");
    town.place("inbox/alice/1-notice.json", notice);
    let (fault, said) = asking.join().expect("it ends");
    assert_eq!(fault, Fault::Rejected, "{said}");
    assert_contains!(said, "it expired");
    assert_eq!(town.count("alice"), 0, "the notice was read");
}

fn rejection_and_timeout_raise_different_errors(tongue: Tongue) {
    let town = town();
    let question = file(&town, "question", "anybody?");
    let (fault, said) = tongue.fails(tongue.command(
        &town,
        "alice",
        &["request", "painter", &question, "60", "out"],
    ));
    assert_eq!(fault, Fault::Rejected, "{said}");
    assert_contains!(said, "painter");
    assert_eq!(town.count("alice"), 0, "the bounce was read");
    for words in [
        &["request", "engineer", &question, "0", "out"][..],
        &["wait", "0", "bob"],
    ] {
        let (fault, said) = tongue.fails(tongue.command(&town, "alice", words));
        assert_eq!(fault, Fault::Timeout, "{said}");
    }
    town.mail("bob", "x.json", json!({"to": "alice", "body": "from bob"}));
    town.mail(
        "carol",
        "x.json",
        json!({"to": "alice", "body": "from carol"}),
    );
    assert_eq!(
        tongue.ok(&town, "alice", &["wait", "60", "carol"]),
        ["from carol"]
    );
    // To wait reads nothing away.
    town.wait_for_mail("alice", 2);
}

fn an_ack_shows_in_the_trace(tongue: Tongue) {
    let town = town();
    town.mail(
        "bob",
        "x.json",
        json!({"id": "please", "to": "alice", "body": "please"}),
    );
    town.wait_for_mail("alice", 1);
    tongue.ok(&town, "alice", &["ack", "actioned"]);
    town.wait("the ack", || {
        statuses(&town.json("trace please --as bob")).contains(&"actioned".into())
    });
    assert_eq!((town.count("alice"), town.count("bob")), (0, 0));
}

fn the_environment_says_who_and_where(tongue: Tongue) {
    let town = town();
    let body = file(&town, "body", "found");
    let below = town.path().join("src/deep");
    files::make_dir(&below);
    let mut command = tongue.command(&town, "", &["send", "bob", &body]);
    command
        .current_dir(&below)
        .env_remove("MAILBAG_AGENT")
        .env("MAOS_AGENT_ID", "alice");
    assert!(
        command
            .env("MAOS_SESSION_ID", "s\"7")
            .output()
            .expect("it starts")
            .status
            .success()
    );
    let mail = town.wait_for_mail("bob", 1).remove(0);
    assert_fields!(mail, from: "alice", metadata: json!({"session_id": "s\"7"}));

    let elsewhere = tempfile::tempdir().expect("a directory");
    for variable in ["MAILBAG_ROOM", "MAOS_MESSAGE_DIR"] {
        let mut command = tongue.command(&town, "alice", &["send", "carol", &body]);
        command.current_dir(&elsewhere).env(variable, town.room(""));
        assert!(command.output().expect("it starts").status.success());
    }
    town.wait_for_bodies("carol", &["found", "found"]);

    let said = |agent: &str, variable: (&str, &str), wanted: &str| {
        let mut command = tongue.command(&town, agent, &["send", "bob", &body]);
        command
            .current_dir(&elsewhere)
            .env("MAILBAG_ROOM", town.room(""))
            .env(variable.0, variable.1);
        let (fault, said) = tongue.fails(command);
        assert!(fault == Fault::Other && said.contains(wanted), "{said}");
    };
    said("", ("NOTHING", ""), "MAILBAG_AGENT");
    said("dave", ("NOTHING", ""), "mailbag agent add");
    said("../bob", ("NOTHING", ""), "../bob");
    said("alice", ("MAILBAG_ROOM", "/nowhere"), "mailbag init");
    said("alice", ("MAILBAG_ROOM", ""), "mailbag init");
}

fn a_linked_or_incomplete_room_is_not_used(tongue: Tongue) {
    // P300, P340
    let town = town();
    let body = file(&town, "body", "found");
    let clone = tempfile::tempdir().expect("a directory");
    symlink(town.room(""), clone.path().join(".mailbag")).expect("a link");
    let from_clone = |named: bool| {
        let mut command = tongue.command(&town, "alice", &["send", "bob", &body]);
        command.current_dir(&clone);
        if named {
            command.env("MAILBAG_ROOM", clone.path().join(".mailbag"));
        }
        command
    };
    let (fault, said) = tongue.fails(from_clone(false));
    assert!(
        fault == Fault::Other && said.contains("is a symbolic link"),
        "{said}"
    );
    let output = from_clone(true).output().expect("it starts");
    assert!(output.status.success(), "{}", lossy(&output.stderr));
    town.wait_for_bodies("bob", &["found"]);

    let copy = clone.path().join("copy");
    files::make_dir(copy.join("outbox/alice"));
    files::write(copy.join("INCOMPLETE"), "");
    let mut command = tongue.command(&town, "alice", &["send", "bob", &body]);
    command.env("MAILBAG_ROOM", &copy);
    let (fault, said) = tongue.fails(command);
    assert!(
        fault == Fault::Other && said.contains("INCOMPLETE"),
        "{said}"
    );
}

fn one_sender_s_messages_arrive_in_order_without_a_router(tongue: Tongue) {
    // P234
    let town = Town::alice_and_bob();
    let files: Vec<String> = (0..60)
        .map(|n| {
            file(
                &town,
                &format!("{n}.text"),
                json!({"to": "bob", "body": n.to_string()}).to_string(),
            )
        })
        .collect();
    // One process that drops many in a millisecond, and others after it.
    for some in [&files[..50], &files[50..55], &files[55..59], &files[59..]] {
        let words: Vec<&str> = ["drop"]
            .into_iter()
            .chain(some.iter().map(String::as_str))
            .collect();
        tongue.ok(&town, "alice", &words);
    }
    tongue.ok(&town, "alice", &["send", "bob", &file(&town, "last", "60")]);
    tongue.ok(&town, "alice", &["route"]);
    let wanted: Vec<String> = (0..=60).map(|n: usize| n.to_string()).collect();
    assert_eq!(town.bodies("bob"), wanted);
    // The program's own names sort together with the helper's names.
    tongue.ok(
        &town,
        "alice",
        &["send", "bob", &file(&town, "before", "61")],
    );
    town.send("alice", "bob", "62");
    assert_eq!(town.bodies("bob")[61..], ["61", "62"]);
}

fn route_leaves_the_work_to_a_router_that_runs(tongue: Tongue) {
    let town = town();
    tongue.ok(
        &town,
        "alice",
        &["send", "bob", &file(&town, "text", "hello")],
    );
    tongue.ok(&town, "alice", &["route"]);
    assert_eq!(town.wait_for_mail("bob", 1)[0]["body"], "hello");
}

#[test]
fn the_python_helper_has_the_methods_and_parameters_of_other_helpers_of_this_kind() {
    let town = town();
    town.mail(
        "bob",
        "x.json",
        json!({"to": "alice", "type": "alert", "body": "the build is red"}),
    );
    town.wait_for_mail("alice", 1);
    let said = Tongue::Python.ok(&town, "alice", &["maos"]);
    assert_eq!(
        said[1],
        r#"{"writer": 1, "engineer": 2} ['the build is red']"#
    );
    let mail = town.wait_for_mail("bob", 3);
    let told = |field: &str| {
        mail.iter()
            .map(|mail| mail[field].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(told("type"), ["question", "announcement", "announcement"]);
    assert_eq!(told("subject"), ["Ports", "research: a.md", "Freeze"]);
    assert_eq!(
        (&mail[0]["priority"], &mail[2]["body"], town.count("alice")),
        (&json!("high"), &json!("at noon"), 1)
    );
}
