//! The helpers for other languages with a running router, each in its own language: sending,
//! reading, hostile text and hostile neighbours.

mod fixtures;
mod mentions;
mod reading;
mod shells;
mod sharing;
mod talking;
mod tongue;

use crate::files;
use crate::town::Town;
use crate::world::{World, lossy, parse_json, skip};
use serde_json::{Value, json};
use std::process::Command;
use tongue::{compiler, type_checker};

/// One test for each language.
macro_rules! in_each {
    ($($test:ident),* $(,)?) => {
        mod python {
            $(#[test] fn $test() { super::$test(super::super::tongue::Tongue::Python); })*
        }
        mod shell {
            $(#[test] fn $test() { super::$test(super::super::tongue::Tongue::Shell); })*
        }
        mod typescript {
            $(#[test] fn $test() {
                if super::super::tongue::Tongue::TypeScript.is_here() {
                    super::$test(super::super::tongue::Tongue::TypeScript);
                }
            })*
        }
    };
}
pub(crate) use in_each;

/// Alice, two engineers and a writer, and a router.
fn town() -> Town {
    let engineer = |id: &str| json!({"id": id, "role": "engineer"});
    let writer = json!({"id": "alice", "role": "writer"});
    Town::with(&[writer, engineer("bob"), engineer("carol")])
        .quick()
        .run()
}

/// A file beside the room, by its path.
fn file(town: &World, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = town.path().join(name);
    files::write(&path, content);
    path.display().to_string()
}

#[test]
fn a_helper_is_written_to_a_file_or_printed() {
    let world = World::empty();
    for (language, name) in [
        ("python", "mailbag.py"),
        ("typescript", "mailbag.ts"),
        ("shell", "mailbag.sh"),
    ] {
        let printed = world.ok(&["generate", "helper", language]);
        assert_eq!(
            world
                .ok(&["generate", "helper", language, "-o", name])
                .trim(),
            name
        );
        assert_eq!(files::read_text(world.path().join(name)), printed);
        let lines = printed.lines().count();
        assert!(printed.contains("request") && lines > 100 && lines <= 250);
        // It replaces only an older helper.
        world.ok(&["generate", "helper", language, "-o", name]);
        files::write(world.path().join(name), "mine\n");
        assert_contains!(
            world.fails(2, &["generate", "helper", language, "-o", name]),
            "not a helper"
        );
        assert_eq!(files::read_text(world.path().join(name)), "mine\n");
    }
    assert_contains!(world.fails(2, "generate helper cobol"), "typescript");
}

#[test]
fn the_helpers_are_sound_in_their_own_language() {
    let world = World::empty();
    let run = |program: &str, words: &[&str]| {
        let output = Command::new(program)
            .args(words)
            .current_dir(world.path())
            .output();
        let output = output.unwrap_or_else(|e| panic!("{program}: {e}"));
        let said = [output.stdout, output.stderr].concat();
        assert!(
            output.status.success(),
            "{program} {words:?}: {}",
            lossy(&said)
        );
    };
    for (language, name) in [
        ("python", "mailbag.py"),
        ("typescript", "mailbag.ts"),
        ("shell", "mailbag.sh"),
    ] {
        world.ok(&["generate", "helper", language, "-o", name]);
    }
    run(
        "python3",
        &["-W", "error", "-m", "py_compile", "mailbag.py"],
    );
    run("sh", &["-n", "mailbag.sh"]);
    match type_checker() {
        Some(mypy) => run(
            &mypy,
            &["--strict", "--python-version", "3.9", "mailbag.py"],
        ),
        None => skip("mypy is not installed; .ci/run installs it"),
    }
    match compiler() {
        Some(compiler) => {
            let types = compiler
                .parent()
                .expect("a directory")
                .join("@types")
                .display()
                .to_string();
            let compiler = compiler.join("bin/tsc").display().to_string();
            let strict = [
                "--strict",
                "--erasableSyntaxOnly",
                "--noUncheckedIndexedAccess",
                "--noUnusedLocals",
            ];
            let modules = [
                "--noEmit",
                "--target",
                "es2022",
                "--module",
                "nodenext",
                "--types",
                "node",
                "--typeRoots",
            ];
            let words = [
                &[compiler.as_str()],
                &strict[..],
                &modules[..],
                &[types.as_str(), "mailbag.ts"],
            ]
            .concat();
            run("node", &words);
        }
        None => skip("TypeScript is not installed; .ci/run installs it"),
    }
}

/// The seq and the message of every accepted record, by the name of the file that it was dropped as.
fn accepted(town: &Town) -> Vec<(String, Value)> {
    let log = town.text("log/00000001.ndjson");
    let records = log.lines().map(parse_json);
    let name = |record: &Value| Some(record["claim"].as_str()?.rsplit('~').next()?.to_owned());
    let accepted = records.filter(|record| record["event"] == "accepted");
    accepted
        .filter_map(|record| Some((name(&record)?, record["message"].clone())))
        .collect()
}
