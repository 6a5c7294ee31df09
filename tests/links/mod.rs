//! Links: two rooms on one machine that write to each other, each with its own router.

mod attached;
mod away;
mod border;
mod budgets;
mod changes;
mod commands;
mod crossing;
mod hostile;
mod mentions;
mod sizes;
mod streams;

use crate::files;
use crate::world::{World, parse_json};
use serde_json::{Value, json};
use std::fs;
pub(crate) use streams::copy_all;

/// Two rooms with a link each way: `fit` with alice, who knows the other as `po`, and `po` with sintra and bob, who know the
/// first as `fit`.
pub(crate) struct Rooms {
    pub(crate) fit: World,
    pub(crate) po: World,
}

impl Rooms {
    pub(crate) fn new() -> Rooms {
        Rooms::accepting("\"agents\", \"roles\"")
    }

    /// The room `po` takes mail to these addresses from `fit`.
    pub(crate) fn accepting(accept: &str) -> Rooms {
        let fit = World::new().agent("alice", "").agent("anna", "");
        let po = World::new()
            .agent("sintra", "--name Sintra")
            .agent("bob", "--role engineer");
        let rooms = Rooms { fit, po };
        rooms.fit.write(
            "settings.toml",
            link("po", &rooms.po, "\"agents\", \"roles\""),
        );
        rooms.po.write(
            "settings.toml",
            format!("tag = \"po\"\n{}", link("fit", &rooms.fit, accept)),
        );
        made_by_one_person(&[&rooms.fit, &rooms.po]);
        rooms
    }

    /// One pass of each router, as often as it takes until nothing moves.
    #[track_caller]
    pub(crate) fn settle(&self) {
        for _ in 0..6 {
            self.fit.pass();
            self.po.pass();
        }
    }

    /// Alice drops a message, and it crosses.
    #[track_caller]
    pub(crate) fn alice_says(&self, message: Value) {
        self.fit
            .mail("alice", &format!("{}.json", uuid::Uuid::now_v7()), &message);
        self.settle();
    }
}

/// Records in the home directory of each room that the same person created all these rooms.
pub(crate) fn made_by_one_person(worlds: &[&World]) {
    let record = |world: &World| world.trust().join("rooms.json");
    let created = |world: &&World| -> Vec<Value> {
        let text = files::read(record(world));
        let all = parse_json(&text);
        all["rooms"].as_array().expect("a list").clone()
    };
    let all: Vec<Value> = worlds.iter().flat_map(created).collect();
    for world in worlds {
        files::write(record(world), json!({"rooms": all}).to_string());
    }
}

/// The setting of a link to a room.
pub(crate) fn link(tag: &str, to: &World, accept: &str) -> String {
    format!(
        "[links.{tag}]\naddress = {:?}\naccept = [{accept}]\n",
        to.room("")
    )
}

/// The records of a room's log.
pub(crate) fn records(world: &World) -> Vec<Value> {
    let mut segments: Vec<_> = fs::read_dir(world.room("log"))
        .expect("a log")
        .flatten()
        .map(|e| e.path())
        .collect();
    segments.sort();
    let lines = segments.iter().flat_map(|path| {
        files::read_text(path)
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    lines
        .map(|line| serde_json::from_str(&line).expect("a record"))
        .collect()
}

/// The codes of the problems in the bounces in an inbox.
pub(crate) fn bounced(world: &World, agent: &str) -> Vec<(String, String)> {
    let errors = world
        .inbox(agent)
        .into_iter()
        .filter(|mail| mail["type"] == "error");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    errors
        .map(|mail| {
            (
                text(&mail["from"]),
                text(&mail["metadata"]["problems"][0]["code"]),
            )
        })
        .collect()
}

/// The state of a room for another room.
pub(crate) fn state(world: &World, tag: &str) -> Value {
    world.read(&format!("links/{tag}/out/state.json"))
}

/// A message of the human about a link.
pub(crate) fn change(world: &World, tag: &str, action: &str) {
    let message = json!({"type": "link", "link": tag, "action": action});
    world.route("human", &format!("{action}.json"), &message);
}
