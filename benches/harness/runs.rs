//! One run of one side of every case but latency: throughput, start-up, idling, sending.

use super::cases::Case;
use super::child::{Running, Side};
use super::report::{Samples, median};
use super::{Bench, room::Room};
use crate::load::agent;
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// One pass routes the files in the outboxes; the time is the whole process's, including its start.
pub(crate) fn throughput(bench: &Bench, case: &Case, side: Side, room: &Room) -> Result<Samples> {
    room.fill(case.messages)?;
    let disturber = if case.beside {
        Some(Disturber::start(bench, room)?)
    } else {
        None
    };
    let usage = bench
        .programs
        .start(bench.programs.router(side, &room.path, true))?
        .wait()?;
    drop(disturber);
    let (copy, log) = room.count(case.messages)?;
    let (messages, wall) = (case.messages as f64, usage.wall.as_secs_f64());
    let per_message = |time: Duration| time.as_secs_f64() * 1e6 / messages;
    Ok(vec![
        ("messages/s", messages / wall),
        ("copies/s", messages * case.load.fan_out() as f64 / wall),
        ("us/message", wall * 1e6 / messages),
        ("cpu us/message", per_message(usage.user + usage.system)),
        ("of it in the kernel", per_message(usage.system)),
        ("peak MiB", usage.peak as f64 / f64::from(1 << 20)),
        ("bytes/copy", copy),
        ("log bytes/message", log / messages),
    ])
}

/// Another program that writes 100 MB/s to the room's file system, until it goes out of scope.
pub(crate) struct Disturber(Option<Running>);

impl Disturber {
    /// Starts it, and gives it a second to fill the pipeline with dirty pages.
    pub(crate) fn start(bench: &Bench, room: &Room) -> Result<Disturber> {
        let file = room.path.with_file_name("disturbance");
        let disturber = bench.programs.start(
            bench
                .programs
                .helper(&["disturb", file.to_str().context("path")?]),
        )?;
        std::thread::sleep(Duration::from_secs(1));
        Ok(Disturber(Some(disturber)))
    }
}

impl Drop for Disturber {
    fn drop(&mut self) {
        let _ = self.0.take().map(Running::stop);
    }
}

/// From the start of the process until it reports that it is ready, and a whole pass over a room
/// without mail. The room of `first ready` has a registry and empty outboxes and inboxes, and the
/// router makes the rest.
pub(crate) fn startup(bench: &Bench, side: Side, room: &mut Room) -> Result<Samples> {
    let (router, first) = bench
        .programs
        .start_ready(bench.programs.router(side, &room.path, false))?;
    router.stop()?;
    room.prepare(&bench.programs, side, true)?;
    let (router, ready) = bench
        .programs
        .start_ready(bench.programs.router(side, &room.path, false))?;
    let usage = router.stop()?;
    let pass = bench
        .programs
        .start(bench.programs.router(side, &room.path, true))?
        .wait()?;
    Ok(vec![
        ("first ready ms", first.as_secs_f64() * 1e3),
        ("ready ms", ready.as_secs_f64() * 1e3),
        ("pass ms", pass.wall.as_secs_f64() * 1e3),
        ("peak MiB", usage.peak as f64 / f64::from(1 << 20)),
    ])
}

/// One message a second from one outbox of all, and otherwise silence; the first seconds are not counted.
pub(crate) fn idle(
    bench: &Bench,
    case: &Case,
    side: Side,
    room: &Room,
    seconds: u64,
) -> Result<Samples> {
    let (router, _) = bench
        .programs
        .start_ready(bench.programs.router(side, &room.path, false))?;
    std::thread::sleep(Duration::from_secs(3));
    let (before, start) = (router.cpu()?, Instant::now());
    for number in 0..seconds {
        case.load
            .drop_message(&room.path, usize::try_from(number)? * 487)?;
        std::thread::sleep(Duration::from_secs(1));
    }
    let share = (router.cpu()? - before).as_secs_f64() / start.elapsed().as_secs_f64();
    let usage = router.stop()?;
    Ok(vec![
        ("cpu %", share * 100.0),
        ("peak MiB", usage.peak as f64 / f64::from(1 << 20)),
    ])
}

/// The command that sends, as a whole process: beside a running router, so that it only writes, and without one, so
/// that it also makes the pass. The floor in both is a program that only writes, syncs and renames the file.
pub(crate) fn send(bench: &Bench, side: Side, room: &Room, times: usize) -> Result<Samples> {
    // The router beside is the same for both sides, unless there is only the floor.
    let router = if bench.floor_only {
        Side::Floor
    } else {
        Side::Mailbag
    };
    let (router, _) = bench
        .programs
        .start_ready(bench.programs.router(router, &room.path, false))?;
    let beside = send_times(bench, side, room, times, 0)?;
    router.stop()?;
    let without = send_times(bench, side, room, times, times)?;
    Ok(vec![
        ("beside a router ms", beside),
        ("making the pass ms", without),
    ])
}

fn send_times(bench: &Bench, side: Side, room: &Room, times: usize, from: usize) -> Result<f64> {
    let (sender, recipient) = (agent(0), agent(1));
    let path = room.path.to_str().context("room path")?;
    let mut took = Vec::new();
    for number in from..from + times {
        let body = format!(
            "{number:06} {}",
            "The build of the parser fails on the second input. ".repeat(8)
        );
        let command = match side {
            Side::Mailbag => {
                let mut send = bench.programs.mailbag(&["send", &recipient, &body]);
                send.args(["--as", &sender, "--room", path]);
                send
            }
            Side::Floor => {
                let file = format!("{path}/outbox/{sender}/s{number:06}.json");
                let text = format!(
                    "{{\"id\":\"m{number:06}\",\"to\":\"{recipient}\",\"body\":\"{body}\"}}\n"
                );
                bench.programs.helper(&["write-sync-rename", &file, &text])
            }
        };
        let usage = bench.programs.start(command)?.wait()?;
        took.push(usage.wall.as_secs_f64() * 1e3);
        std::thread::sleep(Duration::from_millis(20));
    }
    median(took).context("no times")
}

/// A hook at a prompt, as a process, beside a router: with an empty inbox, with one full of mail that it told of before,
/// and with one new message in the full inbox each time.
pub(crate) fn hook(
    bench: &Bench,
    case: &Case,
    side: Side,
    room: &Room,
    times: usize,
) -> Result<Samples> {
    let router = if bench.floor_only {
        Side::Floor
    } else {
        Side::Mailbag
    };
    let (router, _) = bench
        .programs
        .start_ready(bench.programs.router(router, &room.path, false))?;
    let input = room.path.with_extension("input");
    fs::write(
        &input,
        r#"{"session_id":"s1","cwd":"/","hook_event_name":"UserPromptSubmit","prompt":"go on"}"#,
    )?;
    let hooks = |side, times, before: &dyn Fn(usize) -> Result<()>| {
        hook_times(bench, side, room, &input, times, before)
    };
    let nothing = |_| Ok(());
    let (empty, _) = hooks(side, times, &nothing)?;
    let inbox = room.path.join("inbox").join(agent(1));
    for number in 0..case.messages {
        let name = format!(
            "20260105T100000.{number:06}Z-{}-h{number:06}.json",
            agent(0)
        );
        let mail = json!({"id": format!("h{number:06}"), "from": agent(0), "type": "message", "body": "The build is done."});
        fs::write(inbox.join(name), mail.to_string())?;
    }
    // It announces this number at a time.
    hooks(Side::Mailbag, 4, &nothing)?;
    let (full, _) = hooks(side, times, &nothing)?;
    let (changed, peak) = hooks(side, times, &|number| deliver_one(room, number))?;
    router.stop()?;
    Ok(vec![
        ("no mail ms", empty),
        ("full inbox ms", full),
        ("after a change ms", changed),
        ("peak MiB", peak),
    ])
}

/// Drops a message for the agent of the hook, and waits until it is delivered.
fn deliver_one(room: &Room, number: usize) -> Result<()> {
    let name = format!("new{number:06}.json");
    let mail = json!({"to": agent(1), "body": format!("The build is done, number {number}.")});
    fs::write(
        room.path.join("outbox").join(agent(0)).join(&name),
        mail.to_string(),
    )?;
    let sent = room.path.join("sent").join(agent(0));
    let end = Instant::now() + Duration::from_secs(30);
    let is_sent = || {
        fs::read_dir(&sent).is_ok_and(|mut names| {
            names.any(|entry| {
                entry.is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(&name))
            })
        })
    };
    while !is_sent() {
        ensure!(Instant::now() < end, "{name} was not delivered");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The median of the times in milliseconds, and the highest memory in MiB.
fn hook_times(
    bench: &Bench,
    side: Side,
    room: &Room,
    input: &Path,
    times: usize,
    before: &dyn Fn(usize) -> Result<()>,
) -> Result<(f64, f64)> {
    let path = room.path.to_str().context("room path")?;
    let (mut took, mut peak) = (Vec::new(), 0);
    for number in 0..times {
        before(number)?;
        let command = match side {
            Side::Mailbag => {
                bench
                    .programs
                    .mailbag(&["hook", "claude", "--as", &agent(1), "--room", path])
            }
            Side::Floor => bench.programs.helper(&["answer-hook", path, &agent(1)]),
        };
        let usage = bench
            .programs
            .start_on(command, fs::File::open(input)?.into())?
            .wait()?;
        took.push(usage.wall.as_secs_f64() * 1e3);
        peak = peak.max(usage.peak);
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok((
        median(took).context("no times")?,
        peak as f64 / f64::from(1 << 20),
    ))
}
