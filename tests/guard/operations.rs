//! The check before and after a commit, while git merges, rebases, cherry-picks or reverts, and by other ways to a commit.

use super::commits::hooked;
use super::{claim, file, git, git_command_as};
use crate::files;
use crate::world::{Words, World, lossy};
use serde_json::json;
use std::process::Output;

/// A repository with hooks and with bob as the owner of `src`. The branches `main` and `side` have
/// changed it.
struct Forked {
    world: World,
}

impl Forked {
    /// Bob changes `src/a.rs` on both branches in lines that conflict, `src/top.rs` on `side` and `src/mix.rs` on both in
    /// lines that do not conflict.
    fn new() -> Forked {
        let world = hooked("alice bob");
        let forked = Forked { world };
        let lines = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n8\n{last}\n");
        let put = |a: &str, mix: &str, top: &str| {
            file(forked.world.path(), "src/a.rs", a);
            file(forked.world.path(), "src/mix.rs", mix);
            file(forked.world.path(), "src/top.rs", top);
            file(forked.world.path(), "src/rest.rs", "rest");
            assert!(forked.git("bob", "add -A").status.success());
            assert!(forked.git("bob", "commit -q -m work").status.success());
        };
        put("base", &lines("1", "9"), "base");
        git(forked.world.path(), "checkout -q -b side");
        put("side", &lines("side", "9"), "side");
        git(forked.world.path(), "checkout -q main");
        put("main", &lines("1", "main"), "base");
        claim(&forked.world, "bob", json!({"claims": ["src"]}));
        forked
    }

    fn git(&self, agent: &str, args: &(impl Words + ?Sized)) -> Output {
        let mut command = git_command_as(&self.world, self.world.path(), agent, args);
        command
            .env("GIT_EDITOR", "true")
            .output()
            .expect("git runs")
    }

    /// Stages a text under this name, and commits as alice. Returns the success of git, and the
    /// output.
    fn commit(&self, name: &str, text: &str) -> (bool, String) {
        file(self.world.path(), name, text);
        git(self.world.path(), "add -A");
        let output = self.git("alice", "commit -q --no-edit -m alice");
        (output.status.success(), lossy(&output.stderr))
    }

    /// The files of bob that he was notified of, by the notice with this place.
    #[track_caller]
    fn notified(&self, n: usize) -> Vec<String> {
        let notices = || {
            self.world.run("who");
            let mail = self.world.inbox("bob").into_iter();
            mail.filter(|mail| mail["metadata"]["guard_bypassed"].is_array())
                .collect::<Vec<_>>()
        };
        self.world.wait("bob is notified", || notices().len() > n);
        let all = notices();
        let files = all[n]["metadata"]["guard_bypassed"]
            .as_array()
            .expect("files")
            .iter();
        files
            .map(|one| one["path"].as_str().expect("a path").to_owned())
            .collect()
    }
}

#[test]
fn files_in_the_git_directory_that_are_no_operation_turn_nothing_off() {
    // P154
    let forked = Forked::new();
    let inside = forked.world.path().join(".git");
    for name in ["sequencer", "rebase-merge", "rebase-apply"] {
        files::make_dir(inside.join(name));
        let (done, said) = forked.commit("src/a.rs", name);
        assert!(
            !done && said.contains("src/a.rs belongs to bob"),
            "{name}: {said}"
        );
        files::remove_dir(inside.join(name));
    }
    for name in [
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "REBASE_HEAD",
        "MERGE_HEAD",
    ] {
        for text in [
            "",
            "garbage\n",
            "0123456789012345678901234567890123456789\n",
        ] {
            files::write(inside.join(name), text);
            assert!(!forked.commit("src/a.rs", name).0, "{name} with {text:?}");
            files::remove_file(inside.join(name));
        }
    }
    // A real commit explains only its own changes.
    git(forked.world.path(), "update-ref CHERRY_PICK_HEAD side");
    let (done, said) = forked.commit("src/rest.rs", "edited");
    assert!(
        !done && said.contains("src/rest.rs belongs to bob"),
        "{said}"
    );
}

#[test]
fn a_merge_of_committed_work_passes_and_an_edit_that_is_added_to_it_is_stopped() {
    // P154
    let forked = Forked::new();
    git(forked.world.path(), "checkout -q -b work HEAD~1");
    assert!(
        forked
            .git("alice", "merge -q --no-commit --no-ff side")
            .status
            .success()
    );
    let (done, said) = forked.commit("src/rest.rs", "edited");
    assert!(
        !done && said.contains("src/rest.rs belongs to bob") && !said.contains("src/a.rs"),
        "{said}"
    );
    git(forked.world.path(), "checkout HEAD -- src/rest.rs");
    let (done, said) = forked.commit("src/top.rs", "edited");
    assert!(
        !done && said.contains("src/top.rs belongs to bob"),
        "a file that the merge brings: {said}"
    );
    git(forked.world.path(), "checkout side -- src/top.rs");
    let (done, said) = forked.commit("free.txt", "x");
    assert!(done && !said.contains("belongs to bob"), "{said}");
}

#[test]
fn a_conflict_is_resolved_and_the_owner_is_notified() {
    // P154 P155
    let by_commit = "commit -q --no-edit -m x";
    for (begin, end) in [
        ("merge side", by_commit),
        ("cherry-pick side", by_commit),
        ("revert --no-edit side", by_commit),
        ("rebase side", by_commit),
        ("rebase side", "rebase --continue"),
    ] {
        let forked = Forked::new();
        let begun = forked.git("alice", begin);
        assert!(!begun.status.success(), "{begin} conflicts");
        file(forked.world.path(), "src/a.rs", "resolved");
        file(forked.world.path(), "src/rest.rs", "edited");
        git(forked.world.path(), "add -A");
        let commit = forked.git("alice", "commit -q -m x");
        let said = lossy(&commit.stderr);
        assert!(
            !commit.status.success() && said.contains("src/rest.rs belongs to bob"),
            "{begin:?}: {said}"
        );
        git(forked.world.path(), "checkout HEAD -- src/rest.rs");
        let commit = forked.git("alice", end);
        let said = lossy(&commit.stderr);
        assert!(commit.status.success(), "{begin}, {end}: {said}");
        if end != by_commit {
            // git shows no output of its hooks.
            continue;
        }
        assert_contains!(said, "this commit changes files of other agents"; "{begin}");
        let told = forked.notified(0);
        assert!(
            told.contains(&"src/a.rs".to_owned()) && !told.contains(&"src/rest.rs".to_owned()),
            "{begin}: {told:?}"
        );
    }
}

#[test]
fn the_owner_is_notified_of_a_revert_a_bypass_in_a_made_up_operation_and_a_commit_of_the_person() {
    // P155
    let forked = Forked::new();
    let done =
        |agent: &str, args: &str| assert!(forked.git(agent, args).status.success(), "{args}");
    done("alice", "revert --no-edit HEAD");
    assert_eq!(forked.notified(0), ["src/a.rs", "src/mix.rs"]);
    file(forked.world.path(), "src/rest.rs", "edited");
    git(forked.world.path(), "add -A");
    done("human", "commit -q -m x");
    assert_eq!(forked.notified(1), ["src/rest.rs"]);
    files::make_dir(forked.world.path().join(".git/rebase-merge"));
    file(forked.world.path(), "src/a.rs", "x");
    git(forked.world.path(), "add -A");
    done("alice", "commit -q --no-verify -m x");
    assert_eq!(forked.notified(2), ["src/a.rs"]);
}

#[test]
fn every_way_to_a_commit_of_another_agents_file_is_stopped() {
    // P154
    let forked = Forked::new();
    let top = forked.world.path();
    let commit = |args: &[&str]| {
        let output = forked.git("alice", args);
        let said = lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains("belongs to bob"),
            "{args:?}: {said}"
        );
        git(top, "reset -q --hard");
    };
    file(top, "src/rest.rs", "edited");
    let patch = git(top, "diff");
    commit(&["commit", "-q", "-a", "-m", "x"]);
    file(top, "src/rest.rs", "edited");
    commit(&["commit", "-q", "--amend", "-a", "--no-edit"]);
    file(top, "src/rest.rs", "edited");
    commit(&["commit", "-q", "-m", "x", "--", "src/rest.rs"]);
    file(top, "src/rest.rs", "edited");
    git(top, "stash -q");
    git(top, "stash pop -q --index");
    commit(&["commit", "-q", "-a", "-m", "x"]);
    let outside = tempfile::tempdir().expect("a directory");
    let patch = file(outside.path(), "x.patch", &patch);
    git(top, &["apply", "--index", patch.to_str().expect("plain")]);
    commit(&["commit", "-q", "-m", "x"]);
    git(top, "mv src/rest.rs elsewhere.rs");
    commit(&["commit", "-q", "-m", "x"]);
    git(top, "rm -q src/rest.rs");
    commit(&["commit", "-q", "-m", "x"]);
    git(top, "merge -q --squash -X theirs side");
    commit(&["commit", "-q", "-m", "x"]);
}
