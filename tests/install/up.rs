//! `mailbag up`: from nothing to a room with every client plugged in, and back to the byte.

use super::{read_fixture, stand_in};
use crate::files;
use crate::world::{Ran, Words, World, parse_json};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// The clients that are on the PATH of a test, as programs that do nothing.
pub(super) const CLIENTS: [&str; 3] = ["claude", "codex", "gemini"];

/// A project without a room, its user's home, and a PATH with only the test's programs.
pub(crate) struct Fresh {
    pub(crate) world: World,
    pub(crate) program: String,
}

impl Fresh {
    pub(super) fn new() -> Fresh {
        let world = World::empty();
        let program = stand_in(world.path());
        for below in ["home", "project"] {
            files::make_dir(world.path().join(below));
        }
        Fresh { world, program }
    }

    /// With these clients installed on the machine.
    pub(super) fn with(clients: &[&str]) -> Fresh {
        let fresh = Fresh::new();
        for client in clients {
            fresh.install(client, "");
        }
        fresh
    }

    /// Installs a client that prints this version.
    pub(super) fn install(&self, client: &str, version: &str) {
        let path = self.world.path().join("bin").join(client);
        files::write(&path, format!("#!/bin/sh\necho '{version}'\n"));
        files::set_mode(&path, 0o755);
    }

    pub(crate) fn at(&self, below: &str) -> PathBuf {
        self.world.path().join("project").join(below)
    }

    pub(super) fn write(&self, below: &str, bytes: impl AsRef<[u8]>) {
        let path = self.at(below);
        files::make_dir(path.parent().expect("a directory"));
        files::write(path, bytes);
    }

    pub(super) fn text(&self, below: &str) -> String {
        fs::read_to_string(self.at(below)).unwrap_or_else(|e| panic!("{below}: {e}"))
    }

    pub(super) fn run_in(
        &self,
        below: &str,
        args: &(impl Words + ?Sized),
        with: impl FnOnce(&mut assert_cmd::Command),
    ) -> Ran {
        let args = args.words();
        let is_up = args[0] == "up" && !args.contains(&"--undo");
        let own = ["--command", &self.program];
        let args = [&args[..], if is_up { &own } else { &[] }].concat();
        self.world.run_with(&args, |command| {
            command.current_dir(self.at(below));
            self.surround(|name, value| {
                command.env(name, value);
            });
            with(command);
        })
    }

    pub(super) fn run(&self, args: &(impl Words + ?Sized)) -> Ran {
        self.run_in("", args, |_| {})
    }

    #[track_caller]
    pub(crate) fn ok(&self, args: &(impl Words + ?Sized)) -> String {
        self.run(args).ok()
    }

    #[track_caller]
    pub(super) fn json(&self, args: &(impl Words + ?Sized)) -> Value {
        parse_json(self.ok(&[args.words(), vec!["--json"]].concat()))
    }

    /// Every file and directory of the project, with its content.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut all: Vec<_> = walkdir::WalkDir::new(self.at(""))
            .sort_by_file_name()
            .into_iter()
            .flatten()
            .map(|entry| {
                (
                    entry.path().to_owned(),
                    fs::read(entry.path()).unwrap_or_default(),
                )
            })
            .collect();
        // An undone set-up keeps the room.
        let room = self.at(".mailbag");
        all.retain(|(path, _)| !path.ends_with("heard.json") && !path.starts_with(&room));
        all
    }

    /// Its environment.
    pub(crate) fn surround(&self, mut set: impl FnMut(&str, String)) {
        set(
            "PATH",
            format!("{}:/usr/bin:/bin", self.world.path().join("bin").display()),
        );
        set("HOME", self.world.path().join("home").display().to_string());
    }

    /// Settings of a person with Claude Code, as they are found.
    pub(super) fn lived_in(self) -> Fresh {
        self.write(
            ".claude/settings.json",
            read_fixture("claude-own-hooks.json"),
        );
        self
    }
}

#[test]
fn up_makes_the_room_and_installs_each_client_and_a_second_up_changes_nothing() {
    let fresh = Fresh::with(&CLIENTS);
    let said = fresh.ok("up");
    assert!(
        said.starts_with(&format!(
            "room      created {}",
            fresh.at(".mailbag").display()
        )),
        "{said}"
    );
    for client in CLIENTS {
        assert!(
            said.lines()
                .any(|line| line.starts_with(client) && line.contains("created ")),
            "{said}"
        );
    }
    assert_contains!(said, "\n  claude\n  codex\nThen type into");
    for file in [
        ".claude/settings.json",
        ".mcp.json",
        ".codex/hooks.json",
        ".gemini/settings.json",
        "AGENTS.md",
    ] {
        assert!(fresh.at(file).is_file(), "{file}");
    }
    let before = fresh.files();
    let said = fresh.ok("up");
    assert!(
        said.starts_with(
            "nothing to do: Claude Code, Codex, Gemini CLI are set up, and the room is"
        ),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(fresh.json("up")["changed"], false);
    assert!(fresh.files() == before);
}

#[test]
fn undo_keeps_a_person_s_edits() {
    let fresh = Fresh::with(&CLIENTS);
    fresh.write("AGENTS.md", "# Rules\n");
    fresh.write(".claude/settings.json", "{\n  \"model\": \"alpha\"\n}\n");
    fresh.ok("up");
    fresh.write("AGENTS.md", fresh.text("AGENTS.md") + "\nBe kind.\n");
    fresh.write(
        ".claude/settings.json",
        fresh.text(".claude/settings.json").replace("alpha", "beta"),
    );
    let config = fresh.text(".codex/config.toml") + "\n[tools]\nweb_search = true\n";
    fresh.write(".codex/config.toml", config);
    fresh.ok("up --undo");
    assert_eq!(fresh.text("AGENTS.md"), "# Rules\n\nBe kind.\n");
    assert_eq!(
        fresh.text(".claude/settings.json"),
        "{\n  \"model\": \"beta\"\n}\n"
    );
    assert_eq!(
        fresh.text(".codex/config.toml").trim(),
        "[tools]\nweb_search = true"
    );
    assert!(!fresh.at(".codex/hooks.json").exists() && !fresh.at(".gemini").exists());
}

#[test]
fn with_dry_run_each_change_is_shown_and_nothing_is_written() {
    let fresh = Fresh::with(&CLIENTS);
    fresh.write("AGENTS.md", "# Rules\n");
    let before = fresh.files();
    let said = fresh.ok("up --dry-run");
    assert!(fresh.files() == before);
    assert!(!fresh.at("heard.json").exists(), "the hook was run");
    assert_contains!(said, "would be created: ", "+++ ");
    assert_eq!(
        said.matches("AGENTS.md\n@@").count(),
        1,
        "a shared file is shown once: {said}"
    );
    fresh.ok("up");
    let before = fresh.files();
    let said = fresh.ok("up --undo --dry-run");
    assert!(fresh.files() == before);
    for file in [
        "AGENTS.md",
        ".mcp.json",
        ".codex/hooks.json",
        ".gemini/settings.json",
    ] {
        assert_contains!(said, &format!("--- {}", fresh.at(file).display()); "{file}");
    }
    assert_contains!(said, "room      kept ");
}

#[test]
fn up_dry_run_prints_the_questions_of_each_client_and_every_note() {
    for place in [None, Some("elsewhere/room")] {
        let fresh = Fresh::with(&[
            "claude", "codex", "gemini", "qwen", "opencode", "copilot", "kimi",
        ]);
        let args: Vec<&str> = ["up"]
            .into_iter()
            .chain(place.into_iter().flat_map(|place| ["--room", place]))
            .collect();
        let dry = fresh.run(&[&args[..], &["--dry-run"]].concat());
        let ran = fresh.run(&args);
        let (before, after) = dry
            .out
            .split_once("\nClaude Code asks you:\n")
            .expect("questions");
        assert_contains!(before, "would be created: ");
        assert_eq!(
            Some(after),
            ran.out
                .split_once("\nClaude Code asks you:\n")
                .map(|(_, after)| after)
        );
        assert_eq!(dry.err, ran.err);
        assert_contains!(dry.err, "Kimi CLI reads hooks of the user only");
        assert_eq!(
            dry.err.contains("start Codex with MAILBAG_ROOM="),
            place.is_some(),
            "{}",
            dry.err
        );
    }
}

#[test]
fn up_without_a_client_makes_a_room_and_suggests_the_next_step() {
    let fresh = Fresh::new();
    let said = fresh.ok("up");
    assert!(fresh.at(".mailbag/spool/room").is_file());
    assert_contains!(
        said,
        "No agent client is on the PATH (looked for claude, codex, gemini"
    );
    assert!(said.trim_end().ends_with("mailbag up"), "{said}");
    fresh.ok("up --undo");
    assert_eq!(fresh.files().len(), 1, "{:?}", fresh.files());
}

#[test]
fn a_named_client_is_plugged_in_also_if_it_is_not_on_the_path() {
    let fresh = Fresh::with(&["claude"]);
    let ran = fresh.run("up --client codex");
    assert_contains!(ran.err, "codex is not on the PATH"; "{ran:?}");
    assert!(fresh.at(".codex/hooks.json").is_file() && !fresh.at(".claude").exists());
    fresh.ok("up");
    fresh.ok("up --undo --client claude");
    assert!(fresh.at(".codex/hooks.json").is_file() && !fresh.at(".claude").exists());
    assert!(
        fresh.at("AGENTS.md").is_file() && fresh.at(".mailbag").is_dir(),
        "Codex still uses them"
    );
    fresh.run("up --client emacs").fails(2);
}

#[test]
fn undo_keeps_the_room_and_names_the_command_that_removes_it() {
    // P195
    let fresh = Fresh::with(&["claude"]);
    fresh.ok("up");
    let said = fresh.ok("up --undo");
    assert_contains!(said, "room      kept ", "with its mail; `rm -r ");
    assert!(fresh.at(".mailbag/registry.json").is_file() && !fresh.at(".claude").exists());
    assert_contains!(fresh.ok("up --undo"), "nothing to undo; the room");
}

#[test]
fn a_killed_run_is_completed_by_the_next_and_undone_by_the_next_undo() {
    // P148 The remains of a room after a kill.
    let rests: [&[&str]; 2] = [&[".mailbag/spool"], &[".mailbag/spool", ".mailbag/log"]];
    for rest in rests {
        let fresh = Fresh::with(&["claude"]);
        rest.iter()
            .for_each(|below| files::make_dir(fresh.at(below)));
        assert_contains!(fresh.ok("up"), "created "; "{rest:?}");
        assert!(
            fresh.at(".mailbag/spool/room").is_file()
                && fresh.at(".claude/settings.json").is_file()
        );
    }
    // Of the clients' files: each change alone.
    let fresh = Fresh::with(&CLIENTS);
    let empty = fresh.files();
    let settings = [".claude", ".codex", ".gemini"];
    for kept in settings {
        fresh.ok("up");
        for file in [
            ".mcp.json",
            ".codex/config.toml",
            "AGENTS.md",
            "CLAUDE.md",
            "GEMINI.md",
        ] {
            files::remove_file(fresh.at(file));
        }
        for other in settings.iter().filter(|other| **other != kept) {
            files::remove_dir(fresh.at(other));
        }
        fresh.ok("up --undo");
        assert_eq!(fresh.files(), empty, "{kept}");
    }
}
