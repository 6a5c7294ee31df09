//! The small programs that the measurements need beside the two sides: who drops, who disturbs, who only writes.

use crate::load::{Load, Traffic};
use crate::system;
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// `drop ROOM AGENTS one|all|spread|far PER_SECOND COUNT FROM`: drops messages at a steady rate, numbered from FROM, and
/// afterwards prints for each the monotonic time just before its `close`, which is what makes it a message.
pub(crate) fn drop_steadily(args: &[String]) -> Result<()> {
    let [room, agents, traffic, per_second, count, from] = args else {
        bail!("drop: six words are wanted")
    };
    let traffic = match traffic.as_str() {
        "one" => Traffic::ToOne,
        "all" => Traffic::ToAll,
        "far" => Traffic::ToFar,
        _ => Traffic::Spread,
    };
    let (load, room) = (
        Load {
            agents: agents.parse()?,
            traffic,
        },
        PathBuf::from(room),
    );
    let between = Duration::from_secs_f64(1.0 / per_second.parse::<f64>()?);
    let (start, count, from) = (
        Instant::now(),
        count.parse::<u32>()?,
        from.parse::<usize>()?,
    );
    let mut times = Vec::new();
    for number in 0..count {
        let (path, text) = load.message(&room, from + usize::try_from(number)?);
        std::thread::sleep((start + between * number).saturating_duration_since(Instant::now()));
        let mut file = File::create_new(path)?;
        file.write_all(text.as_bytes())?;
        times.push(system::monotonic());
        drop(file);
    }
    let mut out = std::io::stdout().lock();
    for time in times {
        writeln!(out, "{time}")?;
    }
    Ok(())
}

/// How the word for a [`Traffic`] is written for `drop`.
pub(crate) fn word(traffic: Traffic) -> &'static str {
    match traffic {
        Traffic::ToOne => "one",
        Traffic::ToAll => "all",
        Traffic::Spread => "spread",
        Traffic::ToFar => "far",
    }
}

/// `disturb FILE`: writes 100 MB/s, 4 MB every 40 ms, over the same GiB again and again, until it is killed.
pub(crate) fn disturb(args: &[String]) -> Result<()> {
    const PIECE: usize = 4_000_000;
    const PIECES: u32 = 256;
    let mut file = File::create(args.first().context("disturb: FILE is missing")?)?;
    let (piece, start) = (vec![b'x'; PIECE], Instant::now());
    for number in 0u32.. {
        if number % PIECES == 0 {
            file.rewind()?;
        }
        file.write_all(&piece)?;
        std::thread::sleep(
            (start + Duration::from_millis(40) * number).saturating_duration_since(Instant::now()),
        );
    }
    Ok(())
}

/// `write-sync-rename FILE TEXT`: the floor of `mailbag send`: writes a file beside its place, syncs it, renames it.
pub(crate) fn write_sync_rename(args: &[String]) -> Result<()> {
    let [path, text] = args else {
        bail!("write-sync-rename: FILE and TEXT are wanted")
    };
    let temporary = Path::new(path).with_extension("tmp");
    let mut file = File::create_new(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    drop(file);
    Ok(fs::rename(temporary, path)?)
}

/// `answer-hook ROOM AGENT`: the floor of a hook: reads the client's input, lists the mail and the
/// markers, and renews a lease.
pub(crate) fn answer_hook(args: &[String]) -> Result<()> {
    let [room, agent] = args else {
        bail!("answer-hook: ROOM and AGENT are wanted")
    };
    std::io::read_to_string(std::io::stdin())?;
    let inbox = Path::new(room).join("inbox").join(agent);
    for directory in [inbox.clone(), inbox.join(".announced")] {
        if let Ok(entries) = fs::read_dir(directory) {
            std::hint::black_box(entries.count());
        }
    }
    let sessions = Path::new(room).join("sessions");
    fs::create_dir_all(&sessions)?;
    let temporary = sessions.join(".floor.tmp");
    fs::write(&temporary, "x".repeat(300))?;
    Ok(fs::rename(temporary, sessions.join("floor.json"))?)
}
