//! Commands that run beside a test.

use crate::world::{KilledChild, Words, World};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// A command that runs beside the test, killed when dropped. Its output is in files.
pub(crate) struct Beside {
    pub(crate) child: KilledChild,
    out: PathBuf,
    err: PathBuf,
}

impl Beside {
    /// Starts the program without input.
    pub(crate) fn start(world: &World, args: &(impl Words + ?Sized)) -> Beside {
        let mut command = world.bare(args);
        command.stdin(Stdio::null());
        Beside::by(world, command)
    }

    /// Starts a command that runs it.
    pub(crate) fn by(world: &World, mut command: Command) -> Beside {
        let file = |kind: &str| {
            world
                .path()
                .join(format!("{}.{kind}", uuid::Uuid::now_v7()))
        };
        let (out, err) = (file("out"), file("err"));
        let open = |path| File::create(path).expect("a file for its words");
        command.stdout(open(&out)).stderr(open(&err));
        Beside {
            child: KilledChild(command.spawn().expect("the program starts")),
            out,
            err,
        }
    }

    /// Its standard output so far.
    pub(crate) fn out(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap_or_default()
    }

    /// Its standard error so far.
    pub(crate) fn err(&self) -> String {
        std::fs::read_to_string(&self.err).unwrap_or_default()
    }

    /// The lines of its standard output so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.out().lines().map(str::to_owned).collect()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it can be signalled");
    }

    /// Ends it and all processes of its group, which it leads.
    pub(crate) fn end_group(self) {
        kill_process_group(Pid::from_child(&self.child), Signal::KILL).expect("it can be ended");
    }

    /// Fails if it has ended.
    #[track_caller]
    pub(crate) fn runs(&mut self) {
        let ended = self.child.try_wait().expect("a child");
        assert!(
            ended.is_none(),
            "it ended with {ended:?}: {}{}",
            self.out(),
            self.err()
        );
    }

    /// Waits until it has ended.
    #[track_caller]
    pub(crate) fn ended(&mut self, world: &World) -> ExitStatus {
        let mut status = None;
        world.wait("it ends", || {
            status = self.child.try_wait().expect("a child");
            status.is_some()
        });
        status.expect("it has ended")
    }

    /// Waits until it ends with this status, as a shell counts it, and returns its output.
    #[track_caller]
    pub(crate) fn ends(mut self, world: &World, code: i32) -> String {
        let status = self.ended(world);
        let has = status.code().or(status.signal().map(|signal| 128 + signal));
        assert_eq!(has, Some(code), "{}{}", self.out(), self.err());
        self.out()
    }
}
