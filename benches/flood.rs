//! The delay of an honest sender beside a flood: a file of many lines, each to all agents, or
//! messages to a crowd.

use anyhow::{Result, ensure};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mailbag");
/// The interval of the honest sender, and the precision of its delay.
const EVERY: Duration = Duration::from_millis(100);
const GLANCE: Duration = Duration::from_millis(2);

/// A flood: the number of agents, and the file that one of them drops.
struct Flood {
    name: &'static str,
    agents: usize,
    file: &'static str,
    files: usize,
    lines: usize,
}

const FLOODS: [Flood; 2] = [
    Flood {
        name: "one file of 1,000 lines to all of 202",
        agents: 200,
        file: "ndjson",
        files: 1,
        lines: 1000,
    },
    Flood {
        name: "20 messages to all of 10,000",
        agents: 10_000,
        file: "json",
        files: 20,
        lines: 1,
    },
];

/// Ends the router when it is dropped.
struct Router(Child);

impl Drop for Router {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `flood [DIR]`: in this directory, on the file system to measure; by default in the directory of
/// temporary files.
pub(crate) fn main(args: &[String]) -> Result<()> {
    let parent = args.first().map_or_else(std::env::temp_dir, PathBuf::from);
    for flood in &FLOODS {
        let home = tempfile::tempdir_in(&parent)?;
        let (mut waits, took) = measure(&home.path().join("room"), flood)?;
        waits.sort();
        let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize].as_millis();
        let (name, sent) = (flood.name, waits.len());
        println!(
            "{name}: the flood took {:.1} s; {sent} honest messages waited {} ms (median), {} ms (95 %), {} ms (most)",
            took.as_secs_f64(),
            at(0.5),
            at(0.95),
            at(1.0)
        );
    }
    Ok(())
}

fn measure(room: &Path, flood: &Flood) -> Result<(Vec<Duration>, Duration)> {
    let agents = (0..flood.agents).map(|n| json!({"id": format!("m{n}")}));
    let agents: Vec<_> = agents
        .chain(["mallory", "alice"].map(|id| json!({"id": id})))
        .collect();
    fs::create_dir_all(room.join("outbox/mallory"))?;
    fs::write(
        room.join("registry.json"),
        json!({"version": 1, "agents": agents}).to_string(),
    )?;
    fs::write(
        room.join("settings.toml"),
        "budget.messages = 0\nbudget.copies = 0\n",
    )?;
    let mut command = Command::new(PROGRAM);
    command
        .arg("run")
        .arg("--room")
        .arg(room)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _router = Router(command.spawn()?);
    // It watches once a message comes through; the first has made all directories.
    wait_for(room, "first")?;
    let line = "{\"to\":\"all\",\"body\":\"flood\"}\n".repeat(flood.lines);
    for n in 0..flood.files {
        fs::write(room.join(format!("outbox/mallory/.{n}")), &line)?;
    }
    let start = Instant::now();
    for n in 0..flood.files {
        let outbox = room.join("outbox/mallory");
        fs::rename(
            outbox.join(format!(".{n}")),
            outbox.join(format!("{n}.{}", flood.file)),
        )?;
    }
    let sent = || fs::read_dir(room.join("sent/mallory")).map_or(0, Iterator::count);
    let mut waits = Vec::new();
    while sent() < flood.files {
        ensure!(
            start.elapsed() < Duration::from_secs(600),
            "the flood has no end"
        );
        waits.push(wait_for(room, &format!("n{}", waits.len()))?);
        sleep(EVERY);
    }
    Ok((waits, start.elapsed()))
}

/// Sends a message of this id, and waits until it stands in its inbox.
fn wait_for(room: &Path, id: &str) -> Result<Duration> {
    let (outbox, inbox) = (room.join("outbox/alice"), room.join("inbox/human"));
    let ready = Instant::now();
    while !outbox.is_dir() {
        ensure!(
            ready.elapsed() < Duration::from_secs(120),
            "the router makes no outbox"
        );
        sleep(GLANCE);
    }
    let start = Instant::now();
    fs::write(
        outbox.join(".draft"),
        json!({"to": "human", "id": id, "body": "honest"}).to_string(),
    )?;
    fs::rename(outbox.join(".draft"), outbox.join(format!("{id}.json")))?;
    let end = format!("-alice-{id}.json");
    loop {
        let names = fs::read_dir(&inbox).into_iter().flatten().flatten();
        if names
            .map(|entry| entry.file_name())
            .any(|name| name.to_string_lossy().ends_with(&end))
        {
            return Ok(start.elapsed());
        }
        ensure!(
            start.elapsed() < Duration::from_secs(120),
            "an honest message did not come"
        );
        sleep(GLANCE);
    }
}
