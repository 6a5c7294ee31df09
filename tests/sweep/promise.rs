//! The promise, at every point: killed or unplugged, each recipient gets each letter exactly once, whole.
//!
//! The sizes here are those of every test run, a few hundred points in about a minute. `MAILBAG_SWEEP=full cargo test
//! --release --all-features sweep -- --nocapture` tries every point there is.

use super::scenario::Setting;
use super::story::Ground;
use super::sweeps::{Done, Points, cuts, devices, green, kills, kills_in_a_row, sweep, unordered_cuts};

#[test]
fn killed_at_any_call() -> Done {
    let setting = Setting { seed: 1, stays: true, ..Setting::default() };
    let points = Points::count(&setting)?.choose(120, 1);
    green("kills", &sweep(Ground::directory, &setting, kills(&points))?)
}

#[test]
fn killed_two_and_three_times_in_a_row() -> Done {
    let setting = Setting { seed: 2, stays: true, ..Setting::default() };
    let points = Points::count(&setting)?.choose(60, 2);
    green("kills in a row", &sweep(Ground::directory, &setting, kills_in_a_row(&points, 2))?)
}

#[test]
fn killed_while_the_registry_changes() -> Done {
    let setting = Setting { seed: 3, stays: true, late: true, ..Setting::default() };
    let points = Points::count(&setting)?.choose(30, 3);
    green("kills around a change of the registry", &sweep(Ground::directory, &setting, kills(&points))?)
}

#[test]
fn killed_while_the_log_rotates() -> Done {
    let env = vec![("MAILBAG_TEST_SEGMENT_BYTES", "20000".to_owned())];
    let setting = Setting { seed: 4, stays: true, env, ..Setting::default() };
    let points = Points::count(&setting)?.choose(40, 4);
    green("kills with a log that rotates", &sweep(Ground::directory, &setting, kills_in_a_row(&points, 4))?)
}

#[test]
fn the_power_cut_at_any_call() -> Done {
    for kind in devices() {
        let setting = Setting { seed: 5, stays: true, power: true, ..Setting::default() };
        let points = Points::count(&setting)?.choose(45, 5);
        let figures = sweep(|| Ground::device(kind), &setting, cuts(&points, 5))?;
        green(&format!("power cuts on {kind}"), &figures)?;
    }
    Ok(())
}

#[test]
fn the_power_cut_on_a_file_system_that_keeps_no_order() -> Done {
    let setting = Setting { seed: 6, stays: true, power: true, unordered: true, ..Setting::default() };
    let points = Points::count(&setting)?.choose(70, 6);
    green("unordered power cuts", &sweep(Ground::directory, &setting, unordered_cuts(&points, 6))?)
}
