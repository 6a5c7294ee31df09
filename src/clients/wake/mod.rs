//! Wakes idle agents with programs, from a running router.
//!
//! Messages that arrive close together cause one wake. An agent is not woken if it reads the mail meanwhile, if the mail was
//! announced, or if the agent is working: its next hook announces the mail.

mod program;

use super::briefing::{self, Moment};
use crate::base::error::{Doing, Result};
use crate::base::limits;
use crate::room::Room;
use crate::room::registry::{By, Wake};
use crate::room::sessions::{self, Lease};
use program::Ran;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Events after which an agent is idle.
const RESTING: [&str; 5] = ["Stop", "StopFailure", "AfterAgent", "SessionEnd", "join"];
/// Events at which a session or its MCP server starts and waits for the first prompt.
const STARTING: [&str; 2] = ["SessionStart", "start"];

/// Wakes agents in a thread, until dropped.
pub struct Waker {
    news: Option<Sender<News>>,
    thread: Option<JoinHandle<()>>,
}

enum News {
    /// These agents have mail.
    Delivered(BTreeSet<Arc<str>>),
    /// The program that wakes this agent has ended.
    Ended(Arc<str>),
}

impl Waker {
    /// Starts the thread for a room.
    pub fn start(room: &Room) -> Result<Waker> {
        let (news, heard) = channel();
        let scheduler =
            Scheduler { room: room.clone(), news: news.clone(), due: BTreeMap::new(), woken: BTreeMap::new() };
        let thread = std::thread::Builder::new().name("waker".into()).spawn(move || scheduler.watch(&heard));
        let thread = thread.doing("start a waker for", room.dir.path())?;
        Ok(Waker { news: Some(news), thread: Some(thread) })
    }

    /// Reports new mail for agents that a program wakes.
    pub fn delivered(&self, agents: BTreeSet<Arc<str>>) {
        if let Some(news) = &self.news {
            // Fails only if the thread has ended.
            let _ = news.send(News::Delivered(agents));
        }
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        // The thread holds a sender itself, so an empty set ends it.
        if let Some(news) = self.news.take() {
            let _ = news.send(News::Delivered(BTreeSet::new()));
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Schedules the wakes.
struct Scheduler {
    room: Room,
    /// For the threads that run programs.
    news: Sender<News>,
    /// When to check whether an agent must be woken.
    due: BTreeMap<Arc<str>, Instant>,
    /// Earlier wakes of each agent.
    woken: BTreeMap<Arc<str>, Woken>,
}

/// Earlier wakes of an agent.
#[derive(Default)]
struct Woken {
    /// Whether its program is running.
    is_running: bool,
    /// When its recent programs ended, in order.
    at: VecDeque<Instant>,
}

impl Woken {
    /// How long the agent must not be woken. Two agents that answer each other forever are limited to one wake per `every`.
    fn pause(&mut self, every: Duration, continues: bool) -> Duration {
        if self.is_running {
            return limits::WAKE_COALESCE;
        }
        let now = Instant::now();
        let within = |at: &Instant, times: u32| now.duration_since(*at) < every.saturating_mul(times);
        self.at.retain(|at| within(at, limits::WAKE_ANSWERS));
        let is_few = self.at.len() < limits::WAKE_ANSWERS as usize;
        match self.at.back() {
            Some(last) if within(last, 1) && !(continues && is_few) => every - now.duration_since(*last),
            _ => Duration::ZERO,
        }
    }
}

impl Scheduler {
    fn watch(mut self, heard: &Receiver<News>) {
        loop {
            let next = self.due.values().min().copied();
            let wait = next.map_or(limits::SWEEP_TRUSTED, |due| due.saturating_duration_since(Instant::now()));
            match heard.recv_timeout(wait) {
                Ok(News::Delivered(agents)) if agents.is_empty() => return,
                Ok(News::Delivered(agents)) => agents.into_iter().for_each(|agent| {
                    let soon = Instant::now() + limits::WAKE_COALESCE;
                    self.due.entry(agent).and_modify(|due| *due = soon.min(*due)).or_insert(soon);
                }),
                Ok(News::Ended(agent)) => {
                    let woken = self.woken.entry(agent).or_default();
                    woken.is_running = false;
                    woken.at.push_back(Instant::now());
                }
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn look(&mut self) {
        let now = Instant::now();
        let due: Vec<Arc<str>> =
            self.due.iter().filter(|(_, at)| **at <= now).map(|(agent, _)| agent.clone()).collect();
        for agent in due {
            self.due.remove(&agent);
            match self.consider(&agent) {
                Ok(None) => {}
                Ok(Some(later)) => drop(self.due.insert(agent, now + later)),
                Err(e) => tracing::warn!("cannot wake {agent}: {e}"),
            }
        }
    }

    /// Wakes an agent if needed, or returns when to check again.
    fn consider(&mut self, agent: &Arc<str>) -> Result<Option<Duration>> {
        let registry = self.room.registry()?;
        let Some(wake) = registry.agent(agent).filter(|a| a.is_woken_by_a_program()).and_then(|a| a.wake.clone())
        else {
            return Ok(None);
        };
        if briefing::unannounced(&self.room, agent)? == 0 {
            return Ok(None);
        }
        let lease = sessions::of(&self.room, agent)?;
        if let Some(left) = lease.as_ref().and_then(|lease| at_work(&self.room, lease, limits::BUSY)) {
            return Ok(Some(left));
        }
        let woken = self.woken.entry(agent.clone()).or_default();
        let mut pause = woken.pause(wake.every, false);
        // Other programs may notify a person, who need not follow every answer in a thread.
        if !pause.is_zero() && wake.by == By::Codex && briefing::continues_exchange(&self.room, agent)? {
            pause = woken.pause(wake.every, true);
        }
        if !pause.is_zero() {
            return Ok(Some(pause));
        }
        self.wake(agent, &wake, lease.as_ref())?;
        Ok(None)
    }

    fn wake(&mut self, agent: &Arc<str>, wake: &Wake, lease: Option<&Lease>) -> Result<()> {
        let argv = match &wake.by {
            By::Codex => program::CODEX.map(String::from).to_vec(),
            By::Command(argv) => argv.clone(),
            By::Claude | By::Nobody => return Ok(()),
        };
        if !self.room.agrees(wake)? {
            tracing::warn!(
                "cannot wake {agent}: the user has not agreed to start its program {argv:?}; run `mailbag trust {}`",
                self.room.dir.path().display()
            );
            return Ok(());
        }
        if program::wants_session(&argv) && lease.and_then(|lease| lease.session.as_ref()).is_none() {
            tracing::warn!("cannot wake {agent}: it has no known session; run `mailbag join {agent}` in its session");
            return Ok(());
        }
        let told = lease.map(|lease| lease.told).unwrap_or_default();
        let count = briefing::unannounced(&self.room, agent)?;
        // A program that gets the text announces the mail.
        let briefing = match program::wants_text(&argv) {
            true => briefing::brief(&self.room, agent, Moment::Prompt, told)?,
            false => None,
        };
        if briefing.is_none() && program::wants_text(&argv) {
            return Ok(());
        }
        let text = briefing.as_ref().map(|briefing| briefing.text.as_str()).unwrap_or_default();
        let argv = program::fill(&argv, &self.room, agent, text, count, lease);
        self.woken.entry(agent.clone()).or_default().is_running = true;
        let (room, agent, within, news) = (self.room.clone(), agent.clone(), wake.within, self.news.clone());
        let run = move || {
            let ran = program::run(&argv, &room, &agent, within);
            match (&briefing, ran.is_well()) {
                (Some(briefing), false) => briefing.undo(&room, &agent),
                (Some(briefing), true) => log(sessions::record_shown(&room, &agent, briefing.told)),
                (None, _) => {}
            }
            report(&room, &agent, &argv, &ran);
            let _ = news.send(News::Ended(agent));
        };
        std::thread::Builder::new().name("wake".into()).spawn(run).map(drop).doing("start a thread for", "a program")
    }
}

/// How long an agent still counts as working: its next hook will announce its mail. `None` if the agent is idle or unknown.
/// An agent counts as idle after `most` without a hook.
pub fn at_work(room: &Room, lease: &Lease, most: Duration) -> Option<Duration> {
    let within = room.settings().ok()?.session_lease;
    if RESTING.contains(&lease.event.as_str()) || !lease.is_live(&room.dir, within) {
        return None;
    }
    let most = if STARTING.contains(&lease.event.as_str()) { limits::STARTING } else { most };
    let until = lease.last()?.after(most).micros();
    let left = until - crate::base::clock::Stamp::now().micros();
    u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_micros)
}

/// Has the session of this lease just started?
pub fn is_new(lease: &Lease) -> bool {
    STARTING.contains(&lease.event.as_str())
}

fn report(room: &Room, agent: &str, argv: &[String], ran: &Ran) {
    let program = argv.first().map(String::as_str).unwrap_or_default();
    let (outcome, output) = (&ran.outcome, &ran.output);
    match ran.is_well() {
        true => tracing::info!(program, output, "woke {agent}"),
        false => tracing::warn!(program, output, "cannot wake {agent}: {outcome}"),
    }
    let trouble = (!ran.is_well()).then(|| format!("{program}: {outcome} {output}").trim().to_owned());
    log(sessions::note(room, sessions::WAKE, agent, Some(agent), trouble));
}

fn log(done: Result<()>) {
    if let Err(e) = done {
        tracing::debug!("{e}");
    }
}
