//! A model of the whole: random sequences of acts by people, agents and crashes, applied to the
//! real program and to a model in memory. The model predicts the outcome of each file and each
//! recipient.
//!
//! `people` is the registry and the meaning of addresses, `letters` has the dropped files, `acts`
//! the acts, `state` is the model, and `room` the real room. `compare` compares the two. A failure
//! prints the shortest failing sequence, one act a line; it is kept in `regressions.txt` and tried
//! first from then on.
//!
//! - `cargo test --all-features model -- --nocapture`: some seconds.
//! - `MAILBAG_SWEEP=full cargo test --release --all-features model -- --nocapture`: thousands of sequences.

mod acts;
mod compare;
mod letters;
mod people;
mod room;
mod state;

use self::acts::Act;
use self::room::{FIGURES, Figures, Room};
use self::state::Model;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, FileFailurePersistence, TestError, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

/// Number of acts in a sequence.
const ACTS: std::ops::Range<usize> = 4..28;

/// The real room beside the model, without crashes or with them.
struct Beside<const CRASHES: bool>;

/// The same with a protection switched off in the program: the model must miss it.
struct WithoutDuplicateCheck;

impl<const CRASHES: bool> StateMachineTest for Beside<CRASHES> {
    type SystemUnderTest = Room;
    type Reference = Model<CRASHES>;

    fn init_test(_: &state::State) -> Room {
        Room::new(None)
    }

    fn apply(mut room: Room, state: &state::State, act: Act) -> Room {
        room.play(&act, state);
        room
    }

    fn teardown(mut room: Room, state: state::State) {
        room.end(state);
    }
}

impl StateMachineTest for WithoutDuplicateCheck {
    type SystemUnderTest = Room;
    type Reference = Model<false>;

    fn init_test(_: &state::State) -> Room {
        Room::new(Some("duplicate-check"))
    }

    fn apply(room: Room, state: &state::State, act: Act) -> Room {
        Beside::<false>::apply(room, state, act)
    }

    fn teardown(room: Room, state: state::State) {
        Beside::<false>::teardown(room, state);
    }
}

/// The result of a run: success, or the shortest failing sequence and its error.
type Ran = Result<(), Box<TestError<Vec<Act>>>>;

fn run<T>(cases: u32, keeps: bool) -> Ran
where
    T: StateMachineTest,
    T::Reference: ReferenceStateMachine<State = state::State, Transition = Act>,
{
    let kept = FileFailurePersistence::Direct(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/model/regressions.txt"
    ));
    let failure_persistence = keeps.then(|| Box::new(kept) as _);
    let source_file = Some(file!());
    let config = Config {
        cases,
        failure_persistence,
        source_file,
        max_shrink_iters: if keeps { 2000 } else { 100 },
        ..Config::default()
    };
    let sequences = T::Reference::sequential_strategy(ACTS);
    let ran = TestRunner::new(config.clone()).run(&sequences, |(state, acts, seen)| {
        T::test_sequential(config.clone(), state, acts, seen);
        Ok(())
    });
    ran.map_err(|e| match e {
        TestError::Fail(why, (_, acts, _)) => Box::new(TestError::Fail(why, acts)),
        TestError::Abort(why) => Box::new(TestError::Abort(why)),
    })
}

/// This number of sequences, or twenty times this number in a full run.
fn cases(few: u32) -> u32 {
    let full = std::env::var("MAILBAG_SWEEP").is_ok_and(|size| size == "full");
    if full { few * 20 } else { few }
}

#[track_caller]
fn holds<T>(few: u32) -> Figures
where
    T: StateMachineTest,
    T::Reference: ReferenceStateMachine<State = state::State, Transition = Act>,
{
    if let Err(e) = run::<T>(cases(few), true) {
        panic!("{}", told(&e));
    }
    let figures = FIGURES.with(std::cell::RefCell::take);
    let words: Vec<String> = figures
        .iter()
        .map(|(what, n)| format!("{n} {what}"))
        .collect();
    println!("model: {}", words.join(", "));
    for met in [
        "accepted",
        "rejected",
        "duplicate",
        "notice",
        "copies",
        "taken by recipients",
    ] {
        assert!(
            figures.contains_key(met),
            "nothing was {met}: the sequences don't reach enough"
        );
    }
    figures
}

fn told(e: &TestError<Vec<Act>>) -> String {
    match e {
        TestError::Abort(why) => format!("given up: {why}"),
        TestError::Fail(why, acts) => {
            let acts: Vec<String> = acts.iter().map(|act| format!("  {act:?}\n")).collect();
            format!("after\n{}{why}", acts.concat())
        }
    }
}

#[test]
fn the_room_does_what_the_model_says() {
    holds::<Beside<false>>(100);
}

#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[test]
fn the_room_does_what_the_model_says_also_when_passes_are_killed() {
    let figures = holds::<Beside<true>>(50);
    assert!(figures.contains_key("passes killed"), "{figures:?}");
}

#[test]
fn the_model_misses_the_duplicate_check() {
    let failed = run::<WithoutDuplicateCheck>(300, false)
        .expect_err("a model that can't fail shows nothing");
    let told = told(&failed);
    println!("model without the duplicate check: {told}");
    assert_contains!(told, "once more"; "it fails for another reason");
}

#[test]
fn acts_are_printed_in_words() {
    let mut runner = TestRunner::deterministic();
    let acts = acts::acts(true);
    for _ in 0..50 {
        let act = acts.new_tree(&mut runner).expect("an act");
        let told = format!("{:?}", proptest::strategy::ValueTree::current(&act));
        assert!(!told.contains('{') || told.contains("drops"), "{told}");
    }
}
