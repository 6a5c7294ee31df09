//! The sweeps: which points are tried, and that every one of them ends with all mail delivered exactly once.

use super::calls::Call;
use super::device::{Cut, KINDS, Kind};
use super::ledger::Figures;
use super::letters::Random;
use super::scenario::Setting;
use super::story::{Ground, Power, Strike, count, play};
use super::tracer::{Moment, Outcome, Plan};
use crate::world::skip;
use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::thread;

pub(crate) type Done = Result<(), Box<dyn std::error::Error>>;

/// The number of stories that are played at the same time.
pub(crate) const WORKERS: usize = 2;
/// The most failures that are shown; a sweep with this number of failures ends.
const ENOUGH: usize = 20;

/// Returns true for a run with every point, or with a part of all points.
pub(crate) fn full() -> bool {
    part().is_some()
}

/// The part of a full run: with `full:3/8` the third point and then each eighth, so that eight runs play all.
fn part() -> Option<(usize, usize)> {
    let size = std::env::var("MAILBAG_SWEEP").ok()?;
    let part = size.strip_prefix("full")?;
    let numbers = part.strip_prefix(':').and_then(|part| part.split_once('/'));
    let numbers = numbers.and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    match numbers {
        None if part.is_empty() => Some((1, 1)),
        Some((part, of)) if (1..=of).contains(&part) => Some((part, of)),
        _ => panic!("MAILBAG_SWEEP is {size:?}; give `full`, or `full:3/8` for the third of eight parts"),
    }
}

/// The points of the router's first run, as an undisturbed run shows them.
pub(crate) struct Points {
    points: Vec<(usize, Moment)>,
    outcome: Outcome,
}

impl Points {
    /// Counts the calls of a run in such a room.
    pub(crate) fn count(setting: &Setting) -> io::Result<Points> {
        Ok(Points::of(count(setting)?))
    }

    /// The points of an undisturbed run of another program.
    pub(crate) fn of(outcome: Outcome) -> Points {
        Points { points: sides(&outcome), outcome }
    }

    /// Every point in a full run, or its part of them; else about `most`, of each phase the first, the last and some between.
    pub(crate) fn choose(&self, most: usize, seed: u64) -> Vec<(usize, Moment)> {
        if let Some((part, of)) = part() {
            return self.points.iter().skip(part - 1).step_by(of).copied().collect();
        }
        let mut phases: BTreeMap<String, Vec<(usize, Moment)>> = BTreeMap::new();
        for point in &self.points {
            phases.entry(self.phase(*point)).or_default().push(*point);
        }
        let mut random = Random(seed);
        let mut chosen = Vec::new();
        let (mut left, mut phases_left) = (most, phases.len());
        let mut phases: Vec<_> = phases.into_values().collect();
        phases.sort_by_key(Vec::len);
        for phase in phases {
            let share = (left / phases_left.max(1)).min(phase.len());
            // One point from each of `share` equal ranges.
            for n in 0..share {
                let (from, to) = (n * phase.len() / share, (n + 1) * phase.len() / share);
                let at = if n == 0 { 0 } else if n + 1 == share { to - 1 } else { from + random.below(to - from) };
                chosen.push(phase[at]);
            }
            left -= share;
            phases_left -= 1;
        }
        chosen.sort_by_key(|(number, _)| *number);
        chosen
    }

    /// The points of the calls with these numbers.
    pub(crate) fn sides_of(&self, calls: &[usize]) -> Vec<(usize, Moment)> {
        self.points.iter().filter(|(number, _)| calls.contains(number)).copied().collect()
    }

    /// The calls on paths below a directory of this name.
    pub(crate) fn calls_below(&self, directory: &str) -> Vec<usize> {
        self.outcome.changes().filter(|call| call.paths.iter().any(|path| path.iter().any(|part| part == directory))).filter_map(|call| call.number).collect()
    }

    /// The last points: the router is idle, and then ends.
    pub(crate) fn last(&self, most: usize) -> &[(usize, Moment)] {
        &self.points[self.points.len().saturating_sub(most)..]
    }

    /// Calls of one name on the same directories are one phase; of messages, not which.
    fn phase(&self, (number, moment): (usize, Moment)) -> String {
        let call = self.outcome.changes().find(|call| call.number == Some(number));
        call.map_or_else(String::new, |call| format!("{}{moment:?}", kind(call)))
    }
}

/// Both sides of every call, and its middle if it has one.
pub(crate) fn sides(outcome: &Outcome) -> Vec<(usize, Moment)> {
    let mut points = Vec::new();
    for call in outcome.changes() {
        let number = call.number.unwrap_or_default();
        points.push((number, Moment::Before));
        if call.bytes.is_some_and(|bytes| bytes > 1) {
            points.push((number, Moment::Halfway));
        }
        points.push((number, Moment::After));
    }
    points
}

/// The name of a call and its directories, without the names of agents.
fn kind(call: &Call) -> String {
    let known =
        ["outbox", "inbox", "sent", "rejected", "claim", "stage", "log", "spool", "quarantine", "archive"];
    let directories = call.paths.iter().map(|path| {
        let parts = path.components().rev().filter_map(|part| part.as_os_str().to_str());
        parts.into_iter().find(|part| known.contains(part)).unwrap_or("room")
    });
    format!("{} {}", call.name, directories.collect::<Vec<_>>().join(" "))
}

/// Plays all stories, each in its own room, and adds up their results.
pub(crate) fn sweep(
    ground: impl Fn() -> io::Result<Ground> + Sync,
    setting: &Setting,
    stories: Vec<Vec<Strike>>,
) -> io::Result<Figures> {
    sweep_until(ENOUGH, ground, setting, stories)
}

/// As [`sweep`], up to `enough` complaints.
pub(crate) fn sweep_until(
    enough: usize,
    ground: impl Fn() -> io::Result<Ground> + Sync,
    setting: &Setting,
    stories: Vec<Vec<Strike>>,
) -> io::Result<Figures> {
    on_grounds(WORKERS, stories, enough, ground, |ground, _, story| play(ground, setting, &story))
}

/// Plays all stories, `workers` at a time, until `enough` complaints are found, and adds up their results.
pub(crate) fn side_by_side<S: Send>(
    workers: usize,
    stories: Vec<S>,
    enough: usize,
    play: impl Fn(u64, S) -> io::Result<Figures> + Sync,
) -> io::Result<Figures> {
    on_grounds(workers, stories, enough, || Ok(()), |(), n, story| play(n, story))
}

/// As [`side_by_side`]. Each worker plays on a ground of its own.
fn on_grounds<G, S: Send>(
    workers: usize,
    stories: Vec<S>,
    enough: usize,
    ground: impl Fn() -> io::Result<G> + Sync,
    play: impl Fn(&mut G, u64, S) -> io::Result<Figures> + Sync,
) -> io::Result<Figures> {
    let total = Mutex::new((Figures::default(), stories.into_iter().zip(0..)));
    thread::scope(|scope| {
        let work = || -> io::Result<()> {
            let mut ground = ground()?;
            loop {
                let next = {
                    let mut total = total.lock().expect("no worker panics while it holds this");
                    if total.0.complaints.len() >= enough { None } else { total.1.next() }
                };
                let Some((story, n)) = next else { return Ok(()) };
                let figures = play(&mut ground, n, story)?;
                total.lock().expect("no worker panics while it holds this").0.add(figures);
            }
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    Ok(total.into_inner().expect("all workers are done").0)
}

/// Prints the line of figures, and fails if there are complaints.
pub(crate) fn green(name: &str, figures: &Figures) -> Done {
    println!("{name}: {figures}");
    if figures.is_green() && figures.points > 0 {
        return Ok(());
    }
    let some = figures.complaints.iter().take(ENOUGH).cloned().collect::<Vec<_>>().join("\n  ");
    Err(format!("{name}: {figures}\n  {some}").into())
}

/// Plays a story once to count its calls, then with a kill at some of them, at most about `most`.
pub(crate) fn kill_each(
    what: &str,
    most: usize,
    seed: u64,
    play: impl Fn(Plan) -> io::Result<(Figures, Outcome)>,
) -> Done {
    let (mut figures, outcome) = play(Plan::Count)?;
    for (call, moment) in Points::of(outcome).choose(most, seed) {
        figures.add(play(Plan::Kill { call, moment })?.0);
    }
    green(what, &figures)
}

/// Points of a run, each one story of a kill.
pub(crate) fn kills(points: &[(usize, Moment)]) -> Vec<Vec<Strike>> {
    points.iter().map(|(number, moment)| vec![Strike::kill(*number, *moment)]).collect()
}

/// Points of a run, each followed by one or two kills during the recovery from it.
pub(crate) fn kills_in_a_row(points: &[(usize, Moment)], seed: u64) -> Vec<Vec<Strike>> {
    let mut random = Random(seed);
    let stories = points.iter().enumerate().map(|(n, (number, moment))| {
        let mut story = vec![Strike::kill(*number, *moment)];
        for _ in 0..1 + n % 2 {
            story.push(during_recovery(&mut random));
        }
        story
    });
    stories.collect()
}

/// Most of a recovery's own calls are among its first.
fn during_recovery(random: &mut Random) -> Strike {
    let most = [6, 40, 300][random.below(3)];
    let moment = [Moment::Before, Moment::Halfway, Moment::After][random.below(3)];
    Strike::kill(1 + random.below(most), moment)
}

/// Power cuts at points of a run, in turn: alone, with a commit just before, and after a kill, during the recovery.
pub(crate) fn cuts(points: &[(usize, Moment)], seed: u64) -> Vec<Vec<Strike>> {
    let mut random = Random(seed);
    let ways = [
        |kill: Strike, _: &mut Random| vec![kill.with(Power::Cut(Cut::Hard))],
        |kill: Strike, _: &mut Random| vec![kill.with(Power::Cut(Cut::AfterCommit))],
        |kill, random: &mut Random| vec![kill, during_recovery(random).with(Power::Cut(Cut::Hard))],
    ];
    let ways_of_each = if full() { ways.len() } else { 1 };
    let mut stories = Vec::new();
    for (n, (number, moment)) in points.iter().enumerate() {
        for way in 0..ways_of_each {
            stories.push(ways[(n + way) % ways.len()](Strike::kill(*number, *moment), &mut random));
        }
    }
    stories
}

/// The same on a file system that keeps no order.
pub(crate) fn unordered_cuts(points: &[(usize, Moment)], seed: u64) -> Vec<Vec<Strike>> {
    let mut random = Random(seed);
    let stories = points.iter().enumerate().map(|(n, (number, moment))| {
        let power = Power::Unordered(random.next());
        let kill = Strike::kill(*number, *moment);
        if n % 3 < 2 { vec![kill.with(power)] } else { vec![kill, during_recovery(&mut random).with(power)] }
    });
    stories.collect()
}

/// Where power-cut sweeps can be played here; says of the others why not.
pub(crate) fn devices() -> Vec<Kind> {
    let mut devices = Vec::new();
    for kind in KINDS {
        match kind.unavailable() {
            Some(why) => skip(format_args!("power cuts on {kind}: {why}")),
            None => devices.push(kind),
        }
    }
    devices
}

/// Kills between the writing of the log and its sync, and then, at every call of the recovery, the power goes: what
/// recovery has read and acted upon must be durable.
pub(crate) fn after_the_log_grew(points: &Points, seed: u64, device: bool) -> Vec<Vec<Strike>> {
    let mut random = Random(seed);
    let mut power = || if device { Power::Cut(Cut::Hard) } else { Power::Unordered(random.next()) };
    let writes = points.outcome.changes().filter(|call| kind(call) == "write log");
    let mut stories = Vec::new();
    for number in writes.filter_map(|call| call.number) {
        for during in (1..=120).step_by(3) {
            let recovery = Strike::kill(during, Moment::Before).with(power());
            stories.push(vec![Strike::kill(number, Moment::After), recovery]);
        }
    }
    stories
}
