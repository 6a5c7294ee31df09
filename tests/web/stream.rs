//! The stream of events: without a gap or a repeat, even across reconnections and restarts, and for
//! a slow reader.

use super::Page;
use crate::files;
use crate::town::so_within;
use crate::world::World;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A reader of `/events`.
pub(super) struct Stream(BufReader<TcpStream>);

impl Stream {
    pub(super) fn open(page: &Page, query: &str, headers: &str) -> Stream {
        let mut stream = page.connect();
        let line = format!("GET /events{query}");
        let head = page.request(&line, &(page.known() + headers), "");
        stream.write_all(head.as_bytes()).expect("it is sent");
        Stream(BufReader::new(stream))
    }

    /// The next event with this name: its id and its data.
    fn next(&mut self, name: &str) -> (Option<u64>, serde_json::Value) {
        let (mut is_it, mut id) = (false, None);
        loop {
            let mut line = String::new();
            assert_ne!(
                self.0.read_line(&mut line).expect("an event"),
                0,
                "the stream ended"
            );
            let line = line.trim_end();
            if let Some(event) = line.strip_prefix("event: ") {
                (is_it, id) = (event == name, None);
            } else if let Some(number) = line.strip_prefix("id: ") {
                id = number.parse().ok();
            } else if let Some(data) = line.strip_prefix("data: ").filter(|_| is_it) {
                return (id, serde_json::from_str(data).expect("JSON"));
            }
        }
    }

    pub(super) fn entries(&mut self, count: usize) -> Vec<u64> {
        (0..count)
            .map(|_| self.next("entry").0.expect("an id"))
            .collect()
    }
}

fn send(world: &World, count: usize) {
    for n in 0..count {
        world.drop_file(
            "alice",
            &format!("{n}.json"),
            r#"{"to": "bob", "body": "x"}"#,
        );
    }
    // The page delivers, if it runs already.
    world.run("run --once");
}

#[test]
fn a_reader_continues_behind_what_it_has() {
    let world = World::alice_and_bob();
    send(&world, 5);
    let page = Page::of(&world);
    let first = Stream::open(&page, "?since=0", "").entries(5);
    assert!(first.windows(2).all(|pair| pair[0] < pair[1]), "{first:?}");
    let rest = Stream::open(&page, &format!("?since={}", first[1]), "").entries(3);
    assert_eq!(rest, first[2..]);
    // A browser that reconnects sends this header, which takes precedence over the address.
    let last = format!("Last-Event-ID: {}\r\n", first[3]);
    let again = Stream::open(&page, "?since=0", &last).entries(1);
    assert_eq!(again, first[4..]);
}

#[test]
fn the_stream_shows_each_message_once_across_restarts_of_router_and_page() {
    let world = World::alice_and_bob();
    let mut page = Page::of(&world);
    let mut stream = Stream::open(&page, "?since=0", "");
    let mut seen = Vec::new();
    for round in 0..3 {
        world.send("alice", "bob", &format!("message {round}"));
        let (id, entry) = stream.next("entry");
        assert_eq!(entry["body"], format!("message {round}"));
        seen.extend(id);
        if round == 1 {
            page.kill();
            world.send("alice", "bob", "meanwhile");
            page = Page::of(&world);
            let last = format!("Last-Event-ID: {}\r\n", seen[1]);
            stream = Stream::open(&page, "?since=0", &last);
            assert_eq!(stream.next("entry").1["body"], "meanwhile");
        }
    }
}

#[test]
fn a_number_that_is_not_in_the_log_resets_the_reader() {
    let world = World::alice_and_bob();
    send(&world, 1);
    let page = Page::of(&world);
    Stream::open(&page, "?since=4000", "").next("reset");
    let wrong = page.ask("GET", "/events", "Last-Event-ID: x\r\n", "");
    assert_eq!(wrong.status, 400);
    assert_eq!(page.get("/events?since=-1").status, 400);
}

#[test]
fn a_reader_that_does_not_read_costs_the_page_nothing() {
    let world = World::alice_and_bob();
    let page = Page::of(&world);
    let stalled = Stream::open(&page, "?since=0", "");
    let message = json!({"to": "bob", "body": "word ".repeat(4000)});
    for n in 0..400 {
        world.mail("alice", &format!("{n}.json"), &message);
    }
    // 8 MB of bodies wait for it.
    assert_eq!(Stream::open(&page, "?since=0", "").entries(400).len(), 400);
    assert!(page.memory() < 80_000, "{} kB", page.memory());
    drop(stalled);
}

#[test]
fn streams_have_a_bound_and_free_their_place() {
    let world = World::alice_and_bob();
    let page = Page::of(&world);
    let mut all: Vec<Stream> = (0..32).map(|_| Stream::open(&page, "", "")).collect();
    assert!(so_within(Duration::from_secs(10), || page
        .get_head("/events")
        .contains(" 503 ")));
    all.clear();
    send(&world, 1);
    assert!(so_within(Duration::from_secs(30), || {
        let mut stream = Stream::open(&page, "?since=0", "");
        let mut line = String::new();
        stream.0.read_line(&mut line).is_ok() && line.contains(" 200 ")
    }));
}

#[test]
fn a_room_that_moves_away_and_back_is_said_and_goes_on() {
    let world = World::alice_and_bob();
    let page = Page::of(&world);
    let mut stream = Stream::open(&page, "?since=0", "");
    let (room, away) = (world.path().join(".mailbag"), world.path().join("away"));
    files::rename(&room, &away);
    let (_, gone) = stream.next("gone");
    assert_contains!(gone["what"].to_string(), ".mailbag");
    files::rename(&away, &room);
    // Readers get a notification although the room has no new record.
    stream.next("change");
    world.send("alice", "bob", "back");
    assert_eq!(stream.next("entry").1["body"], "back");
}

#[test]
fn the_person_counts_as_online_while_a_page_is_open() {
    let world = World::with("alice");
    let page = Page::of(&world);
    let is_online = || world.json("who")["agents"][0]["presence"] == "online";
    assert!(!is_online());
    let stream = Stream::open(&page, "", "");
    assert!(so_within(Duration::from_secs(20), is_online));
    drop(stream);
}
