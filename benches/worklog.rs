//! The cost of the worklog: the same pending mail is routed with it and without it, in turn, in one
//! run.

use crate::harness::child::Programs;
use crate::harness::cleanup::{self, Undo};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const HELP: &str = "\
cargo bench --bench router -- worklog [OPTION…]

Routes 20,000 pending messages with the worklog off and on, in turn, in one
directory, and shows the processor time of each message: the lowest of each side and
their ratio, which other programs on the machine disturb least, and the median of the
pairs' ratios.

  --dir DIR          on this file system (the build directory's)
  --pairs N          pairs of runs a case (8)
  --mailbag PATH     measure this binary instead of the one just built
  --help             print this, and end
";
const MESSAGES: usize = 20_000;
/// Messages in one dropped file, where a file has several.
const LINES: usize = 200;
const SENDERS: usize = 10;

/// The number of messages between events, and between changes of a sender's status (0 for none),
/// and the messages in a file.
const CASES: [(&str, usize, usize); 5] = [
    ("none", 0, 1),
    ("1 of 100", 100, 1),
    ("1 of 10", 10, 1),
    ("none, many in a file", 0, LINES),
    ("1 of 10, many in a file", 10, LINES),
];

/// Measures it.
pub(crate) fn main(args: &[String]) -> Result<()> {
    let (mut pairs, mut mailbag) = (8_usize, PathBuf::from(env!("CARGO_BIN_EXE_mailbag")));
    let mut parent = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            // Cargo adds this to every benchmark's arguments.
            "--bench" => {}
            "--pairs" => pairs = args.next().context("--pairs N")?.parse()?,
            "--dir" => parent = std::path::absolute(args.next().context("--dir DIR")?)?,
            "--mailbag" => mailbag = std::path::absolute(args.next().context("--mailbag PATH")?)?,
            "--help" | "-h" => {
                print!("{HELP}");
                return Ok(());
            }
            other => bail!("{other}? See --help."),
        }
    }
    let _guard = cleanup::Guard::new()?;
    let work = parent.join(format!("worklog-{}", std::process::id()));
    fs::create_dir_all(&work)?;
    cleanup::remember(Undo::Remove(work.clone()));
    let programs = Programs {
        mailbag,
        floor_options: Vec::new(),
        own: std::env::current_exe()?,
        said: work.join("said"),
    };
    println!("load {}", fs::read_to_string("/proc/loadavg")?.trim());
    println!(
        "{:<24} {:>12} {:>12} {:>8}   median ratio",
        "events", "off us/msg", "on us/msg", "ratio"
    );
    for (name, every, lines) in CASES {
        let mut took: Vec<[f64; 2]> = Vec::new();
        for pair in 0..=pairs {
            let order = if pair % 2 == 0 {
                [false, true]
            } else {
                [true, false]
            };
            let mut of_pair = [0.0; 2];
            for on in order {
                of_pair[usize::from(on)] = one(&programs, &work, (every, lines), on)?;
            }
            // The first pair warms up.
            took.extend((pair > 0).then_some(of_pair));
        }
        let mut ratios: Vec<f64> = took.iter().map(|[off, on]| on / off).collect();
        ratios.sort_by(f64::total_cmp);
        let (middle, low, high) = (
            ratios[ratios.len() / 2],
            ratios[0],
            ratios[ratios.len() - 1],
        );
        let lowest = |n: usize| took.iter().map(|one| one[n]).fold(f64::INFINITY, f64::min);
        let (off, on) = (lowest(0), lowest(1));
        println!(
            "{name:<24} {off:>12.1} {on:>12.1} {:>8.3}   {middle:.3} ({low:.3}-{high:.3})",
            on / off
        );
    }
    Ok(())
}

/// The processor time of one run, in microseconds a message.
fn one(
    programs: &Programs,
    work: &Path,
    (every, in_file): (usize, usize),
    on: bool,
) -> Result<f64> {
    let home = tempfile::tempdir_in(work)?;
    let room = home.path().join("room");
    fs::create_dir_all(&room)?;
    let agents: Vec<_> = (0..=SENDERS)
        .map(|n| json!({"id": format!("a{n}")}))
        .collect();
    fs::write(
        room.join("registry.json"),
        json!({"version": 1, "agents": agents}).to_string(),
    )?;
    let settings = "budget.messages = 0\nbudget.copies = 0\n";
    fs::write(
        room.join("settings.toml"),
        format!("{settings}worklog = {on}\n"),
    )?;
    programs
        .start(programs.mailbag(&["init", "--quiet", &room.display().to_string()]))?
        .wait()?;
    let body =
        "The build of the parser fails on the second input, since a comment may now end a line. "
            .repeat(6);
    for file in 0..MESSAGES / in_file {
        let sender = file % SENDERS;
        let mut lines = String::new();
        for n in (0..in_file).map(|n| file * in_file + n) {
            let (kind, text) = match (n / SENDERS).checked_rem(every) {
                Some(0) => ("task.completed", &body[..80]),
                Some(1) => ("status", &body[..80]),
                _ => ("request", body.as_str()),
            };
            let message = json!({"to": format!("a{SENDERS}"), "type": kind, "subject": format!("{n}"), "body": text});
            writeln!(lines, "{message}")?;
        }
        let outbox = room.join(format!("outbox/a{sender}"));
        fs::create_dir_all(&outbox)?;
        let name = if in_file == 1 {
            format!("{file:05}.json")
        } else {
            format!("{file:05}.ndjson")
        };
        fs::write(outbox.join(name), lines)?;
    }
    rustix::fs::sync();
    let command = programs.mailbag(&[
        "run",
        "--once",
        "--quiet",
        "--room",
        &room.display().to_string(),
    ]);
    let usage = programs.start(command)?.wait()?;
    if on && every > 0 {
        let worklog = fs::read_to_string(home.path().join("WORKLOG.md"))?;
        let entries = worklog.matches(" task.completed ").count();
        anyhow::ensure!(entries == MESSAGES / every, "{entries} entries");
    }
    Ok((usage.user + usage.system).as_secs_f64() * 1e6 / MESSAGES as f64)
}
