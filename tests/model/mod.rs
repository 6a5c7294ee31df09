//! A model of the whole: random sequences of acts by people, agents and crashes, applied to the
//! real program on a simulated computer and to a model in memory. The model predicts the outcome of
//! each file and each recipient.
//!
//! `people` is the registry and the meaning of addresses, `letters` has the dropped files, `acts`
//! the acts, `state` is the model, and `room` the real room. `compare` compares the two. A failure
//! prints the seed and the shortest failing sequence, one act a line.
//!
//! `MAILBAG_SEEDS=50000` plays more sequences, and `MAILBAG_SEED=17` this one alone.

mod acts;
mod compare;
mod letters;
mod people;
mod room;
mod state;

use self::acts::{Act, Dropping, Taking};
use self::letters::{Broken, Expires, Letter, Mail};
use self::people::{Address, Name};
use self::room::{FIGURES, Figures, Room};
use self::state::{Model, State};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

/// Number of acts in a sequence.
const ACTS: std::ops::Range<usize> = 4..28;
/// Sequences of a test without a number of its own.
const SEEDS: u64 = 500;

/// The real room beside the model, without crashes or with them.
struct Beside<const CRASHES: bool>;

/// A computer with syncs that have no effect, beside the model with crashes.
struct WithoutSyncs;

impl<const CRASHES: bool> StateMachineTest for Beside<CRASHES> {
    type SystemUnderTest = Room;
    type Reference = Model<CRASHES>;

    fn init_test(_: &State) -> Room {
        Room::new(false)
    }

    fn apply(mut room: Room, state: &State, act: Act) -> Room {
        room.play(&act, state);
        room
    }

    fn teardown(mut room: Room, state: State) {
        room.end(state);
    }
}

impl StateMachineTest for WithoutSyncs {
    type SystemUnderTest = Room;
    type Reference = Model<true>;

    fn init_test(_: &State) -> Room {
        Room::new(true)
    }

    fn apply(room: Room, state: &State, act: Act) -> Room {
        Beside::<true>::apply(room, state, act)
    }

    fn teardown(room: Room, state: State) {
        Beside::<true>::teardown(room, state);
    }
}

/// Plays the sequence of this seed. An error has the shortest failing sequence.
fn play<T>(seed: u64) -> Result<(), String>
where
    T: StateMachineTest,
    T::Reference: ReferenceStateMachine<State = State, Transition = Act>,
{
    let config = Config {
        cases: 1,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let sequences = T::Reference::sequential_strategy(ACTS);
    let mut runner = TestRunner::new_with_rng(config.clone(), random);
    let played = runner.run(&sequences, |(state, acts, seen)| {
        T::test_sequential(config.clone(), state, acts, seen);
        Ok(())
    });
    played.map_err(|e| match e {
        TestError::Abort(why) => format!("seed {seed} was given up: {why}"),
        TestError::Fail(why, (_, acts, _)) => {
            let acts: Vec<String> = acts.iter().map(|act| format!("  {act:?}\n")).collect();
            format!("seed {seed}, after\n{}{why}", acts.concat())
        }
    })
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The seeds of this run.
fn seeds() -> std::ops::RangeInclusive<u64> {
    match variable("MAILBAG_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=variable("MAILBAG_SEEDS").unwrap_or(SEEDS),
    }
}

#[track_caller]
fn holds<T>() -> Figures
where
    T: StateMachineTest,
    T::Reference: ReferenceStateMachine<State = State, Transition = Act>,
{
    for seed in seeds() {
        if let Err(told) = play::<T>(seed) {
            panic!("{told}");
        }
    }
    let figures = FIGURES.with(std::cell::RefCell::take);
    let words: Vec<String> = figures
        .iter()
        .map(|(what, n)| format!("{n} {what}"))
        .collect();
    println!("model: {}", words.join(", "));
    figures
}

#[track_caller]
fn reach(figures: &Figures, events: &[&str]) {
    let is_met = |event: &&&str| !figures.contains_key(**event);
    let missing: Vec<_> = events.iter().filter(is_met).collect();
    let is_one = variable("MAILBAG_SEED").is_some();
    assert!(is_one || missing.is_empty(), "nothing was {missing:?}");
}

const EVENTS: [&str; 6] = [
    "accepted",
    "rejected",
    "duplicate",
    "notice",
    "copies",
    "taken by recipients",
];

#[test]
fn the_room_does_what_the_model_says() {
    let figures = holds::<Beside<false>>();
    reach(&figures, &EVENTS);
}

#[test]
fn the_room_does_what_the_model_says_also_with_crashes_and_failing_calls() {
    let figures = holds::<Beside<true>>();
    reach(&figures, &EVENTS);
    reach(&figures, &["crashes", "passes with failing calls"]);
}

#[test]
fn the_model_misses_the_syncs() {
    let told = (1..=SEEDS).find_map(|seed| play::<WithoutSyncs>(seed).err());
    let told = told.expect("a model that cannot fail shows nothing");
    println!("model without syncs: {told}");
}

/// Plays these acts beside the model.
fn replay(acts: impl IntoIterator<Item = Act>) {
    let (mut room, mut state) = (Room::new(false), State::at_first());
    for act in acts {
        state = state.after(&act);
        room.play(&act, &state);
    }
    room.end(state);
}

fn drops(sender: Name, letter: Letter, first: char) -> Act {
    let as_ = Dropping {
        first,
        aside: false,
    };
    Act::Drop {
        sender,
        letter,
        as_,
    }
}

fn mail(to: Address, expires: Option<Expires>) -> Letter {
    Letter::Mail(Mail {
        to: vec![to],
        id: None,
        body: 0,
        expires,
        flaw: None,
        spelled: false,
    })
}

fn follows(topic: Name, follow: bool) -> Letter {
    Letter::Follow { topic, follow }
}

/// An agent marks its first message as seen.
fn takes(agent: Name) -> Act {
    Act::Take {
        agent,
        which: 0,
        way: Taking::ToSeen,
    }
}

#[test]
fn sequences_that_once_failed() {
    replay([
        drops(
            "agent_writer_1_ab",
            mail(Address::Agent("alice"), Some(Expires::LongAgo)),
            'a',
        ),
        Act::Pass,
        Act::Later(1),
        takes("agent_writer_1_ab"),
        drops("alice", mail(Address::Agent("alice"), None), 'a'),
    ]);
    replay([
        Act::Later(1),
        drops("alice", mail(Address::Agent("eve"), None), 'a'),
        Act::Pass,
        takes("alice"),
    ]);
    replay([drops("carol", follows("news", true), 'm'), Act::Pass]);
    replay([
        drops("agent_writer_1_ab", follows("auth", false), 'z'),
        drops("agent_writer_1_ab", follows("news", false), 'm'),
        Act::Pass,
    ]);
    replay([
        drops("alice", mail(Address::All, Some(Expires::At(16))), 'a'),
        Act::Later(10),
        drops("alice", Letter::Broken(Broken::Empty), 'a'),
        Act::Pass,
        Act::Later(6),
        Act::Pass,
    ]);
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
