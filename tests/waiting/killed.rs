//! Takers killed at each of their system calls that changes something in a shared inbox.

use super::sharing::{places, shop};
use crate::files;
use crate::sweep::tracer::{Moment, Outcome, Plan, Tracer};
use crate::world::World;

fn traced(world: &World, args: &[&str], plan: Plan) -> Outcome {
    let mut tracer = Tracer::new(&world.room("")).expect("the room is there");
    tracer
        .run(world.bare(args), plan)
        .expect("it can be traced")
}

/// The numbers of the calls that change something in the inbox.
fn points(world: &World, args: &[&str]) -> Vec<usize> {
    let outcome = traced(world, args, Plan::Count);
    let points: Vec<usize> = outcome
        .changes()
        .filter(|call| {
            call.paths
                .iter()
                .any(|path| path.to_string_lossy().contains("inbox/builders"))
        })
        .filter_map(|call| call.number)
        .collect();
    assert!(!points.is_empty(), "{outcome:#?}");
    points
}

const MOMENTS: [Moment; 3] = [Moment::Before, Moment::Halfway, Moment::After];

#[test]
fn a_take_killed_at_any_call_leaves_each_message_in_one_place() {
    // P64 and P65: each of these returns the earlier one's message, and takes one of two.
    let town = shop(2);
    let take = [
        "take", "--as", "builders", "--lease", "1ms", "--holder", "doomed",
    ];
    town.ok(&take);
    let mut killed = 0;
    for call in points(&town, &take) {
        for moment in MOMENTS {
            let outcome = traced(&town, &take, Plan::Kill { call, moment });
            killed += usize::from(outcome.end == crate::sweep::tracer::End::Killed);
            places(&town, 2);
            town.ok(&take);
            assert_eq!(places(&town, 2), [1, 1, 0], "call {call}, {moment:?}");
        }
    }
    assert!(killed >= 12, "only {killed} takes were killed");
}

#[test]
fn a_done_killed_at_any_call_leaves_the_message_in_one_place() {
    // P64 and P65
    let town = shop(1);
    let say = |words: &[&'static str]| {
        [&["take"], words, &["--as", "builders", "--holder", "h"]].concat()
    };
    let seen = town.room("inbox/builders/seen");
    let again = || {
        for name in town.names("inbox/builders/seen") {
            files::rename(seen.join(&name), town.room("inbox/builders").join(&name));
        }
        if !town.names("inbox/builders").is_empty() {
            town.ok("take --as builders --holder h --lease 1h");
        }
        assert_eq!(places(&town, 1), [0, 1, 0]);
    };
    for words in [
        &["--done", "alice/m-0"][..],
        &["--give-back", "alice/m-0"],
        &["--renew", "alice/m-0", "--lease", "2h"],
    ] {
        again();
        let args = say(words);
        let points = points(&town, &args);
        for (call, moment) in points
            .iter()
            .flat_map(|call| MOMENTS.map(|moment| (*call, moment)))
        {
            again();
            traced(&town, &args, Plan::Kill { call, moment });
            places(&town, 1);
            // Whatever was reached, saying it again is fine.
            town.ok(&args);
            places(&town, 1);
        }
    }
}
