//! A room for one run: made, loaded, and afterwards counted, so that a fast run that lost something is no run.

use super::child::{Mode, Programs, Side};
use super::disk;
use crate::load::{Load, agent};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// A room on disk.
pub(crate) struct Room {
    pub(crate) path: PathBuf,
    load: Load,
    log_before: u64,
}

impl Room {
    /// The registry, the settings, and an outbox and inbox per agent, on an empty file system.
    pub(crate) fn new(path: PathBuf, side: Side, mode: Mode, load: Load) -> Result<Room> {
        let agents: Vec<_> = (0..load.agents).map(|n| json!({"id": agent(n), "role": "engineer"})).collect();
        let registry = json!({"version": 1, "agents": agents, "aliases": {}});
        fs::create_dir_all(&path)?;
        fs::write(path.join("registry.json"), serde_json::to_vec_pretty(&registry)?)?;
        fs::write(path.join("settings.toml"), format!("durability = \"{}\"\n", mode.word()))?;
        let per_agent: &[&str] = if side == Side::Floor { &["outbox", "inbox", "sent"] } else { &["outbox", "inbox"] };
        for directory in per_agent {
            for number in 0..load.agents {
                fs::create_dir_all(path.join(directory).join(agent(number)))?;
            }
        }
        if side == Side::Floor {
            for directory in ["spool/claim", "spool/stage", "log"] {
                fs::create_dir_all(path.join(directory))?;
            }
        }
        disk::settle(&path)?;
        Ok(Room { path, load, log_before: 0 })
    }

    /// Lets mailbag make what it makes in every room, so that no measurement pays for it.
    pub(crate) fn prepare(&mut self, programs: &Programs, side: Side, mode: Mode) -> Result<()> {
        if side == Side::Mailbag {
            programs.start(programs.router(side, &self.path, mode, true))?.wait().context("preparing the room")?;
        }
        self.log_before = self.log_bytes()?;
        disk::settle(&self.path)
    }

    /// Drops the messages, and waits until they are on disk.
    pub(crate) fn fill(&self, messages: usize) -> Result<()> {
        for number in 0..messages {
            self.load.drop_message(&self.path, number)?;
        }
        disk::settle(&self.path)
    }

    /// Counts: every copy in its inbox, nothing left behind. Gives the mean size of a copy, and the log's growth.
    pub(crate) fn count(&self, messages: usize) -> Result<(f64, f64)> {
        let (mut copies, mut bytes, mut left) = (0, 0, 0);
        for number in 0..self.load.agents {
            for file in messages_in(&self.path.join("inbox").join(agent(number)))? {
                copies += 1;
                bytes += fs::metadata(file)?.len();
            }
            left += messages_in(&self.path.join("outbox").join(agent(number)))?.len();
        }
        let wanted = messages * self.load.fan_out();
        ensure!(copies == wanted && left == 0, "{copies} copies instead of {wanted}, {left} messages not routed");
        let log = self.log_bytes()? - self.log_before;
        Ok((bytes as f64 / copies as f64, log as f64))
    }

    fn log_bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        for entry in fs::read_dir(self.path.join("log"))? {
            bytes += entry?.metadata()?.len();
        }
        Ok(bytes)
    }
}

fn messages_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "json") {
            files.push(path);
        }
    }
    Ok(files)
}
