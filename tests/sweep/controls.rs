//! The controls of the sweeps: with one protection disabled, each sweep must fail.
//!
//! `MAILBAG_FAILPOINT` does that, in builds with the feature `failpoints` only. If no sweep notices a missing protection, the
//! protection is either not needed or not tested.

use super::device::Kind;
use super::ledger::Figures;
use super::scenario::Setting;
use super::story::{Ground, Power, Strike};
use super::{broken, passing};
use super::sweeps::{Done, Points, after_the_log_grew, cuts, full, green, kills, sweep, sweep_until, unordered_cuts};
use super::tracer::Plan;
use crate::world::skip;
use std::io;

type Found = io::Result<Figures>;

/// Runs a sweep with this protection off until something is wrong, and fails if nothing ever is.
pub(crate) fn red(fault: &str, setting: Setting, sweep: impl Fn(&Setting) -> Found) -> Done {
    let env = [setting.env.clone(), vec![("MAILBAG_FAILPOINT", fault.to_owned())]].concat();
    let figures = sweep(&Setting { env, ..setting })?;
    println!("control {fault}: {figures}");
    let first = figures.complaints.first().ok_or_else(|| format!("no sweep notices that {fault} is off"))?;
    println!("  {first}");
    Ok(())
}

fn red_on_ext4(fault: &str, setting: Setting, stories: impl Fn(&Setting) -> io::Result<Vec<Vec<Strike>>>) -> Done {
    red_on(Kind::Ext4, fault, setting, stories)
}

/// The same with the power of a real file system.
pub(crate) fn red_on(
    kind: Kind,
    fault: &str,
    setting: Setting,
    stories: impl Fn(&Setting) -> io::Result<Vec<Vec<Strike>>>,
) -> Done {
    if let Some(why) = kind.unavailable() {
        skip(format_args!("control {fault} on {kind}: {why}"));
        return Ok(());
    }
    red(fault, setting, |setting| sweep_until(1, || Ground::device(kind), setting, stories(setting)?))
}

fn undisturbed() -> Vec<Vec<Strike>> {
    vec![vec![Strike { plan: Plan::Count, power: Power::On }]]
}

pub(crate) fn until_red(setting: &Setting, stories: Vec<Vec<Strike>>) -> Found {
    sweep_until(1, Ground::directory, setting, stories)
}

pub(crate) fn powered(seed: u64) -> Setting {
    Setting { seed, stays: true, power: true, ..Setting::default() }
}

fn unordered(seed: u64) -> Setting {
    Setting { unordered: true, ..powered(seed) }
}

#[test]
fn without_the_duplicate_check() -> Done {
    red("duplicate-check", Setting { seed: 11, ..Setting::default() }, |setting| until_red(setting, undisturbed()))
}

#[test]
fn without_the_claim() -> Done {
    red("claim", Setting { seed: 12, stays: true, ..Setting::default() }, |setting| {
        let points = Points::count(setting)?.choose(60, 12);
        until_red(setting, [undisturbed(), kills(&points)].concat())
    })
}

#[test]
fn without_the_rename_that_never_replaces() -> Done {
    let setting = Setting { seed: 13, squatters: true, ..Setting::default() };
    green("a name that is taken", &sweep(Ground::directory, &setting, undisturbed())?)?;
    red("no-replace", setting, |setting| until_red(setting, undisturbed()))
}

#[test]
fn without_the_sync_of_staged_files() -> Done {
    red("stage-sync", unordered(14), |setting| {
        let points = Points::count(setting)?.choose(60, 14);
        until_red(setting, unordered_cuts(&points, 14))
    })?;
    red_on_ext4("stage-sync", powered(14), |setting| {
        Ok(cuts(&Points::count(setting)?.choose(60, 14), 14))
    })
}

#[test]
fn without_the_sync_of_the_log() -> Done {
    red("log-sync", unordered(44), |setting| {
        let points = Points::count(setting)?.choose(120, 44);
        until_red(setting, unordered_cuts(&points, 44))
    })?;
    red_on_ext4("log-sync", powered(44), |setting| {
        Ok(cuts(&Points::count(setting)?.choose(120, 44), 44))
    })
}

#[test]
fn the_cut_of_an_acknowledged_record_is_noticed() -> Done {
    let env = vec![("MAILBAG_FAILPOINT", "log-sync".to_owned())];
    let setting = Setting { env, ..unordered(44) };
    let points = Points::count(&setting)?.choose(120, 44);
    let figures = sweep_until(40, Ground::directory, &setting, unordered_cuts(&points, 44))?;
    let is_noticed = figures.complaints.iter().any(|complaint| complaint.contains("was acknowledged before the cut"));
    assert!(is_noticed, "{figures}");
    Ok(())
}

#[test]
fn without_the_barrier_before_settled() -> Done {
    // About one cut in 150 shows it, so the small size has too few.
    if !full() {
        println!("control settled-barrier: only in the full size");
        return Ok(());
    }
    red("settled-barrier", unordered(15), |setting| {
        let points = Points::count(setting)?;
        let stories = (15..25).flat_map(|seed| unordered_cuts(points.last(160), seed));
        until_red(setting, stories.collect())
    })
}

#[test]
fn without_the_first_barrier_of_recovery() -> Done {
    // The rewrite of the log's last batch also syncs it, so the sweep only notices that both are missing.
    red("recovery-barrier,rewrite", unordered(16), |setting| {
        until_red(setting, after_the_log_grew(&Points::count(setting)?, 16, false))
    })?;
    red_on_ext4("recovery-barrier,rewrite", powered(16), |setting| {
        Ok(after_the_log_grew(&Points::count(setting)?, 16, true))
    })
}

#[test]
fn without_the_rewrite_of_the_log_s_last_batch() -> Done {
    red("rewrite", powered(31), passing::until_red)?;
    let env = vec![("MAILBAG_FAILPOINT", "rewrite".to_owned())];
    for (kind, figures) in broken::until_red(&Setting { env, ..powered(31) })? {
        println!("control rewrite on {kind}: {figures}");
        println!("  {}", figures.complaints.first().ok_or_else(|| format!("{kind} does not notice that it is off"))?);
    }
    Ok(())
}

#[test]
fn without_the_look_for_holes() -> Done {
    red("holes", powered(31), passing::until_red)
}
