//! `mailbag search`

use super::{EVIL, each, is_tame, say};
use crate::files;
use crate::world::{Words, World};
use mailbag::query::history::{MessageCriteria, MessageFilter};
use mailbag::query::list::list;
use mailbag::query::search::{self, SearchPattern};
use mailbag::room::Room;
use serde_json::json;
use std::cell::Cell;

fn room() -> World {
    let world = World::with("alice bob carol");
    say(
        &world,
        "alice",
        json!({"id": "m1", "to": "bob", "subject": "Порт", "body": "port 8080 is\ttaken by \"nginx\""}),
    );
    say(
        &world,
        "bob",
        json!({"id": "m2", "to": "alice", "body": "C:\\temp\\x and a/b/c", "metadata": {"file": "src/parser.rs"}}),
    );
    say(
        &world,
        "carol",
        json!({"id": "m3", "to": "all", "body": "Die Größe stimmt", "mood": ["calm", {"deep": "needle"}]}),
    );
    say(
        &world,
        "carol",
        json!({"id": "m4", "to": "bob", "body": "x", "attachments": [{"name": "n.txt", "content": "port 22"}]}),
    );
    world
}

fn ids(world: &World, args: &(impl Words + ?Sized)) -> Vec<String> {
    let hits = world.items(&[vec!["search"], args.words()].concat());
    each(&hits, "id").into_iter().map(str::to_owned).collect()
}

#[test]
fn every_text_of_a_message_is_searched_as_it_was_written() {
    let world = room();
    let found = |pattern: &str| ids(&world, &["--regex", pattern]);
    assert_eq!(found("port \\d+"), ["m1", "m4"]);
    assert_eq!(found("taken by \"nginx\""), ["m1"]);
    assert_eq!(found("is\\ttaken"), ["m1"]);
    assert_eq!(found("C:\\\\temp\\\\x"), ["m2"]);
    assert_eq!(found("a/b/c"), ["m2"]);
    assert_eq!(found("Порт"), ["m1"]);
    assert_eq!(found("Grö.e"), ["m3"]);
    assert_eq!(found("needle"), ["m3"]);
    assert_eq!(found("^m3$"), ["m3"], "the id");
    assert_eq!(found("^carol$"), ["m3", "m4"], "the sender");
    assert_eq!(found("^all$"), ["m3"], "the address");
    assert_eq!(found("^bob$"), ["m1", "m2", "m3", "m4"], "whom it reached");
    assert_eq!(found("needl$"), [""; 0]);
    assert_eq!(
        found("prev"),
        [""; 0],
        "the log's own fields are no message"
    );
    assert_eq!(found("GRÖSSE"), [""; 0]);
    assert_eq!(ids(&world, "--regex -i PORT|größe"), ["m1", "m3", "m4"]);
    assert_eq!(ids(&world, "--regex -i ПОРТ"), ["m1"]);
    assert_eq!(found(".").len(), 4);
}

#[test]
fn search_finds_words_in_any_order_and_field() {
    let world = room();
    let found = |words: &[&str]| ids(&world, words);
    assert_eq!(found(&["TAKEN", "port"]), ["m1"]);
    assert_eq!(found(&["taken port"]), ["m1"]);
    assert_eq!(found(&["nginx порт"]), ["m1"], "subject and body");
    assert_eq!(found(&["carol port"]), ["m4"], "sender and attachment");
    assert_eq!(found(&["port"]), ["m1", "m4"]);
    assert_eq!(found(&["port", "--last", "1"]), ["m4"]);
    assert_eq!(found(&["größe STIMMT"]), ["m3"]);
    assert_eq!(found(&["\"8080 is\""]), ["m1"]);
    assert_eq!(found(&["\"is taken\""]), [""; 0], "a tab is not a blank");
    assert_eq!(found(&["\"is\ttaken\" port"]), ["m1"]);
    assert_eq!(found(&["\"port taken\""]), [""; 0]);
    assert_eq!(found(&["C:\\temp\\x"]), ["m2"], "no regular expression");
    assert_eq!(found(&["port."]), [""; 0]);
    assert_eq!(found(&["port needle"]), [""; 0], "no message has both");
    assert_contains!(world.fails(2, "search ' '"), "no word to search for");
}

#[test]
fn the_filters_narrow_a_search() {
    let world = room();
    assert_eq!(ids(&world, "port --from carol"), ["m4"]);
    assert_eq!(
        ids(&world, "port --as alice"),
        ["m1"],
        "only what alice sent or got"
    );
    assert_eq!(ids(&world, "port --as human"), ["m1", "m4"]);
    assert_eq!(ids(&world, "port --until 1h"), [""; 0]);
    world.ok("read m1 --as bob");
    assert_eq!(ids(&world, "port --unread --to bob"), ["m4"]);
    assert_contains!(
        world.fails(2, "search --regex 'port ('"),
        "is not a regular expression",
        "unclosed group"
    );
}

#[test]
fn the_newest_matches_equal_the_end_of_a_whole_search_and_cost_only_the_end_of_the_log() {
    let world = World::alice_and_bob().settings("budget.messages = 0\nbudget.copies = 0\n");
    let mut times = Vec::new();
    for part in 0..4 {
        let lines: String = (0..20)
            .map(|n| {
                let word = if n % 4 == 0 { "port" } else { "other" };
                let body = format!("{word} server {}", "x".repeat(40_000));
                let id = format!("m{part}-{n}");
                format!("{}\n", json!({"id": id, "to": "bob", "body": body}))
            })
            .collect();
        files::write(world.room(&format!("outbox/alice/{part}.ndjson")), lines);
        world.pass_here();
        times.push(world.items("list --last 1")[0]["accepted_at"].clone());
    }
    let room = Room::open(&world.room("")).expect("a room");
    let until = times[2].as_str().map(str::to_owned);
    for until in [None, until] {
        let filter = || {
            let criteria = MessageCriteria {
                until: until.clone(),
                ..MessageCriteria::default()
            };
            MessageFilter::new(&room, criteria).expect("a filter")
        };
        let pattern = || SearchPattern::words("server port").expect("words");
        let list = |last| -> Vec<u64> {
            let list = list(&room, filter(), last).expect("a list");
            list.map(|one| one.expect("a message").seq).collect()
        };
        let all = search::search(&room, pattern(), filter(), None, &|_| {}).expect("a search");
        let all = all.map(|hit| hit.expect("a hit").past.seq);
        let (all, listed): (Vec<u64>, _) = (all.collect(), list(None));
        assert!(all.len() >= 14 && listed.len() >= 59, "{all:?} {listed:?}");
        for most in [1, 5, 15, 1000] {
            let read = Cell::new(0);
            let report = |bytes| read.set(read.get() + bytes);
            let found = search::search(&room, pattern(), filter(), Some(most), &report);
            let found: Vec<u64> = found
                .expect("hits")
                .map(|hit| hit.expect("a hit").past.seq)
                .collect();
            let what = format!("{most} until {until:?}, {} bytes", read.get());
            assert!(found == all[all.len().saturating_sub(most)..], "{what}");
            assert!(most > 5 || read.get() < 3 << 19, "{what}");
            let end = &listed[listed.len().saturating_sub(most)..];
            assert_eq!(list(Some(most)), end, "{what}");
        }
    }
}

#[test]
fn search_shows_each_match_in_one_line_with_its_surroundings() {
    let world = room();
    let shown = world.ok("search --regex taken|needle");
    assert_contains!(
        shown,
        "alice → bob  body: port 8080 is\\ttaken by \"nginx\"\n"
    );
    assert_contains!(shown, "mood.deep: needle\n");
    let hits = world.items("search taken");
    let wanted = json!([{"field": "body", "excerpt": [
        {"text": "port 8080 is\t", "match": false},
        {"text": "taken", "match": true},
        {"text": " by \"nginx\"", "match": false},
    ]}]);
    assert_eq!(hits[0]["matches"], wanted);
    let long = format!("{}needle{}", "ä".repeat(500), "ö".repeat(500));
    say(
        &world,
        "alice",
        json!({"id": "m9", "to": "bob", "body": long}),
    );
    assert_contains!(
        world.ok("search needle --from alice"),
        &format!("body: …{}needle{}…\n", "ä".repeat(40), "ö".repeat(40))
    );
    let none = world.run("search nowhere");
    assert!(
        none.code == 0 && none.out.is_empty() && none.err.contains("no matching messages"),
        "{none:?}"
    );
}

#[test]
fn hostile_text_is_found_and_neutralised() {
    let world = World::with("mallory bob");
    let key = format!("k{EVIL}");
    say(
        &world,
        "mallory",
        json!({"id": "m1", "to": "bob", "subject": EVIL, "body": format!("{EVIL}needle{EVIL}"), key: "needle"}),
    );
    for pattern in ["needle", "\\x1b\\[2J", "owned", "gnihton", "\u{202e}"] {
        let ran = world.run(&["search", "--regex", pattern]);
        assert!(
            ran.code == 0 && is_tame(&ran.out) && is_tame(&ran.err),
            "{pattern:?}: {ran:?}"
        );
        assert_eq!(ran.out.lines().count(), 1, "{pattern:?}: {ran:?}");
    }
    assert_eq!(
        world.items("search needle")[0]["subject"],
        EVIL,
        "data is data"
    );
    assert!(is_tame(
        &world.fails(2, &["search", "--regex", &format!("({EVIL}")])
    ));
}
