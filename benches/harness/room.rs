//! A room for one run: made, loaded, and counted afterwards, so that a run with lost mail is an
//! error.

use super::child::{Programs, Side};
use super::disk;
use crate::load::{Load, agent, number_in};
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
    pub(crate) fn new(path: PathBuf, side: Side, load: Load) -> Result<Room> {
        let agents: Vec<_> = (0..load.agents)
            .map(|n| json!({"id": agent(n), "role": "engineer"}))
            .collect();
        let registry = json!({"version": 1, "agents": agents, "aliases": {}});
        fs::create_dir_all(&path)?;
        fs::write(
            path.join("registry.json"),
            serde_json::to_vec_pretty(&registry)?,
        )?;
        let per_agent: &[&str] = if side == Side::Floor {
            &["outbox", "inbox", "sent"]
        } else {
            &["outbox", "inbox"]
        };
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
        let room = Room {
            path,
            load,
            log_before: 0,
        };
        // Counting for budgets is measured with the rest; no sender exceeds its budget.
        fs::write(
            room.path.join("settings.toml"),
            "budget.messages = 1000000\nbudget.copies = 1000000\n",
        )?;
        disk::settle(&room.path)?;
        Ok(room)
    }

    /// Lets the side create its files in a new room and, unless `has_sent` is empty, at each
    /// agent's first message, so that they are not measured: one message of every sender to itself,
    /// which stays in its inbox.
    pub(crate) fn prepare(
        &mut self,
        programs: &Programs,
        side: Side,
        has_sent: bool,
    ) -> Result<()> {
        for sender in 0..if has_sent { self.load.senders() } else { 0 } {
            let sender = agent(sender);
            let text = format!("{{\"id\":\"first\",\"to\":\"{sender}\",\"body\":\"hello, me\"}}");
            fs::write(
                self.path.join("outbox").join(&sender).join("first.json"),
                text,
            )?;
        }
        programs
            .start(programs.router(side, &self.path, true))?
            .wait()
            .context("preparing the room")?;
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
        ensure!(
            copies == wanted && left == 0,
            "{copies} copies instead of {wanted}, {left} messages not routed"
        );
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
        if path
            .file_name()
            .is_some_and(|name| is_of_the_load(&name.to_string_lossy()))
        {
            files.push(path);
        }
    }
    Ok(files)
}

/// Dropped as `000001.json`, delivered as `…-m000001.json`.
fn is_of_the_load(name: &str) -> bool {
    number_in(name).is_some()
        || name
            .strip_suffix(".json")
            .is_some_and(|name| name.parse::<u32>().is_ok())
}
