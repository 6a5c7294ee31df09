//! The promise, at every point: killed or unplugged, each recipient gets each letter exactly once, whole.

use super::controls::powered;
use super::device::Kind;
use super::ledger::Figures;
use super::letters::seed_with_lines;
use super::scenario::{BATCH_COPIES, PROGRAM, RECEIPTS_OF_RECORD, STAGE_MS, Setting, World};
use super::story::Ground;
use super::sweeps::{Done, Points, cuts, devices, full, green, kills, kills_in_a_row, sides, sweep, unordered_cuts};
use super::tracer::{End, Outcome, Plan, Tracer};
use crate::world::skip;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

// P44, P46
#[test]
fn killed_at_any_call() -> Done {
    let setting = Setting { seed: 1, stays: true, worklog: true, ..Setting::default() };
    let points = Points::count(&setting)?.choose(30, 1);
    green("kills", &sweep(Ground::directory, &setting, kills(&points))?)
}

#[test]
fn killed_two_and_three_times_in_a_row() -> Done {
    let setting = Setting { seed: 2, stays: true, ..Setting::default() };
    let points = Points::count(&setting)?.choose(14, 2);
    green("kills in a row", &sweep(Ground::directory, &setting, kills_in_a_row(&points, 2))?)
}

#[test]
fn killed_while_the_registry_changes() -> Done {
    let setting = Setting { seed: 3, stays: true, late: true, ..Setting::default() };
    let points = Points::count(&setting)?.choose(10, 3);
    green("kills around a change of the registry", &sweep(Ground::directory, &setting, kills(&points))?)
}

// P143, P144
#[test]
fn killed_and_cut_while_an_agent_gets_another_name() -> Done {
    let setting = Setting { seed: 31, stays: true, joins: true, ..Setting::default() };
    let points = Points::count(&setting)?.choose(6, 31);
    green("kills around a change of a name", &sweep(Ground::directory, &setting, kills(&points))?)?;
    let setting = Setting { power: true, unordered: true, ..setting };
    let points = Points::count(&setting)?.choose(6, 31);
    green("unordered power cuts around it", &sweep(Ground::directory, &setting, unordered_cuts(&points, 31))?)?;
    for kind in devices() {
        let btrfs = kind == Kind::Btrfs;
        let setting = Setting { syncs_inboxes: btrfs, waits_for_router: btrfs, joins: true, ..powered(31) };
        let points = Points::count(&setting)?.choose(3, 31);
        let figures = sweep(|| Ground::device(kind), &setting, cuts(&points, 31))?;
        green(&format!("power cuts around it on {kind}"), &figures)?;
    }
    Ok(())
}

#[test]
fn killed_while_the_log_rotates() -> Done {
    let env = vec![("MAILBAG_TEST_SEGMENT_BYTES", "20000".to_owned()), (RECEIPTS_OF_RECORD, "1".to_owned())];
    let setting = Setting { seed: 4, stays: true, env, ..Setting::default() };
    let points = Points::count(&setting)?.choose(8, 4);
    green("kills with a log that rotates", &sweep(Ground::directory, &setting, kills_in_a_row(&points, 4))?)
}

// P111
#[test]
fn killed_while_files_of_lines_go_in_several_batches() -> Done {
    let env = vec![(BATCH_COPIES, "3".to_owned())];
    let setting = Setting { seed: 9, stays: true, env, ..Setting::default() };
    let points = Points::count(&setting)?.choose(16, 9);
    green("kills between the lines of a file", &sweep(Ground::directory, &setting, kills(&points))?)?;
    green("kills in a row between them", &sweep(Ground::directory, &setting, kills_in_a_row(&points[..12], 9))?)
}

#[test]
fn the_power_cut_while_files_of_lines_go_in_several_batches() -> Done {
    let env = vec![(BATCH_COPIES, "3".to_owned()), (RECEIPTS_OF_RECORD, "1".to_owned())];
    let setting = Setting { seed: 9, stays: true, power: true, unordered: true, env, ..Setting::default() };
    let points = Points::count(&setting)?.choose(12, 9);
    green("unordered power cuts between them", &sweep(Ground::directory, &setting, unordered_cuts(&points, 9))?)
}

// P111, P112
#[test]
fn killed_and_cut_while_a_slow_disk_leaves_lines_to_later_batches() -> Done {
    let env = vec![(STAGE_MS, "0".to_owned())];
    let setting = Setting { seed: seed_with_lines(10), stays: true, env, ..Setting::default() };
    let points = Points::count(&setting)?.choose(15, 10);
    green("kills between late lines", &sweep(Ground::directory, &setting, kills(&points))?)?;
    let setting = Setting { power: true, unordered: true, ..setting };
    let points = Points::count(&setting)?.choose(6, 10);
    green("unordered power cuts between them", &sweep(Ground::directory, &setting, unordered_cuts(&points, 10))?)
}

#[test]
fn killed_and_cut_while_the_index_of_ids_is_written() -> Done {
    // P18
    let env = vec![("MAILBAG_TEST_RECENT_IDS", "5".to_owned())];
    let setting = Setting {
        seed: 17,
        stays: true,
        env,
        ..Setting::default()
    };
    let points = Points::count(&setting)?.choose(12, 17);
    green(
        "kills with a small index",
        &sweep(Ground::directory, &setting, kills_in_a_row(&points, 17))?,
    )?;
    let setting = Setting {
        power: true,
        unordered: true,
        ..setting
    };
    let points = Points::count(&setting)?.choose(6, 17);
    green(
        "unordered power cuts with a small index",
        &sweep(Ground::directory, &setting, unordered_cuts(&points, 17))?,
    )
}

#[test]
fn the_power_cut_at_any_call_on_ext4() -> Done {
    power_cuts_on(Kind::Ext4)
}

#[test]
fn the_power_cut_at_any_call_on_xfs() -> Done {
    power_cuts_on(Kind::Xfs)
}

#[test]
fn the_power_cut_at_any_call_on_btrfs() -> Done {
    power_cuts_on(Kind::Btrfs)
}

fn power_cuts_on(kind: Kind) -> Done {
    if let Some(why) = kind.unavailable() {
        skip(format_args!("power cuts on {kind}: {why}"));
        return Ok(());
    }
    let btrfs = kind == Kind::Btrfs;
    let setting = Setting { syncs_inboxes: btrfs, waits_for_router: btrfs, worklog: true, ..powered(5) };
    let points = Points::count(&setting)?.choose(10, 5);
    green(&format!("power cuts on {kind}"), &sweep(|| Ground::device(kind), &setting, cuts(&points, 5))?)
}

#[test]
fn the_power_cut_on_a_file_system_that_keeps_no_order() -> Done {
    let setting = Setting { seed: 6, stays: true, power: true, unordered: true, worklog: true, ..Setting::default() };
    let points = Points::count(&setting)?.choose(14, 6);
    green("unordered power cuts", &sweep(Ground::directory, &setting, unordered_cuts(&points, 6))?)
}

fn init(home: &TempDir, plan: Plan) -> io::Result<Outcome> {
    let mut command = Command::new(PROGRAM);
    command.arg("init").arg(home.path().join("room"));
    Tracer::new(home.path())?.run(command, plan)
}

#[test]
fn a_room_that_has_its_id_is_complete_wherever_its_making_was_killed() -> Done {
    let whole = TempDir::new()?;
    let sides = sides(&init(&whole, Plan::Count)?);
    let below = |home: &TempDir| -> BTreeSet<PathBuf> {
        let all = walkdir::WalkDir::new(home.path()).into_iter().flatten();
        all.filter_map(|entry| entry.path().strip_prefix(home.path()).map(Path::to_path_buf).ok()).collect()
    };
    let wanted = below(&whole);
    let is_draft = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".tmp"));
    for (call, moment) in sides {
        let home = TempDir::new()?;
        init(&home, Plan::Kill { call, moment })?;
        if home.path().join("room/spool/room").exists() {
            let there: BTreeSet<PathBuf> = below(&home).into_iter().filter(|path| !is_draft(path)).collect();
            assert_eq!(there, wanted, "killed at {call}, {moment:?}");
        }
    }
    Ok(())
}

#[test]
fn killed_while_the_room_is_made() -> Done {
    let mut figures = Figures::default();
    let sides = sides(&init(&TempDir::new()?, Plan::Count)?);
    for (call, moment) in sides.into_iter().step_by(if full() { 1 } else { 12 }) {
        let home = TempDir::new()?;
        let reached = init(&home, Plan::Kill { call, moment })?.end == End::Killed;
        // Making it again completes it.
        let mut world = World::new(&home.path().join("room"), Setting { seed: 7, ..Setting::default() })?;
        world.settle()?;
        figures.add(Figures { points: 1, reached: usize::from(reached), ..world.figures()? });
    }
    green("kills while a room is made", &figures)
}

#[test]
fn killed_while_an_agent_is_added() -> Done {
    let mut figures = Figures::default();
    let add = |world: &World, plan| {
        Tracer::new(world.room())?.run(world.program(&["agent", "add", "newcomer", "--role", "extra"]), plan)
    };
    let new = |home: &TempDir| World::new(&home.path().join("room"), Setting { seed: 8, ..Setting::default() });
    let home = TempDir::new()?;
    let made = add(&new(&home)?, Plan::Count)?;
    for (call, moment) in sides(&made).into_iter().step_by(if full() { 1 } else { 4 }) {
        let home = TempDir::new()?;
        let mut world = new(&home)?;
        let reached = add(&world, Plan::Kill { call, moment })?.end == End::Killed;
        let listed = world.program(&["agent", "show", "newcomer"]).output()?.status.success();
        let again = add(&world, Plan::Count)?;
        if listed == (again.end == End::Exited(0)) {
            world.complain(format!("listed: {listed}, but adding it again ended as {:?}: {}", again.end, again.stderr));
        }
        world.settle()?;
        figures.add(Figures { points: 1, reached: usize::from(reached), ..world.figures()? });
    }
    green("kills while an agent is added", &figures)
}
