//! Files leave the repository only at a person's command: a command's output or a model cannot name
//! them.

use crate::files;
use crate::town::Town;
use crate::world::{Ran, World, mode};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const SECRET: &str = "a key that nobody else may have";

/// A room in a repository, and a secret in a directory beside it, readable by its owner alone.
fn repository() -> (Town, tempfile::TempDir, PathBuf) {
    let town = Town::alice_and_bob().quick();
    files::make_dir(town.path().join(".git"));
    let elsewhere = tempfile::tempdir().expect("a directory");
    let secret = elsewhere.path().join("id_ed25519");
    files::write(&secret, SECRET);
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("one's own file");
    (town, elsewhere, secret)
}

/// A command that names this file as its artifact.
fn offer(world: &World, path: &str) -> Ran {
    let line = json!({"type": "artifact", "path": path}).to_string();
    world.run(&["exec", "--id", "carol", "--", "printf", "%s\\n", &line])
}

/// The files below the room that contain the secret.
fn leaked(world: &World) -> Vec<PathBuf> {
    let holds = |bytes: &[u8]| {
        bytes
            .windows(SECRET.len())
            .any(|part| part == SECRET.as_bytes())
    };
    let files = world
        .everything()
        .into_iter()
        .filter(|(path, _)| path.starts_with(world.room("")));
    files
        .filter(|(_, bytes)| holds(bytes))
        .map(|(path, _)| path)
        .collect()
}

fn announced(world: &World) -> Vec<Value> {
    world
        .inbox("bob")
        .into_iter()
        .filter(|mail| mail["type"] == "announcement")
        .collect()
}

#[test]
fn a_file_outside_of_the_repository_that_output_names_stays_where_it_is() {
    // P110
    let (town, elsewhere, secret) = repository();
    symlink(&secret, town.path().join("notes.md")).expect("a link");
    symlink(elsewhere.path(), town.path().join("docs")).expect("a link");
    files::write(town.path().join(".git/config"), SECRET);
    let climbing = format!(
        "../{}/id_ed25519",
        elsewhere
            .path()
            .file_name()
            .expect("a name")
            .to_string_lossy()
    );
    let room = town.room("settings.toml");
    for path in [
        &*secret.to_string_lossy(),
        "notes.md",
        "docs/id_ed25519",
        &climbing,
        ".git/config",
        &room.to_string_lossy(),
    ] {
        let ran = offer(&town, path);
        assert!(
            ran.code == 0 && ran.err.contains("outside the repository"),
            "{path}: {ran:?}"
        );
    }
    assert!(
        leaked(&town).is_empty() && announced(&town).is_empty(),
        "{:?}",
        leaked(&town)
    );
    assert_eq!(mode(&secret), 0o600);
}

#[test]
fn a_file_of_the_repository_is_shared_and_no_more_open_than_it_was() {
    // P110
    let (town, _elsewhere, _) = repository();
    tool_chmod(&town.room(""), 0o2750);
    for (name, wanted) in [("private.md", 0o600), ("open.md", 0o644)] {
        let file = town.path().join(name);
        files::write(&file, "found");
        fs::set_permissions(&file, fs::Permissions::from_mode(wanted)).expect("one's own file");
        let ran = offer(&town, name);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
        let copy = town.room("context/artifacts").join(name);
        assert_eq!(files::read_text(&copy), "found");
        assert_eq!(mode(&copy) & !wanted, 0, "{name} is {:o}", mode(&copy));
    }
    assert_eq!(announced(&town).len(), 2);
}

fn tool_chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("one's own directory");
}

#[test]
fn the_settings_name_further_directories() {
    // P110
    let (town, elsewhere, secret) = repository();
    let directory = elsewhere.path().canonicalize().expect("a directory");
    town.write("settings.toml", format!("attach_from = [{directory:?}]\n"));
    let ran = offer(&town, &secret.to_string_lossy());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    assert_eq!(announced(&town).len(), 1);
    assert_eq!(mode(&town.room("context/artifacts/id_ed25519")), 0o600);
    for wrong in [r#"["/"]"#, r#"["keys"]"#, r#""/srv""#] {
        town.write("settings.toml", format!("attach_from = {wrong}\n"));
        assert_contains!(town.fails(65, "settings"), "an array of absolute paths"; "{wrong}");
    }
}

#[test]
fn a_home_directory_with_a_room_does_not_count_as_a_repository() {
    // P110
    let town = Town::alice_and_bob().quick();
    files::make_dir(town.path().join(".ssh"));
    files::write(town.path().join(".ssh/id_ed25519"), SECRET);
    let line = json!({"type": "artifact", "path": ".ssh/id_ed25519"}).to_string();
    let ran = town.run_env(
        &["exec", "--id", "carol", "--", "printf", "%s\\n", &line],
        "HOME",
        town.path(),
    );
    assert_contains!(ran.err, "outside the repository"; "{ran:?}");
    assert!(leaked(&town).is_empty());
}

#[test]
fn a_session_that_sends_without_a_question_attaches_only_what_a_model_may() {
    // P110
    let (town, _elsewhere, secret) = repository();
    let ran = town.run_env(
        &[
            "send",
            "bob",
            "--attach",
            &secret.to_string_lossy(),
            "--as",
            "alice",
        ],
        "CLAUDE_CODE_SESSION_ID",
        "one",
    );
    assert!(
        ran.code == 2 && ran.err.contains("outside the repository"),
        "{ran:?}"
    );
    assert!(leaked(&town).is_empty());
}

#[test]
fn a_person_may_attach_any_file_and_sees_the_copied_files() {
    let (town, _elsewhere, secret) = repository();
    let ran = town.pipe(
        &[
            "send",
            "bob",
            "--attach",
            &secret.to_string_lossy(),
            "--as",
            "alice",
        ],
        "",
    );
    assert!(
        ran.code == 0 && ran.err.contains("copied into the message: id_ed25519"),
        "{ran:?}"
    );
    assert_eq!(town.inbox("bob")[0]["attachments"][0]["content"], SECRET);
    town.ok(&[
        "share",
        &secret.to_string_lossy(),
        "--category",
        "keys",
        "--as",
        "alice",
    ]);
    assert_eq!(mode(&town.room("context/keys/id_ed25519")), 0o600);
}
