//! One point of a sweep, played from a fresh room to the count at its end: strikes, power cuts, and a clean finish.

use super::cache::booted;
use super::device::{Cut, Kind, PowerDevice};
use super::ledger::Figures;
use super::letters::Random;
use super::scenario::{Setting, World};
use super::tracer::{End, Moment, Outcome, Plan, Tracer};
use super::twice::Moves;
use super::weak::Unsynced;
use std::cell::RefCell;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use tempfile::TempDir;

/// The power cut of a strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Power {
    /// It stays on.
    On,
    /// A cut of this kind at the moment of the plan.
    Cut(Cut),
    /// A cut after the program's end, on a file system that keeps no order of unsynced changes: a part of
    /// that, chosen by this seed, is undone.
    Unordered(u64),
    /// A cut after the program's end, on a file system that keeps both names of a moved file if one directory was synced.
    BothNames,
}

/// One run of the router that is disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strike {
    pub(crate) plan: Plan,
    pub(crate) power: Power,
}

/// Where rooms are made.
pub(crate) enum Ground {
    Directory(TempDir),
    Device(PowerDevice),
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.power {
            Power::On => write!(f, "{:?}", self.plan),
            power => write!(f, "{:?} with power {power:?}", self.plan),
        }
    }
}

impl Strike {
    pub(crate) fn kill(call: usize, moment: Moment) -> Strike {
        Strike { plan: Plan::Kill { call, moment }, power: Power::On }
    }

    pub(crate) fn with(self, power: Power) -> Strike {
        Strike { power, ..self }
    }
}

impl Ground {
    /// A plain directory, in memory if possible: it loses no unsynced data.
    pub(crate) fn directory() -> io::Result<Ground> {
        let memory = std::path::Path::new("/dev/shm");
        Ok(Ground::Directory(if memory.is_dir() { TempDir::new_in(memory)? } else { TempDir::new()? }))
    }

    pub(crate) fn device(kind: Kind) -> io::Result<Ground> {
        Ok(Ground::Device(PowerDevice::new(kind)?))
    }

    pub(crate) fn room(&self) -> PathBuf {
        match self {
            Ground::Directory(directory) => directory.path().join("room"),
            Ground::Device(device) => device.path().join("room"),
        }
    }
}

/// Plays one story in a fresh room on `ground`.
pub(crate) fn play(ground: &mut Ground, setting: &Setting, strikes: &[Strike]) -> io::Result<Figures> {
    let room = ground.room();
    if room.exists() {
        fs::remove_dir_all(&room)?;
    }
    let mut world = World::new(&room, setting.clone()).map_err(|e| at("making the room", e))?;
    let (mut unsynced, mut moves, mut reached) = (Unsynced::default(), Moves::default(), true);
    for (n, strike) in strikes.iter().enumerate() {
        let outcome = run(&mut world, ground, strike, (&mut unsynced, &mut moves)).map_err(|e| at(strike, e))?;
        reached &= !matches!(strike.plan, Plan::Kill { .. }) || outcome.end == End::Killed;
        // Now and then the agents' own doings get durable before the router starts again, and now and then not.
        let sync = Random(setting.seed + n as u64).next().is_multiple_of(2);
        world.between(sync).map_err(|e| at(format!("what the agents do after {strike}"), e))?;
        if sync {
            unsynced.synced();
            moves.synced();
        }
    }
    world.settle().map_err(|e| at("the clean end", e))?;
    let mut figures = world.figures().map_err(|e| at("the count", e))?;
    let story = strikes.iter().map(Strike::to_string).collect::<Vec<_>>().join(", then ");
    figures.complaints.iter_mut().for_each(|complaint| *complaint = format!("{complaint}\n    after {story}"));
    (figures.points, figures.reached) = (1, usize::from(reached));
    Ok(figures)
}

/// A failure of the sweep itself, not of the program.
fn at(step: impl fmt::Display, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the sweep itself, at {step}: {error}"))
}

/// One run of the router, disturbed as the strike says.
fn run(
    world: &mut World,
    ground: &mut Ground,
    strike: &Strike,
    (unsynced, moves): (&mut Unsynced, &mut Moves),
) -> io::Result<Outcome> {
    let (command, written) = (world.command(), world.written().canonicalize()?);
    let acting = RefCell::new(&mut *world);
    let device = match ground {
        Ground::Device(device) => Some(&*device),
        Ground::Directory(_) => None,
    };
    let (is_undone, mut cut) = (acting.borrow().is_undone(), Ok(()));
    let outcome = Tracer::new(&written)?
        .at_call(|call| {
            if is_undone {
                unsynced.about_to(call);
            }
            acting.borrow_mut().act(call);
        })
        .before_kill(|| {
            cut = acting.borrow_mut().note_appended().and_then(|()| go_dark(strike, device));
        })
        .run(command, strike.plan)?;
    cut.map_err(|e| at("cutting the power", e))?;
    match outcome.end {
        End::Killed => {}
        End::Exited(code) if code != 101 && (code == 0 || matches!(strike.plan, Plan::Fail { .. })) => {
            world.note_appended()?;
            go_dark(strike, device)?;
        }
        end => {
            let stands = world.stands();
            world.complain(format!("{strike}: the router ended as {end:?}, {stands}: {}", outcome.stderr));
        }
    }
    unsynced.ended(&outcome);
    moves.ended(&outcome);
    if strike.power != Power::On {
        world.power_went();
    }
    match (strike.power, ground) {
        (Power::Cut(_), Ground::Device(device)) => device.remount().map_err(|e| at("switching the power on", e))?,
        (Power::Unordered(seed), _) => unsynced.undo(&mut Random(seed))?,
        (Power::BothNames, _) => moves.restore()?,
        _ => {}
    }
    if strike.power != Power::On {
        world.check_acknowledged()?;
        world.check_seen()?;
        booted(world.room())?;
    }
    Ok(outcome)
}

/// An undisturbed first run in a fresh room, to count its calls.
pub(crate) fn count(setting: &Setting) -> io::Result<Outcome> {
    let mut ground = Ground::directory()?;
    let mut world = World::new(&ground.room(), setting.clone())?;
    let undisturbed = Strike { plan: Plan::Count, power: Power::On };
    run(&mut world, &mut ground, &undisturbed, (&mut Unsynced::default(), &mut Moves::default()))
}

fn go_dark(strike: &Strike, device: Option<&PowerDevice>) -> io::Result<()> {
    match (strike.power, device) {
        (Power::Cut(cut), Some(device)) => device.cut(cut),
        (Power::Cut(_), None) => Err(io::Error::other("there is no power to cut in a plain directory")),
        _ => Ok(()),
    }
}
