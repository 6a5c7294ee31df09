//! Replays every kept input: those from the fixtures, and the finds of fuzzing.

use super::{address, log, message, outbox, registry, seeds, settings};
use crate::files;
use std::fs;
use std::panic;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The time limit for one input, without optimisation. An input takes milliseconds, so a slower one
/// hangs.
const HUNG: Duration = Duration::from_secs(20);
/// With fewer inputs than this, the corpus is missing.
const LEAST: usize = 6;

type Target = fn(&[u8]);
const TARGETS: [(&str, Target); 6] = [
    ("message", message::run),
    ("registry", registry::run),
    ("address", address::run),
    ("log", log::run),
    ("outbox", outbox::run),
    ("settings", settings::run),
];

#[test]
fn the_messages() {
    replay("message");
}

#[test]
fn the_registries() {
    replay("registry");
}

#[test]
fn the_addresses() {
    replay("address");
}

#[test]
fn the_logs() {
    replay("log");
}

#[test]
fn the_outboxes() {
    replay("outbox");
}

#[test]
fn the_settings() {
    replay("settings");
}

/// `MAILBAG_FUZZ_SEEDS=DIR cargo test --all-features fuzz::replay::write_the_seeds` writes what fuzzing begins with; `fuzz/run` does.
#[test]
fn write_the_seeds() {
    let targets = TARGETS.map(|(name, _)| name);
    let elsewhere = tempfile::tempdir().expect("a directory");
    let wanted = std::env::var_os("MAILBAG_FUZZ_SEEDS");
    let below = wanted.as_deref().map_or(elsewhere.path(), Path::new);
    seeds::write(below, &targets);
    for target in targets {
        let written = fs::read_dir(below.join(target))
            .expect("its directory")
            .count();
        assert!(written >= LEAST, "{target} begins with {written} inputs");
        let binary =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fuzz/fuzz_targets/{target}.rs"));
        assert!(binary.exists(), "libFuzzer has no way into {target}");
    }
}

fn replay(name: &'static str) {
    let (_, target) = *TARGETS
        .iter()
        .find(|(target, _)| *target == name)
        .expect("a target");
    let mut inputs = seeds::of(name);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(name);
    for entry in fs::read_dir(&kept).into_iter().flatten().flatten() {
        inputs.push((
            entry.path().display().to_string(),
            files::read(entry.path()),
        ));
    }
    assert!(
        inputs.len() >= LEAST,
        "only {} inputs for {name}",
        inputs.len()
    );
    let (done, next) = mpsc::channel();
    let names: Vec<String> = inputs.iter().map(|(name, _)| name.clone()).collect();
    thread::spawn(move || {
        for (_, bytes) in inputs {
            if done
                .send(panic::catch_unwind(|| target(&bytes)).is_ok())
                .is_err()
            {
                return;
            }
        }
    });
    for input in names {
        match next.recv_timeout(HUNG) {
            Ok(held) => assert!(held, "{name} fails on {input}"),
            Err(_) => panic!("{name} hangs on {input}"),
        }
    }
}
