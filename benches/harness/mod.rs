//! The harness: for each case, runs floor and mailbag in turns on fresh rooms, and reports medians and ratios.

mod cases;
pub(crate) mod child;
pub(crate) mod cleanup;
pub(crate) mod disk;
pub(crate) mod latency;
pub(crate) mod report;
pub(crate) mod room;
mod runs;

use crate::load::MIX;
use anyhow::{Context, Result, bail};
use cases::{Case, Measure};
use child::{Programs, Side};
use disk::Disk;
use report::{Row, Samples};
use room::Room;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

const HELP: &str = "\
cargo bench --bench router -- [OPTION…] [WORD…]

Runs the cases whose label has every WORD; without words, all. `--list` prints the labels.

  --quick            a tenth of the load, one pair
  --pairs N          pairs of runs a case (4)
  --floor-only       the floor alone
  --floor-option X   pass X on to the floor; may be given more than once
  --mailbag PATH     measure this binary instead of the one just built
  --json FILE        also add every row to FILE, as a line of JSON
  --list             print the labels of the cases, and end
  finding …          as the first word: find mail in a large log instead; see finding --help
  links …            as the first word: mail to another room instead; see links --help
  worklog …          as the first word: the cost of the worklog instead; see worklog --help
  --help             print this, and end
";

/// The inputs of the runs.
struct Bench {
    programs: Programs,
    disk: Disk,
    pairs: usize,
    floor_only: bool,
}

/// Measures the requested cases.
pub(crate) fn main(args: &[String]) -> Result<()> {
    let (mut words, mut quick, mut pairs, mut floor_only, mut list) =
        (Vec::new(), false, None, false, false);
    let (mut json, mut floor_options) = (None, Vec::new());
    let mut mailbag = PathBuf::from(env!("CARGO_BIN_EXE_mailbag"));
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            // Cargo adds this to every benchmark's arguments.
            "--bench" => {}
            "--floor-option" => {
                floor_options.push(args.next().context("--floor-option X")?.to_owned())
            }
            "--quick" => quick = true,
            "--floor-only" => floor_only = true,
            "--list" => list = true,
            "--pairs" => pairs = Some(args.next().context("--pairs N")?.parse()?),
            "--json" => {
                json = Some(
                    File::options()
                        .create(true)
                        .append(true)
                        .open(args.next().context("--json FILE")?)?,
                )
            }
            "--mailbag" => mailbag = std::path::absolute(args.next().context("--mailbag PATH")?)?,
            "--help" | "-h" | "help" => {
                print!("{HELP}");
                return Ok(());
            }
            option if option.starts_with('-') => bail!("{option}? See --help."),
            word => words.push(word.to_owned()),
        }
    }
    let cases: Vec<Case> = cases::all(quick)
        .into_iter()
        .filter(|case| case.is_asked_for(&words))
        .collect();
    if list || cases.is_empty() {
        cases.iter().for_each(|case| println!("{}", case.label()));
        return if list {
            Ok(())
        } else {
            bail!("no case has all of these words; see --list")
        };
    }
    let _guard = cleanup::Guard::new()?;
    let work =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{}", std::process::id()));
    let disk = Disk::new(work)?;
    let programs = Programs {
        mailbag,
        floor_options,
        own: std::env::current_exe()?,
        said: disk.beside("said"),
    };
    let bench = Bench {
        programs,
        disk,
        pairs: pairs.unwrap_or(if quick { 1 } else { 4 }),
        floor_only,
    };
    bench.run(&cases, json)
}

impl Bench {
    fn run(&self, cases: &[Case], mut json: Option<File>) -> Result<()> {
        self.print_facts();
        println!("\n{}", report::head());
        // Not counted: the first run on a new image allocates the image's blocks.
        if let Some(case) = cases
            .iter()
            .find(|case| case.measure == Measure::Throughput)
        {
            self.one(case, Side::Floor).context("warming up")?;
        }
        let (mut rows, mut failed) = (Vec::new(), Vec::new());
        for case in cases {
            match self.measure(case) {
                Ok(of_case) => {
                    show(&of_case, &mut json)?;
                    rows.extend(of_case);
                }
                // One case that fails must not cost the results of an hour.
                Err(error) => {
                    println!("{:<48} FAILED: {error:#}", case.label());
                    failed.push(case.label());
                }
            }
        }
        let grown = report::growth(&rows);
        show(&grown, &mut json)?;
        if failed.is_empty() {
            Ok(())
        } else {
            bail!("{} cases failed: {}", failed.len(), failed.join("; "))
        }
    }

    /// Floor, mailbag, mailbag, floor …: changes on the machine and the first position affect both
    /// sides equally.
    fn measure(&self, case: &Case) -> Result<Vec<Row>> {
        let (mut floor, mut mailbag): (Vec<Samples>, Vec<Samples>) = (Vec::new(), Vec::new());
        let pairs = if matches!(case.measure, Measure::Idle(_)) {
            1
        } else {
            self.pairs
        };
        for pair in 0..pairs {
            let order = [Side::Floor, Side::Mailbag];
            for side in if pair % 2 == 0 {
                order
            } else {
                [order[1], order[0]]
            } {
                match side {
                    Side::Floor => floor.push(self.one(case, side).context("floor")?),
                    Side::Mailbag if self.floor_only => {}
                    Side::Mailbag => mailbag.push(self.one(case, side).context("mailbag")?),
                }
            }
        }
        let metrics = floor
            .first()
            .map(|run| run.iter().map(|(metric, _)| *metric).collect::<Vec<_>>());
        Ok(metrics
            .unwrap_or_default()
            .into_iter()
            .map(|metric| Row::new(case, metric, &floor, &mailbag))
            .collect())
    }

    fn one(&self, case: &Case, side: Side) -> Result<Samples> {
        // The room's owner: beside a router, both sides of `send` and `hook` work in mailbag's
        // room.
        let owner =
            if matches!(case.measure, Measure::Send(_) | Measure::Hook(_)) && !self.floor_only {
                Side::Mailbag
            } else {
                side
            };
        let path = self.disk.fresh(case.disk)?.join("room");
        let mut room = Room::new(path, owner, case.load)?;
        if case.measure == Measure::Startup {
            return runs::startup(self, side, &mut room);
        }
        room.prepare(&self.programs, owner, !case.nobody_has_sent())?;
        match case.measure {
            Measure::Throughput => runs::throughput(self, case, side, &room),
            Measure::Latency(per_second) => {
                let _disturber = if case.beside {
                    Some(runs::Disturber::start(self, &room)?)
                } else {
                    None
                };
                latency::run(self, case, side, &room, per_second)
            }
            Measure::Idle(seconds) => runs::idle(self, case, side, &room, seconds),
            Measure::Send(times) => runs::send(self, side, &room, times),
            Measure::Hook(times) => runs::hook(self, case, side, &room, times),
            Measure::Startup => bail!("measured above"),
        }
    }

    /// Prints the facts that a reader of the figures needs.
    fn print_facts(&self) {
        let read = |path: &str| {
            std::fs::read_to_string(path)
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let said = |program: &str, args: &[&str]| {
            let output = Command::new(program)
                .args(args)
                .output()
                .map(|o| o.stdout)
                .unwrap_or_default();
            String::from_utf8_lossy(&output).trim().to_owned()
        };
        println!("kernel      {}", read("/proc/sys/kernel/osrelease"));
        println!(
            "processors  {}",
            std::thread::available_parallelism().map_or(0, usize::from)
        );
        println!("load        {} (before)", read("/proc/loadavg"));
        println!(
            "commit      {}",
            said("git", &["describe", "--always", "--dirty"])
        );
        println!("messages    {MIX}");
        let disk = if self.disk.mounts() {
            "a fresh file system a run"
        } else {
            "NOT root: one plain directory"
        };
        println!(
            "disk        {disk}; pairs {}; a process's peak reads no lower than the harness's own",
            self.pairs
        );
    }
}

/// Prints rows as soon as they are known, and adds them to the file of JSON lines.
fn show(rows: &[Row], json: &mut Option<File>) -> Result<()> {
    for row in rows {
        println!("{}", row.line());
        if let Some(file) = json {
            writeln!(file, "{}", row.json())?;
        }
    }
    Ok(())
}
