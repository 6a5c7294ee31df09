//! Shared files: old large text is compressed in place; other files are not changed.

use super::{LATER, archive_at};
use crate::files;
use crate::world::{World, sha256};
use std::fs;
use std::path::PathBuf;

const TEXT: &str = "the same words again and again, and é\n";

/// A room with a large text in its context, and that text.
fn room() -> (World, String) {
    let world = World::alice_and_bob();
    let text = TEXT.repeat(5000);
    files::write(world.path().join("notes.md"), &text);
    world.ok("share notes.md --category research --as alice");
    (world, text)
}

/// Shares a file as alice does.
fn share(world: &World, name: &str, bytes: &[u8]) {
    files::write(world.path().join(name), bytes);
    world.ok(&["share", name, "--category", "research", "--as", "alice"]);
}

fn artifact(world: &World, name: &str) -> PathBuf {
    world.room(&format!("context/research/{name}"))
}

/// Runs the archiver at a much later time.
#[track_caller]
fn archive(world: &World) -> String {
    archive_at(world, LATER, "--older-than 7d").ok()
}

fn unpacked(world: &World, name: &str) -> String {
    let packed = fs::File::open(artifact(world, name)).expect("it is there");
    String::from_utf8(zstd::decode_all(packed).expect("zstd")).expect("text")
}

#[test]
fn a_large_old_text_is_compressed_where_it_stands() {
    let (world, text) = room();
    assert!(
        !world.ok("archive --older-than 7d").contains("context"),
        "it is young"
    );
    let dry = archive_at(&world, LATER, "--older-than 7d --dry-run").ok();
    assert!(
        dry.contains("would pack context: 1 file") && artifact(&world, "notes.md").exists(),
        "{dry}"
    );
    assert_contains!(
        archive(&world),
        "packed context: 1 file",
        "research/notes.md.zst"
    );
    assert_eq!(world.names("context/research"), Vec::<String>::new());
    assert_eq!(
        fs::read_dir(world.room("context/research"))
            .expect("a directory")
            .count(),
        1
    );
    assert!(unpacked(&world, "notes.md.zst") == text);
    let again = archive(&world);
    assert!(!again.contains("context"), "{again}");
}

#[test]
fn small_files_binaries_drafts_and_targets_of_links_are_not_compressed() {
    let (world, text) = room();
    let files: [(&str, Vec<u8>); 4] = [
        ("small.md", TEXT.as_bytes().to_vec()),
        ("picture.png", vec![0; 100_000]),
        (
            "latin.txt",
            [b"caf\xe9 ".repeat(20_000), Vec::new()].concat(),
        ),
        (".draft.md", text.clone().into_bytes()),
    ];
    for (name, bytes) in &files {
        share(&world, name, bytes);
    }
    let outside = world.path().join("outside.md");
    files::write(&outside, &text);
    std::os::unix::fs::symlink(&outside, artifact(&world, "link.md")).expect("a link");
    archive(&world);
    for (name, bytes) in &files {
        assert!(
            fs::read(artifact(&world, name)).expect(name) == *bytes,
            "{name}"
        );
    }
    assert!(files::read_text(&outside) == text);
    assert!(artifact(&world, "notes.md.zst").exists());
}

#[test]
fn an_archiver_finishes_the_work_of_a_killed_archiver() {
    let (world, text) = room();
    let whole = zstd::encode_all(text.as_bytes(), 3).expect("zstd");
    files::write(
        artifact(&world, ".tmp-notes.md.zst"),
        &whole[..whole.len() / 2],
    );
    archive(&world);
    assert!(unpacked(&world, "notes.md.zst") == text);
    assert!(!artifact(&world, ".tmp-notes.md.zst").exists());
    // Killed between the two: both stand there.
    files::write(artifact(&world, "notes.md"), &text);
    archive(&world);
    assert!(!artifact(&world, "notes.md").exists() && unpacked(&world, "notes.md.zst") == text);
}

#[test]
fn a_foreign_compressed_file_is_never_overwritten() {
    let (world, text) = room();
    files::write(artifact(&world, "notes.md.zst"), "mine");
    let ran = archive_at(&world, LATER, "--older-than 7d");
    assert!(
        ran.code == 0
            && ran
                .err
                .contains("another file already has its name with .zst appended"),
        "{ran:?}"
    );
    assert!(files::read_text(artifact(&world, "notes.md")) == text);
    assert_eq!(files::read_text(artifact(&world, "notes.md.zst")), "mine");
}

#[test]
fn a_name_that_leaves_no_room_is_left_alone_and_stops_nothing() {
    let (world, text) = room();
    let long = format!("{}.md", "n".repeat(250));
    share(&world, &long, text.as_bytes());
    let ran = archive_at(&world, LATER, "--older-than 7d");
    assert!(
        ran.code == 0 && ran.err.contains("too long to append .zst"),
        "{ran:?}"
    );
    assert!(artifact(&world, &long).exists() && artifact(&world, "notes.md.zst").exists());
}

#[test]
fn a_file_that_the_room_did_not_put_there_is_left_alone() {
    let (world, text) = room();
    files::write(artifact(&world, "own.md"), &text);
    // An edited file: it may be a person's work.
    share(&world, "edited.md", text.as_bytes());
    let edited = format!("{text}and more\n");
    files::write(artifact(&world, "edited.md"), &edited);
    archive(&world);
    assert!(files::read_text(artifact(&world, "own.md")) == text);
    assert!(files::read_text(artifact(&world, "edited.md")) == edited);
    assert!(artifact(&world, "notes.md.zst").exists());
}

#[test]
fn nothing_outside_the_room_is_compressed_or_removed() {
    for context in ["..", "link", "/absolute"] {
        let world = World::alice_and_bob();
        let outside = world.path().join("research");
        let named = if context == "/absolute" {
            world.path().display().to_string()
        } else {
            context.to_owned()
        };
        if context == "link" {
            fs::remove_dir(world.room("context")).expect("it is empty");
            std::os::unix::fs::symlink(world.path(), world.room("context")).expect("a link");
        } else {
            world.write("settings.toml", format!("context = {named:?}\n"));
        }
        files::make_dir(&outside);
        let text = TEXT.repeat(5000);
        files::write(outside.join("notes.md"), &text);
        // Even a message that announces it changes nothing.
        let sha256: String = sha256(&text);
        let attachments = serde_json::json!([{"path": "research/notes.md", "sha256": sha256}]);
        let message = serde_json::json!({"to": "bob", "body": "x", "attachments": attachments});
        world.route("alice", "x.json", &message);
        let ran = archive_at(&world, LATER, "--older-than 7d");
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(
            files::read_text(outside.join("notes.md")) == text,
            "{context}"
        );
        assert_eq!(
            fs::read_dir(&outside).expect("a directory").count(),
            1,
            "{context}"
        );
    }
}
