//! Manual changes are set aside, and the human is notified.

use super::{echo, entries_of, kept, room, worklog};
use crate::files;
use crate::town::Town;
use crate::world::World;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;

fn append(world: &World, text: &str) {
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(world.path().join("WORKLOG.md"));
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("it is written");
}

fn notices(world: &World) -> Vec<String> {
    let mail = world
        .inbox("human")
        .into_iter()
        .filter(|mail| mail["from"] == "mailbag");
    mail.map(|mail| mail["subject"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_file_of_somebody_else_is_kept_before_the_first_entry_is_written() {
    // P165
    let world = World::with("alice");
    append(&world, "# Our own worklog\n\n- by hand\n");
    world.write("settings.toml", "worklog = true\n");
    echo(&world, "alice", r#"{"type":"milestone","body":"first"}"#);
    world.pass();
    let kept = kept(&world);
    assert_eq!(kept.len(), 1);
    assert_eq!(
        files::read_text(world.path().join(&kept[0])),
        "# Our own worklog\n\n- by hand\n"
    );
    assert_contains!(worklog(&world), "· first\n");
    assert_eq!(
        notices(&world),
        ["another program or person wrote to WORKLOG.md"]
    );
    assert!(
        world.inbox("human")[0]["body"]
            .as_str()
            .expect("text")
            .contains(&kept[0])
    );
    world.pass();
    assert_eq!(notices(&world).len(), 1);
}

#[test]
fn each_kind_of_change_by_hand_is_kept_and_undone() {
    // P165
    let world = room("alice");
    echo(&world, "alice", r#"{"type":"milestone","body":"first"}"#);
    echo(&world, "alice", r#"{"type":"milestone","body":"second"}"#);
    world.pass();
    let whole = worklog(&world);
    let changes = [
        format!("{whole}- by hand\n"),
        whole.replace("## Status", "## Status\n\nby hand"),
        whole.replace("· first", "· worst"),
        entries_of(&whole).to_owned(),
        whole.replace("first", "first, by hand"),
    ];
    for (n, change) in changes.iter().enumerate() {
        files::write(world.path().join("WORKLOG.md"), change);
        // One pass finds it, notifies the human, and makes the file again.
        world.pass();
        assert!(worklog(&world) == whole, "{n}: {}", worklog(&world));
        assert_eq!((kept(&world).len(), notices(&world).len()), (n + 1, n + 1));
    }
    let texts: Vec<String> = kept(&world)
        .iter()
        .map(|name| files::read_text(world.path().join(name)))
        .collect();
    assert!(
        changes.iter().all(|change| texts.contains(change)),
        "each is kept whole"
    );
    // The same change again is kept under another name.
    files::write(world.path().join("WORKLOG.md"), &changes[0]);
    world.pass();
    assert_eq!(
        (kept(&world).len(), worklog(&world) == whole),
        (changes.len() + 1, true)
    );
}

#[test]
fn a_running_router_finds_a_change_before_it_adds_an_entry() {
    // P165
    let town = Town::of("alice").settings("worklog = true\n").run();
    town.mail(
        "alice",
        "1.json",
        json!({"type": "milestone", "body": "first"}),
    );
    town.wait("the first entry", || worklog(&town).contains("· first\n"));
    append(&town, "by hand\n");
    town.mail(
        "alice",
        "2.json",
        json!({"type": "milestone", "body": "second"}),
    );
    town.wait("the second entry", || {
        worklog(&town).contains("· second\n") && !worklog(&town).contains("by hand")
    });
    assert_contains!(entries_of(&worklog(&town)), "· first\n");
    assert_eq!((kept(&town).len(), notices(&town).len()), (1, 1));
}
