//! Requests for a pass, disturbed at every step: a request goes only after the mail that was dropped before it, and a command
//! that waits for a router sends once.

use super::errors::ERRORS;
use super::ledger::Figures;
use super::one_pass::{came_once, done, drop_file, new_room, pass};
use super::scenario::PROGRAM;
use super::sweeps::{Done, full, green, kill_each};
use super::tracer::{End, Outcome, Plan, Tracer};
use serde_json::json;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const AGENTS: [&str; 2] = ["alice", "bob"];
const TIME: &str = "2030-01-01T10:00:00Z";

fn files(directory: &Path, is_wanted: fn(&str) -> bool) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_wanted)).collect()
}

fn requests(room: &Path) -> Vec<PathBuf> {
    let outboxes = ["alice", "bob", "human"].map(|agent| room.join("outbox").join(agent));
    outboxes.iter().flat_map(|outbox| files(outbox, |name| name.starts_with(".pass-"))).collect()
}

fn figures(plan: &Plan, outcome: &Outcome) -> Figures {
    let is_reached = outcome.end == End::Killed || outcome.failed > 0;
    Figures { points: 1, reached: usize::from(is_reached || *plan == Plan::Count), ..Figures::default() }
}

/// A pass that finds a request behind a message.
fn answer(plan: Plan) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let room = home.path().join("room");
    new_room(&room, &AGENTS)?;
    drop_file(&room, "alice", "one", json!({"to": "bob", "body": "one"}))?;
    fs::write(room.join("outbox/alice/.pass-1"), "")?;
    let outcome = Tracer::new(&room)?.run(pass(&room, TIME), plan)?;
    let mut figures = figures(&plan, &outcome);
    let is_pending = || fs::read_to_string(room.join("spool/waiting.json")).is_ok_and(|waiting| waiting.contains("one"));
    if requests(&room).is_empty() && files(&room.join("inbox/bob"), |_| true).is_empty() && !is_pending() {
        figures.damaged(format!("{plan:?}: the request is gone before the message"));
    }
    done(pass(&room, TIME))?;
    came_once(&room, &AGENTS, &["bob: one"], &mut figures)?;
    if !requests(&room).is_empty() {
        figures.damaged(format!("{plan:?}: the request is left"));
    }
    Ok((figures, outcome))
}

/// A router that runs until this is dropped.
struct Router(Child);

impl Router {
    fn start(room: &Path) -> io::Result<Router> {
        // The thread of a tracer must have no other child.
        let mut run = Command::new(PROGRAM);
        run.args(["run", "--quiet", "--room"]).arg(room);
        let router = Router(std::thread::spawn(move || run.spawn()).join().expect("the thread does not panic")?);
        let request = room.join("outbox/human/.pass-0");
        fs::write(&request, "")?;
        let deadline = Instant::now() + Duration::from_secs(60);
        while request.exists() {
            if Instant::now() > deadline {
                return Err(io::Error::other("the router does not answer"));
            }
            std::thread::yield_now();
        }
        Ok(router)
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A send that waits for a router.
fn send(plan: Plan) -> io::Result<(Figures, Outcome)> {
    let home = TempDir::new()?;
    let room = home.path().join("room");
    new_room(&room, &AGENTS)?;
    let router = Router::start(&room)?;
    let mut send = Command::new(PROGRAM);
    send.args(["send", "bob", "the letter", "--as", "alice", "--room"]).arg(&room);
    let outcome = Tracer::new(&room)?.run(send, plan)?;
    let mut figures = figures(&plan, &outcome);
    drop(router);
    done(pass(&room, TIME))?;
    let is_sent = outcome.end == End::Exited(0);
    let came = files(&room.join("inbox/bob"), |name| name.ends_with(".json")).len();
    match came {
        0 if is_sent => figures.lost(format!("{plan:?}: the letter")),
        0 | 1 => {}
        n => figures.duplicated(format!("{plan:?}: the letter came {n} times")),
    }
    if !requests(&room).is_empty() {
        figures.damaged(format!("{plan:?}: a request is left"));
    }
    if matches!(outcome.end, End::Exited(101) | End::Hung | End::Signalled(_)) {
        figures.damaged(format!("{plan:?}: it ended as {:?}: {}", outcome.end, outcome.stderr));
    }
    Ok((figures, outcome))
}

fn fail_each(what: &str, play: fn(Plan) -> io::Result<(Figures, Outcome)>) -> Done {
    let (mut figures, outcome) = play(Plan::Count)?;
    let made = outcome.names();
    for (name, errors) in ERRORS {
        let calls = made.get(name).copied().unwrap_or_default();
        let step = if full() { 1 } else { calls.div_ceil(2).max(1) };
        for nth in (1..=calls).step_by(step) {
            for &errno in errors.iter().take(if full() { errors.len() } else { 1 }) {
                figures.add(play(Plan::Fail { name, nth, errno, lasting: false })?.0);
            }
        }
    }
    green(what, &figures)
}

#[test]
fn a_pass_with_a_request_killed_at_any_call() -> Done {
    // P255
    kill_each("kills of a pass with a request", 24, 255, answer)
}

#[test]
fn a_pass_with_a_request_in_which_any_call_fails() -> Done {
    // P255
    fail_each("a pass with a request and a call that fails", answer)
}

#[test]
fn a_send_beside_a_router_killed_at_any_call() -> Done {
    // P256
    kill_each("kills of a send beside a router", 16, 255, send)
}

#[test]
fn a_send_beside_a_router_in_which_any_call_fails() -> Done {
    // P256
    fail_each("a send beside a router and a call that fails", send)
}
