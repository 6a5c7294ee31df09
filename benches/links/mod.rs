//! Links beside their floors: a message from an outbox of one room into an inbox of another, in a burst and one at a time.
//!
//! `bare` copies each file into the other room's inbox, with the syncs that make this copy durable:
//! it has no log, no numbers and no second room. `relays` is the router's floor in each of the two
//! rooms, with the bare copy between them: its syncs are the ones that the promise needs, once in
//! each room.

mod carry;
#[cfg(feature = "nats")]
mod nats;
#[cfg(not(feature = "nats"))]
#[path = "without_nats.rs"]
mod nats;
mod sshd;

use crate::harness::child::{Programs, Running, Side as RoomSide};
use crate::harness::cleanup;
use crate::harness::disk::{self, Disk, Kind};
use crate::harness::latency::{Seen, milliseconds};
use crate::harness::report::{median, percentile};
use crate::harness::room::Room;
use crate::helpers;
use crate::load::{Load, Traffic, agent};
use anyhow::{Context, Result, bail, ensure};
pub(crate) use carry::{carry, sink};
use sshd::Server;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const HELP: &str = "\
cargo bench --bench router -- links [dir|ssh|nats] [OPTION…]

Two rooms on one fresh file system, and mail from one to the other.

  --messages N       messages of a burst (5000)
  --pairs N          runs of each side (3)
  --tmpfs            on tmpfs, instead of ext4
  --mailbag PATH     measure this binary instead of the one just built
  --help             print this, and end
";

/// Messages that are sent one at a time: their number, and their rate per second.
const SINGLE: (u32, f64) = (60, 5.0);
const PATIENCE: Duration = Duration::from_secs(120);
const FROM: Load = Load {
    agents: 2,
    traffic: Traffic::ToFar,
};
const BY_FLOOR: Load = Load {
    agents: 2,
    traffic: Traffic::ToOne,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Dir,
    Ssh,
    Nats,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Bare,
    Relays,
    Mailbag,
}

const SIDES: [Side; 3] = [Side::Bare, Side::Relays, Side::Mailbag];

struct Bench {
    programs: Programs,
    disk: Disk,
    server: Option<Server>,
    servers: Option<nats::Servers>,
    is_tmpfs: bool,
    messages: usize,
}

/// Measures the requested cases.
pub(crate) fn main(args: &[String]) -> Result<()> {
    let (mut carriers, mut messages, mut pairs, mut is_tmpfs) = (Vec::new(), 5000, 3, false);
    let mut mailbag = PathBuf::from(env!("CARGO_BIN_EXE_mailbag"));
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bench" => {}
            "dir" => carriers.push(Carrier::Dir),
            "ssh" => carriers.push(Carrier::Ssh),
            "nats" => carriers.push(Carrier::Nats),
            "--messages" => messages = args.next().context("--messages N")?.parse()?,
            "--pairs" => pairs = args.next().context("--pairs N")?.parse()?,
            "--tmpfs" => is_tmpfs = true,
            "--mailbag" => mailbag = std::path::absolute(args.next().context("--mailbag PATH")?)?,
            "--help" | "-h" => {
                print!("{HELP}");
                return Ok(());
            }
            other => bail!("{other}? See --help."),
        }
    }
    if carriers.is_empty() {
        carriers = vec![Carrier::Dir, Carrier::Ssh];
    }
    let _guard = cleanup::Guard::new()?;
    let disk = Disk::new(
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("links-{}", std::process::id())),
    )?;
    let own = std::env::current_exe()?;
    let programs = Programs {
        mailbag,
        floor_options: Vec::new(),
        own,
        said: disk.beside("said"),
    };
    let server = carriers
        .contains(&Carrier::Ssh)
        .then(|| Server::start(&disk.beside("ssh"), &programs))
        .transpose()?;
    let nats = carriers.contains(&Carrier::Nats);
    let servers = nats
        .then(|| nats::Servers::start(&disk.beside("nats"), &programs))
        .transpose()?;
    let bench = Bench {
        programs,
        disk,
        server,
        servers,
        is_tmpfs,
        messages,
    };
    println!("load    {}", fs::read_to_string("/proc/loadavg")?.trim());
    carriers
        .into_iter()
        .try_for_each(|carrier| bench.measure(carrier, pairs))
}

/// The result of a run of one side.
struct Figures {
    /// Messages a second, of a burst.
    rate: f64,
    /// Milliseconds of a message that is alone.
    p50: f64,
    p99: f64,
}

impl Bench {
    fn measure(&self, carrier: Carrier, pairs: usize) -> Result<()> {
        let mut runs: [Vec<Figures>; 3] = Default::default();
        // Not counted: the first run on a new image pays for the image's blocks.
        self.one(carrier, Side::Relays)?;
        for pair in 0..pairs {
            for turn in 0..SIDES.len() {
                let side = (turn + pair) % SIDES.len();
                let figures = self
                    .one(carrier, SIDES[side])
                    .with_context(|| format!("{carrier:?} {:?}", SIDES[side]))?;
                println!(
                    "  {carrier:?} {:<8} {}",
                    format!("{:?}", SIDES[side]),
                    figures.line()
                );
                runs[side].push(figures);
            }
        }
        println!(
            "{carrier:?}, {}, {} messages, {pairs} runs of each side, medians:",
            if self.is_tmpfs { "tmpfs" } else { "ext4" },
            self.messages
        );
        for (name, of) in [
            ("messages/s", Figures::rate as fn(&Figures) -> f64),
            ("p50 ms", |run| run.p50),
            ("p99 ms", |run| run.p99),
        ] {
            let middle =
                |side: usize| median(runs[side].iter().map(of).collect()).unwrap_or(f64::NAN);
            let ratio = |floor: usize| {
                let mut all: Vec<f64> = runs[floor]
                    .iter()
                    .zip(&runs[2])
                    .map(|(floor, ours)| of(ours) / of(floor))
                    .collect();
                all.sort_by(f64::total_cmp);
                let (low, high) = (
                    all.first().copied().unwrap_or(f64::NAN),
                    all.last().copied().unwrap_or(f64::NAN),
                );
                format!(
                    "{:.2} ({low:.2}-{high:.2})",
                    median(all).unwrap_or(f64::NAN)
                )
            };
            println!(
                "  {name:<11} bare {:<9.2} relays {:<9.2} mailbag {:<9.2} to bare {:<20} to relays {}",
                middle(0),
                middle(1),
                middle(2),
                ratio(0),
                ratio(1)
            );
        }
        Ok(())
    }

    /// A burst, and then messages that are alone, in new rooms.
    fn one(&self, carrier: Carrier, side: Side) -> Result<Figures> {
        let town = Town::new(self, carrier, side)?;
        let from = &town.rooms[0].path;
        let load = if side == Side::Mailbag {
            FROM
        } else {
            BY_FLOOR
        };
        // Written before, and dropped by a rename each.
        let drafts = from.with_file_name("drafts");
        fs::create_dir(&drafts)?;
        let mut paths = Vec::new();
        for number in 0..self.messages {
            let (path, text) = load.message(from, number);
            let draft = drafts.join(path.file_name().context("a name")?);
            fs::write(&draft, text)?;
            paths.push((draft, path));
        }
        disk::settle(from)?;
        let mut seen = Seen::watch(
            &town.rooms[1].path,
            BY_FLOOR,
            self.messages + SINGLE.0 as usize,
        )?;
        let start = Instant::now();
        paths
            .iter()
            .try_for_each(|(draft, path)| fs::rename(draft, path))?;
        seen.until(self.messages, PATIENCE)?;
        let rate = self.messages as f64 / start.elapsed().as_secs_f64();
        // Waits until the effects of the burst have settled.
        std::thread::sleep(Duration::from_secs(2));
        let at = self.messages.to_string();
        let (agents, each, count) = (
            load.agents.to_string(),
            SINGLE.1.to_string(),
            SINGLE.0.to_string(),
        );
        let path = from.to_str().context("a path")?;
        let words = [
            "drop",
            path,
            &agents,
            helpers::word(load.traffic),
            &each,
            &count,
            &at,
        ];
        let dropping = self
            .programs
            .helper(&words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        seen.until(self.messages + SINGLE.0 as usize, PATIENCE)?;
        let output = dropping.wait_with_output()?;
        ensure!(output.status.success(), "the dropping process failed");
        let closed: Vec<u64> = String::from_utf8(output.stdout)?
            .lines()
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        let came = seen.last[self.messages..]
            .iter()
            .zip(&closed)
            .map(|(&seen, &closed)| seen.saturating_sub(closed));
        let took = milliseconds(came);
        town.end()?;
        Ok(Figures {
            rate,
            p50: percentile(&took, 0.5),
            p99: percentile(&took, 0.99),
        })
    }
}

impl Figures {
    fn rate(&self) -> f64 {
        self.rate
    }

    fn line(&self) -> String {
        format!(
            "{:>8.0} messages/s, {:>7.2} ms (median), {:>7.2} ms (99 %)",
            self.rate, self.p50, self.p99
        )
    }
}

/// Two rooms, and everything that runs to bring mail from the first to the second.
struct Town {
    rooms: [Room; 2],
    running: Vec<Running>,
}

impl Town {
    fn new(bench: &Bench, carrier: Carrier, side: Side) -> Result<Town> {
        let kind = if bench.is_tmpfs {
            Kind::Tmpfs
        } else {
            Kind::Ext4
        };
        let home = bench.disk.fresh(kind)?;
        let owner = if side == Side::Mailbag {
            RoomSide::Mailbag
        } else {
            RoomSide::Floor
        };
        let room = |name: &str| -> Result<Room> {
            let mut room = Room::new(home.join(name), owner, BY_FLOOR)?;
            room.prepare(&bench.programs, owner, true)?;
            Ok(room)
        };
        if let Some(servers) = &bench.servers {
            servers.clear()?;
        }
        let mut town = Town {
            rooms: [room("fit")?, room("po")?],
            running: Vec::new(),
        };
        match side {
            Side::Mailbag => town.mailbag(bench, carrier)?,
            Side::Relays => town.relays(bench, carrier)?,
            Side::Bare => town.copy(bench, carrier, ["outbox", "inbox"], true)?,
        }
        Ok(town)
    }

    /// Copies from a directory of the sender, or of the recipient, to a directory in the other
    /// room.
    fn copy(
        &mut self,
        bench: &Bench,
        carrier: Carrier,
        [from, to]: [&str; 2],
        sync: bool,
    ) -> Result<()> {
        let of = |room: usize, directory: &str| {
            let who = agent(usize::from(directory == "inbox"));
            self.rooms[room]
                .path
                .join(directory)
                .join(who)
                .display()
                .to_string()
        };
        let (from, to) = (of(0, from), of(1, to));
        let sync = if sync && !bench.is_tmpfs {
            "sync"
        } else {
            "no"
        };
        let ready = self.rooms[1].path.with_file_name("ready");
        let mut carry =
            bench
                .programs
                .helper(&["carry", &from, &to, sync, &ready.display().to_string()]);
        if carrier == Carrier::Ssh {
            let server = bench.server.as_ref().context("a server")?;
            carry.env("CARRY_BY", server.client());
        }
        if carrier == Carrier::Nats {
            carry.env(
                "CARRY_BY",
                bench.servers.as_ref().context("servers")?.address(),
            );
        }
        self.running.push(bench.programs.start(carry)?);
        until("the copy is ready", || ready.exists())
    }

    fn relays(&mut self, bench: &Bench, carrier: Carrier) -> Result<()> {
        for room in [1, 0] {
            let floor = bench
                .programs
                .router(RoomSide::Floor, &self.rooms[room].path, false);
            self.running.push(bench.programs.start_ready(floor)?.0);
        }
        // The next relay makes the copied files durable.
        self.copy(bench, carrier, ["inbox", "outbox"], false)
    }

    fn mailbag(&mut self, bench: &Bench, carrier: Carrier) -> Result<()> {
        let [fit, po] = [0, 1].map(|room| self.rooms[room].path.clone());
        let tables = match carrier {
            Carrier::Dir => [format!("address = {po:?}"), format!("address = {fit:?}")],
            Carrier::Ssh => {
                let address = format!("po.example:{}", po.display());
                [
                    format!("carrier = \"ssh\"\naddress = {address:?}"),
                    "carrier = \"none\"".into(),
                ]
            }
            Carrier::Nats => {
                let address = bench.servers.as_ref().context("servers")?.address();
                [(); 2].map(|()| format!("carrier = \"nats\"\naddress = {address:?}"))
            }
        };
        for ((room, table), (own, other)) in [&fit, &po]
            .into_iter()
            .zip(tables)
            .zip([("fit", "po"), ("po", "fit")])
        {
            let text = fs::read_to_string(room.join("settings.toml"))?;
            fs::write(
                room.join("settings.toml"),
                format!("tag = \"{own}\"\n{text}[links.{other}]\n{table}\n"),
            )?;
        }
        for room in [&po, &fit] {
            let router = bench.programs.router(RoomSide::Mailbag, room, false);
            self.running.push(bench.programs.start_ready(router)?.0);
        }
        let carry = |room: &Path,
                     link: &str,
                     path: Option<std::ffi::OsString>,
                     trust: PathBuf|
         -> Result<Running> {
            let words = |words: &[&str]| {
                let mut command = bench.programs.mailbag(words);
                command
                    .arg("--room")
                    .arg(room)
                    .env("MAILBAG_TRUST_DIR", &trust);
                command.envs(path.as_ref().map(|path| ("PATH", path)));
                command
            };
            ensure!(
                words(&["trust", "--yes"]).output()?.status.success(),
                "no consent"
            );
            let running = bench.programs.start(words(&["link", "run"]))?;
            let note = room.join("links").join(link).join("carrier.json");
            until("the carrier is connected", || says(&note, "connected"))?;
            Ok(running)
        };
        match carrier {
            Carrier::Dir => {}
            Carrier::Ssh => {
                let server = bench.server.as_ref().context("a server")?;
                self.running.push(carry(
                    &fit,
                    "po",
                    Some(server.path().into()),
                    server.trust(),
                )?);
            }
            Carrier::Nats => {
                let trust = bench.disk.beside("trust");
                fs::create_dir_all(&trust)?;
                for (room, link) in [(&fit, "po"), (&po, "fit")] {
                    self.running.push(carry(room, link, None, trust.clone())?);
                }
            }
        }
        // One message makes all directories, on both sides.
        fs::write(
            fit.join("outbox").join(agent(0)).join("warm.json"),
            r#"{"id":"warm","to":"po:r00001","body":"x"}"#,
        )?;
        let inbox = po.join("inbox").join(agent(1));
        until("the first message", || {
            fs::read_dir(&inbox).is_ok_and(|mut names| {
                names.any(|name| {
                    name.is_ok_and(|name| {
                        name.file_name().to_string_lossy().ends_with("-warm.json")
                    })
                })
            })
        })
    }

    fn end(mut self) -> Result<()> {
        while let Some(running) = self.running.pop() {
            running.stop()?;
        }
        Ok(())
    }
}

fn says(file: &Path, what: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains(what))
}

fn until(what: &str, is_so: impl Fn() -> bool) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        ensure!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Runs a program that has to succeed.
fn done(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
