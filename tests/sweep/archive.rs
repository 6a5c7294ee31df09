//! The archiver, killed at every step, unplugged, refused its calls, and beside a router that is killed: every original
//! is in its place or in the archive, and the log stays whole.

use crate::world::lossy;
use crate::files;
use super::ledger::Figures;
use super::letters::Random;
use super::scenario::{PROGRAM, Setting, World};
use super::sweeps::{Done, Points, green};
use super::tracer::{End, Moment, Outcome, Plan, Tracer};
use super::weak::Unsynced;
use crate::archive::packs;
use libc::{EACCES, EIO, EMFILE, ENOSPC};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Small segments and small packs, so that there are several of each.
const SMALL: [(&str, &str); 2] = [("MAILBAG_TEST_SEGMENT_BYTES", "30000"), ("MAILBAG_TEST_PACK_FILES", "40")];
const KINDS: [&str; 4] = ["sent", "seen", "expired", "rejected"];

/// A room that was routed to the end, to be copied for each point.
struct Before {
    home: TempDir,
    /// A protection that the disturbed archiver lacks.
    without: Option<&'static str>,
    /// Files that may be packed: path in the room, and content.
    originals: BTreeMap<Vec<u8>, Vec<u8>>,
    log: Vec<u8>,
}

fn setting(seed: u64) -> Setting {
    let env = SMALL.map(|(name, value)| (name, value.to_owned())).to_vec();
    Setting { seed, env, archives: true, ..Setting::default() }
}

fn program(room: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args).arg("--room").arg(room).envs(SMALL);
    command
}

fn archiver(room: &Path) -> Command {
    program(room, &["archive", "--older-than", "0s"])
}

fn home() -> io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }
}

impl Before {
    fn new(seed: u64) -> io::Result<Before> {
        let home = home()?;
        let room = home.path().join("room");
        let mut world = World::new(&room, setting(seed))?;
        world.settle()?;
        fs::write(room.join("outbox/alice/wrong.json"), "{\"to\": \"nobody-of-that-name\", \"body\": \"\u{1f9c0}\"}")?;
        fs::create_dir_all(room.join("inbox/bob/expired"))?;
        fs::write(room.join("inbox/bob/expired/20260301T000000.000000Z-alice-late.json"), b"\xff not text")?;
        succeeded(program(&room, &["run", "--once"]).output()?)?;
        let log = packs::log(&room);
        Ok(Before { originals: standing(&room)?, home, without: None, log })
    }

    /// The archiver that the sweep disturbs.
    fn archiver(&self, room: &Path) -> Command {
        let mut command = archiver(room);
        command.envs(self.without.map(|name| ("MAILBAG_FAILPOINT", name)));
        command
    }

    /// A second copy of the room.
    fn copy(&self) -> io::Result<(TempDir, PathBuf)> {
        let home = home()?;
        let room = home.path().join("room");
        succeeded(Command::new("cp").arg("-a").arg(self.home.path().join("room")).arg(&room).output()?)?;
        Ok((home, room))
    }

    /// Checks the room that an archiver left: at any time nothing may be lost, and in the end nothing may be left over. A kill
    /// may pack a file twice.
    fn check(&self, room: &Path, end: bool, figures: &mut Figures) -> io::Result<()> {
        let mut there: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
        for (path, content) in standing(room)? {
            there.entry(path).or_default().push(content);
        }
        for (path, contents) in KINDS.iter().flat_map(|kind| packs::files(room, kind)) {
            there.entry(path).or_default().extend(contents);
        }
        for (path, content) in &self.originals {
            let shown = lossy(path);
            match there.remove(path).unwrap_or_default().as_slice() {
                [] => figures.lost(shown),
                [one] if one == content => {}
                [first, rest @ ..] if rest.iter().all(|one| one == first) && first == content => {}
                _ => figures.damaged(shown),
            }
        }
        there.keys().for_each(|path| figures.damaged(format!("{} from nowhere", lossy(path))));
        if packs::log(room) != self.log {
            figures.damaged("the log".into());
        }
        let verified = program(room, &["log", "verify"]).output()?;
        if !verified.status.success() {
            figures.damaged(format!("log verify: {}", lossy(&verified.stderr)));
        }
        if end {
            left_over(room).into_iter().for_each(|what| figures.left_over(what));
        }
        Ok(())
    }

    /// One archiver, disturbed; then another, and it must be as if there had been no trouble.
    fn play(&self, plan: Plan, power: Option<u64>) -> io::Result<Figures> {
        let (_home, room) = self.copy()?;
        let unsynced = RefCell::new(Unsynced::default());
        let mut tracer = Tracer::new(&room)?.at_call(|call| {
            if power.is_some() {
                unsynced.borrow_mut().about_to(call);
            }
        });
        let outcome = tracer.run(self.archiver(&room), plan)?;
        drop(tracer);
        let mut figures = Figures::of(&outcome);
        if !matches!(outcome.end, End::Killed | End::Exited(0 | 1 | 75)) {
            figures.damaged(format!("it ended as {:?}: {}", outcome.end, outcome.stderr));
        }
        if let Some(seed) = power {
            let mut unsynced = unsynced.into_inner();
            unsynced.ended(&outcome);
            unsynced.undo(&mut Random(seed))?;
        }
        self.check(&room, false, &mut figures)?;
        let again = archiver(&room).output()?;
        if !again.status.success() {
            figures.damaged(format!("the next run: {}", lossy(&again.stderr)));
        }
        self.check(&room, true, &mut figures)?;
        let packable = standing(&room)?;
        packable.keys().for_each(|path| figures.left_over(lossy(path)));
        figures.complaints.iter_mut().for_each(|complaint| *complaint = format!("{complaint}\n    after {plan:?}"));
        Ok(figures)
    }

    fn count(&self) -> io::Result<Outcome> {
        let (_home, room) = self.copy()?;
        Tracer::new(&room)?.run(self.archiver(&room), Plan::Count)
    }

    /// Plays all of these, two at a time.
    fn sweep(&self, plans: &[(Plan, Option<u64>)]) -> io::Result<Figures> {
        let half = |odd: usize| {
            let mut figures = Figures::default();
            for (plan, power) in plans.iter().skip(odd).step_by(2) {
                figures.add(self.play(*plan, *power)?);
            }
            io::Result::Ok(figures)
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| half(1));
            let mut figures = half(0)?;
            figures.add(other.join().expect("a worker does not panic")?);
            Ok(figures)
        })
    }
}

/// Files that may be packed and are still in their place.
fn standing(room: &Path) -> io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in walkdir::WalkDir::new(room) {
        let entry = entry?;
        let below = entry.path().strip_prefix(room).unwrap_or(entry.path());
        let parts: Vec<&str> = below.iter().filter_map(|part| part.to_str()).collect();
        if let ["sent" | "rejected", _, _] | ["inbox", _, "seen" | "expired", _] = parts[..] {
            files.insert(below.as_os_str().as_bytes().to_vec(), fs::read(entry.path())?);
        }
    }
    Ok(files)
}

/// Files that an archiver no longer needs.
fn left_over(room: &Path) -> Vec<String> {
    let is_draft = |path: &Path| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".tmp-"));
    let drafts = walkdir::WalkDir::new(room).into_iter().flatten().filter(|entry| is_draft(entry.path()));
    drafts.map(|entry| entry.path().display().to_string()).collect()
}

fn succeeded(output: Output) -> io::Result<Vec<u8>> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(io::Error::other(format!("{}: {}", output.status, lossy(&output.stderr))))
}

fn kill((call, moment): (usize, Moment)) -> Plan {
    Plan::Kill { call, moment }
}

#[test]
fn an_archiver_killed_at_any_call() -> Done {
    // P72
    let before = Before::new(41)?;
    let points = Points::of(before.count()?).choose(20, 41);
    let plans: Vec<_> = points.into_iter().map(|point| (kill(point), None)).collect();
    green("kills of the archiver", &before.sweep(&plans)?)
}

#[test]
fn the_power_cut_while_it_archives_on_a_file_system_that_keeps_no_order() -> Done {
    let before = Before::new(42)?;
    let points = Points::of(before.count()?).choose(15, 42);
    let plans: Vec<_> = points.into_iter().enumerate().map(|(n, point)| (kill(point), Some(n as u64))).collect();
    green("unordered power cuts while it archives", &before.sweep(&plans)?)
}

/// A sweep that has to turn red without this protection.
fn red(without: &'static str, seed: u64, is_cut: bool) -> Done {
    let before = Before { without: Some(without), ..Before::new(seed)? };
    let points = Points::of(before.count()?).choose(28, seed);
    let mut figures = Figures::default();
    for (n, point) in points.into_iter().enumerate() {
        figures.add(before.play(kill(point), is_cut.then_some(n as u64))?);
        if !figures.is_green() {
            println!("without {without}: {figures}");
            return Ok(());
        }
    }
    Err(format!("without {without} nothing was noticed: {figures}").into())
}

#[test]
fn an_archiver_without_the_sync_of_its_packs_is_noticed() -> Done {
    red("archive-sync", 48, true)
}

#[test]
fn an_archiver_with_failing_calls() -> Done {
    let before = Before::new(43)?;
    let made = before.count()?.names();
    let mut random = Random(43);
    let mut plans = Vec::new();
    for (name, errors) in [
        ("openat", &[EMFILE, ENOSPC][..]),
        ("write", &[ENOSPC, EIO]),
        ("read", &[EIO]),
        ("renameat2", &[EACCES, ENOSPC]),
        ("unlinkat", &[EACCES, EIO]),
        ("mkdirat", &[ENOSPC]),
        ("fsync", &[EIO]),
        ("syncfs", &[EIO]),
    ] {
        let calls = made.get(name).copied().unwrap_or_default();
        for (&errno, lasting) in errors.iter().flat_map(|errno| [(errno, false), (errno, true)]).filter(|_| calls > 0) {
            plans.push((Plan::Fail { name, nth: 1 + random.below(calls), errno, lasting }, None));
        }
    }
    green("calls of the archiver that fail", &before.sweep(&plans)?)
}

#[test]
fn a_file_that_changes_while_it_is_packed_stays() -> Done {
    let before = Before::new(44)?;
    let path = before.originals.keys().find(|path| path.starts_with(b"sent/")).expect("an original");
    let original = &before.originals[path];
    let longer = [original, &b"and more"[..]].concat();
    let shorter = &original[..original.len() / 2];
    // A changed file is not in the pack, or it stays beside the pack.
    for (moment, content, is_packed) in [
        ("renameat2", &b"what somebody wrote meanwhile"[..], true),
        ("renameat2", b"", true),
        ("read", &longer, false),
        ("read", shorter, false),
        ("read", b"", false),
    ] {
        let (_home, room) = before.copy()?;
        let room = room.canonicalize()?;
        let file = room.join(std::ffi::OsStr::from_bytes(path));
        let changed = RefCell::new(false);
        let outcome = Tracer::new(&room)?
            .at_every_call(|call| {
                let to = call.paths.last().expect("a path");
                let is_now = call.name == moment && (*to == file || to.to_string_lossy().ends_with(".tar.zst"));
                if is_now && !changed.replace(true) {
                    files::write(&file, content);
                }
            })
            .run(archiver(&room), Plan::Count)?;
        assert_eq!((outcome.end, *changed.borrow()), (End::Exited(0), true), "{moment}: {}", outcome.stderr);
        let why = if is_packed { "it changed while it was packed" } else { "a program is writing it" };
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
        assert_eq!(fs::read(&file)?, content);
        assert_eq!(packs::files(&room, "sent").contains_key(path), is_packed);
        succeeded(archiver(&room).output()?)?;
        assert!(!file.exists());
        let contents = packs::files(&room, "sent").remove(path).expect("it is packed");
        assert!(contents.iter().any(|one| one == content) && contents.contains(original) == is_packed);
    }
    Ok(())
}

/// Checks the room after both have ended.
fn settled(world: &mut World) -> io::Result<Figures> {
    succeeded(archiver(world.room()).output()?)?;
    world.settle()?;
    succeeded(archiver(world.room()).output()?)?;
    let mut figures = world.figures()?;
    left_over(world.room()).into_iter().for_each(|what| figures.left_over(what));
    Ok(figures)
}

#[test]
fn a_router_killed_while_somebody_archives() -> Done {
    // P72
    let play = |plan: Plan| {
        let home = home()?;
        let mut world = World::new(&home.path().join("room"), Setting { stays: true, ..setting(45) })?;
        let (command, room) = (world.command(), world.room().canonicalize()?);
        let (acting, mut calls, mut wrong) = (RefCell::new(&mut world), 0, Vec::new());
        let outcome = Tracer::new(&room)?
            .at_call(|call| {
                acting.borrow_mut().act(call);
                calls += 1;
                if calls % 45 == 0 {
                    wrong.extend(archiver(&room).output().and_then(succeeded).err());
                }
            })
            .run(command, plan)?;
        wrong.iter().for_each(|e| world.complain(format!("the archiver beside the router: {e}")));
        if !matches!(outcome.end, End::Killed | End::Exited(0)) {
            world.complain(format!("the router ended as {:?}: {}", outcome.end, outcome.stderr));
        }
        world.between(false)?;
        let reached = usize::from(outcome.end == End::Killed);
        io::Result::Ok((Figures { points: 1, reached, ..settled(&mut world)? }, outcome))
    };
    let (mut figures, outcome) = play(Plan::Count)?;
    for point in Points::of(outcome).choose(7, 45) {
        figures.add(play(kill(point))?.0);
    }
    green("kills of a router while somebody archives", &figures)
}

#[test]
fn an_archiver_killed_while_a_router_routes() -> Done {
    // P72
    let play = |plan: Plan| {
        let home = home()?;
        let mut world = World::new(&home.path().join("room"), setting(46))?;
        let room = world.room().canonicalize()?;
        succeeded(program(&room, &["run", "--once"]).output()?)?;
        world.between(false)?;
        let (acting, mut calls, mut wrong) = (RefCell::new(&mut world), 0, Vec::new());
        let outcome = Tracer::new(&room)?
            .at_call(|_| {
                calls += 1;
                if calls % 25 == 0 {
                    wrong.extend(acting.borrow_mut().between(false).err());
                    wrong.extend(program(&room, &["run", "--once"]).output().and_then(succeeded).err());
                }
            })
            .run(archiver(&room), plan)?;
        wrong.iter().for_each(|e| world.complain(format!("the router beside the archiver: {e}")));
        if !matches!(outcome.end, End::Killed | End::Exited(0)) {
            world.complain(format!("the archiver ended as {:?}: {}", outcome.end, outcome.stderr));
        }
        let reached = usize::from(outcome.end == End::Killed);
        io::Result::Ok((Figures { points: 1, reached, ..settled(&mut world)? }, outcome))
    };
    let (mut figures, outcome) = play(Plan::Count)?;
    for point in Points::of(outcome).choose(8, 46) {
        figures.add(play(kill(point))?.0);
    }
    green("kills of the archiver while a router routes", &figures)
}
