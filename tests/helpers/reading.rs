//! A helper reads the oldest message first, marks it as read only when the loop continues, and
//! skips invalid files.

use super::tongue::{Fault, Tongue};
use super::{file, in_each, town};
use crate::files;
use crate::town::Town;
use crate::world::lossy;
use serde_json::json;
use std::os::unix::fs::symlink;

in_each!(
    a_message_is_read_when_the_loop_goes_on,
    a_helper_skips_and_keeps_files_that_are_not_messages,
    without_a_router_the_program_carries_the_mail,
    an_error_says_that_the_program_is_missing,
);

fn write(town: &Town, bodies: &[&str]) {
    for (number, body) in bodies.iter().enumerate() {
        town.mail(
            "bob",
            &format!("{number}.json"),
            json!({"to": "alice", "body": body}),
        );
        town.wait_for_mail("alice", number + 1);
    }
}

fn a_message_is_read_when_the_loop_goes_on(tongue: Tongue) {
    let town = town();
    write(&town, &["one", "two", "three"]);
    let output = tongue
        .command(&town, "alice", &["stop_at", "two"])
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(9), "{}", lossy(&output.stderr));
    assert_eq!(lossy(&output.stdout), "one\ntwo\n");
    assert_eq!(town.bodies("alice"), ["two", "three"]);
    assert_eq!(town.names("inbox/alice/seen").len(), 1);
    assert_eq!(
        tongue.ok(&town, "alice", &["stop_at", "never"]),
        ["two", "three"]
    );
    assert_eq!(
        (town.count("alice"), town.names("inbox/alice/seen").len()),
        (0, 3)
    );
    assert_eq!(tongue.ok(&town, "alice", &["stop_at", "never"]), [""; 0]);
}

fn a_helper_skips_and_keeps_files_that_are_not_messages(tongue: Tongue) {
    let town = town();
    write(&town, &["good", "good too"]);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let contents: [&[u8]; 8] = [
        b"",
        b"no JSON",
        b"[1, 2]",
        b"\"text\"",
        b"null",
        b"{\"from\": \"bob\"",
        b"\xff\xfe{}",
        deep.as_bytes(),
    ];
    for (number, content) in contents.iter().enumerate() {
        town.write(&format!("inbox/alice/0-{number}.json"), content);
    }
    symlink(
        file(
            &town,
            "secret",
            "{\n  \"from\": \"bob\",\n  \"id\": \"x\"\n}\n",
        ),
        town.room("inbox/alice/0-link.json"),
    )
    .expect("a link");
    files::make_dir(town.room("inbox/alice/0-folder.json"));
    let pipe = town.room("inbox/alice/0-pipe.json");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("a pipe");
    let odd = "0-\n\u{1b}[31m.json";
    town.write(&format!("inbox/alice/{odd}"), "no JSON");
    town.write("inbox/alice/.hidden.json", "{}");
    town.write("inbox/alice/notes.txt", "{}");
    let output = tongue
        .command(&town, "alice", &["stop_at", "never"])
        .output()
        .expect("it starts");
    let said = lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(lossy(&output.stdout), "good\ngood too\n");
    assert_eq!(
        said.matches("skipped ").count(),
        contents.len() + 4,
        "{said}"
    );
    assert!(!said.contains('\u{1b}'), "{said}");
    // All files are still there; names with .json are counted, including the link.
    assert_eq!(town.count("alice"), contents.len() + 4);
    assert_eq!(town.names("inbox/alice/seen").len(), 2);
}

fn an_error_says_that_the_program_is_missing(tongue: Tongue) {
    let town = town();
    let path = std::env::var_os("PATH").expect("a path");
    let others =
        std::env::split_paths(&path).filter(|directory| !directory.join("mailbag").exists());
    let mut command = tongue.command(&town, "alice", &["route"]);
    command.env("PATH", std::env::join_paths(others).expect("a path"));
    let (fault, said) = tongue.fails(command);
    assert_eq!(fault, Fault::Other);
    assert_contains!(said, "the program mailbag is not on PATH");
}

fn without_a_router_the_program_carries_the_mail(tongue: Tongue) {
    let mut town = town();
    town.stop();
    let body = file(&town, "body", "carried");
    tongue.ok(&town, "alice", &["send", "bob", &body]);
    assert_eq!(town.count("bob"), 0);
    tongue.ok(&town, "alice", &["route"]);
    assert_eq!(town.bodies("bob"), ["carried"]);
    tongue.ok(&town, "bob", &["send", "alice", &body]);
    tongue.ok(&town, "alice", &["route"]);
    assert_eq!(
        tongue.ok(&town, "alice", &["wait", "60", "bob"]),
        ["carried"]
    );
    let (fault, said) = tongue.fails(tongue.command(&town, "carol", &["wait", "0", "bob"]));
    assert_eq!(fault, Fault::Timeout, "{said}");
}
