//! The guard around claims: the paths of a claim, and the rejection of an edit or a commit of
//! another agent's files.

mod commits;
mod edits;
mod operations;
mod paths;
mod staged;
mod trials;

use crate::files;
use crate::town::copy_environment;
use crate::world::{Words, World, lossy};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Damaged files of a room: the owners of files are unknown then.
const UNREADABLE: [(&str, &str); 3] = [
    ("settings.toml", "guard = 7\n"),
    ("registry.json", "{"),
    ("registry.json", r#"{"version": 99, "agents": []}"#),
];

/// A git command in a directory, without the tester's settings and identity.
pub(crate) fn git_command(at: &Path, args: &(impl Words + ?Sized)) -> Command {
    let mut git = Command::new("git");
    git.args(args.words()).current_dir(at);
    let inherited = std::env::vars().filter(|(name, _)| name.starts_with("GIT_"));
    inherited.for_each(|(name, _)| {
        git.env_remove(name);
    });
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "dev")
            .env(format!("GIT_{who}_EMAIL"), "dev@example.org");
    }
    git.env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ALLOW_PROTOCOL", "file");
    git
}

/// Runs git, which must succeed, and returns its output.
#[track_caller]
pub(crate) fn git(at: &Path, args: &(impl Words + ?Sized)) -> String {
    let output = git_command(at, args).output().expect("git runs");
    assert!(
        output.status.success(),
        "git {:?}: {}",
        args.words(),
        lossy(&output.stderr)
    );
    lossy(&output.stdout)
}

/// Writes a file with its directories, and returns its path.
pub(crate) fn file(at: &Path, name: &str, text: &str) -> PathBuf {
    let path = at.join(name);
    files::make_dir(path.parent().expect("a directory"));
    files::write(&path, text);
    path
}

/// Makes a repository with one commit.
pub(crate) fn repository(at: &Path) {
    files::make_dir(at);
    git(at, "init -q -b main");
    file(at, "README", "a project\n");
    git(at, "add README");
    git(at, "commit -q -m Begin");
}

/// A repository with a room in it.
pub(crate) fn project(agents: &(impl Words + ?Sized)) -> World {
    let world = World::empty();
    repository(world.path());
    world.ok("init");
    world.ok(&[vec!["agent", "add"], agents.words()].concat());
    world
}

/// The program as `install --command` takes it.
pub(crate) fn program() -> String {
    assert_cmd::cargo::cargo_bin!("mailbag")
        .to_str()
        .expect("a plain path")
        .to_owned()
}

/// Runs git as an agent, with the world's consent; without a name, as an unidentified committer.
pub(crate) fn git_as(
    world: &World,
    at: &Path,
    agent: &str,
    args: &(impl Words + ?Sized),
) -> Output {
    git_command_as(world, at, agent, args)
        .output()
        .expect("git runs")
}

/// As [`git_as`], not yet run.
pub(crate) fn git_command_as(
    world: &World,
    at: &Path,
    agent: &str,
    args: &(impl Words + ?Sized),
) -> Command {
    let mut git = git_command(at, args);
    copy_environment(&world.bare(""), &mut git);
    match agent {
        "" => git.env("MAILBAG_TEST_ANCESTRY", "unknown"),
        agent => git.env("MAILBAG_AGENT", agent),
    };
    git
}

/// Has an agent claim work by a file in its outbox, and waits until it owns it.
#[track_caller]
pub(crate) fn claim(world: &World, agent: &str, mut fields: Value) {
    fields["type"] = json!("claim");
    world.mail(agent, "claim.json", &fields);
    world.wait("it is granted", || {
        world.run("who");
        world.names(&format!("outbox/{agent}")).is_empty()
    });
    assert_eq!(world.names(&format!("rejected/{agent}")), [""; 0]);
}

/// Writes a program, by another process: while this one has it open for writing, it cannot be run.
pub(crate) fn executable(path: &Path, text: &str) {
    let writes = ["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\""];
    let wrote = Command::new("sh").args(writes).arg(path).arg(text).status();
    assert!(wrote.is_ok_and(|status| status.success()), "a program");
}
