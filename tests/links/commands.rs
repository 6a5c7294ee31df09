//! A person's commands for links, and their output.

use super::{Rooms, bounced, set};
use crate::files;
use crate::world::{World, parse_json};
use serde_json::json;

/// Two projects, each with a room, and no link.
fn projects() -> (World, World) {
    (World::new(), World::new())
}

fn path(world: &World) -> String {
    let path = world.path().canonicalize().expect("it is there");
    path.display().to_string()
}

fn settings(world: &World) -> String {
    std::fs::read_to_string(world.room("settings.toml")).unwrap_or_default()
}

/// The other room is out of reach while something is done.
fn while_gone(world: &World, then: impl FnOnce()) {
    let away = world.path().join("away");
    files::rename(world.room(""), &away);
    then();
    files::rename(&away, world.room(""));
}

#[test]
fn two_projects_four_commands_a_question_and_its_answer() {
    let (fit, po) = projects();
    fit.ok(&["link", "add", "po", &path(&po)]);
    po.ok(&["link", "add", "fit", &path(&fit)]);
    // Mail crosses. The agents belong to the two projects.
    let (fit, po) = (fit.agent("alice", ""), po.agent("Sintra", ""));
    let id = fit.ok("send -q po:Sintra 'Which port?' --as alice --type question");
    let question = po.items("read --as Sintra");
    assert_fields!(question[0], from: "fit:alice", body: "Which port?");
    po.ok(&["reply", id.trim(), "8080", "--as", "Sintra"]);
    let answer = fit.items("read --as alice");
    assert_fields!(answer[0], from: "po:Sintra", body: "8080");
    assert_contains!(fit.ok(&["trace", id.trim()]), "answered by po:Sintra");
}

#[test]
fn the_command_that_is_shown_adds_the_link_back() {
    let (fit, po) = projects();
    fit.write("settings.toml", "tag = \"fit\" # ours\n");
    let shown = fit.ok(&["link", "add", "po", &path(&po)]);
    let command = shown.lines().last().expect("a command").trim();
    assert_eq!(
        command,
        format!(
            "mailbag --room {0}/.mailbag link add fit {1}",
            path(&po),
            path(&fit)
        )
    );
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert_contains!(
        World::empty().ok(&words),
        "the other room calls this one po"
    );
    assert!(
        settings(&fit).starts_with("tag = \"fit\" # ours\n"),
        "{}",
        settings(&fit)
    );
    assert_eq!(fit.items("link status")[0]["problems"], json!([]));
}

#[test]
fn a_link_is_added_once_and_shown_before_it_is_written() {
    let (fit, po) = projects();
    let add = format!("link add po {}", path(&po));
    let table = fit.ok(&format!("{add} --accept agents,all --dry-run"));
    assert!(
        table.starts_with("[links.po]\n") && table.contains("accept = [\"agents\", \"all\"]"),
        "{table}"
    );
    assert_eq!(settings(&fit), "");
    let address = format!("{}/.mailbag", path(&po));
    for (given, changed) in [(path(&po), true), (address.clone(), false)] {
        let added = fit.json(&format!("link add po {given}"));
        assert_fields!(added, changed: changed, address: address);
    }
    let widened = fit.json(&format!("{add} --accept human"));
    assert_fields!(widened, changed: true, accept: ["human"]);
    assert_eq!(fit.items("link list")[0]["accept"], json!(["human"]));
}

#[test]
fn a_link_that_cannot_work_is_not_added() {
    let (fit, po) = projects();
    fit.write("settings.toml", "tag = \"fit\"\n");
    let other = World::new();
    fit.ok(&format!("link add po {}", path(&po)));
    let before = settings(&fit);
    let (there, other) = (path(&po), path(&other));
    for (code, args, why) in [
        (3, "west /nowhere", "no room at /nowhere"),
        (2, "west .", "this is the room itself"),
        (2, &*format!("all {other}"), "not a valid tag"),
        (2, &*format!("lane {other}"), "not a valid tag"),
        (2, &*format!("Fit {other}"), "the tag of this room"),
        (2, &*format!("PO {other}"), "there is a link po to"),
        (2, &*format!("west {there}"), "with the tag po"),
        (
            2,
            &*format!("west {other} --accept everybody"),
            "the kinds are",
        ),
    ] {
        let said = fit.fails(code, &format!("link add {args}"));
        assert!(said.contains(why), "{args}: {said}");
    }
    assert_eq!(settings(&fit), before);
    fit.write("settings.toml", "tag = ");
    fit.fails(65, &format!("link add west {other}"));
    assert_eq!(settings(&fit), "tag = ");
}

#[test]
fn link_add_rejects_a_copy_of_the_room() {
    let fit = World::new();
    let copied = World::empty();
    super::copy_all(&fit.room(""), &copied.room(""));
    assert_contains!(
        fit.fails(2, &["link", "add", "po", &path(&copied)]),
        "a copy of this one"
    );
}

#[test]
fn mail_that_waits_for_a_link_is_shown_everywhere_with_its_age() {
    let rooms = Rooms::new();
    rooms.fit.send("alice", "po:sintra", "hello");
    rooms.settle();
    while_gone(&rooms.po, || {
        rooms.fit.send("alice", "po:sintra", "are you there?");
        rooms.fit.fails(1, "link status");
        let link = &parse_json(&rooms.fit.run("link status po --json").out)["links"][0];
        assert_fields!(link, waiting: 1, sent: 2);
        assert_contains!(link["problems"][0]["reason"].as_str().unwrap_or_default(), "no room at"; "{link}");
        assert_eq!(rooms.fit.json("status")["links"][0]["waiting"], 1);
        assert_contains!(
            rooms.fit.ok("status"),
            "po: 1 item not confirmed there, the oldest for"
        );
        let found = rooms.fit.run("doctor --json");
        assert_contains!(found.out, "link_down"; "{found:?}");
        // It needs the human only after a while.
        assert_eq!(rooms.fit.json("pending --as human")["items"], json!([]));
        let later = |args: &str| {
            let century = "2100-01-01T00:00:00Z";
            rooms.fit.run_env(args, "MAILBAG_TEST_NOW", century).out
        };
        let pending = later("pending --as human");
        assert_contains!(pending, "1 item for the room po not confirmed there");
        later("run --once");
        assert_eq!(
            rooms.fit.read("pending.json")["pending"]["human"][0]["command"],
            "mailbag link status po"
        );
    });
    rooms.settle();
    assert_eq!(rooms.fit.items("link status")[0]["waiting"], 0);
    assert_eq!(rooms.po.bodies("sintra"), ["hello", "are you there?"]);
}

#[test]
fn a_problem_stays_listed_until_the_other_room_is_back() {
    let rooms = Rooms::new();
    while_gone(&rooms.po, || {
        rooms.fit.send("alice", "po:sintra", "one");
        let blocked = || rooms.fit.json("status")["blocked"].clone();
        assert_eq!(blocked()[0]["path"], "links/po");
        // Mail that has nothing to do with it.
        rooms.fit.send("alice", "anna", "two");
        assert_eq!(blocked()[0]["path"], "links/po");
    });
    rooms.settle();
    assert_eq!(rooms.fit.json("status")["blocked"], json!([]));
}

#[test]
fn mail_from_another_room_is_delivered_by_the_command_that_reads() {
    let rooms = Rooms::new();
    rooms.fit.send("alice", "po:sintra", "no router runs");
    assert_eq!(
        rooms.po.items("inbox sintra")[0]["preview"],
        "no router runs"
    );
}

#[test]
fn agents_of_other_rooms_are_known_and_when_they_were_heard_of() {
    // P233
    let rooms = Rooms::new();
    rooms.alice_writes("hello");
    let remote = |world: &World| {
        let all = world.json("who")["remote"].clone();
        let ids = all.as_array().into_iter().flatten();
        ids.map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(remote(&rooms.fit), ["po:bob", "po:sintra"]);
    assert_eq!(remote(&rooms.po), ["fit:alice", "fit:anna"]);
    let all = rooms.fit.json("who")["remote"].clone();
    assert_eq!(all[0], json!({"id": "po:bob", "role": "engineer"}));
    assert!(
        all[1]["name"] == "Sintra" && all[1]["last_arrival"].is_string(),
        "{all}"
    );
    let shown = rooms.fit.ok("who");
    let line = |name: &str| {
        shown
            .lines()
            .find(|line| line.starts_with("remote") && line.contains(name))
            .expect("a line")
    };
    assert_contains!(line("po:bob"), "engineer", "never heard"; "{shown}");
    assert_contains!(line("po:sintra"), "Sintra", "heard just now"; "{shown}");
    // A change of the registry also crosses.
    rooms.po.ok("agent add dora --role tester");
    rooms.po.ok("agent set bob --status retired");
    rooms.settle();
    assert_eq!(remote(&rooms.fit), ["po:dora", "po:sintra"]);
}

#[test]
fn a_link_is_removed_when_nothing_waits_and_the_settings_keep_the_rest() {
    let rooms = Rooms::new();
    set(&rooms.fit, "# ours\ntag = \"fit\"\n");
    while_gone(&rooms.po, || {
        rooms.fit.send("alice", "po:sintra", "lost?");
        assert_contains!(
            rooms.fit.fails(65, "link remove po"),
            "has not confirmed 1 item"
        );
        assert!(bounced(&rooms.fit, "human").is_empty());
        rooms.fit.ok("link remove po --bounce");
    });
    assert_contains!(
        rooms.fit.bodies("alice")[0],
        "The link to the room po was removed"
    );
    assert_eq!(settings(&rooms.fit), "# ours\ntag = \"fit\"\n");
    assert_contains!(rooms.fit.fails(3, "link remove po"), "there is no link");
    let second = Rooms::new();
    second.fit.send("alice", "po:sintra", "hello");
    second.settle();
    second.fit.ok("link remove po");
    assert_eq!(second.fit.items("link status"), json!([]));
}

#[test]
fn a_stopped_link_is_reported_and_the_shown_commands_continue_it() {
    let rooms = Rooms::new();
    rooms.alice_writes("one");
    // The other room is replaced by a new room, under the same path.
    files::remove_dir(rooms.po.room(""));
    rooms.po.ok("init");
    rooms.po.ok("agent add sintra");
    rooms.po.ok(&["link", "add", "fit", &path(&rooms.fit)]);
    rooms.settle();
    let status = rooms.fit.run("link status");
    assert_eq!(status.code, 1);
    assert_contains!(status.out, "-> mailbag link remove po --bounce"; "{status:?}");
    assert_contains!(rooms.fit.run("doctor").out, "the link po");
    let removed = rooms.fit.ok("link remove po --bounce");
    let (_, add) = removed.split_once("\n  mailbag ").expect("a command");
    rooms.fit.ok(add.trim());
    rooms.settle();
    assert_eq!(rooms.fit.run("link status").code, 0);
    rooms.alice_writes("two");
    assert!(rooms.po.bodies("sintra").contains(&"two".to_owned()));
}

#[test]
fn a_session_of_a_client_does_not_change_links() {
    let rooms = Rooms::new();
    let remove = "link remove po --bounce";
    let ran = rooms.fit.run_env(remove, "CLAUDE_CODE_SESSION_ID", "s-1");
    assert_contains!(ran.fails(2), "only a person can change links");
}

#[test]
fn list_agents_includes_agents_of_linked_rooms() {
    // P233
    let rooms = Rooms::new();
    // A room sends its agents once its log has begun.
    rooms.po.send("bob", "sintra", "hello");
    rooms.settle();
    let client = crate::mcp::Client::of(&rooms.fit, "alice");
    let (text, data) = client.call("list_agents", json!({}));
    assert_contains!(text, "po:sintra (Sintra): in another room");
    assert_contains!(text, "po:bob: engineer, in another room");
    assert_eq!(
        data["remote"][0],
        json!({"id": "po:bob", "role": "engineer"})
    );
}
