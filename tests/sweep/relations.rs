//! The index of relations after kills, power cuts and errors: it finds each record that it should find, and it is whole
//! again after clean runs.

use super::errors;
use super::ledger::Figures;
use super::scenario::Setting;
use super::story::{Ground, count};
use super::sweeps::{Done, Points, green, kills_in_a_row, sweep, unordered_cuts};
use super::tracer::Moment;
use mailbag::log::LogPosition;
use mailbag::log::state::{self, Relation, Relations};
use mailbag::room::Room;
use serde_json::Value;
use std::fs;
use std::io;
use std::path::Path;

/// Makes checkpoints frequent, and with them the index.
const CHECKPOINT_BYTES: &str = "MAILBAG_TEST_CHECKPOINT_BYTES";

/// Compares the index with the log, which is searched without the library.
pub(crate) fn check(room: &Path, setting: &Setting, figures: &mut Figures) -> io::Result<()> {
    let room = Room::open(room).map_err(io::Error::other)?;
    let is_required = setting
        .env
        .iter()
        .any(|(name, _)| *name == CHECKPOINT_BYTES);
    let mut state = match state::committed(&room.dir) {
        Ok(state) => state,
        Err(e) => {
            figures.damaged(e.to_string());
            return Ok(());
        }
    };
    // A run that could not be written is made with the next checkpoint.
    if is_required && Relations::open(&room.dir, &state).is_none() {
        let mut whole = state::replay(&room.dir).map_err(io::Error::other)?.state;
        whole.save(&room.dir).map_err(io::Error::other)?;
        state = state::committed(&room.dir).map_err(io::Error::other)?;
    }
    let Some(relations) = Relations::open(&room.dir, &state) else {
        if is_required {
            figures.damaged("the index of relations is not whole after a checkpoint".into());
        }
        return Ok(());
    };
    for (place, record) in records(&room.dir.path().join("log"))? {
        for (name, relation) in expected(&record) {
            let found = relations.places(&[relation(&name)]);
            // A damaged index is not used, but after clean runs it is not damaged.
            if !found.is_some_and(|places| places.contains(&place)) {
                figures.damaged(format!("the index does not find {name} at {place:?}"));
            }
        }
    }
    Ok(())
}

type Related = for<'a> fn(&'a str) -> Relation<'a>;

/// The relations of a record.
fn expected(record: &Value) -> Vec<(String, Related)> {
    let message = &record["message"];
    let texts: [(&Value, Related); 3] = [
        (&record["id"], |id| Relation::Id(id)),
        (&message["thread_id"], |thread| Relation::Thread(thread)),
        (&message["in_reply_to"], |name| {
            Relation::Answered(name.rsplit('/').next().unwrap_or(name))
        }),
    ];
    let mut all: Vec<(String, Related)> = Vec::new();
    for (text, relation) in texts {
        all.extend(text.as_str().map(|text| (text.to_owned(), relation)));
    }
    for receipt in record["receipts"].as_array().into_iter().flatten() {
        for seq in receipt["seqs"].as_array().into_iter().flatten() {
            all.push((seq.to_string(), |seq| {
                Relation::Concerned(seq.parse().unwrap_or_default())
            }));
        }
    }
    all
}

/// The records in `log/`, with their positions.
fn records(log: &Path) -> io::Result<Vec<(LogPosition, Value)>> {
    let mut records = Vec::new();
    for entry in fs::read_dir(log)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let Ok(segment) = name.parse() else { continue };
        let mut offset = 0;
        for line in fs::read(&path)?.split_inclusive(|byte| *byte == b'\n') {
            if let Ok(record) = serde_json::from_slice(line) {
                records.push((LogPosition { segment, offset }, record));
            }
            offset += line.len() as u64;
        }
    }
    Ok(records)
}

fn setting(seed: u64) -> Setting {
    let env = vec![
        (CHECKPOINT_BYTES, "3000".to_owned()),
        ("MAILBAG_TEST_SEGMENT_BYTES", "20000".to_owned()),
    ];
    Setting {
        seed,
        stays: true,
        env,
        ..Setting::default()
    }
}

/// Points at calls that write the index, and the same number of others.
fn points(setting: &Setting, most: usize) -> io::Result<Vec<(usize, Moment)>> {
    let points = Points::count(setting)?;
    let mut chosen = points.sides_of(&points.calls_below("relations"));
    assert!(chosen.len() > 10, "the index is written often");
    let step = (chosen.len() / most).max(1);
    chosen = chosen.into_iter().step_by(step).collect();
    chosen.extend(points.choose(most, setting.seed));
    Ok(chosen)
}

#[test]
fn the_index_of_relations_is_right_after_kills() -> Done {
    let setting = setting(41);
    let stories = kills_in_a_row(&points(&setting, 14)?, 41);
    green(
        "kills while the index of relations is written",
        &sweep(Ground::directory, &setting, stories)?,
    )
}

#[test]
fn the_index_of_relations_is_right_after_power_cuts() -> Done {
    let setting = Setting {
        power: true,
        unordered: true,
        ..setting(42)
    };
    let stories = unordered_cuts(&points(&setting, 10)?, 42);
    green(
        "unordered power cuts while the index of relations is written",
        &sweep(Ground::directory, &setting, stories)?,
    )
}

#[test]
fn the_index_of_relations_is_right_after_calls_that_fail() -> Done {
    // A router that stays would wait for the end of a lasting failure.
    let setting = Setting {
        stays: false,
        ..setting(43)
    };
    let made = count(&setting)?.names();
    let stories = errors::failures(&made, 43);
    green(
        "calls that fail while the index of relations is written",
        &sweep(Ground::directory, &setting, stories)?,
    )
}
