//! Lines that another program writes into a conversation: removed, kept, and explained to their
//! writer.

use super::{bytes, said};
use crate::files;
use crate::town::Town;
use crate::world::World;
use serde_json::Value;
use std::fs;
use std::io::Write;

const FILE: &str = "channels/main/messages.ndjson";

fn append(world: &World, text: &str) {
    files::make_dir(world.room("channels/main"));
    let file = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(world.room(FILE));
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("a conversation");
}

fn kept(world: &World, agent: &str) -> Vec<String> {
    let names = fs::read_dir(world.room(&format!("rejected/{agent}")))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = names
        .map(|name| name.file_name().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| name.ends_with(".ndjson"));
    names.sort();
    names
}

#[test]
fn an_agent_s_line_in_a_conversation_is_kept_and_the_agent_learns_how_to_send() {
    // P54
    let world = World::alice_and_bob();
    world.send("alice", "bob", "real");
    let before = bytes(&world, "main");
    let line = r#"{"id":"01J","t":"2026-11-21T10:00:00Z","type":"agent","sender":"alice","content":"hello?","addressed":["bob"]}"#;
    append(&world, &format!("{line}\n"));
    world.pass();
    assert!(bytes(&world, "main") == before && world.bodies("bob") == ["real"]);
    let [name] = &kept(&world, "alice")[..] else {
        panic!("{:?}", kept(&world, "alice"))
    };
    assert_eq!(
        world.text(&format!("rejected/alice/{name}")),
        format!("{line}\n")
    );
    let explained = world.read(&format!(
        "rejected/alice/{}.error.json",
        name.trim_end_matches(".ndjson")
    ));
    assert_eq!(
        (&explained["code"], &explained["file"]),
        (&Value::from("foreign_line"), &Value::from(FILE))
    );
    for told in ["alice", "human"] {
        let [mail] = &world.inbox(told)[..] else {
            panic!("{told} has {:?}", world.inbox(told))
        };
        let body = mail["body"].as_str().expect("a body");
        assert!(
            body.contains("outbox/alice/")
                && body.contains(r#""body":"hello?""#)
                && body.contains(name),
            "{body}"
        );
    }
    world.pass();
    assert_eq!(
        (world.inbox("alice").len(), world.inbox("human").len()),
        (1, 1),
        "each is told once"
    );
    let example = &explained["problems"][0]["example"];
    world.route("alice", "as-told.json", example);
    assert_eq!(world.bodies("bob"), ["real", "hello?"]);
}

#[test]
fn the_human_gets_foreign_lines_without_a_registered_sender() {
    // P54
    let world = World::alice_and_bob();
    append(
        &world,
        "just text\n\n{\"sender\":\"nobody.here\"}\nand no end",
    );
    world.ok("inbox bob");
    assert_eq!(bytes(&world, "main"), b"");
    let [name] = &kept(&world, "human")[..] else {
        panic!("{:?}", kept(&world, "human"))
    };
    let text = world.text(&format!("rejected/human/{name}"));
    assert_eq!(text, "just text\n{\"sender\":\"nobody.here\"}\nand no end");
    assert_eq!(
        (world.inbox("human").len(), world.inbox("alice").len()),
        (1, 0)
    );
    world.send("alice", "bob", "first");
    assert_eq!(said(&world, "main"), ["first"]);
}

#[test]
fn a_router_that_runs_notices_before_it_writes_the_next_line() {
    // P54
    let town = Town::of("alice bob carol").run();
    for n in 0..5 {
        town.mail(
            "alice",
            &format!("{n}.json"),
            serde_json::json!({"to": "carol", "body": n.to_string()}),
        );
        town.wait_for_mail("carol", n + 1);
        town.wait("the line", || {
            town.room(FILE).exists() && said(&town, "main").last() == Some(&n.to_string())
        });
        append(
            &town,
            &format!("{{\"sender\":\"bob\",\"content\":\"in between {n}\"}}\n"),
        );
    }
    town.mail(
        "alice",
        "last.json",
        serde_json::json!({"to": "human", "body": "last"}),
    );
    town.wait("all of them are kept", || kept(&town, "bob").len() == 5);
    town.wait("the last line", || {
        said(&town, "main")
            .last()
            .is_some_and(|last| last == "last")
    });
    assert_eq!(said(&town, "main"), ["0", "1", "2", "3", "4", "last"]);
}

#[test]
fn foreign_lines_between_router_lines_are_all_kept_and_no_router_line_is_lost() {
    const LINES: usize = 40;
    let town = Town::of("alice bob carol").quick().run();
    town.mail(
        "alice",
        "first.json",
        serde_json::json!({"to": "carol", "body": "first"}),
    );
    town.wait("the file", || {
        town.room(FILE).exists() && said(&town, "main").len() == 1
    });
    for n in 0..LINES {
        town.mail(
            "alice",
            &format!("{n}.json"),
            serde_json::json!({"to": "carol", "body": n.to_string()}),
        );
        append(
            &town,
            &format!("{{\"sender\":\"bob\",\"content\":\"foreign {n}\"}}\n"),
        );
    }
    town.wait_for_mail("carol", LINES + 1);
    town.mail(
        "alice",
        "last.json",
        serde_json::json!({"to": "carol", "body": "last"}),
    );
    town.wait("the last line", || {
        said(&town, "main")
            .last()
            .is_some_and(|last| last == "last")
    });
    let accepted = town.log("accepted");
    assert_eq!(said(&town, "main").len(), accepted.lines().count());
    let all = || -> String {
        kept(&town, "bob")
            .iter()
            .filter_map(|name| fs::read_to_string(town.room(&format!("rejected/bob/{name}"))).ok())
            .collect()
    };
    town.wait("all of them are kept", || {
        (0..LINES).all(|n| all().contains(&format!("\"foreign {n}\"")))
    });
}

#[test]
fn a_forged_copy_of_a_router_line_is_removed() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "pay 10");
    let real = String::from_utf8(bytes(&world, "main")).expect("text");
    append(&world, &real.replace("pay 10", "pay 99"));
    append(&world, &real);
    world.pass();
    assert_eq!(said(&world, "main"), ["pay 10"]);
    files::write(world.room(FILE), real.replace("pay 10", "pay 99"));
    world.pass();
    assert_eq!(said(&world, "main"), ["pay 10"]);
    assert!(!kept(&world, "alice").is_empty());
}

#[test]
fn an_editor_that_replaces_the_file_while_the_router_runs_loses_nothing() {
    let town = Town::alice_and_bob().run();
    for n in 0..3 {
        town.mail(
            "alice",
            &format!("{n}.json"),
            serde_json::json!({"to": "bob", "body": n.to_string()}),
        );
        town.wait_for_mail("bob", n + 1);
    }
    town.wait("the lines", || said(&town, "main").len() == 3);
    let text = String::from_utf8(bytes(&town, "main")).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let edited = format!(
        "{}\n{{\"sender\":\"bob\",\"content\":\"mine\"}}\n{}\n",
        lines[0], lines[2]
    );
    town.place(FILE, edited.as_bytes());
    town.mail(
        "alice",
        "x.json",
        serde_json::json!({"to": "bob", "body": "3"}),
    );
    town.wait("the file as it was, and a line more", || {
        said(&town, "main") == ["0", "1", "2", "3"]
    });
    assert_eq!(kept(&town, "bob").len(), 1);
}
