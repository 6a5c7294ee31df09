//! `mailbag up` where people run it: in repositories and rooms, with odd homes, and with mistakes in their files.

use super::script;
use super::up::{CLIENTS, Fresh};
use crate::files;
use crate::world::{Words, parse_json};
use serde_json::json;

#[test]
fn no_room_is_made_inside_another_by_accident() {
    let fresh = Fresh::with(&["claude"]);
    fresh.ok("up");
    files::make_dir(fresh.at("deep/er"));
    let said = fresh.run_in("deep/er", "up", |_| {}).ok();
    assert!(said.starts_with("nothing to do"), "{said}");
    let said = fresh.run_in(".mailbag/inbox", "up", |_| {});
    assert!(!fresh.at(".mailbag/inbox/.mailbag").exists(), "{said:?}");
    // A repository inside: its own clients' files, but the room that its commands find.
    files::make_dir(fresh.at("inner/.git"));
    let said = fresh.run_in("inner", "up", |_| {}).ok();
    assert_contains!(said, "found in the parent directory", "mailbag init");
    assert!(
        fresh.at("inner/.claude/settings.json").is_file() && !fresh.at("inner/.mailbag").exists()
    );

    // A room that is its directory.
    let fresh = Fresh::new();
    fresh.ok("init team");
    let said = fresh.run_in("team/inbox", "up", |_| {}).fails(2);
    assert_contains!(said, "is inside the room");
}

#[test]
fn in_a_repository_the_room_is_at_its_top_and_worktrees_share_it() {
    let fresh = Fresh::with(&["claude"]);
    let git = |args: &[&str]| git_in(&fresh, "", args);
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    git(&["worktree", "add", "-q", "../other", "-b", "other"]);
    files::make_dir(fresh.at("sub"));
    fresh.run_in("sub", "up", |_| {}).ok();
    assert!(
        fresh.at(".mailbag").is_dir()
            && fresh.at(".claude").is_dir()
            && !fresh.at("sub/.mailbag").exists()
    );
    let said = fresh.run_in("../other", "up", |_| {}).ok();
    assert_contains!(said, "main worktree");
    assert!(fresh.at("../other/.claude").is_dir() && !fresh.at("../other/.mailbag").exists());
    let said = fresh.run_in("../other", "up --undo", |_| {}).ok();
    assert_contains!(said, "room      kept ");
    assert!(
        fresh.at(".claude").is_dir() && fresh.at(".mailbag").is_dir(),
        "the main worktree keeps its own"
    );
}

#[test]
fn a_fixed_agent_of_an_earlier_installation_stays() {
    let fresh = Fresh::with(&["claude"]);
    fresh.ok("init");
    fresh.ok("agent add planner");
    fresh.ok(&[
        "install",
        "claude",
        "--agent",
        "planner",
        "--command",
        &fresh.program,
    ]);
    let said = fresh.ok("up");
    assert!(said.starts_with("nothing to do"), "{said}");
    assert_contains!(fresh.text(".claude/settings.json"), "--as planner");
}

#[test]
fn a_client_that_is_installed_for_the_user_needs_nothing_in_the_project() {
    let fresh = Fresh::with(&["claude", "codex"]);
    fresh.ok(&["install", "claude", "--user", "--command", &fresh.program]);
    assert_contains!(fresh.ok("up"), "already installed for you in all projects");
    assert!(!fresh.at(".claude").exists() && fresh.at(".codex/hooks.json").is_file());
    fresh.ok("up --undo");
    assert!(
        fresh
            .world
            .path()
            .join("home/.claude/settings.json")
            .is_file(),
        "it is not of this project"
    );
}

#[test]
fn a_mistake_in_the_settings_of_one_client_leaves_out_this_client_alone() {
    // P427
    let fresh = Fresh::with(&CLIENTS).lived_in();
    fresh.write(".gemini/settings.json", "{ oops");
    let before = fresh.files();
    assert_contains!(
        fresh.run("up --client gemini").fails(1),
        ".gemini/settings.json line 1",
        "nothing was changed"
    );
    assert!(
        fresh.files() == before,
        "without a client there is nothing to do"
    );
    for again in [false, true] {
        let ran = fresh.run("up");
        assert!(
            ran.code == 1 && ran.err.contains("Gemini CLI was left out: "),
            "again {again}: {ran:?}"
        );
        assert_contains!(ran.err, ".gemini/settings.json line 1"; "{ran:?}");
        assert_contains!(ran.err, "run `mailbag up --client gemini`"; "{ran:?}");
        assert!(
            ran.out.contains("Claude Code") && !ran.out.contains("Gemini CLI"),
            "{ran:?}"
        );
    }
    assert_eq!(fresh.text(".gemini/settings.json"), "{ oops");
    assert!(
        fresh.at(".codex/hooks.json").is_file()
            && fresh.text(".claude/settings.json").contains("mailbag")
    );
    fresh.write(".gemini/settings.json", "{}");
    fresh.ok("up --client gemini");
    assert_contains!(fresh.text(".gemini/settings.json"), "mailbag");
}

#[test]
fn with_approvals_each_client_that_can_ask_by_mail_does_and_a_second_run_keeps_it() {
    // P183
    let fresh = Fresh::with(&CLIENTS);
    fresh.ok("up --approvals");
    for file in [".claude/settings.json", ".codex/hooks.json"] {
        assert_contains!(fresh.text(file), "PermissionRequest"; "{file}");
    }
    assert_contains!(fresh.text(".gemini/settings.json"), "mailbag");
    assert!(fresh.ok("up").starts_with("nothing to do"));
    assert_contains!(fresh.text(".claude/settings.json"), "PermissionRequest");
    assert_contains!(
        fresh.run("up --approvals --client gemini").fails(2),
        "no client here has a hook"
    );
    let fresh = Fresh::with(&CLIENTS);
    let before = fresh.files();
    let agent = fresh.run_in("", "up --approvals", |command| {
        command
            .env("CLAUDE_CODE_SESSION_ID", "s1")
            .env_remove("MAILBAG_TEST_ANCESTRY");
    });
    assert!(agent.code != 0 && fresh.files() == before, "{agent:?}");
}

#[test]
fn up_prints_one_client_once_for_two_terminals() {
    let said = Fresh::with(&["gemini"]).ok(&["up"]);
    assert!(
        said.contains("Next, in two terminals, in ") && said.matches("\n  gemini\n").count() == 1,
        "{said}"
    );
}

#[test]
fn the_next_commands_name_the_room_of_the_command_line() {
    let up = "up --room elsewhere/room";
    let fresh = Fresh::new();
    assert_contains!(fresh.ok(up), "\n  mailbag --room /", "elsewhere/room up\n");
    let fresh = Fresh::with(&["claude"]);
    assert_contains!(fresh.ok(up), "\n  mailbag --room /", "elsewhere/room web\n");
    assert_contains!(fresh.ok(up), "nothing to do: Claude Code is set up");
    fresh.write(".gemini/settings.json", "{ oops");
    let ran = fresh.run(&*format!("{up} --client claude --client gemini"));
    assert_contains!(
        ran.err,
        "run `mailbag --room /",
        "elsewhere/room up --client gemini`"
    );
}

#[test]
fn a_hook_that_fails_is_said_and_is_the_exit_status() {
    let fresh = Fresh::with(&["claude"]);
    script(fresh.world.path(), "exit 3\n");
    let ran = fresh.run("up");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_contains!(ran.out, "the hook", "failed"; "{ran:?}");
}

#[test]
fn without_a_home_and_with_one_that_cannot_be_written_the_project_is_set_up() {
    for home in [None, Some("/proc"), Some("")] {
        let fresh = Fresh::with(&CLIENTS);
        let ran = fresh.run_in("", "up", |command| {
            match home {
                Some(home) => command.env("HOME", home),
                None => command.env_remove("HOME"),
            };
        });
        assert_eq!(ran.code, 0, "{home:?}: {ran:?}");
        assert!(
            fresh.at(".mailbag").is_dir() && fresh.at(".codex/hooks.json").is_file(),
            "{home:?}"
        );
    }
}

#[test]
fn up_prints_the_questions_of_each_client_with_the_needed_answers() {
    let fresh = Fresh::with(&CLIENTS);
    let up = fresh.json("up");
    let asks = |n: usize| {
        up["clients"][n]["questions"]
            .as_array()
            .expect("a list")
            .len()
    };
    assert_eq!((asks(0), asks(1), asks(2)), (2, 2, 1), "{up}");
    assert_eq!(up["next"], json!(["claude", "codex"]));
    let said = Fresh::with(&CLIENTS).ok(&["up"]);
    assert_contains!(
        Fresh::with(&["qwen"]).ok(&["up"]),
        "Untrusted MCP server in .qwen/settings.json: mailbag"
    );
    for words in [
        "Claude Code asks you:",
        "Use this MCP server",
        "Trust all and continue",
        "Trust folder",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn up_ignores_files_of_other_users_in_a_shared_directory() {
    let fresh = Fresh::with(&["claude"]);
    files::make_dir(fresh.at("open/.git"));
    files::make_dir(fresh.at("open/mine"));
    files::set_mode(fresh.at("open"), 0o1777);
    fresh.run_in("open/mine", "up", |_| {}).ok();
    assert!(fresh.at("open/mine/.claude").is_dir() && fresh.at("open/mine/.mailbag").is_dir());
    assert!(!fresh.at("open/.claude").exists() && !fresh.at("open/.mailbag").exists());
}

#[test]
fn up_makes_git_ignore_a_room_again() {
    let fresh = Fresh::with(&["claude"]);
    git_in(&fresh, "", "init -q");
    fresh.ok("up");
    files::remove_file(fresh.at(".mailbag/.gitignore"));
    assert_contains!(fresh.ok("up"), "its .gitignore was missing");
    assert_eq!(fresh.text(".mailbag/.gitignore"), "*\n");
    assert!(fresh.ok("up").starts_with("nothing to do"));
}

/// Runs git in a directory of the project. Submodules of local repositories are allowed.
fn git_in(fresh: &Fresh, below: &str, args: &(impl Words + ?Sized)) {
    let settings = [
        "user.name=x",
        "user.email=x@example.org",
        "init.defaultBranch=main",
        "protocol.file.allow=always",
    ];
    let mut git = std::process::Command::new("git");
    for setting in settings {
        git.args(["-c", setting]);
    }
    let ran = git.args(args.words()).current_dir(fresh.at(below)).output();
    assert!(ran.expect("git").status.success(), "{:?}", args.words());
}

/// A project with a repository, a submodule in `part` and a linked worktree in `../linked`.
fn with_repositories() -> Fresh {
    let fresh = Fresh::with(&["claude"]);
    files::make_dir(fresh.at("../library"));
    for repository in ["../library", ""] {
        git_in(&fresh, repository, "init -q");
        git_in(&fresh, repository, "commit -q --allow-empty -m x");
    }
    git_in(&fresh, "", "submodule --quiet add ../library part");
    git_in(&fresh, "", "commit -q -m part");
    git_in(&fresh, "", "worktree add -q ../linked -b linked");
    files::make_dir(fresh.at("src"));
    files::make_dir(fresh.at("../plain/below"));
    fresh
}

#[test]
fn up_states_which_room_is_used_and_why() {
    // P520
    let fresh = with_repositories();
    for (place, why) in [
        (
            "../plain",
            "in this directory, which is in no git repository",
        ),
        ("", "at the top of this git repository"),
        ("src", "at the top of this git repository"),
        ("../linked", "the main worktree of this repository"),
        ("part", "has no room of its own"),
        ("../plain/below", "found in the parent directory"),
    ] {
        let preview = fresh.run_in(place, "up --dry-run", |_| {});
        let said = preview.ok();
        assert!(said.contains(why), "{place}: {said}");
        for again in [false, true] {
            let said = fresh.run_in(place, "up", |_| {}).ok();
            assert!(said.contains(why), "{place} {again}: {said}");
        }
    }
    assert!(!fresh.at("part/.mailbag").exists() && !fresh.at("../linked/.mailbag").exists());
    // A submodule of a repository without a room.
    let alone = with_repositories();
    let said = alone.run_in("part", &["up"], |_| {}).ok();
    assert_contains!(said, "at the top of this git submodule");
    assert!(alone.at("part/.mailbag").is_dir());
}

#[test]
fn init_states_which_room_is_used_and_why_and_warns_below_another_room() {
    // P520
    let fresh = with_repositories();
    let init = |place: &str| {
        let ran = fresh.run_in(place, "init", |_| {});
        assert_eq!(ran.code, 0, "{place}: {ran:?}");
        ran.err
    };
    for (place, why) in [
        (
            "../plain",
            "in this directory, which is in no git repository",
        ),
        ("src", "in this directory; the top of the git repository is"),
        ("../linked", "the main worktree of this repository"),
    ] {
        let said = init(place);
        assert!(
            said.contains(why) && !said.contains("warning"),
            "{place}: {said}"
        );
    }
    assert!(fresh.at(".mailbag").is_dir() && !fresh.at("../linked/.mailbag").exists());
    for (place, above) in [
        ("part", ".mailbag"),
        ("../plain/below", "../plain/.mailbag"),
    ] {
        let said = init(place);
        let above = fresh.at(above).canonicalize().expect("a room");
        let warns = format!("is below another room, {}", above.display());
        assert!(
            said.contains("warning:") && said.contains(&warns),
            "{place}: {said}"
        );
        assert!(fresh.at(place).join(".mailbag").is_dir());
        assert!(
            !init(place).contains("warning:"),
            "{place}: the second run warns"
        );
    }
    let args = ["init", "../linked/.mailbag", "--json"];
    let made = parse_json(fresh.run_in("", &args, |_| {}).ok());
    let main = fresh.at(".mailbag").canonicalize().expect("a room");
    assert_eq!(
        made["other"],
        main.to_str().expect("a plain path"),
        "{made}"
    );
}

#[test]
fn up_ends_with_sentences_for_the_first_sessions() {
    // P521
    let ask =
        "ask the other agent with mailbag which port the test server uses, and tell me its answer";
    for (clients, expected) in [
        // The asked session has a name from its start, and is woken.
        (&["claude", "codex"][..], &[(2, "codex", ask)][..]),
        (&["claude", "gemini"], &[(2, "gemini", ask)]),
        (&["claude"], &[(1, "claude", ask)]),
        (&["codex"], &[(2, "codex", "hello"), (1, "codex", ask)]),
        (
            &["gemini"],
            &[(1, "gemini", ask), (2, "gemini", "answer your mail")],
        ),
    ] {
        let up = Fresh::with(clients).json(&["up"]);
        let said: Vec<_> = up["prompts"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| {
                let text = |name: &str| one[name].as_str().expect("text").to_owned();
                (
                    one["terminal"].as_u64().expect("a number"),
                    text("client"),
                    text("text"),
                )
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(terminal, client, text)| (*terminal, client.to_string(), text.to_string()))
            .collect();
        assert_eq!(said, expected, "{clients:?}");
    }
    let said = Fresh::with(&["claude", "codex"]).ok(&["up"]);
    let end = format!(
        "  codex\nThen type into the second terminal, Codex:\n  {ask}\nTo see the mail in a browser:\n  mailbag web\n"
    );
    assert!(said.ends_with(&end), "{said}");
}
