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
use crate::records::flat_record;
use crate::world::{World, parse_json};
use serde_json::{Value, json};
use std::path::PathBuf;
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
        let mut before = Vec::new();
        loop {
            self.fit.pass();
            self.po.pass();
            let after = [&self.fit, &self.po].map(moving_files).concat();
            if after == before {
                return;
            }
            before = after;
        }
    }

    /// Alice drops a message, and it crosses.
    #[track_caller]
    pub(crate) fn alice_says(&self, message: Value) {
        self.fit
            .mail("alice", &format!("{}.json", uuid::Uuid::now_v7()), &message);
        self.settle();
    }

    /// Alice drops a message to sintra, and it crosses.
    #[track_caller]
    fn alice_writes(&self, body: &str) {
        self.alice_says(json!({"to": "po:sintra", "body": body}));
    }

    /// Alice drops this many numbered messages to sintra in one file, without a pass.
    fn alice_drops_many(&self, count: usize) {
        let line = |n: usize| {
            let message = json!({"id": format!("m-{n}"), "to": "po:sintra", "body": n.to_string()});
            format!("{message}\n")
        };
        let lines: String = (0..count).map(line).collect();
        self.fit.drop_file("alice", "many.ndjson", lines);
    }

    /// Alice drops a message to sintra, without a pass.
    fn alice_drops(&self, body: &str) {
        let name = format!("{}.json", uuid::Uuid::now_v7());
        let message = json!({"to": "po:sintra", "body": body});
        self.fit.mail("alice", &name, message);
    }
}

/// The log and the files of the links.
fn moving_files(world: &World) -> Vec<(PathBuf, Vec<u8>)> {
    let parts = ["log", "links"].map(|part| walkdir::WalkDir::new(world.room(part)));
    let entries = parts.into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| (entry.path().to_path_buf(), files::read(entry.path())))
        .collect()
}

/// Records in the home directory of each room that the same person created all these rooms.
pub(crate) fn made_by_one_person(worlds: &[&World]) {
    let record = |world: &World| world.trust().join("rooms.json");
    let mut all = Vec::new();
    for world in worlds {
        let created = parse_json(files::read(record(world)));
        all.extend(created["rooms"].as_array().expect("a list").clone());
    }
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

pub(crate) fn records(world: &World) -> Vec<Value> {
    world.log("").lines().map(flat_record).collect()
}

/// The sender and the code of the bounces in an inbox.
pub(crate) fn bounced(world: &World, agent: &str) -> Vec<String> {
    let mail = world.inbox(agent).into_iter();
    mail.filter(|mail| mail["type"] == "error")
        .map(|mail| {
            let code = &mail["metadata"]["problems"][0]["code"];
            format!("{} {}", mail["from"], code).replace('"', "")
        })
        .collect()
}

/// Writes lines before the settings of a room.
fn set(world: &World, lines: &str) {
    let settings = world.text("settings.toml");
    world.write("settings.toml", format!("{lines}\n{settings}"));
}

fn set_aliases(world: &World, aliases: Value) {
    let mut registry = world.read("registry.json");
    registry["aliases"] = aliases;
    world.write("registry.json", registry.to_string());
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
