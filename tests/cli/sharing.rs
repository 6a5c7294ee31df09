//! `mailbag share`

use crate::files;
use crate::world::{World, parse_json, sha256};
use serde_json::json;
use std::fs;

fn file(world: &World, name: &str, content: impl AsRef<[u8]>) -> String {
    files::write(world.path().join(name), content);
    name.to_owned()
}

#[test]
fn share_copies_a_file_into_the_context_and_announces_it_to_all() {
    let world = World::with("alice bob carol");
    let notes = file(&world, "notes.md", "# Ports\n");
    let said = world.ok(&[
        "share",
        &notes,
        "--category",
        "research",
        "--note",
        "please read",
        "--as",
        "alice",
    ]);
    let lines: Vec<&str> = said.lines().collect();
    let place = world.room("context/research/notes.md");
    assert_eq!(
        fs::canonicalize(lines[0]).expect("a path"),
        fs::canonicalize(&place).expect("a file")
    );
    assert_eq!(files::read_text(place), "# Ports\n");
    for reader in ["bob", "carol"] {
        let mail = &world.inbox(reader)[0];
        assert_eq!(
            (mail["id"].as_str(), mail["type"].as_str()),
            (Some(lines[1]), Some("announcement"))
        );
        assert_fields!(mail, metadata.category: "research", body: "please read");
        let path = "research/notes.md";
        let wanted =
            json!([{"path": path, "sha256": sha256(b"# Ports\n"), "media_type": "text/markdown"}]);
        assert_eq!(mail["attachments"], wanted);
    }
    assert!(world.inbox("alice").is_empty());
    // No draft is left behind.
    assert_eq!(
        fs::read_dir(world.room("context/research"))
            .expect("a directory")
            .count(),
        1
    );
}

#[test]
fn the_same_file_is_kept_once_and_another_gets_a_number() {
    let world = World::alice_and_bob();
    let share = |content: &str| {
        let name = file(&world, "plan.md", content);
        let ran = world.run(&format!(
            "share {name} --category plans --to bob --as alice --json"
        ));
        assert_eq!(ran.code, 0, "{ran:?}");
        (parse_json(&ran.out), ran.err)
    };
    let (first, said) = share("one");
    assert_eq!(
        (&first["path"], &first["already_shared"], said.as_str()),
        (&json!("plans/plan.md"), &json!(false), "")
    );
    assert_eq!(
        (
            &first["message"]["id"],
            &first["message"]["recipients"][0]["agent"]
        ),
        (&world.inbox("bob")[0]["id"], &json!("bob"))
    );
    let (again, said) = share("one");
    assert_fields!(again, path: "plans/plan.md", already_shared: true);
    assert_contains!(said, "already");
    let (other, said) = share("two");
    assert_fields!(other, path: "plans/plan-2.md", renamed: true);
    assert_contains!(said, "plans/plan-2.md");
    let (third, said) = share("two");
    assert_fields!(third, path: "plans/plan-2.md", already_shared: true);
    assert_contains!(said, "already has this file as plans/plan-2.md"; "{said}");
    assert_eq!(world.text("context/plans/plan.md"), "one");
    assert_eq!(
        fs::read_dir(world.room("context/plans"))
            .expect("a directory")
            .count(),
        2
    );
    assert_eq!(other["sha256"], sha256(b"two"));
    assert_eq!(world.inbox("bob").len(), 4);
}

#[test]
fn share_rejects_everything_but_a_regular_file() {
    let world = World::alice_and_bob();
    let notes = file(&world, "notes.md", "x");
    std::os::unix::fs::symlink(&notes, world.path().join("link")).expect("a link");
    files::make_dir(world.path().join("folder"));
    let before = world.everything();
    let share = |what: &str, code: i32, why: &str| {
        let said = world.fails(
            code,
            &["share", what, "--category", "research", "--as", "alice"],
        );
        assert!(said.contains(why), "{what}: {said}");
    };
    share("link", 2, "symbolic link");
    share("folder", 2, "directory");
    share("folder/..", 2, "not a file");
    share("/dev/null", 2, "not a regular file");
    share("none.md", 3, "no file");
    share("none/none.md", 3, "no file");
    for category in ["../up", "a/b", ".hidden", ""] {
        assert_contains!(world.fails(
            2,
            &["share", &notes, "--category", category, "--as", "alice"],
        ), "is not a valid category"; "{category}");
    }
    assert_eq!(world.everything(), before);
}

#[test]
fn share_copies_no_file_if_its_announcement_would_be_rejected() {
    let world = World::alice_and_bob();
    let notes = file(&world, "notes.md", "x");
    let odd = file(&world, "two\nlines.md", "x");
    let before = world.everything();
    let to = [
        "share",
        &notes,
        "--category",
        "research",
        "--to",
        "bbo",
        "--as",
        "alice",
    ];
    assert_contains!(world.fails(65, &to), "did you mean bob?");
    assert_contains!(
        world.fails(
            65,
            &["share", &odd, "--category", "research", "--as", "alice"]
        ),
        "path"
    );
    assert_eq!(world.everything(), before);
}

#[test]
fn share_accepts_large_files_and_does_not_follow_a_linked_category() {
    let world = World::alice_and_bob();
    let content: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let large = file(&world, "large.bin", &content);
    let shared = world.json(&[
        "share",
        &large,
        "--category",
        "data",
        "--as",
        "alice",
        "--media-type",
        "x/y",
    ]);
    assert_fields!(shared, sha256: sha256(&content), size: content.len());
    assert_eq!(world.inbox("bob")[0]["attachments"][0]["media_type"], "x/y");
    let elsewhere = world.path().join("elsewhere");
    files::make_dir(&elsewhere);
    std::os::unix::fs::symlink(&elsewhere, world.room("context/trap")).expect("a link");
    assert_ne!(
        world
            .run(&["share", &large, "--category", "trap", "--as", "alice"])
            .code,
        0
    );
    assert_eq!(fs::read_dir(elsewhere).expect("a directory").count(), 0);
}

#[test]
fn the_settings_can_put_the_context_elsewhere() {
    let world = World::alice_and_bob();
    let notes = file(&world, "notes.md", "x");
    let common = world.path().join("common");
    let world = world.settings(&format!("context = {:?}\n", common.display().to_string()));
    let args = ["share", &notes, "--category", "research", "--as", "alice"];
    assert_contains!(world.fails(3, &args), "context"; "it is not there");
    files::make_dir(&common);
    world.ok(&args);
    assert_eq!(files::read_text(common.join("research/notes.md")), "x");
    assert_eq!(
        world.inbox("bob")[0]["attachments"][0]["path"],
        "research/notes.md"
    );
}
