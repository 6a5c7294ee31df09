//! Wakes idle agents with programs, from a running router.
//!
//! Messages that arrive close together cause one wake. An agent is not woken if it reads the mail, if the mail was
//! announced, or if the agent is working: its next hook announces the mail.

mod waking_observer;
pub(in crate::clients) mod codex;
pub(in crate::clients) mod program;

pub use waking_observer::WakingObserver;

use super::briefing::{self, BriefedAgent, Briefing, SessionMoment};
use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::text::shell_path;
use crate::base::{limits, sanitize};
use crate::message::waking::{WakeStep, WakeUpdate};
use crate::room::Room;
use crate::room::registry::{AgentWakeMethod, wants_session};
use crate::room::sessions::{self, SessionLease};
use crate::router;
use crate::router::watcher::RouterWaker;
use program::PlaceholderValues;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The number of replies in a conversation that wake an agent without delay, within this many times its `every`.
const WAKE_ANSWERS: u32 = 10;
/// The number of recorded characters of the reason of a failed wake.
const WAKE_REASON: usize = 200;

/// Events that end a turn.
const RESTING: [&str; 7] = [
    "Stop",
    "StopFailure",
    "AfterAgent",
    "SessionEnd",
    sessions::INTERRUPT,
    sessions::JOIN,
    sessions::IDLE,
];
/// Events of a session or its MCP server before the first prompt.
const STARTING: [&str; 2] = ["SessionStart", "start"];

/// Wakes agents in a thread, until dropped. The router records its requests: a program starts only when the log has
/// the request, so that no mail wakes twice, whatever is killed.
pub struct AgentWaker {
    news: Option<Sender<WakerEvent>>,
    steps: Receiver<WakeUpdate>,
    thread: Option<JoinHandle<()>>,
}

enum WakerEvent {
    /// These agents have mail.
    Delivered(BTreeSet<Arc<str>>),
    /// Whether the programs of these agents may be started.
    Answered(BTreeMap<Arc<str>, bool>),
    /// The program that wakes this agent has ended.
    Ended(Arc<str>),
    /// The router ends.
    Over,
}

impl AgentWaker {
    /// Starts the thread for a room.
    pub fn start(room: &Room, router: RouterWaker) -> Result<AgentWaker> {
        let (news, heard) = channel();
        let (noted, steps) = channel();
        let notes = WakeStepSender { noted, router };
        let scheduler = WakeScheduler {
            room: room.clone(),
            news: news.clone(),
            notes,
            due: BTreeMap::new(),
            woken: BTreeMap::new(),
        };
        let thread = std::thread::Builder::new()
            .name("waker".into())
            .spawn(move || scheduler.watch(&heard));
        let thread = thread.doing("start a waker for", room.dir.path())?;
        Ok(AgentWaker {
            news: Some(news),
            steps,
            thread: Some(thread),
        })
    }

    /// Reports new mail for agents that a program wakes.
    pub fn delivered(&self, agents: BTreeSet<Arc<str>>) {
        self.tell(WakerEvent::Delivered(agents));
    }

    /// Sets the agents with a request in the log.
    pub fn answered(&self, answers: BTreeMap<Arc<str>, bool>) {
        self.tell(WakerEvent::Answered(answers));
    }

    /// The results for the router to record.
    pub fn take(&self) -> Vec<WakeUpdate> {
        self.steps.try_iter().collect()
    }

    fn tell(&self, news: WakerEvent) {
        if let Some(thread) = &self.news {
            // Fails only if the thread has ended.
            let _ = thread.send(news);
        }
    }
}

impl Drop for AgentWaker {
    fn drop(&mut self) {
        // The thread holds a sender itself, so a closed channel does not end it.
        self.tell(WakerEvent::Over);
        self.news = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The way of a step into the log.
#[derive(Clone)]
struct WakeStepSender {
    noted: Sender<WakeUpdate>,
    router: RouterWaker,
}

impl WakeStepSender {
    fn add(&self, step: WakeStep, agent: &Arc<str>, seqs: &[u64], reason: Option<String>) {
        // Fails only if the router has ended.
        let _ = self.noted.send(WakeUpdate {
            step,
            agent: agent.clone(),
            seqs: seqs.to_vec(),
            reason,
        });
        self.router.call(router::watcher::RouterEvent::Called);
    }
}

/// Schedules the wakes.
struct WakeScheduler {
    room: Room,
    /// For the threads that run programs.
    news: Sender<WakerEvent>,
    notes: WakeStepSender,
    /// When to check whether an agent must be woken.
    due: BTreeMap<Arc<str>, Instant>,
    /// Earlier wakes of each agent.
    woken: BTreeMap<Arc<str>, WakeHistory>,
}

/// Earlier wakes of an agent.
#[derive(Default)]
struct WakeHistory {
    /// Whether its program is running, or a request is on its way into the log.
    is_running: bool,
    /// The messages of the present wake.
    seqs: Vec<u64>,
    /// When its recent programs ended, in order.
    at: VecDeque<Instant>,
}

impl WakeHistory {
    /// The time until the next wake. Two agents that answer each other forever are limited to one wake per `every`.
    fn pause(&mut self, every: Duration, continues: bool) -> Duration {
        if self.is_running {
            return limits::WAKE_COALESCE;
        }
        let now = Instant::now();
        let window = every.saturating_mul(WAKE_ANSWERS);
        self.at.retain(|at| now.duration_since(*at) < window);
        if continues && self.at.len() < WAKE_ANSWERS as usize {
            return Duration::ZERO;
        }
        self.at.back().map_or(Duration::ZERO, |last| {
            every.saturating_sub(now.duration_since(*last))
        })
    }
}

impl WakeScheduler {
    fn watch(mut self, heard: &Receiver<WakerEvent>) {
        loop {
            let next = self.due.values().min().copied();
            let wait = next.map_or(limits::SWEEP_TRUSTED, |due| {
                due.saturating_duration_since(Instant::now())
            });
            match heard.recv_timeout(wait) {
                Ok(WakerEvent::Over) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(WakerEvent::Delivered(agents)) => {
                    let soon = Instant::now() + limits::WAKE_COALESCE;
                    for agent in agents {
                        let due = self.due.entry(agent).or_insert(soon);
                        *due = soon.min(*due);
                    }
                }
                Ok(WakerEvent::Answered(answers)) => {
                    for (agent, may_start) in answers {
                        self.answered(&agent, may_start);
                    }
                }
                Ok(WakerEvent::Ended(agent)) => self.ended(agent),
                Err(RecvTimeoutError::Timeout) => self.look(),
            }
        }
    }

    fn look(&mut self) {
        let now = Instant::now();
        let due: Vec<Arc<str>> = self
            .due
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(agent, _)| agent.clone())
            .collect();
        for agent in due {
            self.due.remove(&agent);
            match self.consider(&agent) {
                Ok(None) => {}
                Ok(Some(later)) => {
                    self.due.insert(agent, now + later);
                }
                Err(e) => tracing::warn!("cannot wake {agent}: {e}"),
            }
        }
    }

    /// Wakes an agent if needed, or returns when to check again.
    fn consider(&mut self, agent: &Arc<str>) -> Result<Option<Duration>> {
        let registry = self.room.registry()?;
        let Some(wake) = registry
            .agent(agent)
            .filter(|a| a.is_woken_by_a_program())
            .and_then(|a| a.wake.clone())
        else {
            return Ok(None);
        };
        if briefing::unannounced(&self.room, agent)? == 0 {
            return briefing::until_announced(&self.room, agent);
        }
        let lease = sessions::of(&self.room, agent)?;
        if let Some(left) = lease
            .as_ref()
            .and_then(|lease| at_work(&self.room, lease, limits::BUSY))
        {
            return Ok(Some(left));
        }
        let woken = self.woken.entry(agent.clone()).or_default();
        let mut pause = woken.pause(wake.every, false);
        // Other programs may notify a person, who need not follow every answer in a thread.
        if !pause.is_zero()
            && wake.by == AgentWakeMethod::Codex
            && briefing::continues_exchange(&self.room, agent)?
        {
            pause = woken.pause(wake.every, true);
        }
        if !pause.is_zero() {
            return Ok(Some(pause));
        }
        let seqs = briefing::to_announce(&self.room, agent)?;
        self.notes.add(WakeStep::Requested, agent, &seqs, None);
        let woken = self.woken.entry(agent.clone()).or_default();
        (woken.is_running, woken.seqs) = (true, seqs);
        Ok(None)
    }

    /// The log has the request for this agent, or the router refused it.
    fn answered(&mut self, agent: &Arc<str>, may_start: bool) {
        let woken = self.woken.entry(agent.clone()).or_default();
        let seqs = std::mem::take(&mut woken.seqs);
        woken.is_running = false;
        if !may_start {
            return;
        }
        match self.start(agent, &seqs) {
            Ok(is_running) => self.woken.entry(agent.clone()).or_default().is_running = is_running,
            Err(e) => {
                let reason = e.to_string();
                tracing::warn!("cannot wake {agent}: {reason}");
                note(&self.room, agent, Some(&reason));
                self.notes.add(
                    WakeStep::Failed,
                    agent,
                    &seqs,
                    Some(sanitize::brief(&reason, WAKE_REASON)),
                );
                self.ended(agent.clone());
            }
        }
    }

    fn ended(&mut self, agent: Arc<str>) {
        let woken = self.woken.entry(agent).or_default();
        woken.is_running = false;
        woken.at.push_back(Instant::now());
    }

    /// Starts the program in a thread. `false` if there is nothing left to announce.
    fn start(&self, agent: &Arc<str>, seqs: &[u64]) -> Result<bool> {
        let registry = self.room.registry()?;
        let Some(wake) = registry.agent(agent).and_then(|agent| agent.wake.as_ref()) else {
            return Ok(false);
        };
        let lease = sessions::of(&self.room, agent)?;
        let is_interrupted = lease.as_ref().is_some_and(|lease| lease.interrupted);
        let is_loaded = lease
            .as_ref()
            .is_some_and(|lease| lease.may_be_loaded(&self.room.dir, sessions::CODEX));
        let (argv, otherwise) = match (&wake.by, &wake.otherwise) {
            (AgentWakeMethod::Codex, Some(otherwise)) if !is_loaded || is_interrupted => {
                (otherwise.clone(), None)
            }
            (AgentWakeMethod::Codex, None) if is_interrupted => return Err(codex::held()),
            (AgentWakeMethod::Codex, otherwise) => {
                (codex::ARGV.map(String::from).to_vec(), otherwise.as_ref())
            }
            (AgentWakeMethod::Command(argv), _) => (argv.clone(), None),
            (AgentWakeMethod::Claude | AgentWakeMethod::Nobody, _) => return Ok(false),
        };
        if !self.room.agrees(wake)? {
            let what = format!("the user has not agreed to start its program {argv:?}");
            return Err(Error::usage(
                what,
                format!("run `mailbag trust {}`", shell_path(self.room.dir.path())),
            ));
        }
        if wants_session(&argv)
            && lease
                .as_ref()
                .and_then(|lease| lease.session.as_ref())
                .is_none()
        {
            return Err(Error::usage(
                "it has no known session",
                format!("run `mailbag join {agent}` in its session"),
            ));
        }
        let told = lease.as_ref().map(|lease| lease.told).unwrap_or_default();
        let count = briefing::unannounced(&self.room, agent)?;
        // A program that gets the text announces the mail.
        let briefing = if program::wants_text(&argv) {
            let reader = BriefedAgent {
                agent,
                session: None,
            };
            briefing::brief(&self.room, reader, SessionMoment::Prompt, told)?
        } else {
            None
        };
        if briefing.is_none() && program::wants_text(&argv) {
            return Ok(false);
        }
        let text = briefing
            .as_ref()
            .map(|briefing| briefing.text.as_str())
            .unwrap_or_default();
        let values = PlaceholderValues {
            room: &self.room,
            agent,
            text,
            count,
            lease: lease.as_ref(),
        };
        let argv = values.fill(&argv);
        let otherwise = otherwise.map(|otherwise| values.fill(otherwise));
        let run = WakeRun {
            room: self.room.clone(),
            notes: self.notes.clone(),
            agent: agent.clone(),
            seqs: seqs.to_vec(),
        };
        let (within, news) = (wake.within, self.news.clone());
        std::thread::Builder::new()
            .name("wake".into())
            .spawn(move || {
                run.run(&argv, otherwise.as_deref(), within, briefing.as_ref());
                let _ = news.send(WakerEvent::Ended(run.agent));
            })
            .map(|_| true)
            .doing("start a thread for", "a program")
    }
}

/// A program on its way.
struct WakeRun {
    room: Room,
    notes: WakeStepSender,
    agent: Arc<str>,
    seqs: Vec<u64>,
}

impl WakeRun {
    /// Runs the program, and after a failure the other one. Records the result.
    fn run(
        &self,
        argv: &[String],
        otherwise: Option<&[String]>,
        within: Duration,
        briefing: Option<&Briefing>,
    ) {
        let WakeRun {
            room,
            notes,
            agent,
            seqs,
        } = self;
        let mut argv = argv;
        let mut ran = codex::run(argv, room, agent, within, || {
            notes.add(WakeStep::Started, agent, seqs, None);
        });
        if !ran.is_well()
            && let Some(otherwise) = otherwise
        {
            tracing::warn!(
                output = ran.output,
                "{} cannot wake {agent}: {}",
                argv[0],
                ran.outcome
            );
            argv = otherwise;
            ran = program::run(argv, room, agent, within, || {});
        }
        match (briefing, ran.is_well()) {
            (Some(briefing), false) => briefing.undo(room, agent),
            (Some(briefing), true) => log(sessions::record_shown(room, agent, briefing.told)),
            (None, _) => {}
        }
        let program = argv.first().map(String::as_str).unwrap_or_default();
        let (outcome, output) = (&ran.outcome, &ran.output);
        let trouble =
            (!ran.is_well()).then(|| format!("{program}: {outcome} {output}").trim().to_owned());
        match &trouble {
            None => tracing::info!(program, output, "woke {agent}"),
            Some(_) => tracing::warn!(program, output, "cannot wake {agent}: {outcome}"),
        }
        note(room, agent, trouble.as_deref());
        let step = if ran.is_well() {
            WakeStep::Succeeded
        } else {
            WakeStep::Failed
        };
        notes.add(
            step,
            agent,
            seqs,
            trouble.map(|why| sanitize::brief(&why, WAKE_REASON)),
        );
    }
}

/// The rest of the time that an agent counts as working: its next hook will announce its mail. `None` if the agent is idle or
/// unknown. It counts as idle after `most` without a hook.
pub fn at_work(room: &Room, lease: &SessionLease, most: Duration) -> Option<Duration> {
    let within = room.settings().ok()?.session_lease;
    if RESTING.contains(&lease.event.as_str()) || !lease.is_live(&room.dir, within) {
        return None;
    }
    let most = if STARTING.contains(&lease.event.as_str()) {
        limits::STARTING
    } else {
        most
    };
    let idle = lease.last()?.after(most);
    Some(idle.saturating_duration_since(Stamp::now())).filter(|left| !left.is_zero())
}

/// Returns true if the session of this lease has just started.
pub fn is_new(lease: &SessionLease) -> bool {
    STARTING.contains(&lease.event.as_str())
}

// For `doctor`, which shows the programs beside the hooks.
pub(super) fn note(room: &Room, agent: &str, trouble: Option<&str>) {
    log(sessions::note(
        room,
        sessions::WAKE,
        agent,
        Some(agent),
        trouble.map(str::to_owned),
    ));
}

fn log(done: Result<()>) {
    if let Err(e) = done {
        tracing::debug!("{e}");
    }
}
