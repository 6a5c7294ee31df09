//! The soak: minutes of mixed traffic with repeated kills of the router; then every agent has every
//! message once.
//!
//! - `cargo test --all-features soak -- --nocapture`: half a minute, as part of the ordinary tests.
//! - `MAILBAG_SOAK=10m cargo test --release --all-features soak -- --nocapture`: ten minutes, and four times as dense.
//!
//! `agent` writes and reads as agents do, `ledger` compares the sent and the taken messages, and
//! `keeper` keeps a router running, kills it, and measures it.

mod agent;
mod keeper;
mod ledger;

use crate::town::{Town, listing};
use crate::world::World;
use agent::Agent;
use keeper::Keeper;
use ledger::Ledger;
use serde_json::{Value, json};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

const AGENTS: usize = 10;
const HALF_A_MINUTE: Duration = Duration::from_secs(30);

/// Signals the end to all threads, including pausing ones.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    told: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().expect("nobody fails while holding it") = true;
        self.told.notify_all();
    }

    /// Waits for this time, or until the bell rings. Returns true if time is left.
    fn pause(&self, time: Duration) -> bool {
        let rung = self.rung.lock().expect("nobody fails while holding it");
        let (rung, _) = self
            .told
            .wait_timeout_while(rung, time, |rung| !*rung)
            .expect("nobody fails while holding it");
        !*rung
    }
}

/// `90s` or `10m` from `MAILBAG_SOAK`; by default half a minute.
fn duration() -> Duration {
    let Ok(text) = std::env::var("MAILBAG_SOAK") else {
        return HALF_A_MINUTE;
    };
    let (number, unit) = text.split_at(text.len().saturating_sub(1));
    let seconds = number
        .parse::<u64>()
        .ok()
        .zip([("s", 1), ("m", 60)].iter().find(|(u, _)| *u == unit));
    let (number, (_, unit)) =
        seconds.unwrap_or_else(|| panic!("MAILBAG_SOAK is {text:?}; write it as 90s or 10m"));
    Duration::from_secs(number * unit)
}

fn name(n: usize) -> String {
    format!("a{n}")
}

fn role(n: usize) -> &'static str {
    ["engineer", "reviewer"][n % 2]
}

#[test]
fn mixed_traffic_under_kills_loses_nothing_repeats_nothing_and_leaves_nothing_behind() {
    let time = duration();
    let dense = time > HALF_A_MINUTE;
    let agents: Vec<Value> = (0..AGENTS)
        .map(|n| json!({"id": name(n), "role": role(n)}))
        .collect();
    // Bursts come over it now and then.
    let budget = if dense { 160 } else { 40 };
    let town = Town::with(&agents).settings(&format!(
        "budget.messages = {budget}\nbudget.window = \"5s\"\n"
    ));
    let (bell, start) = (Bell::default(), Instant::now());
    // Kills, then a router that is left alone and must not grow, then time to finish.
    let kills = start + time * 6 / 10;
    let mut keeper = Keeper::new(&town, &bell);
    let (router, ledgers) = std::thread::scope(|scope| {
        let (town, bell) = (&town, &bell);
        let router = scope.spawn(|| keeper.keep_until_rung(kills));
        let writers: Vec<_> = (0..AGENTS)
            .map(|n| scope.spawn(move || Agent::new(town, n).live(bell, dense)))
            .collect();
        let human = scope.spawn(move || Agent::human(town).read_on(bell));
        bell.pause(time * 9 / 10);
        bell.ring();
        let mut agents: Vec<Agent<'_>> = writers
            .into_iter()
            .map(|one| one.join().expect("an agent"))
            .collect();
        agents.push(human.join().expect("the human"));
        let router = router.join().expect("the keeper");
        town.wait("all is routed", || is_routed(town));
        let ledgers: Vec<Ledger> = agents.into_iter().map(Agent::take_the_rest).collect();
        (router, ledgers)
    });
    assert_eq!(router.end(), 0, "the router ends well");
    let ledger = Ledger::sum(ledgers);
    let verdict = ledger.compare();
    println!(
        "soak: {} s: {} messages, {} copies, {} refusals, {} duplicates; {} kills and recoveries, {} single \
         passes, {} of them killed; at most {} MiB and {} descriptors; {}; lost {}, repeated {}",
        start.elapsed().as_secs(),
        ledger.messages,
        verdict.copies,
        ledger.refused,
        ledger.duplicates,
        keeper.kills,
        keeper.passes,
        keeper.killed_passes,
        keeper.watched.most[0] >> 10,
        keeper.watched.most[1],
        keeper.watched,
        verdict.lost.len(),
        verdict.repeated.len(),
    );
    assert!(verdict.is_good(), "{verdict:#?}");
    assert!(
        keeper.kills > 3 && ledger.messages > 500 && ledger.refused > 20 && ledger.duplicates > 20,
        "too little happened"
    );
    nothing_is_left(&town, &ledger);
    keeper.watched.is_flat();
}

fn is_routed(town: &Town) -> bool {
    (0..AGENTS).all(|n| town.names(&format!("outbox/{}", name(n))).is_empty())
        && ["spool/claim", "spool/stage"]
            .iter()
            .all(|spool| listing(&town.room(spool)).is_empty())
}

/// The log and the agents have the same counts, the originals are kept, and the spool is empty.
fn nothing_is_left(town: &Town, ledger: &Ledger) {
    town.verify();
    let status = town.status();
    let counts = json!({"accepted": ledger.messages, "rejected": ledger.refused, "duplicates": ledger.duplicates,
        "copies": ledger.copies()});
    assert_eq!(status["counts"], counts);
    for part in [
        "blocked",
        "undelivered",
        "waiting",
        "unregistered",
        "problems",
    ] {
        assert_eq!(status[part], json!([]), "{part}");
    }
    assert!(is_routed(town));
    let kept = |of: &str, counts: &dyn Fn(&String) -> bool| -> usize {
        (0..AGENTS)
            .map(|n| {
                town.names(&format!("{of}/{}", name(n)))
                    .into_iter()
                    .filter(counts)
                    .count()
            })
            .sum()
    };
    assert_eq!(kept("sent", &|_| true), ledger.messages + ledger.duplicates);
    assert_eq!(
        kept("rejected", &|name| !name.ends_with(".error.json")),
        ledger.refused
    );
    for directory in (0..AGENTS).map(|n| format!("outbox/{}", name(n))) {
        assert!(listing(&town.room(&directory)).is_empty(), "{directory}");
    }
    // Looking changed nothing, and a further pass finds nothing to do.
    let pass = World::json(town, &["run", "--once"]);
    assert_eq!(pass["accepted"], 0, "{pass}");
}
