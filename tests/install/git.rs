//! `mailbag install git`: the hooks of a repository, beside hooks of every kind, and out again to the byte.

use super::{Desk, script};
use crate::files;
use crate::guard::{file, git, git_command, project, repository};
use crate::town::copy_environment;
use crate::world::{World, lossy, parse_json};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository with a room, and a program that writes down how it is called.
fn git_desk() -> Desk {
    let world = project("alice");
    let exclude = "a place\nhome\ncalls.txt\n";
    file(world.path(), ".git/info/exclude", exclude);
    let program = ending_with(&world, 0);
    Desk { world, program }
}

/// Makes the program end with this status, and returns its path.
fn ending_with(world: &World, status: u8) -> String {
    let calls = world.path().join("calls.txt");
    let text = format!("echo \"$*\" >> '{}'\nexit {status}\n", calls.display());
    script(&world.path().join("a place"), &text)
}

impl Desk {
    #[track_caller]
    fn install(&self) -> Value {
        self.json("install git")
    }

    /// Commits a file, and returns true if git succeeded.
    fn commit(&self, name: &str) -> (bool, String) {
        file(self.world.path(), name, name);
        git(self.world.path(), &["add", name]);
        let output = git_command(self.world.path(), &["commit", "-m", name])
            .output()
            .expect("git runs");
        (output.status.success(), lossy(&output.stderr))
    }

    /// How the program was called, apart from the test of the installation.
    fn calls(&self) -> String {
        fs::read_to_string(self.path("calls.txt")).unwrap_or_default()
    }

    fn forget_calls(&self) {
        let _ = fs::remove_file(self.path("calls.txt"));
    }
}

/// The names, modes and bytes of a directory.
fn contents(directory: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let entries = walkdir::WalkDir::new(directory)
        .sort_by_file_name()
        .into_iter()
        .flatten();
    let one = |entry: walkdir::DirEntry| {
        let mode = entry
            .metadata()
            .map(|meta| meta.permissions().mode())
            .unwrap_or_default();
        (
            entry.path().to_path_buf(),
            mode,
            fs::read(entry.path()).unwrap_or_default(),
        )
    };
    entries.map(one).collect()
}

fn hook(at: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = file(at, &format!(".git/hooks/{name}"), text);
    files::set_mode(&path, mode);
    path
}

#[test]
fn both_hooks_go_in_run_at_a_commit_and_go_out_again() {
    let desk = git_desk();
    let before = contents(&desk.path(".git/hooks"));
    let plan = desk.install();
    let changes: Vec<&Value> = plan["files"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| &file["change"])
        .collect();
    assert_eq!(changes, ["made", "made"]);
    assert_fields!(plan, client: "git", hook_test.ok: true);
    assert_eq!(desk.calls(), "hook git pre-commit\n", "the test");
    desk.forget_calls();
    assert_eq!(desk.install()["files"], json!([]), "a second time");
    desk.forget_calls();
    assert!(desk.commit("one").0);
    assert_eq!(desk.calls(), "hook git pre-commit\nhook git post-commit\n");
    let said = desk.ok("uninstall git");
    assert!(
        said.contains("removed ") && contents(&desk.path(".git/hooks")) == before,
        "{said}"
    );
    assert_contains!(desk.ok("uninstall git"), "no changes for git in ");
}

#[test]
fn only_the_status_of_a_stopped_commit_stops_it() {
    // P151
    let desk = git_desk();
    desk.install();
    for (status, stops) in [
        (0, false),
        (1, false),
        (2, false),
        (10, true),
        (101, false),
        (127, false),
    ] {
        ending_with(&desk.world, status);
        assert_eq!(desk.commit(&status.to_string()).0, !stops, "{status}");
    }
}

#[test]
fn a_shell_script_keeps_its_own_lines_and_gets_them_back_to_the_byte() {
    let desk = git_desk();
    let text = "#!/bin/sh -e\n# ours\necho own >> calls.txt\nexec true\n";
    hook(desk.world.path(), "pre-commit", text, 0o750);
    hook(
        desk.world.path(),
        "post-commit",
        "#!/usr/bin/env bash\necho after >> calls.txt\nexit 0",
        0o755,
    );
    let before = contents(&desk.path(".git/hooks"));
    let plan = desk.install();
    assert_eq!(plan["files"][0]["change"], "changed");
    desk.forget_calls();
    assert!(desk.commit("one").0);
    assert_eq!(
        desk.calls(),
        "hook git pre-commit\nown\nhook git post-commit\nafter\n"
    );
    let mode = fs::metadata(desk.path(".git/hooks/pre-commit"))
        .expect("it")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o750);
    desk.ok("uninstall git");
    assert!(contents(&desk.path(".git/hooks")) == before);
}

#[test]
fn uninstall_keeps_a_person_s_additions_to_git_hooks() {
    let desk = git_desk();
    hook(
        desk.world.path(),
        "pre-commit",
        "#!/bin/sh\necho a\n",
        0o755,
    );
    desk.install();
    for name in ["pre-commit", "post-commit"] {
        let path = desk.path(&format!(".git/hooks/{name}"));
        let text = files::read_text(&path);
        files::write(&path, text + "echo mine\n");
    }
    desk.ok("uninstall git");
    let text = |name: &str| files::read_text(desk.path(&format!(".git/hooks/{name}")));
    assert_eq!(
        (text("pre-commit"), text("post-commit")),
        (
            "#!/bin/sh\necho a\necho mine\n".into(),
            "#!/bin/sh\necho mine\n".into()
        )
    );
}

#[test]
fn a_git_hook_with_a_person_s_lines_between_our_marks_is_not_removed() {
    let desk = git_desk();
    desk.install();
    let path = desk.path(".git/hooks/pre-commit");
    let edited = files::read_text(&path).replace("fi\n", "fi\necho mine\n");
    files::write(&path, edited.clone());
    assert_contains!(desk.ok("uninstall git"), "remove them");
    assert_eq!(files::read_text(&path), edited);
}

#[test]
fn damaged_marks_in_a_git_hook_are_an_error() {
    let desk = git_desk();
    desk.install();
    let path = desk.path(".git/hooks/pre-commit");
    let whole = files::read_text(&path);
    let last = whole.replace("# mailbag:end\n", "");
    let first = whole.replace("# mailbag:begin", "# begin");
    for damaged in [last, first, format!("{whole}{whole}")] {
        files::write(&path, damaged.clone());
        let wrong = "must have the marks # mailbag:begin and # mailbag:end exactly once each";
        for args in ["install git", "uninstall git"] {
            assert_contains!(desk.run(args).fails(1), wrong, "nothing was changed");
        }
        assert_contains!(desk.ok("install git --status"), "problem: ", wrong);
        let status = desk.json("install git --status");
        assert_contains!(status["git"]["problems"].to_string(), wrong);
        assert_eq!(files::read_text(&path), damaged);
    }
}

#[test]
fn a_call_without_marks_is_left_to_the_person() {
    let desk = git_desk();
    desk.install();
    let path = desk.path(".git/hooks/pre-commit");
    let text = files::read_text(&path);
    let text: String = text
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("# mailbag:"))
        .collect();
    files::write(&path, text.clone());
    assert_eq!(desk.install()["files"], json!([]));
    assert_contains!(
        desk.ok("uninstall git"),
        "our lines were added by hand; remove them"
    );
    assert_eq!(files::read_text(&path), text);
}

#[test]
fn install_does_not_change_hooks_that_are_not_shell_scripts() {
    let polyglot = "#!/bin/sh\n''''exec python3 \"$0\" \"$@\" # '''\nprint(1)\n";
    let cases: [(&str, u32, &str); 5] = [
        (
            "#!/usr/bin/env python3\nprint(1)\n",
            0o755,
            "it is not a shell script",
        ),
        ("\u{7f}ELF\u{0}\u{1}", 0o755, "it is not a shell script"),
        (polyglot, 0o755, "it is not a shell script"),
        ("echo no first line\n", 0o755, "it is not a shell script"),
        (
            "#!/bin/sh\necho off\n",
            0o644,
            "it is not executable, so git ignores it",
        ),
    ];
    let desk = git_desk();
    for (text, mode, why) in cases {
        let path = hook(desk.world.path(), "pre-commit", text, mode);
        let plan = desk.install();
        assert_eq!(files::read_text(&path), text);
        assert!(
            plan["manual_edits"][0]["reason"]
                .as_str()
                .is_some_and(|said| said.contains(why)),
            "{plan:#}"
        );
        assert_eq!(
            plan["files"][0]["path"],
            desk.path(".git/hooks/post-commit").to_str().expect("plain")
        );
        assert_contains!(
            desk.ok("install git"),
            "add these lines to ",
            "hook git pre-commit || [ $? -ne 10 ] || exit 1"
        );
        desk.ok("uninstall git");
    }
}

#[test]
fn a_link_is_not_followed() {
    let desk = git_desk();
    let real = file(desk.world.path(), "tools/pre-commit", "#!/bin/sh\n");
    files::link("../../tools/pre-commit", desk.path(".git/hooks/pre-commit"));
    let plan = desk.install();
    assert_eq!(plan["manual_edits"][0]["reason"], "it is a symbolic link");
    assert_eq!(files::read_text(real), "#!/bin/sh\n");
    let desk = git_desk();
    files::remove_dir(desk.path(".git/hooks"));
    files::make_dir(desk.path("githooks"));
    files::link("../githooks", desk.path(".git/hooks"));
    assert_eq!(
        desk.install()["manual_edits"].as_array().map(Vec::len),
        Some(2)
    );
    assert_eq!(fs::read_dir(desk.path("githooks")).expect("it").count(), 0);
}

#[test]
fn managers_of_hooks_get_lines_for_their_own_files() {
    let shell = "hook git pre-commit || [ $? -ne 10 ] || exit 1";
    for (path, of, own) in [
        (".husky/_/pre-commit", Some(".husky/_"), ".husky/pre-commit"),
        ("shared/post-commit", Some("shared"), "shared/pre-commit"),
        ("lefthook.yml", None, "lefthook.yml"),
    ] {
        let desk = git_desk();
        file(desk.world.path(), path, "");
        of.iter()
            .for_each(|of| drop(git(desk.world.path(), &["config", "core.hooksPath", of])));
        let before = contents(desk.world.path());
        let plan = desk.install();
        assert_eq!(
            (
                plan["files"].clone(),
                plan["manual_edits"].as_array().map(Vec::len)
            ),
            (json!([]), Some(2)),
            "{plan:#}"
        );
        let there = plan["manual_edits"][0]["path"].as_str().expect("a path");
        assert_eq!(
            Path::new(there),
            fs::canonicalize(desk.world.path()).expect("it").join(own)
        );
        assert!(
            plan["manual_edits"][0]["lines"]
                .as_str()
                .is_some_and(|lines| lines.contains(shell)),
            "{plan:#}"
        );
        desk.forget_calls();
        files::remove_dir(desk.path("home"));
        assert!(contents(desk.world.path()) == before, "nothing was written");
    }
}

#[test]
fn lines_that_were_added_by_hand_count_as_installed() {
    let desk = git_desk();
    git(desk.world.path(), "config core.hooksPath shared");
    let plan = desk.install();
    for by_hand in plan["manual_edits"].as_array().expect("lines") {
        let path = by_hand["path"].as_str().expect("a path");
        file(
            Path::new("/"),
            path,
            &format!("#!/bin/sh\n{}", by_hand["lines"].as_str().expect("lines")),
        );
        files::set_mode(path, 0o755);
    }
    desk.forget_calls();
    assert!(desk.commit("one").0);
    assert_eq!(desk.calls(), "hook git pre-commit\nhook git post-commit\n");
    assert_eq!(desk.install().get("manual_edits"), None);
    let status = desk.json("install git --status");
    assert_fields!(status, git.hooks: "installed", clients: json!([]));
    assert_contains!(
        desk.ok("uninstall git"),
        "edit ",
        "our lines were added by hand; remove them"
    );
}

#[test]
fn a_hook_that_pre_commit_writes_is_left_to_it() {
    let desk = git_desk();
    hook(
        desk.world.path(),
        "pre-commit",
        "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n",
        0o755,
    );
    let plan = desk.install();
    let by_hand = &plan["manual_edits"][0];
    assert!(
        by_hand["path"]
            .as_str()
            .is_some_and(|path| path.ends_with("/.pre-commit-config.yaml")),
        "{plan:#}"
    );
    assert_contains!(by_hand["lines"].to_string(), "stages: [pre-commit]");
    assert_eq!(
        plan["files"].as_array().map(Vec::len),
        Some(1),
        "the other hook is free"
    );
}

#[test]
fn our_lines_go_out_although_a_manager_came_since() {
    let desk = git_desk();
    let before = contents(&desk.path(".git/hooks"));
    desk.install();
    file(desk.world.path(), "lefthook.yml", "");
    desk.ok("uninstall git");
    assert!(contents(&desk.path(".git/hooks")) == before);
}

#[test]
fn worktrees_share_their_hooks_and_a_submodule_and_a_bare_repository_have_their_own() {
    let desk = git_desk();
    git(desk.world.path(), "worktree add -q 'a place/linked'");
    let from = tempfile::tempdir().expect("a directory");
    repository(from.path());
    let url = from.path().to_str().expect("plain");
    git(
        desk.world.path(),
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            url,
            "vendor/lib",
        ],
    );
    git(
        desk.world.path(),
        &["clone", "-q", "--bare", url, "a place/lib.git"],
    );
    for (at, hooks) in [
        ("a place/linked", ".git/hooks"),
        ("vendor/lib", ".git/modules/vendor/lib/hooks"),
        ("a place/lib.git", "a place/lib.git/hooks"),
    ] {
        let run = |args: &[&str]| {
            let ran = desk.world.run_with(args, |command| {
                command
                    .current_dir(desk.path(at))
                    .env("HOME", desk.path("home"));
            });
            ran.ok()
        };
        let plan = parse_json(run(&[
            "install",
            "git",
            "--json",
            "--command",
            &desk.program,
        ]));
        let there = desk.path(hooks).canonicalize().expect("a directory");
        assert_eq!(plan["directory"], there.to_str().expect("plain"), "{at}");
        assert!(there.join("pre-commit").exists(), "{at}");
        run(&["uninstall", "git"]);
        assert!(!there.join("pre-commit").exists(), "{at}");
    }
}

#[test]
fn without_a_repository_or_git_it_says_so() {
    let world = World::new();
    assert_contains!(world.fails(3, "install git"), "no git repository around ");
    let ran = world.run_env("install git", "PATH", "/nowhere");
    assert_contains!(ran.fails(3), "git is not on the PATH");
    let desk = git_desk();
    assert_contains!(
        desk.run("install git --user").fails(2),
        "belong to one repository"
    );
    assert_contains!(
        desk.run("install git --agent alice").fails(2),
        "have no fixed agent"
    );
}

fn run_under_umask(desk: &Desk, umask: &str, args: &[&str]) {
    let program = desk.world.bare(args);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("umask {umask}; exec \"$@\""), "sh"])
        .arg(program.get_program())
        .args(args)
        .current_dir(desk.world.path());
    copy_environment(&program, &mut shell);
    let ran = shell.env("HOME", desk.path("home")).output();
    let ran = ran.expect("a shell");
    assert!(ran.status.success(), "{args:?}: {ran:?}");
}

#[test]
fn with_a_umask_of_000_files_of_clients_are_not_writable_for_others() {
    let desk = git_desk();
    for args in [
        &["up"][..],
        &["install", "claude"],
        &["install", "gemini"],
        &["install", "codex", "--user"],
        &["install", "git"],
    ] {
        run_under_umask(&desk, "000", args);
    }
    let all = walkdir::WalkDir::new(desk.world.path())
        .into_iter()
        .map(|entry| entry.expect("an entry"));
    let made: Vec<_> = all
        .filter(|entry| !entry.file_type().is_symlink())
        .collect();
    assert!(
        made.iter()
            .any(|entry| entry.path().ends_with(".claude/settings.json")),
        "{made:?}"
    );
    for entry in made {
        let mode = entry.metadata().expect("it").permissions().mode();
        assert_eq!(mode & 0o022, 0, "{} has {mode:o}", entry.path().display());
    }
}

#[test]
fn a_missing_directory_is_made_and_a_new_hook_can_be_run_under_any_umask() {
    let desk = git_desk();
    files::remove_dir(desk.path(".git/hooks"));
    for (umask, mode) in [
        ("077", 0o700),
        ("022", 0o755),
        ("002", 0o755),
        ("000", 0o755),
    ] {
        run_under_umask(
            &desk,
            umask,
            &["install", "git", "--command", &desk.program],
        );
        let made = fs::metadata(desk.path(".git/hooks/pre-commit"))
            .expect("it")
            .permissions()
            .mode();
        assert_eq!(made & 0o777, mode, "{umask}");
        desk.ok("uninstall git");
    }
}

#[test]
fn hooks_are_silent_on_a_machine_without_the_program() {
    let desk = git_desk();
    desk.install();
    files::remove_dir(desk.path("a place/bin"));
    let (committed, said) = desk.commit("one");
    assert!(committed && said.is_empty(), "{said}");
}

#[test]
fn the_preview_writes_nothing_and_the_status_shows_what_is_there() {
    let desk = git_desk();
    let before = contents(&desk.path(".git"));
    let said = desk.ok("install git --dry-run");
    assert!(
        said.contains("+#!/bin/sh") && contents(&desk.path(".git")) == before,
        "{said}"
    );
    let status = || desk.json("install --status")["git"].clone();
    assert_eq!(status()["hooks"], "absent");
    desk.install();
    assert_fields!(status(), hooks: "installed", executable: desk.program);
    files::remove_file(desk.path(".git/hooks/post-commit"));
    assert_fields!(status(), hooks: "partly", missing: ["post-commit"]);
    assert_contains!(
        desk.ok("install --status"),
        "partly: git has no hook at post-commit"
    );
}
