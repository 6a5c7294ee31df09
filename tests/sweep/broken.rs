//! The same on real file systems: a block device in compressed memory (zram) rejects every write while its limit is zero,
//! and the kernel's own cache is used. No device-mapper is needed.

use super::cache::booted;
use super::device::{hide_mounts, program};
use super::ledger::Figures;
use super::letters::Random;
use super::scenario::{Setting, World};
use super::story::count;
use super::sweeps::{Done, full, green, WORKERS, side_by_side};
use super::tracer::{End, Moment, Plan, Tracer};
use crate::world::skip;
use std::cell::{Cell, RefCell};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where the kernel makes such devices.
const CONTROL: &str = "/sys/class/zram-control";
/// The number of syncs of each kind that the small size tries on each file system.
const SMALL: usize = 3;
/// The time limit for the kernel to release a file system or a device.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file system, the command that makes it, and its size in megabytes.
#[derive(Debug, Clone, Copy)]
struct Kind(&'static str, &'static [&'static str], u64);

const KINDS: [Kind; 3] = [
    Kind("ext4", &["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"], 96),
    Kind("xfs", &["mkfs.xfs", "-q", "-f"], 320),
    Kind("btrfs", &["mkfs.btrfs", "-q", "-f"], 256),
];

/// A mounted file system on a disk that can fail on demand. Dropping it removes everything.
struct Broken {
    kind: Kind,
    number: String,
    home: TempDir,
}

/// The failure of the disk in one run of the program.
#[derive(Debug, Clone, Copy)]
enum Run {
    /// Nothing.
    Whole,
    /// It fails at this call of that name.
    At(&'static str, usize),
    /// It fails from this call of that name until the program has ended.
    From(&'static str, usize),
    /// No failure, but the program is killed after its N-th change.
    Killed(usize),
}

impl Kind {
    fn unavailable(self) -> Option<String> {
        if !rustix::process::geteuid().is_root() {
            return Some("it needs root".into());
        }
        if !Path::new(CONTROL).exists() {
            return Some("this kernel has no zram".into());
        }
        program(self.1[0], &["-V"]).err().map(|error| format!("there is no {}: {error}", self.1[0]))
    }
}

impl Broken {
    fn new(kind: Kind) -> io::Result<Broken> {
        hide_mounts()?;
        let number = fs::read_to_string(Path::new(CONTROL).join("hot_add"))?.trim().to_owned();
        let new = Broken { kind, number, home: TempDir::new()? };
        fs::write(new.switch("disksize"), format!("{}M", kind.2))?;
        let numbers = fs::read_to_string(new.switch("dev"))?;
        let (major, minor) = numbers.trim().split_once(':').ok_or_else(|| io::Error::other("no numbers"))?;
        let device = new.device();
        if !device.exists() {
            program("mknod", &[&device.to_string_lossy(), "b", major, minor])?;
        }
        let [mkfs, options @ ..] = kind.1 else { unreachable!("mkfs has a name") };
        program(mkfs, &[options, &[&*device.to_string_lossy()]].concat())?;
        new.mount()?;
        Ok(new)
    }

    fn switch(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/sys/block/zram{}/{name}", self.number))
    }

    fn device(&self) -> PathBuf {
        PathBuf::from(format!("/dev/zram{}", self.number))
    }

    /// From now on every write fails, or none does.
    fn fail(&self, fails: bool) -> io::Result<()> {
        fs::write(self.switch("mem_limit"), if fails { "4096" } else { "0" })
    }

    /// Returns true if the file system has lost its journal: it rejects all writes until it is mounted again.
    fn rejects_writes(&self) -> bool {
        fs::write(self.home.path().join("probe"), "").is_err()
    }

    fn mount(&self) -> io::Result<()> {
        let (device, home) = (self.device(), self.home.path());
        program("mount", &["-t", self.kind.0, &device.to_string_lossy(), &home.to_string_lossy()]).map(drop)
    }

    /// The machine starts again: memory is lost, and files have the content of the disk.
    fn boot(&self) -> io::Result<()> {
        self.unmount()?;
        self.mount()
    }

    fn unmount(&self) -> io::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        // A program that another test is just starting holds a copy of every descriptor until its exec.
        while let Err(error) = program("umount", &[&self.home.path().to_string_lossy()]) {
            if Instant::now() > deadline {
                return Err(error);
            }
            thread::yield_now();
        }
        Ok(())
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        let _ = self.fail(false);
        let mut gone = self.unmount();
        let deadline = Instant::now() + PATIENCE;
        while gone.is_ok() && fs::write(Path::new(CONTROL).join("hot_remove"), &self.number).is_err() {
            if Instant::now() > deadline {
                gone = Err(io::Error::other("it is busy"));
            }
            thread::yield_now();
        }
        if let Err(error) = gone {
            eprintln!("zram{} is left over: {error}", self.number);
        }
    }
}

#[test]
fn a_write_error_that_passes_on_a_real_file_system() -> Done {
    let setting = Setting { seed: 41, stays: true, power: true, ..Setting::default() };
    for kind in KINDS {
        match kind.unavailable() {
            Some(why) => skip(format_args!("write errors that pass on {}: {why}", kind.0)),
            None => {
                let figures = side_by_side(WORKERS, stories(&setting)?, usize::MAX, |_, story| play(kind, &setting, &story))?;
                green(&format!("write errors that pass on {}", kind.0), &figures)?;
            }
        }
    }
    Ok(())
}

/// Plays on each file system that can be had until something is wrong: each commit fails once, and the next router goes on.
pub(crate) fn until_red(setting: &Setting) -> io::Result<Vec<(&'static str, Figures)>> {
    let commits = count(setting)?.names().get("fdatasync").copied().unwrap_or_default();
    let stories = || (1..=commits).map(|nth| vec![Run::At("fdatasync", nth), Run::Whole, Run::Whole]).collect();
    let kinds = KINDS.into_iter().filter(|kind| kind.unavailable().is_none());
    let found = kinds.map(|kind| Ok((kind.0, side_by_side(WORKERS, stories(), 1, |_, story| play(kind, setting, &story))?)));
    found.collect()
}

/// Each sync, with possible later runs until the machine starts again. The kernel reports an error of a file to the next
/// sync of the file, and then to the next sync of the file system, so it ends after the second start. If a whole file
/// system is synced, its journal also fails, and it accepts no writes until it is mounted again.
fn stories(setting: &Setting) -> io::Result<Vec<Vec<Run>>> {
    let made = count(setting)?.names();
    let mut random = Random(setting.seed);
    let mut stories = Vec::new();
    for name in ["fdatasync", "fsync", "syncfs"] {
        let calls = made.get(name).copied().unwrap_or_default();
        let step = if full() { 1 } else { calls.div_ceil(SMALL).max(1) };
        for nth in (1..=calls).step_by(step) {
            let first = Run::At(name, nth);
            let orders = [
                vec![first],
                vec![first, Run::Whole, Run::Whole],
                vec![first, Run::From("fdatasync", 1), Run::Whole, Run::Whole],
                vec![first, Run::Whole, Run::Killed(1 + random.below(60)), Run::Whole],
            ];
            let one = stories.len() % orders.len();
            stories.extend(orders.into_iter().enumerate().filter(|(n, _)| full() || *n == one).map(|(_, story)| story));
        }
    }
    Ok(stories)
}

fn play(kind: Kind, setting: &Setting, story: &[Run]) -> io::Result<Figures> {
    let disk = Broken::new(kind)?;
    let mut world = World::new(&disk.home.path().join("room"), setting.clone())?;
    let mut reached = false;
    for what in story {
        reached |= run(&disk, &mut world, *what)?;
        if disk.rejects_writes() {
            disk.boot()?;
            booted(world.room())?;
            world.power_went();
        }
        world.between(false)?;
    }
    disk.boot()?;
    booted(world.room())?;
    world.settle()?;
    let mut figures = world.figures()?;
    figures.complaints.iter_mut().for_each(|complaint| *complaint += &format!("\n    after {story:?} and a boot"));
    (figures.points, figures.reached) = (1, usize::from(reached));
    Ok(figures)
}

/// One run of the router. Returns true if the planned failure happened.
fn run(disk: &Broken, world: &mut World, what: Run) -> io::Result<bool> {
    let (command, room) = (world.command(), world.room().canonicalize()?);
    let (fails, was_broken) = (Cell::new(false), Cell::new(false));
    let (met, switched) = (Cell::new(0), RefCell::new(Ok(())));
    let switch = |on| {
        if fails.replace(on) != on {
            *switched.borrow_mut() = disk.fail(on);
        }
    };
    let acting = RefCell::new(&mut *world);
    let plan = match what {
        Run::Killed(call) => Plan::Kill { call, moment: Moment::After },
        _ => Plan::Count,
    };
    let outcome = Tracer::new(&room)?
        .at_call(|call| {
            let (Run::At(name, nth) | Run::From(name, nth)) = what else { return acting.borrow_mut().act(call) };
            let fallen = fails.get();
            met.set(met.get() + usize::from(call.name == name));
            switch(match what {
                Run::From(..) => fallen || met.get() >= nth,
                _ => !fallen && met.get() == nth && call.name == name,
            });
            was_broken.set(was_broken.get() || fails.get());
            match was_broken.get() {
                false => acting.borrow_mut().act(call),
                // Agents get their own errors, even later while the file system is broken.
                true => drop(acting.borrow_mut().try_to_act(call)),
            }
        })
        .run(command, plan)?;
    switch(false);
    switched.into_inner()?;
    // The journal may also fail later than the sync, while the file system works in the background.
    let failed = disk.rejects_writes()
        || outcome.calls.iter().any(|call| call.name.contains("sync") && call.result.is_some_and(|r| r < 0));
    match outcome.end {
        End::Killed | End::Exited(0) => {}
        End::Exited(code) if code != 101 && failed => {}
        end => world.complain(format!("{what:?}: the router ended as {end:?}: {}", outcome.stderr)),
    }
    Ok(failed || outcome.end == End::Killed)
}
