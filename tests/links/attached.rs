//! Attached files cross a link as texts, within a bound.

use super::hostile::Prey;
use super::{Rooms, bounced, records};
use crate::files;
use crate::world::sha256;
use serde_json::{Value, json};

/// Why a message with this attachment does not leave.
#[track_caller]
fn refused(rooms: &Rooms, attachment: Value) -> String {
    let before = rooms.fit.inbox("alice").len();
    let message = json!({"to": "po:sintra", "body": "look", "attachments": [attachment]});
    rooms.fit.route("alice", "x.json", message);
    let told = rooms.fit.inbox("alice").split_off(before);
    assert_eq!(told.len(), 1, "{attachment}: {told:?}");
    assert_fields!(told[0], from: "mailbag", metadata.problems.0.where: "/attachments/0");
    told[0]["body"].as_str().expect("a text").to_owned()
}

#[test]
fn an_attached_file_arrives_as_a_text_that_the_same_command_shows() {
    // P230
    let rooms = Rooms::new();
    let text = "port: 8080\nÜ\n";
    rooms.fit.write("context/notes/ports.md", text);
    let attached = json!({"path": "notes/ports.md", "sha256": sha256(text.as_bytes()), "media_type": "text/markdown"});
    rooms.alice_says(json!({"to": ["po:sintra", "anna"], "subject": "ports", "attachments": [attached, {"name": "b", "content": "c"}]}));
    assert_eq!(
        rooms.fit.inbox("anna")[0]["attachments"][0],
        attached,
        "here it is the file"
    );
    let there = &rooms.po.inbox("sintra")[0]["attachments"];
    let expected = json!({"name": "ports.md", "content": text, "sha256": attached["sha256"], "media_type": "text/markdown"});
    assert_eq!(there, &json!([expected, {"name": "b", "content": "c"}]));
    assert_contains!(
        rooms.po.ok("read --as sintra"),
        "ports.md",
        "    port: 8080"
    );
}

#[test]
fn a_file_that_was_sent_with_the_command_arrives() {
    // P230
    let rooms = Rooms::new();
    rooms.fit.write("context/plan.md", "the plan");
    let file = rooms.fit.room("context/plan.md").display().to_string();
    rooms
        .fit
        .ok(&format!("send po:sintra see --attach {file} --as alice"));
    rooms.settle();
    assert_fields!(rooms.po.inbox("sintra")[0], attachments.0.content: "the plan");
}

#[test]
fn the_text_is_in_the_log_when_the_file_is_gone() {
    // P201 P230
    let rooms = Rooms::new();
    let away = rooms.po.path().join("away");
    files::rename(rooms.po.room(""), &away);
    rooms.fit.write("context/a.md", "first");
    let message = json!({"to": "po:sintra", "attachments": [{"path": "a.md"}]});
    rooms.fit.route("alice", "a.json", message);
    let item = rooms.fit.text("links/po/out/000000000001.json");
    files::remove_file(rooms.fit.room("context/a.md"));
    files::remove_dir(rooms.fit.room("links"));
    rooms.fit.pass();
    assert_eq!(rooms.fit.text("links/po/out/000000000001.json"), item);
    // A new stream is also made from the log.
    rooms.fit.write("context/a.md", "second");
    super::change(&rooms.fit, "po", "rebind");
    files::rename(&away, rooms.po.room(""));
    rooms.settle();
    assert_fields!(rooms.po.inbox("sintra")[0], attachments.0.content: "first");
}

#[test]
fn a_file_that_cannot_cross_is_refused_with_the_reason() {
    // P230
    let rooms = Rooms::new();
    let fit = &rooms.fit;
    fit.write("context/changed.md", "now");
    fit.write("context/large.md", "x".repeat(262_145));
    fit.write("context/image.png", b"\x89PNG\xff");
    fit.write("secret", "s");
    files::make_dir(fit.room("context/dir"));
    std::os::unix::fs::symlink(fit.room("secret"), fit.room("context/link.md")).expect("a link");
    std::os::unix::fs::symlink(fit.room(""), fit.room("context/up")).expect("a link");
    files::make_fifo(fit.room("context/pipe"));
    for (path, why) in [
        ("gone.md", "No such file"),
        ("large.md", "may have 262144 bytes together"),
        ("image.png", "not UTF-8"),
        ("dir", "not a regular file"),
        ("pipe", "not a regular file"),
        ("link.md", "ymbolic link"),
        ("up/secret", "ymbolic link"),
    ] {
        let told = refused(&rooms, json!({"path": path}));
        assert!(told.contains(why) && told.contains(path), "{path}: {told}");
    }
    assert_contains!(
        refused(
            &rooms,
            json!({"path": "changed.md", "sha256": sha256(b"then")}),
        ),
        "changed since"
    );
    rooms.settle();
    let arrived = |record: &Value| record["arrived"].is_object();
    assert!(!records(&rooms.po).iter().any(arrived));
}

#[test]
fn all_files_of_a_message_share_the_bound() {
    // P230
    let rooms = Rooms::new();
    rooms.fit.write("context/a.md", "x".repeat(131_072));
    rooms.fit.write("context/b.md", "y".repeat(131_072));
    rooms.fit.write("context/c.md", "z");
    let [a, b, c] = ["a.md", "b.md", "c.md"].map(|name| json!({"path": name}));
    rooms.alice_says(json!({"to": "po:sintra", "attachments": [a, b]}));
    rooms.alice_says(json!({"to": "po:sintra", "attachments": [a, b, c]}));
    assert_eq!(rooms.po.inbox("sintra").len(), 1);
    assert_eq!(bounced(&rooms.fit, "alice"), ["mailbag stays_in_room"]);
}

#[test]
fn a_text_that_is_not_the_one_of_its_hash_is_rejected() {
    // P230
    let mut prey = Prey::new();
    for (id, of) in [("m-1", "the text"), ("m-2", "another one")] {
        let attached = json!([{"name": "a.md", "content": "the text", "sha256": sha256(of)}]);
        let message = json!({"id": id, "type": "message", "body": "x", "attachments": attached});
        prey.message("mallory", json!(["sintra"]), message);
    }
    assert_eq!((prey.n, prey.po().inbox("sintra").len()), (2, 1));
}

#[test]
fn a_path_that_comes_from_another_room_names_no_file_here() {
    // P230
    let mut prey = Prey::new();
    prey.po().write("context/secret.md", "ours");
    let attached = json!([{"path": "secret.md"}]);
    let message = json!({"id": "m", "type": "message", "body": "x", "attachments": attached});
    prey.message("mallory", json!(["sintra"]), message);
    assert_eq!((prey.n, prey.po().inbox("sintra").len()), (1, 0));
}
