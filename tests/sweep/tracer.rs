//! Runs a program and ends it at an exact system call, or makes one of its calls fail.
//!
//! A sweep first counts (`Plan::Count`), chooses its points among the calls reported, and then runs once for each.

use super::calls::{self, Call, Decoded};
use super::ptrace::{self, Report, Syscall};
use libc::pid_t;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The number of waits that the deadline of a program is divided into.
const TICKS: u32 = 30;

/// The disturbance of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Let it run, and report its calls.
    Count,
    /// Kill it and all it started at its N-th call that changes something, from 1.
    Kill { call: usize, moment: Moment },
    /// Its N-th call of that name fails, from 1, and with `lasting` all later ones.
    Fail { name: &'static str, nth: usize, errno: i32, lasting: bool },
    /// Make all its calls fail on what stands in this directory of the room, but for syncs.
    FailIn { place: &'static str, errno: i32 },
}

/// The moment of the kill within the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The call does not happen.
    Before,
    /// A write has written half of its bytes. A call without a half does not happen.
    Halfway,
    /// The call has happened.
    After,
}

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Exited(i32),
    /// By a signal that was not the plan's.
    Signalled(i32),
    /// By the plan.
    Killed,
    /// The tracer ended it after the deadline.
    Hung,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) end: End,
    /// All its calls on the room, in the order of their entries.
    pub(crate) calls: Vec<Call>,
    /// The number of failed calls.
    pub(crate) failed: usize,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// The calls that change something: the N-th of them has the number N.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.number.is_some())
    }

    /// How often each call of the room was made, by name.
    pub(crate) fn names(&self) -> BTreeMap<&'static str, usize> {
        let mut names = BTreeMap::new();
        self.calls.iter().for_each(|call| *names.entry(call.name).or_default() += 1);
        names
    }

    /// For each call of this name in one of these directories of the room: let it alone fail with this error.
    pub(crate) fn failing(&self, room: &Path, places: &[&str], (name, errno): (&'static str, i32)) -> Vec<Plan> {
        let named = self.calls.iter().filter(|call| call.name == name).enumerate();
        let is_there = |call: &Call| {
            let parents = call.paths.iter().filter_map(|path| path.parent());
            parents.into_iter().any(|parent| places.iter().any(|place| parent == room.join(place)))
        };
        let nth = named.filter(|(_, call)| is_there(call)).map(|(n, _)| n + 1);
        nth.map(|nth| Plan::Fail { name, nth, errno, lasting: false }).collect()
    }
}

type AtCall<'a> = Box<dyn FnMut(&Call) + 'a>;
type BeforeKill<'a> = Box<dyn FnMut() + 'a>;

/// Watches the calls of programs on one directory.
pub(crate) struct Tracer<'a> {
    room: PathBuf,
    deadline: Duration,
    at_call: Option<AtCall<'a>>,
    before_kill: Option<BeforeKill<'a>>,
    looks: bool,
    pipes: bool,
    alone: bool,
}

impl<'a> Tracer<'a> {
    /// Watches calls on what lies inside `room`, which has to exist.
    pub(crate) fn new(room: &Path) -> io::Result<Self> {
        let (room, deadline) = (room.canonicalize()?, Duration::from_secs(60));
        Ok(Tracer { room, deadline, at_call: None, before_kill: None, looks: false, pipes: false, alone: false })
    }

    /// A program that has not ended after this long is killed and reported as hung.
    pub(crate) fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Also counts the calls on pipes.
    pub(crate) fn with_pipes(mut self) -> Self {
        self.pipes = true;
        self
    }

    /// Kills only the process that makes the call, if so, and lets the others end by themselves.
    pub(crate) fn alone(mut self, alone: bool) -> Self {
        self.alone = alone;
        self
    }

    /// Calls this at the entry of every call that changes something, while the thread that makes it stands still:
    /// `act` plays other programs that change the room at exactly that moment.
    pub(crate) fn at_call(mut self, act: impl FnMut(&Call) + 'a) -> Self {
        self.at_call = Some(Box::new(act));
        self
    }

    /// Like [`Tracer::at_call`], for calls that only look as well.
    pub(crate) fn at_every_call(mut self, act: impl FnMut(&Call) + 'a) -> Self {
        self.looks = true;
        self.at_call(act)
    }

    /// Calls this at the chosen moment, just before the kill: the place to cut the power.
    pub(crate) fn before_kill(mut self, act: impl FnMut() + 'a) -> Self {
        self.before_kill = Some(Box::new(act));
        self
    }

    /// Runs `command` to its end. The calling thread must have no child of its own running.
    pub(crate) fn run(&mut self, mut command: Command, plan: Plan) -> io::Result<Outcome> {
        let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        let started = ptrace::start(command, &calls::numbers())?;
        let leader = started.pid;
        let (done, dog) = mpsc::channel::<()>();
        let deadline = self.deadline;
        let hung = Arc::new(AtomicBool::new(false));
        let bark = Arc::clone(&hung);
        let watchdog = thread::spawn(move || {
            // Many short waits: if the machine or this program is stopped, only one of them is cut short.
            if (0..TICKS).any(|_| dog.recv_timeout(deadline / TICKS) != Err(RecvTimeoutError::Timeout)) {
                return String::new();
            }
            let seen = threads(leader);
            bark.store(true, Relaxed);
            ptrace::kill(leader, true);
            seen
        });
        let mut run = Run::new(self, plan, leader);
        while let Some((pid, report)) = ptrace::wait()? {
            run.take(pid, report);
            if hung.load(Relaxed) || run.killed && !run.tracer.alone {
                run.kill_all();
            }
        }
        drop(done);
        let seen = watchdog.join().expect("the watchdog does not panic");
        started.could_be()?;
        let end = match (run.killed, hung.load(Relaxed)) {
            (_, true) if !run.killed || run.tracer.alone => End::Hung,
            (true, _) => End::Killed,
            _ => run.end.ok_or_else(|| io::Error::other("the program ended unseen"))?,
        };
        Ok(Outcome { end, calls: run.calls, failed: run.failed, stdout: content(stdout)?, stderr: content(stderr)? + &seen })
    }
}

/// The threads of a program that hangs, each with its name, its state, and its call.
fn threads(pid: pid_t) -> String {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let told = tasks.map(|task| {
        let read = |file| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let status = read("status");
        let line = |key| status.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned();
        format!("\n    thread: {} {} {} {}", line("Name:"), line("State:"), read("syscall").trim(), read("wchan"))
    });
    told.collect()
}

fn content(mut file: File) -> io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The call that a thread is in: its place in the list, and the action at its exit.
struct Inside {
    call: usize,
    at_exit: AtExit,
}

enum AtExit {
    Nothing,
    Kill,
    Fail(i32),
}

struct Run<'t, 'a> {
    tracer: &'t mut Tracer<'a>,
    plan: Plan,
    leader: pid_t,
    threads: HashSet<pid_t>,
    inside: HashMap<pid_t, Inside>,
    calls: Vec<Call>,
    changes: usize,
    named: usize,
    failed: usize,
    killed: bool,
    end: Option<End>,
}

impl<'t, 'a> Run<'t, 'a> {
    fn new(tracer: &'t mut Tracer<'a>, plan: Plan, leader: pid_t) -> Self {
        Run {
            tracer,
            plan,
            leader,
            threads: HashSet::from([leader]),
            inside: HashMap::new(),
            calls: Vec::new(),
            changes: 0,
            named: 0,
            failed: 0,
            killed: false,
            end: None,
        }
    }

    fn take(&mut self, pid: pid_t, report: Report) {
        self.threads.insert(pid);
        let mut signal = 0;
        match report {
            Report::Exited(_) | Report::Signalled(_) => return self.ended(pid, report),
            Report::GroupStop => return ptrace::stay_stopped(pid),
            Report::Signal(delivered) => signal = delivered,
            Report::Syscall if !self.killed || self.tracer.alone => {
                self.at_syscall(pid);
                if self.inside.contains_key(&pid) {
                    return ptrace::into_call(pid);
                }
            }
            Report::Syscall | Report::Event => {}
        }
        ptrace::resume(pid, signal);
    }

    fn ended(&mut self, pid: pid_t, report: Report) {
        self.threads.remove(&pid);
        self.inside.remove(&pid);
        if pid == self.leader {
            self.end = match report {
                Report::Exited(code) => Some(End::Exited(code)),
                Report::Signalled(signal) => Some(End::Signalled(signal)),
                _ => None,
            };
        }
    }

    fn at_syscall(&mut self, pid: pid_t) {
        match ptrace::syscall(pid) {
            Some(Syscall::Entry { number, args }) => {
                if let Some(call) = calls::decode(pid, number, args, (&self.tracer.room, self.tracer.pipes)) {
                    self.enter(pid, &call);
                }
            }
            Some(Syscall::Exit { result }) => {
                if let Some(inside) = self.inside.remove(&pid) {
                    self.leave(pid, &inside, result);
                }
            }
            None => {}
        }
    }

    fn enter(&mut self, pid: pid_t, decoded: &Decoded) {
        if decoded.changes {
            self.changes += 1;
        }
        let number = decoded.changes.then_some(self.changes);
        let (name, paths, bytes, at) = (decoded.name, decoded.paths.clone(), decoded.bytes, decoded.at);
        let call = Call { number, thread: pid, name, paths, bytes, at, result: None };
        if decoded.changes || self.tracer.looks {
            self.tracer.at_call.iter_mut().for_each(|act| act(&call));
        }
        self.calls.push(call);
        let at_exit = match self.plan {
            Plan::Kill { call, moment } if number == Some(call) => self.arrive(pid, decoded, moment),
            Plan::Fail { name, nth, errno, lasting } if name == decoded.name => {
                self.named += 1;
                let hit = self.named == nth || lasting && self.named > nth;
                if hit && ptrace::cancel(pid).is_ok() { AtExit::Fail(errno) } else { AtExit::Nothing }
            }
            Plan::FailIn { place, errno } if !decoded.name.contains("sync") => {
                let place = self.tracer.room.join(place);
                let hit = decoded.paths.iter().any(|path| path.starts_with(&place));
                if hit && ptrace::cancel(pid).is_ok() { AtExit::Fail(errno) } else { AtExit::Nothing }
            }
            _ => AtExit::Nothing,
        };
        // The result of a call without changes is not needed, and each stop costs time.
        if decoded.changes || !matches!(at_exit, AtExit::Nothing) {
            self.inside.insert(pid, Inside { call: self.calls.len() - 1, at_exit });
        }
    }

    fn arrive(&mut self, pid: pid_t, decoded: &Decoded, moment: Moment) -> AtExit {
        match moment {
            Moment::After => AtExit::Kill,
            Moment::Halfway if decoded.halve(pid) => AtExit::Kill,
            Moment::Before | Moment::Halfway => {
                // A call that is being entered when its thread is killed would not happen anyway; this makes it sure.
                let _ = ptrace::cancel(pid);
                self.kill(pid);
                AtExit::Nothing
            }
        }
    }

    fn leave(&mut self, pid: pid_t, inside: &Inside, result: i64) {
        self.calls[inside.call].result = Some(result);
        match inside.at_exit {
            AtExit::Nothing => {}
            AtExit::Kill => self.kill(pid),
            AtExit::Fail(errno) => {
                self.calls[inside.call].result = Some(-i64::from(errno));
                self.failed += 1;
                // Fails only for a thread that was killed in the meantime.
                let _ = ptrace::set_result(pid, -i64::from(errno));
            }
        }
    }

    fn kill(&mut self, pid: pid_t) {
        if let Some(act) = self.tracer.before_kill.as_mut() {
            act();
        }
        self.killed = true;
        match self.tracer.alone {
            // The number of each thread identifies the process.
            true => ptrace::kill(pid, false),
            false => self.kill_all(),
        }
    }

    /// Called after every report, because a new process may have left the process group.
    fn kill_all(&self) {
        self.threads.iter().for_each(|pid| ptrace::kill(*pid, false));
    }
}
