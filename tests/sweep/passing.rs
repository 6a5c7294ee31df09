//! A temporary write error: every sync may fail, every order of restarts may follow, and then the machine boots with the
//! real content of the disk. Each recipient must have each letter exactly once, and the log must be whole.

use super::cache::Cache;
use super::ledger::Figures;
use super::letters::Random;
use super::scenario::{Setting, World};
use super::story::{Ground, count};
use super::sweeps::{Done, WORKERS, full, green, side_by_side};
use super::tracer::{End, Moment, Outcome, Plan, Tracer};
use libc::{EIO, ENOSPC};
use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::Path;

/// The runs of the program, each with its failure.
type Story = Vec<Plan>;

/// The number of failing syncs of each kind in the small size.
const SMALL: usize = 12;

/// The syncs.
const SYNCS: [&str; 3] = ["fsync", "fdatasync", "syncfs"];

#[test]
fn a_write_error_that_passes_is_not_forgotten() -> Done {
    let setting = Setting { seed: 31, stays: true, power: true, ..Setting::default() };
    let stories = stories(&setting, 31)?;
    green("write errors that pass", &side_by_side(WORKERS, stories, usize::MAX, |n, story| play(&setting, &story, n))?)
}

// P88
#[test]
fn a_start_behind_a_pass_that_was_acted_upon_rewrites_nothing_and_any_other_the_last_batch_alone() -> Done {
    let setting = Setting { seed: 32, power: true, ..Setting::default() };
    let ground = Ground::directory()?;
    let mut world = World::new(&ground.room(), setting)?;
    let rewritten = |world: &World, arguments: &[&str], plan| -> io::Result<Vec<u64>> {
        let outcome = Tracer::new(&world.room().canonicalize()?)?.run(world.program(arguments), plan)?;
        let places = outcome.calls.iter().filter(|call| call.name == "pwrite64").filter(|call| call.paths.iter().any(|path| is_log(path)));
        Ok(places.filter_map(|call| call.bytes).collect())
    };
    world.settle()?;
    let send = ["send", "bob", "hi", "--as", "alice"];
    let first = rewritten(&world, &send, Plan::Count)?;
    assert!(first.len() == 1 && first[0] < 4096, "what a clean end has settled: {first:?}");
    assert!(rewritten(&world, &send, Plan::Count)?.is_empty(), "the last pass was acted upon");
    let name = world.room().join("outbox/alice/last.json");
    fs::write(name, r#"{"to":"bob","body":"last"}"#)?;
    let outcome = Tracer::new(&world.room().canonicalize()?)?.run(world.program(&["run", "--once"]), Plan::Fail {
        name: "fdatasync",
        nth: 1,
        errno: EIO,
        lasting: false,
    })?;
    assert_eq!((outcome.end, outcome.failed), (End::Exited(1), 1));
    assert!(!world.room().join("spool/boot").exists(), "the next start looks for holes in conversations");
    let again = rewritten(&world, &["run", "--once"], Plan::Count)?;
    assert!(again.len() == 1 && again[0] < 4096, "only the batch whose sync failed: {again:?}");
    Ok(())
}

fn is_log(path: &Path) -> bool {
    path.ends_with("log/00000001.ndjson")
}

/// The same until something is wrong, for a control.
pub(crate) fn until_red(setting: &Setting) -> io::Result<Figures> {
    side_by_side(WORKERS, stories(setting, setting.seed)?, 1, |n, story| play(setting, &story, n))
}

/// Every sync of an undisturbed run, each in every order in a full run; else some of each kind, each in one order.
fn stories(setting: &Setting, seed: u64) -> io::Result<Vec<Story>> {
    let outcome = count(setting)?;
    let made = outcome.names();
    let writes = outcome.changes().filter(|call| call.name == "write" && call.paths.iter().any(|path| is_log(path)));
    let kills: Vec<usize> = writes.filter_map(|call| call.number).collect();
    let mut random = Random(seed);
    let mut firsts = Vec::new();
    for name in SYNCS {
        let all = made.get(name).copied().unwrap_or_default();
        for nth in (1..=all).step_by(if full() { 1 } else { all.div_ceil(SMALL).max(1) }) {
            firsts.push(fail(name, nth, random.below(2) == 0));
        }
    }
    // Killed before the first sync: the next router syncs first.
    firsts.extend(kills.into_iter().map(|call| Plan::Kill { call, moment: Moment::After }));
    let mut stories = Vec::new();
    for (n, first) in firsts.into_iter().enumerate() {
        let orders = orders(first, &mut random);
        let one = n % orders.len();
        stories.extend(orders.into_iter().enumerate().filter(|(order, _)| full() || *order == one).map(|(_, story)| story));
    }
    Ok(stories)
}

/// The runs that may follow the first error before the machine boots.
fn orders(first: Plan, random: &mut Random) -> Vec<Story> {
    let kill = |random: &mut Random| Plan::Kill { call: 1 + random.below(60), moment: Moment::After };
    vec![
        vec![first],
        vec![first, Plan::Count],
        // The reported case: the error lasts for another start, and then ends.
        vec![first, fail("fdatasync", 1, false), Plan::Count],
        vec![first, fail("syncfs", 1, false), Plan::Count],
        vec![first, all_fail("fdatasync"), all_fail("syncfs"), Plan::Count, Plan::Count],
        vec![first, kill(random), Plan::Count],
        vec![first, fail("syncfs", 1, true), kill(random), fail("fsync", 1 + random.below(4), false), Plan::Count],
    ]
}

fn fail(name: &'static str, nth: usize, full: bool) -> Plan {
    Plan::Fail { name, nth, errno: if full { ENOSPC } else { EIO }, lasting: false }
}

fn all_fail(name: &'static str) -> Plan {
    Plan::Fail { name, nth: 1, errno: EIO, lasting: true }
}

/// One story in a fresh room, with a boot at its end and clean runs after it.
fn play(setting: &Setting, story: &[Plan], seed: u64) -> io::Result<Figures> {
    let ground = Ground::directory()?;
    let mut world = World::new(&ground.room(), setting.clone())?;
    let (mut cache, mut reached) = (Cache::new(Random(setting.seed ^ seed << 20)), false);
    for plan in story {
        let outcome = run(&mut world, *plan, &mut cache)?;
        reached |= outcome.failed > 0 || outcome.end == End::Killed;
        world.between(false)?;
    }
    let lost = cache.boot(world.room())?;
    world.settle()?;
    let mut figures = world.figures()?;
    let told = format!("\n    after {story:?} and a boot that showed {lost} files to be other than in memory");
    figures.complaints.iter_mut().for_each(|complaint| complaint.push_str(&told));
    (figures.points, figures.reached) = (1, usize::from(reached));
    Ok(figures)
}

fn run(world: &mut World, plan: Plan, cache: &mut Cache) -> io::Result<Outcome> {
    let (command, room) = (world.command(), world.room().canonicalize()?);
    let acting = RefCell::new(&mut *world);
    let (mut met, mut played) = (0, Ok(()));
    let outcome = Tracer::new(&room)?
        .at_call(|call| {
            let fails = match plan {
                Plan::Fail { name, nth, lasting, .. } if name == call.name => {
                    met += 1;
                    met == nth || lasting && met > nth
                }
                _ => false,
            };
            if let Err(error) = cache.about_to(call, fails, &room) {
                played = Err(error);
            }
            acting.borrow_mut().act(call);
        })
        .run(command, plan)?;
    played?;
    match outcome.end {
        End::Killed => {}
        End::Exited(0) => {}
        End::Exited(code) if code != 101 && matches!(plan, Plan::Fail { .. }) => {}
        end => world.complain(format!("{plan:?}: the router ended as {end:?} {}: {}", world.stands(), outcome.stderr)),
    }
    Ok(outcome)
}
