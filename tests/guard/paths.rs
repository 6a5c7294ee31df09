//! The repository and the path of a word on the command line.

use super::{file, git, project, repository};
use crate::files;
use crate::world::World;
use mailbag::room::Room;
use mailbag::room::repository::{RepositoryBase, subject_of};
use std::path::Path;

fn room(world: &World) -> Room {
    Room::open(&world.room("")).expect("a room")
}

/// The subject that a word means at a directory.
#[track_caller]
fn meant(world: &World, from: &Path, word: &str) -> String {
    subject_of(&room(world), from, word)
        .unwrap_or_else(|e| panic!("{word}: {e}"))
        .to_string()
}

/// The names of a file, each as a claim has it.
fn names(world: &World, file: &Path) -> Vec<String> {
    let places = RepositoryBase::of(&room(world)).places(file);
    let named = places.into_iter().map(|place| match place.repository {
        Some(repository) => format!("{repository}:{}", place.path),
        None => place.path,
    });
    named.collect()
}

#[test]
fn a_path_is_relative_to_its_repository_wherever_it_is_named() {
    // P150
    let world = project("alice");
    let top = world.path();
    file(top, "src/auth/login.rs", "");
    for (from, word, meaning) in [
        (top.to_path_buf(), "src/auth", "src/auth"),
        (top.join("src"), "auth/login.rs", "src/auth/login.rs"),
        (top.join("src"), "../README", "README"),
        (top.join("src"), ".", "src"),
        (top.join("src/auth"), "*.rs", "src/auth/*.rs"),
        (top.to_path_buf(), "src/{auth,web}/**", "src/{auth,web}/**"),
        (top.to_path_buf(), ".", "."),
        (top.join("src"), "not/there/yet", "src/not/there/yet"),
        (top.join("src"), "task:login", "task:login"),
        (top.join("src"), "lane:web", "lane:web"),
        (top.join("src"), "other:docs/x", "other:docs/x"),
    ] {
        assert_eq!(meant(&world, &from, word), meaning, "{word}");
    }
    let absolute = top.join("src/auth");
    assert_eq!(
        meant(&world, Path::new("/"), absolute.to_str().expect("plain")),
        "src/auth"
    );
    let outside = subject_of(&room(&world), top, "/etc/hosts").expect_err("in no repository");
    assert_contains!(outside.to_string(), "\"/etc/hosts\" is in no repository and outside "; "{outside}");
}

#[test]
fn the_same_path_in_two_worktrees_is_the_same_subject() {
    // P150
    let world = project("alice");
    let elsewhere = tempfile::tempdir().expect("a directory");
    let linked = elsewhere.path().join("feature");
    git(
        world.path(),
        &["worktree", "add", "-q", linked.to_str().expect("plain")],
    );
    file(&linked, "src/a.rs", "");
    assert_eq!(meant(&world, &linked.join("src"), "a.rs"), "src/a.rs");
    assert_eq!(names(&world, &linked.join("src/a.rs")), ["src/a.rs"]);
}

#[test]
fn worktrees_beside_a_bare_repository_belong_to_the_room_above_them() {
    // P150
    let world = World::new();
    let first = tempfile::tempdir().expect("a directory");
    repository(first.path());
    git(
        world.path(),
        &[
            "clone",
            "-q",
            "--bare",
            first.path().to_str().expect("plain"),
            ".bare",
        ],
    );
    files::write(world.path().join(".git"), "gitdir: ./.bare\n");
    git(
        &world.path().join(".bare"),
        "worktree add -q ../feature main",
    );
    assert_eq!(
        meant(&world, &world.path().join("feature"), "README"),
        "README"
    );
}

#[test]
fn a_path_of_another_repository_names_it() {
    // P150
    let world = World::new();
    for name in ["web", "API server", "lane"] {
        repository(&world.path().join(name));
    }
    assert_eq!(meant(&world, world.path(), "web/src"), "web:src");
    assert_eq!(meant(&world, &world.path().join("web"), "."), "web:.");
    assert_eq!(meant(&world, world.path(), "API server/x"), "api-server:x");
    assert_eq!(
        meant(&world, &world.path().join("lane"), "x"),
        "lanerepository:x"
    );
    assert_eq!(
        meant(&world, world.path(), "notes.md"),
        "notes.md",
        "the room's parent is in no repository"
    );
    let linked = world.path().join("web-feature");
    git(
        &world.path().join("web"),
        &["worktree", "add", "-q", linked.to_str().expect("plain")],
    );
    assert_eq!(meant(&world, &linked, "src"), "web:src");
}

#[test]
fn the_name_of_the_rooms_own_repository_may_be_written() {
    // P150
    let world = World::empty();
    let top = world.path().join("Shop");
    repository(&top);
    world.ok("init Shop/.mailbag");
    let room = Room::open(&top.join(".mailbag")).expect("a room");
    let meant = |word| {
        subject_of(&room, world.path(), word)
            .expect("a subject")
            .to_string()
    };
    assert_eq!(
        (meant("shop:src"), meant("Shop/src")),
        ("src".to_owned(), "src".to_owned())
    );
}

#[test]
fn a_file_of_a_submodule_has_its_path_in_both_repositories() {
    // P150
    let world = project("alice");
    let library = tempfile::tempdir().expect("a directory");
    repository(library.path());
    let from = library.path().to_str().expect("plain");
    git(
        world.path(),
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            from,
            "vendor/lib",
        ],
    );
    assert_eq!(
        meant(&world, world.path(), "vendor/lib/README"),
        "lib:README"
    );
    assert_eq!(
        names(&world, &world.path().join("vendor/lib/README")),
        ["lib:README", "vendor/lib/README"]
    );
}

#[test]
fn a_claim_of_a_link_or_of_its_target_covers_the_file() {
    // P150
    let world = project("alice");
    file(world.path(), "releases/2/app.rs", "");
    files::link("releases/2", world.path().join("current"));
    files::link("releases/2/app.rs", world.path().join("app"));
    assert_eq!(
        meant(&world, world.path(), "current/app.rs"),
        "releases/2/app.rs"
    );
    assert_eq!(
        meant(&world, world.path(), "current/new/*.rs"),
        "releases/2/new/*.rs"
    );
    assert_eq!(
        names(&world, &world.path().join("app")),
        ["releases/2/app.rs", "app"]
    );
    assert_eq!(
        names(&world, &world.path().join("current/app.rs")),
        ["releases/2/app.rs"]
    );
}

#[test]
fn a_file_name_that_looks_like_a_pattern_means_that_file() {
    // P150
    let world = project("alice");
    for name in [
        "app/[id]/page.tsx",
        "app/[...all]/x",
        "what?.md",
        "a*b",
        "{{name}}/x",
    ] {
        file(world.path(), name, "");
        let subject = subject_of(&room(&world), world.path(), name).expect("a subject");
        assert!(subject.covers(None, name), "{subject} covers {name}");
        assert!(
            !subject.covers(None, "app/i/page.tsx") && !subject.covers(None, "aXb"),
            "{subject}"
        );
    }
}
