//! A power cut on a file system that logs synced directories one by one, as btrfs does: a moved file keeps both names if
//! only its target directory was synced.
//!
//! Simulated in any directory with hard links. Recipients sync their inboxes at any time, so delivered files count as
//! synced.

use super::controls::{red, red_on, until_red};
use super::device::Kind;
use super::scenario::Setting;
use super::story::{Ground, Power, Strike};
use super::sweeps::{Done, Points, cuts, green, sweep, unordered_cuts};
use super::tracer::{End, Moment, Outcome, Plan, Tracer};
use crate::world::World;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

/// The moved files that are not synced at both ends.
#[derive(Default)]
pub(crate) struct Moves(Vec<Move>);

struct Move {
    from: PathBuf,
    to: PathBuf,
    arrived: bool,
}

impl Moves {
    /// The program has ended.
    pub(crate) fn ended(&mut self, outcome: &Outcome) {
        for call in outcome.changes().filter(|call| matches!(call.result, Some(0..))) {
            match (call.name, &*call.paths) {
                (name, [from, to]) if name.starts_with("rename") => {
                    let arrived = to.components().any(|part| part.as_os_str() == "inbox");
                    self.0.push(Move { from: from.clone(), to: to.clone(), arrived });
                }
                ("syncfs" | "sync", _) => self.0.clear(),
                // To sync a directory that something has left commits everything.
                ("fsync", [dir]) if self.0.iter().any(|one| one.from.parent() == Some(dir)) => self.0.clear(),
                ("fsync", [dir]) => {
                    self.0.iter_mut().for_each(|one| one.arrived |= one.to.parent() == Some(dir));
                }
                _ => {}
            }
        }
    }

    /// Something has synced the whole file system.
    pub(crate) fn synced(&mut self) {
        self.0.clear();
    }

    /// The power is gone: the old names come back beside the new ones.
    pub(crate) fn restore(&mut self) -> io::Result<()> {
        for Move { from, to, .. } in self.0.drain(..).filter(|one| one.arrived) {
            let read = to.parent().zip(to.file_name()).map(|(dir, name)| dir.join("seen").join(name));
            let stands = [Some(to), read].into_iter().flatten().find(|path| path.is_file());
            if let Some(stands) = stands.filter(|_| !from.exists() && from.parent().is_some_and(Path::is_dir)) {
                fs::hard_link(stands, from)?;
            }
        }
        Ok(())
    }
}

/// A router in a room where recipients touch nothing between the return of the power and its next start.
pub(crate) fn setting(seed: u64) -> Setting {
    Setting { seed, stays: true, power: true, waits_for_router: true, ..Setting::default() }
}

/// The cuts of a file system without order, on one that leaves both names.
pub(crate) fn stories(points: &Points, most: usize, seed: u64) -> Vec<Vec<Strike>> {
    let mut stories = unordered_cuts(&points.choose(most, seed), seed);
    for strike in stories.iter_mut().flatten().filter(|strike| strike.power != Power::On) {
        strike.power = Power::BothNames;
    }
    stories
}

// P91
#[test]
fn a_file_that_has_both_names_after_a_power_cut_is_delivered_once() -> Done {
    let setting = setting(17);
    let stories = stories(&Points::count(&setting)?, 60, 17);
    green("power cuts that leave both names", &sweep(Ground::directory, &setting, stories)?)
}

// P91
#[test]
fn without_the_look_for_a_second_name() -> Done {
    red("second-name", setting(18), |setting| {
        until_red(setting, stories(&Points::count(setting)?, 60, 18))
    })?;
    red_on(Kind::Btrfs, "second-name", Setting { syncs_inboxes: true, ..setting(18) }, |setting| {
        Ok(cuts(&Points::count(setting)?.choose(60, 18), 18))
    })
}

/// A sync of the inbox alone gives both names to a file that was just delivered.
#[test]
fn no_command_of_a_reader_syncs_a_directory_of_its_inbox() -> Done {
    let world = World::alice_and_bob();
    let _router = world.router("");
    let commands: [&[&str]; 2] = [
        &["wait"],
        &["read"],
    ];
    for args in commands {
        world.send("alice", "bob", "hello");
        world.wait("the mail is there", || !world.inbox("bob").is_empty());
        let mut command = world.bare(args);
        command.args(["--as", "bob"]);
        // The router is a child of this thread, and the tracer waits for any.
        let trace = || Tracer::new(world.path())?.run(command, Plan::Count);
        let outcome = thread::scope(|scope| scope.spawn(trace).join().expect("a tracer does not panic"))?;
        assert_eq!(outcome.end, End::Exited(0), "mailbag {args:?}: {}", outcome.stderr);
        let synced = outcome.changes().filter(|call| call.name == "fsync").map(|call| call.shown(world.path()));
        let synced: Vec<_> = synced.filter(|path| path.contains("inbox")).collect();
        assert!(synced.is_empty(), "mailbag {args:?} synced {synced:?}");
    }
    Ok(())
}

#[test]
fn a_copy_that_is_also_in_seen_is_read_once() -> Done {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hello");
    world.ok("read --as bob");
    let name = world.names("inbox/bob/seen").pop().ok_or("nothing was read")?;
    fs::hard_link(world.room("inbox/bob/seen").join(&name), world.room("inbox/bob").join(&name))?;
    world.ok("read --all --as bob");
    assert_eq!((world.names("inbox/bob").len(), world.names("inbox/bob/seen").len()), (0, 1));
    Ok(())
}

/// A second name that is not the recipient's says nothing: many keep copies of a directory by hard links.
#[test]
fn a_staged_copy_with_a_name_outside_the_inbox_is_delivered() -> Done {
    let room = || {
        let world = World::alice_and_bob();
        world.drop_file("alice", "a.json", r#"{"to": "bob", "body": "hello"}"#);
        world
    };
    let pass = |world: &World, plan| Tracer::new(world.path())?.run(world.bare("run --once"), plan);
    let counted = pass(&room(), Plan::Count)?;
    let call = counted.changes().find(|call| call.name.starts_with("rename") && call.paths[1].iter().any(|part| part == "inbox")).and_then(|call| call.number).ok_or("nothing was delivered")?;
    let world = room();
    pass(&world, Plan::Kill { call, moment: Moment::Before })?;
    for staged in fs::read_dir(world.room("spool/stage"))? {
        let staged = staged?;
        fs::hard_link(staged.path(), world.path().join(staged.file_name()))?;
    }
    world.pass();
    assert_eq!(world.bodies("bob"), ["hello"]);
    Ok(())
}

/// A recipient moved its copy and synced only the target directory.
#[test]
fn a_copy_that_is_below_its_inbox_too_after_a_boot_was_moved_there() -> Done {
    // P91
    let world = World::alice_and_bob();
    for body in ["moved", "linked", "unread"] {
        world.send("alice", "bob", body);
    }
    let names = world.names("inbox/bob");
    fs::create_dir_all(world.room("inbox/bob/done/deep"))?;
    fs::hard_link(world.room("inbox/bob").join(&names[0]), world.room("inbox/bob/done/deep").join(&names[0]))?;
    // A second name outside the inbox can belong to a backup.
    fs::hard_link(world.room("inbox/bob").join(&names[1]), world.path().join(&names[1]))?;
    world.pass();
    assert_eq!(world.names("inbox/bob").len(), 3, "the machine did not start again");
    fs::remove_file(world.room("spool/boot"))?;
    world.pass();
    assert_eq!(world.bodies("bob"), ["linked", "unread"]);
    assert_eq!(world.names("inbox/bob/done/deep"), names[..1]);
    let traced = world.json("trace 2 --as alice");
    assert_eq!(traced["recipients"][0]["status"], "seen", "{traced}");
    Ok(())
}

/// A power cut can take the content of a file that its sender did not sync. Nothing can complete a claim.
#[test]
fn a_claim_that_lost_its_content_is_retired_by_the_next_pass() -> Done {
    for content in ["", "{\"to\": \"bob\", "] {
        let room = || {
            let world = World::alice_and_bob();
            world.drop_file("alice", "a.json", r#"{"to": "bob", "body": "hello"}"#);
            world
        };
        let pass = |world: &World, plan| Tracer::new(world.path())?.run(world.bare("run --once"), plan);
        let counted = pass(&room(), Plan::Count)?;
        let call = counted.changes().find(|call| call.name.starts_with("rename") && call.paths[1].iter().any(|part| part == "claim")).and_then(|call| call.number).ok_or("nothing was claimed")?;
        let world = room();
        pass(&world, Plan::Kill { call, moment: Moment::After })?;
        let claim = fs::read_dir(world.room("spool/claim"))?.next().ok_or("there is no claim")??.path();
        fs::write(claim, content)?;
        world.pass();
        assert_eq!(fs::read_dir(world.room("spool/claim"))?.count(), 0, "{content:?}");
        assert_eq!(world.names("rejected/alice").len(), 2);
    }
    Ok(())
}
