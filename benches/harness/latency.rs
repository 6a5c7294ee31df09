//! Latency: from the `close` of the dropping process to the copy's name in the inbox, as a third process sees it.

use super::cases::Case;
use super::child::Side;
use super::report::{Samples, percentile};
use super::{Bench, room::Room};
use crate::helpers;
use crate::load::{Load, agent, number_in};
use crate::system;
use anyhow::{Context, Result, ensure};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::inotify;
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Runs one side while messages are dropped at a steady rate.
pub(super) fn run(
    bench: &Bench,
    case: &Case,
    side: Side,
    room: &Room,
    per_second: f64,
) -> Result<Samples> {
    let (router, _) = bench
        .programs
        .start_ready(bench.programs.router(side, &room.path, false))?;
    let mut seen = Seen::watch(&room.path, case.load, case.messages)?;
    let before = router.cpu()?;
    let (agents, rate, count) = (
        case.load.agents.to_string(),
        per_second.to_string(),
        case.messages.to_string(),
    );
    let path = room.path.to_str().context("room path")?;
    let words = [
        "drop",
        path,
        &agents,
        helpers::word(case.load.traffic),
        &rate,
        &count,
        "0",
    ];
    let dropping = bench
        .programs
        .helper(&words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let patience =
        Duration::from_secs_f64(case.messages as f64 / per_second) + Duration::from_secs(30);
    seen.until(case.messages, patience)?;
    let output = dropping.wait_with_output()?;
    ensure!(output.status.success(), "the dropping process failed");
    let cpu = router.cpu()? - before;
    let usage = router.stop()?;
    let closed: Vec<u64> = String::from_utf8(output.stdout)?
        .lines()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let first = seen
        .first
        .iter()
        .zip(&closed)
        .map(|(&seen, &closed)| seen.saturating_sub(closed));
    let last = seen
        .last
        .iter()
        .zip(&closed)
        .map(|(&seen, &closed)| seen.saturating_sub(closed));
    let (first, last) = (milliseconds(first), milliseconds(last));
    Ok(vec![
        ("p50 ms", percentile(&last, 0.5)),
        ("p99 ms", percentile(&last, 0.99)),
        ("p50 ms, first copy", percentile(&first, 0.5)),
        (
            "cpu us/message",
            cpu.as_secs_f64() * 1e6 / case.messages as f64,
        ),
        ("peak MiB", usage.peak as f64 / f64::from(1 << 20)),
    ])
}

/// Sorted.
pub(crate) fn milliseconds(nanoseconds: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut times: Vec<f64> = nanoseconds.map(|time| time as f64 / 1e6).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// When each message's first and last copy was seen in an inbox.
pub(crate) struct Seen {
    inotify: OwnedFd,
    first: Vec<u64>,
    pub(crate) last: Vec<u64>,
    copies: Vec<usize>,
    fan_out: usize,
}

impl Seen {
    /// Watches every inbox. Only moves into it count: that is how both sides deliver.
    pub(crate) fn watch(room: &Path, load: Load, messages: usize) -> Result<Seen> {
        let inotify =
            inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        for number in 0..load.agents {
            let inbox = room.join("inbox").join(agent(number));
            inotify::add_watch(&inotify, &inbox, inotify::WatchFlags::MOVED_TO)
                .context("watching the inboxes")?;
        }
        let none = vec![0; messages];
        Ok(Seen {
            inotify,
            first: none.clone(),
            last: none,
            copies: vec![0; messages],
            fan_out: load.fan_out(),
        })
    }

    /// Records events until every copy of the first `messages` messages has been seen.
    pub(crate) fn until(&mut self, messages: usize, patience: Duration) -> Result<()> {
        let mut buffer = vec![MaybeUninit::uninit(); 256 << 10];
        let known: usize = self.copies[..messages].iter().sum();
        let (mut missing, deadline) = (messages * self.fan_out - known, Instant::now() + patience);
        while missing > 0 {
            ensure!(
                Instant::now() < deadline,
                "{missing} copies have not come after {patience:?}"
            );
            if system::readable(self.inotify.as_fd(), Duration::from_millis(200))? {
                missing -= self.note(&mut buffer)?;
            }
        }
        let odd = self.copies[..messages]
            .iter()
            .filter(|&&copies| copies != self.fan_out)
            .count();
        ensure!(
            odd == 0,
            "{odd} messages came more or less often than to {} recipients",
            self.fan_out
        );
        Ok(())
    }

    /// Records the events of one or more reads with the time of the read. Returns the number of
    /// copies.
    fn note(&mut self, buffer: &mut [MaybeUninit<u8>]) -> Result<usize> {
        let mut events = inotify::Reader::new(self.inotify.as_fd(), buffer);
        let (mut noted, mut now) = (0, 0);
        loop {
            let is_read = events.is_buffer_empty();
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Ok(noted),
                Err(error) => return Err(error.into()),
            };
            if is_read {
                now = system::monotonic();
            }
            ensure!(
                !event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW),
                "events were lost while measuring"
            );
            let number = event
                .file_name()
                .and_then(|name| number_in(name.to_str().ok()?));
            let Some(number) = number.filter(|&number| number < self.copies.len()) else {
                continue;
            };
            if self.copies[number] == 0 {
                self.first[number] = now;
            }
            self.last[number] = now;
            self.copies[number] += 1;
            noted += 1;
        }
    }
}
