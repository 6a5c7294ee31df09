//! The helper in Python, and its example in the docs: they drop and read files, even if they are killed.

use crate::files;
use crate::records::flat_record;
use crate::world::{World, lossy};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const HELPER: &str = include_str!("../docs/helpers/mailbag.py");

fn room() -> World {
    let world = World::with("alice bob carol");
    world.ok("agent set bob --role engineer");
    world.ok("agent set carol --role engineer");
    files::write(world.path().join("mailbag.py"), HELPER);
    world
}

/// A program in Python as this agent, with the helper beside it.
fn python(world: &World, agent: &str, program: &str) -> Command {
    let mut command = Command::new("python3");
    command
        .args(["-B", "-W", "error", "-c"])
        .arg(format!("from mailbag import Mailbag\n{program}"))
        .current_dir(world.path())
        .env("MAILBAG_AGENT", agent)
        .env_remove("MAILBAG_ROOM");
    command
}

#[track_caller]
fn prints(mut command: Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", lossy(&output.stderr));
    lossy(&output.stdout)
}

#[test]
fn the_helper_is_short() {
    assert!(HELPER.lines().count() <= 120);
}

#[test]
fn the_helper_sends_to_each_form_of_address_and_reads_in_order() {
    let world = room();
    let send = "mail = Mailbag()
for to in ('bob', ['bob', 'carol'], 'all', 'all_engineers', 'any_engineer', 'car*'):
    mail.send_message(to, 'question', 'Port', f'to {to}', priority='high')
mail.broadcast_to_role('engineers', 'status', None, 'ready')
mail.request_from_role('engineer', 'Review', 'Please')
print(mail.get_agents_by_role())";
    assert_eq!(prints(python(&world, "alice", send)), "{'engineer': 2}\n");
    world.pass();
    let reply = "mail = Mailbag()
for message in mail.read_messages():
    print(message['body'], message.get('priority'))
    if message['type'] == 'question':
        mail.reply(message, '8080')
    assert mail.done(message) and not mail.done(message)
assert mail.read_messages() == []";
    let read = prints(python(&world, "bob", reply));
    assert!(
        read.starts_with(
            "to bob high\nto ['bob', 'carol'] high\nto all high\nto all_engineers high\n"
        ),
        "{read}"
    );
    world.pass();
    let answers = prints(python(
        &world,
        "alice",
        "for m in Mailbag().read_messages('answer'): print(m['in_reply_to'].split('_')[0], m['subject'], m['body'])",
    ));
    assert_contains!(answers, "alice/msg Port 8080");
    assert_eq!(world.json("status")["counts"]["rejected"], 0);
}

#[test]
fn a_rejected_message_comes_back_to_the_helper() {
    let world = room();
    prints(python(
        &world,
        "alice",
        "Mailbag().send_message('bbo', 'question', None, 'Which port?')",
    ));
    world.pass();
    let back = "for m in Mailbag().read_messages('error'): print(m['from'], m['body'])";
    assert_contains!(prints(python(&world, "alice", back)), "mailbag ", "bob");
}

#[test]
fn the_helper_shares_a_file_and_replaces_none() {
    let world = room();
    let share = "mail = Mailbag()
for text in ('one', 'two'):
    print(mail.share_artifact('notes', 'plan.md', text).name)";
    assert_eq!(
        prints(python(&world, "alice", share)),
        "plan.md\nplan-2.md\n"
    );
    world.pass();
    let listed = world.items("inbox bob");
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
    assert_eq!(files::read_text(world.room("context/notes/plan.md")), "one");
}

#[test]
fn a_sender_that_is_killed_leaves_whole_messages_once() {
    let world = room();
    let send = "mail = Mailbag()
while True:
    print(mail.send_message('bob', 'status', None, 'x' * 50_000), flush=True)";
    let mut sent = BTreeSet::new();
    for count in [1, 7, 30] {
        let mut child = python(&world, "alice", send)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        for line in lines.map_while(Result::ok) {
            sent.insert(line);
            if sent.len() % count == 0 {
                let _ = child.kill();
            }
        }
        child.wait().expect("it ends");
    }
    world.pass();
    let records = world.log("");
    let records = records.lines().map(flat_record);
    let accepted: Vec<String> = records
        .filter(|record| record["event"] == "accepted")
        .filter_map(|record| record["id"].as_str().map(str::to_owned))
        .collect();
    let once: BTreeSet<String> = accepted.iter().cloned().collect();
    assert_eq!(accepted.len(), once.len());
    assert!(sent.is_subset(&once), "each printed id was delivered");
    assert_eq!(world.json("status")["counts"]["rejected"], 0);
}

#[test]
fn a_reader_that_is_killed_before_it_is_done_reads_the_message_again() {
    let world = room();
    world.send("alice", "bob", "first");
    let read = "import os
mail = Mailbag()
for message in mail.read_messages():
    print(message['body'], flush=True)
    os.kill(os.getpid(), 9)
    mail.done(message)";
    for _ in 0..2 {
        let output = python(&world, "bob", read).output().expect("it starts");
        assert_eq!(lossy(&output.stdout), "first\n");
    }
    let read = read.replace("    os.kill(os.getpid(), 9)\n", "");
    assert_eq!(prints(python(&world, "bob", &read)), "first\n");
    assert_eq!(prints(python(&world, "bob", &read)), "");
}

#[test]
fn the_helper_takes_no_room_of_others() {
    let world = room();
    let away = World::empty();
    std::os::unix::fs::symlink(world.room(""), away.path().join(".mailbag")).expect("a link");
    files::write(away.path().join("mailbag.py"), HELPER);
    let output = python(&away, "alice", "Mailbag()")
        .output()
        .expect("it starts");
    assert_contains!(lossy(&output.stderr), "not your own room");
    for agent in ["", "zoe", "../alice/x"] {
        let output = python(&world, agent, "Mailbag()")
            .output()
            .expect("it starts");
        assert_contains!(lossy(&output.stderr), "LookupError"; "{agent}");
    }
}

#[test]
fn the_example_for_python_in_the_docs_runs() {
    let world = room();
    let docs = files::read_text("docs/agents.md");
    let example = docs
        .split("```python\n")
        .nth(1)
        .and_then(|part| part.split("```").next());
    world.mail(
        "bob",
        "q.json",
        json!({"to": "alice", "type": "question", "body": "Which port?"}),
    );
    world.pass();
    let printed = prints(python(&world, "alice", example.expect("an example")));
    assert_eq!(printed, "bob asks: Which port?\n");
    world.pass();
    assert_contains!(world.ok("read --as bob"), "8080");
}
