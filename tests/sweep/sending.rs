//! A send that makes the pass itself, disturbed at every step: a message that it reported as sent arrives once, and no
//! message arrives twice.

use super::controls::red;
use super::errors::ERRORS;
use super::ledger::Figures;
use super::letters::Random;
use super::one_pass::{done, drop_file, new_room, pass};
use super::scenario::{PROGRAM, Setting};
use super::sweeps::{Done, Points, full, green};
use super::tracer::{End, Outcome, Plan, Tracer};
use super::weak::Unsynced;
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// When everything happens, but for the passes afterwards, which come when each budget is full again.
const NOW: &str = "2026-11-23T08:00:00Z";
const LATER: [&str; 3] = ["2026-11-23T09:00:00Z", "2026-11-23T10:00:00Z", "2026-11-23T11:00:00Z"];

/// The result of the send's pass for the message.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Delivered,
    /// Its sender is over its budget: it stays in the outbox.
    Left,
}

/// A send, disturbed, with the power lost at its end where `cut` is given; then passes, and everything that is wrong then.
fn play(setting: &Setting, fate: Fate, plan: Plan, cut: Option<u64>) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let room = home.path().join("room");
    new_room(&room, &["alice", "bob"])?;
    if fate == Fate::Left {
        fs::write(room.join("settings.toml"), "budget.messages = 1\n")?;
    }
    done(pass(&room, NOW))?;
    if fate == Fate::Left {
        drop_file(&room, "alice", "0-before", json!({"to": "bob", "body": "before"}))?;
        fs::File::open(room.join("outbox/alice/0-before.json"))?.sync_all()?;
        fs::File::open(room.join("outbox/alice"))?.sync_all()?;
    }
    let mut send = Command::new(PROGRAM);
    send.args(["send", "bob", "the letter", "--as", "alice", "--room"]).arg(&room).env("MAILBAG_TEST_NOW", NOW);
    send.envs(setting.env.iter().map(|(name, value)| (*name, value)));
    let mut unsynced = Unsynced::default();
    let outcome = Tracer::new(&room)?.at_call(|call| unsynced.about_to(call)).run(send, plan)?;
    unsynced.ended(&outcome);
    cut.map_or(Ok(()), |seed| unsynced.undo(&mut Random(seed)))?;
    LATER.iter().try_for_each(|time| done(pass(&room, time)))?;
    let mut figures = Figures::of(&outcome);
    judge(&room, &outcome, cut.is_some(), &mut figures)?;
    let told = format!("\n    after {plan:?}, cut {cut:?}, {:?}: {}", outcome.end, outcome.stderr);
    figures.complaints.iter_mut().for_each(|complaint| complaint.push_str(&told));
    Ok((figures, outcome))
}

fn judge(room: &Path, outcome: &Outcome, was_cut: bool, figures: &mut Figures) -> io::Result<()> {
    let is_letter = |mail: &Value| mail["body"] == "the letter";
    let came = mail(room, "bob")?.iter().filter(|mail| is_letter(mail)).count();
    // The id is printed when the file has its name. Only a power cut can remove the name.
    let is_promised = outcome.end == End::Exited(0) || !was_cut && outcome.stdout.contains('\n');
    match came {
        0 if is_promised => figures.lost("the letter".to_owned()),
        0 | 1 => {}
        n => figures.duplicated(format!("the letter came {n} times")),
    }
    for (name, kept) in files(&room.join("sent/alice"))? {
        if serde_json::from_slice::<Value>(&kept).is_err() {
            figures.damaged(format!("its sender keeps {name} with {} bytes", kept.len()));
        }
    }
    for said in mail(room, "alice")? {
        figures.damaged(format!("its sender was told: {}", said["subject"]));
    }
    if matches!(outcome.end, End::Exited(101) | End::Hung | End::Signalled(_)) {
        figures.damaged(format!("it ended as {:?}", outcome.end));
    }
    Ok(())
}

fn mail(room: &Path, agent: &str) -> io::Result<Vec<Value>> {
    let files = files(&room.join("inbox").join(agent))?;
    files.into_iter().map(|(_, bytes)| Ok(serde_json::from_slice(&bytes)?)).collect()
}

/// The messages in a directory, by name.
fn files(directory: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = entries.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    files.map(|path| Ok((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), fs::read(path)?))).collect()
}

fn setting(seed: u64) -> Setting {
    Setting { seed, ..Setting::default() }
}

#[test]
fn a_send_killed_or_cut_off_from_the_power_at_any_call() -> Done {
    for (fate, setting) in [(Fate::Delivered, setting(51)), (Fate::Left, setting(52))] {
        let (mut figures, outcome) = play(&setting, fate, Plan::Count, None)?;
        for (call, moment) in Points::of(outcome).choose(6, setting.seed) {
            figures.add(play(&setting, fate, Plan::Kill { call, moment }, None)?.0);
        }
        figures.add(cuts(&setting, fate, usize::MAX)?);
        green(&format!("sends killed and cut off from the power, {fate:?}"), &figures)?;
    }
    Ok(())
}

/// Power cuts at calls of the send and after its end, each with other undone parts.
fn cuts(setting: &Setting, fate: Fate, enough: usize) -> io::Result<Figures> {
    let (mut figures, outcome) = play(setting, fate, Plan::Count, Some(setting.seed))?;
    for (n, (call, moment)) in Points::of(outcome).choose(16, setting.seed).into_iter().enumerate() {
        for way in 0..if full() { 8 } else { 2 } {
            let plan = if (n + way) % 4 == 0 { Plan::Count } else { Plan::Kill { call, moment } };
            figures.add(play(setting, fate, plan, Some(setting.seed ^ (n as u64) << 8 ^ way as u64))?.0);
            if figures.complaints.len() >= enough {
                return Ok(figures);
            }
        }
    }
    Ok(figures)
}

#[test]
fn a_send_in_which_any_call_fails() -> Done {
    for (fate, setting) in [(Fate::Delivered, setting(53)), (Fate::Left, setting(54))] {
        let (mut figures, outcome) = play(&setting, fate, Plan::Count, None)?;
        let (made, mut random) = (outcome.names(), Random(setting.seed));
        for (name, errors) in ERRORS {
            let calls = made.get(name).copied().unwrap_or_default();
            for &errno in errors.iter().filter(|errno| calls > 0 && **errno != libc::EINTR) {
                // A read decides whether the message is picked up and stays so.
                let is_each = full() || name == "read" && fate == Fate::Delivered;
                let chosen = if is_each { (1..=calls).collect() } else { vec![1 + random.below(calls)] };
                for nth in chosen {
                    // With the power gone at the end of half of them: what exited with 0 is durable.
                    let cut = (nth % 2 == 0).then_some(setting.seed ^ nth as u64);
                    figures.add(play(&setting, fate, Plan::Fail { name, nth, errno, lasting: false }, cut)?.0);
                }
            }
        }
        green(&format!("sends with a call that fails, {fate:?}"), &figures)?;
    }
    Ok(())
}

#[test]
fn without_the_sync_that_a_send_in_its_own_pass_relies_on() -> Done {
    red("recovery-barrier", setting(55), |setting| cuts(setting, Fate::Delivered, 1))
}
