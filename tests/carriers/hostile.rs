//! A hostile peer: it has the connection and sends any frames.

use super::Pair;
use crate::world::{KilledChild, World, lossy, parse_json};
use mailbag::features::links::item::seal;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Command, Output, Stdio};

/// A conversation with `mailbag link serve`.
pub(super) struct Talk {
    child: KilledChild,
    heard: BufReader<ChildStdout>,
}

impl Talk {
    pub(super) fn begin(room: &World, tag: &str) -> Talk {
        let mut command = serve(room, tag);
        let mut child = KilledChild(command.stderr(Stdio::null()).spawn().expect("it starts"));
        let heard = BufReader::new(child.stdout.take().expect("a pipe"));
        Talk { child, heard }
    }

    pub(super) fn say(&mut self, said: &[u8]) {
        self.child
            .stdin
            .as_mut()
            .expect("a pipe")
            .write_all(said)
            .expect("it listens");
    }

    /// Reads to a line with these words.
    pub(super) fn hears(&mut self, words: &str) -> String {
        let mut all = String::new();
        while !all.contains(words) {
            assert!(
                self.heard.read_line(&mut all).expect("it speaks") > 0,
                "it ended: {all}"
            );
        }
        all
    }
}

fn serve(room: &World, tag: &str) -> Command {
    let mut command = room.bare(&["link", "serve", tag]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Says this to `mailbag link serve`, then ends the connection.
fn served(po: &World, tag: &str, said: &[u8]) -> Output {
    let mut child = serve(po, tag).spawn().expect("it starts");
    let mut to = child.stdin.take().expect("a pipe");
    let said = said.to_vec();
    // It may end before it has read everything.
    let writer = std::thread::spawn(move || {
        let _ = to.write_all(&said);
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("it is written");
    output
}

pub(super) fn lines(frames: &[Value]) -> Vec<u8> {
    frames
        .iter()
        .flat_map(|frame| format!("{frame}\n").into_bytes())
        .collect()
}

fn hello() -> Value {
    json!({"hello": {"version": 1, "room": "another"}})
}

/// The items of a room with this mail of alice to sintra.
pub(super) fn items(bodies: &[&str]) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    for (n, body) in (1..).zip(bodies) {
        let first = json!("0".repeat(64));
        let prev = items.last().map_or(first, |item| item["digest"].clone());
        let message = json!({"id": format!("m-{n}"), "type": "message", "body": body});
        let item = json!({"stream": "s", "n": n, "prev": prev, "seq": n + 1, "from": "alice", "to": ["sintra"], "message": message});
        items.push(parse_json(seal(item.as_object().expect("fields").clone())));
    }
    items
}

#[test]
fn garbage_and_what_comes_out_of_turn_ends_the_connection() {
    // P220 P223
    let pair = Pair::new();
    let state = json!({"state": {"room": "r", "in": null, "out": null}});
    let huge = json!({"state": {"room": "r".repeat(100_000), "in": null, "out": null}});
    for (said, told) in [
        (
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            "does not use the link protocol",
        ),
        (b"\0\xff\xfe\n".to_vec(), "does not use the link protocol"),
        (
            b"[".repeat(100_000).into_iter().chain(*b"\n").collect(),
            "does not use the link protocol",
        ),
        (
            lines(std::slice::from_ref(&state)),
            "does not start with the link protocol",
        ),
        (
            lines(&[json!({"hello": {"version": 2, "room": "r"}})]),
            "version 2",
        ),
        (lines(&[hello(), hello()]), "sends a second greeting"),
        (lines(&[hello(), huge]), "too large"),
        (
            lines(&[hello(), json!({"item": {"n": "../../../x"}})]),
            "damaged",
        ),
        (lines(&[hello(), json!({"item": 7})]), "damaged"),
        (
            lines(&[hello(), json!({"bye": "\u{1b}[2Jgone\nerror: forged"})]),
            "gone",
        ),
    ] {
        let before = pair.po.names("links/fit/in");
        let output = served(&pair.po, "fit", &said);
        let error = lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(75), "{error}");
        assert!(
            error.contains(told) && !error.contains('\u{1b}') && error.lines().count() == 1,
            "{told}: {error:?}"
        );
        let said = lossy(&output.stdout);
        assert!(said.starts_with("{\"hello\":{\"version\":1,"), "{said}");
        assert_eq!(pair.po.names("links/fit/in"), before, "{told}");
    }
}

#[test]
fn a_silent_peer_is_given_up() {
    // P220
    let pair = Pair::new();
    let mut command = serve(&pair.po, "fit");
    command.env("MAILBAG_TEST_SILENCE_MS", "200");
    let mut child = command.spawn().expect("it starts");
    let mut to = child.stdin.take().expect("a pipe");
    to.write_all(&lines(&[hello()])).expect("it listens");
    let output = child
        .wait_with_output()
        .expect("it ends, although the connection stands");
    let error = lossy(&output.stderr);
    assert!(
        output.status.code() == Some(75) && error.contains("the peer sent nothing for 200ms"),
        "{error}"
    );
    let said = lossy(&output.stdout);
    assert!(
        said.ends_with("{\"bye\":\"the peer sent nothing for 200ms\"}\n"),
        "{said}"
    );
    drop(to);
    // The end that connects notices, too, and connects again.
    pair.script(
        "ssh",
        "#!/bin/sh\necho '{\"hello\":{\"version\":1,\"room\":\"another\"}}'\nexec sleep 60\n",
    );
    let mut command = pair.fit.bare("link run");
    command
        .env("PATH", pair.path())
        .env("MAILBAG_TEST_SILENCE_MS", "200");
    let carriers = super::Running::start(command, pair.fit.path());
    carriers.says("link po: not connected: the peer sent nothing for 200ms");
}

#[test]
fn a_line_without_an_end_is_refused_at_the_largest_size_of_an_item() {
    // P223
    let pair = Pair::new();
    let output = served(&pair.po, "fit", &vec![b'x'; 32 << 20]);
    assert_contains!(lossy(&output.stderr), "more than 4194304 bytes");
    assert_contains!(lossy(&output.stdout), "{\"bye\":"; "the peer is told");
}

#[test]
fn a_number_far_ahead_is_refused_and_no_name_comes_from_the_peer() {
    // P223
    let pair = Pair::new();
    let mut item = items(&["hello"]).remove(0);
    item["name"] = "../../outbox/bob/x.json".into();
    served(&pair.po, "fit", &lines(&[hello(), json!({"item": item})]));
    let far: Vec<Value> = items(&["x"; 3]);
    // The digest is right, and so is the form: the numbers decide.
    served(
        &pair.po,
        "fit",
        &lines(&[
            hello(),
            json!({"item": far[2]}),
            json!({"again": [0, u64::MAX]}),
        ]),
    );
    let names = pair.po.names("links/fit/in");
    assert!(
        names
            .iter()
            .all(|name| name == "000000000003.json" || name == "state.json"),
        "{names:?}"
    );
    assert!(pair.po.bodies("bob").is_empty() && pair.po.bodies("sintra").is_empty());
    let everything = pair.po.everything();
    assert!(
        !everything.iter().any(|(path, _)| path.ends_with("x.json")),
        "{everything:?}"
    );
}

#[test]
fn items_that_cannot_be_taken_yet_fill_the_disk_to_a_bound_only() {
    // P223
    let pair = Pair::new();
    let large = "x".repeat(1_000_000);
    let mut all = items(&[large.as_str(); 20]);
    assert_eq!(all.len(), 20);
    let first = all.remove(0);
    let flood: Vec<Value> = std::iter::once(hello())
        .chain(all.into_iter().map(|item| json!({"item": item})))
        .collect();
    served(&pair.po, "fit", &lines(&flood));
    let sizes = fs::read_dir(pair.po.room("links/fit/in"))
        .expect("it is there")
        .flatten();
    let total: u64 = sizes
        .map(|entry| entry.metadata().expect("a file").len())
        .sum();
    assert!(total <= 16 << 20, "{total} bytes");
    // The next item always has space, and the others were accepted in their order.
    served(&pair.po, "fit", &lines(&[hello(), json!({"item": first})]));
    pair.po.pass();
    assert!(
        (10..20).contains(&pair.po.bodies("sintra").len()),
        "{}",
        pair.po.bodies("sintra").len()
    );
}

#[test]
fn a_link_that_the_room_does_not_have_or_that_is_within_the_machine_is_not_served() {
    let pair = Pair::new();
    for tag in [
        "nobody",
        "../fit",
        "fit/../fit",
        "",
        ".",
        "FIT:",
        "\u{1b}[2J",
    ] {
        let output = served(&pair.po, tag, &lines(&[hello()]));
        let error = lossy(&output.stderr);
        assert!(
            error.contains("has no link") && !error.contains('\u{1b}') && output.stdout.is_empty(),
            "{error:?}"
        );
        assert_eq!(output.status.code(), Some(3), "{tag}");
    }
    pair.po.write(
        "settings.toml",
        "tag = \"po\"\n[links.fit]\naddress = \"/x\"\n",
    );
    let output = served(&pair.po, "fit", &lines(&[hello()]));
    assert_contains!(lossy(&output.stderr), "within that machine");
}
