//! The cron line and the systemd units of the docs: their command line works, and systemd accepts
//! them.

use crate::files;
use crate::world::{World, lossy, skip};
use std::process::Command;

/// The blocks of the page in this language.
fn blocks(language: &str) -> Vec<String> {
    let page = files::read_text("docs/archive.md");
    let begin = format!("```{language}\n");
    let parts = page.split(&begin).skip(1);
    parts
        .filter_map(|part| part.split("```").next())
        .map(str::to_owned)
        .collect()
}

/// Runs a command line of the docs in a room, which it must name with `--room`.
fn runs(line: &str) {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "young");
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words
        .iter()
        .position(|word| *word == "--room")
        .expect("it names a room");
    let room = world.room("");
    let args: Vec<&str> = words
        .iter()
        .enumerate()
        .map(|(n, word)| {
            if n == at + 1 {
                room.to_str().expect("text")
            } else {
                *word
            }
        })
        .collect();
    assert_eq!(args[0], "mailbag");
    let ran = world.run(&args[1..]);
    assert_eq!((ran.code, &*ran.out, &*ran.err), (0, "", ""), "{line}");
    assert_eq!(
        world.names("sent/alice").len(),
        1,
        "it packs what is old, and no more"
    );
}

#[test]
fn the_cron_line_runs() {
    let line = blocks("cron").remove(0);
    let fields: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(&fields[..5], ["30", "3", "*", "*", "*"]);
    runs(&fields[5..].join(" "));
}

#[test]
fn the_systemd_units_are_taken_and_what_they_start_runs() {
    let units = blocks("ini");
    let service = units
        .iter()
        .find(|unit| unit.contains("[Service]"))
        .expect("a service");
    let start = service
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="))
        .expect("a command");
    runs(start);
    let dir = tempfile::tempdir().expect("a directory");
    let program = assert_cmd::cargo::cargo_bin!("mailbag");
    for unit in &units {
        let name = unit
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("# "))
            .expect("its name");
        let unit = unit.replace(
            "ExecStart=mailbag",
            &format!("ExecStart={}", program.display()),
        );
        files::write(dir.path().join(name), unit);
    }
    let timer = dir.path().join("mailbag-archive.timer");
    match Command::new("systemd-analyze")
        .args(["verify", "--user", "--man=no"])
        .arg(&timer)
        .env("XDG_RUNTIME_DIR", dir.path())
        .output()
    {
        Ok(verified) => assert!(verified.status.success(), "{}", lossy(&verified.stderr)),
        Err(e) => skip(format_args!("systemd-analyze does not start: {e}")),
    }
}
