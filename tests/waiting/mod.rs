//! The commands that wait, and the inbox that several share: real processes beside each other, with and without a router.

mod alongside;
mod asking;
mod following;
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod killed;
mod sharing;
mod taking;
mod waits;

use crate::world::World;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};

/// A command that runs beside the test, killed when dropped.
struct Beside {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Beside {
    fn start(world: &World, args: &[&str]) -> Beside {
        let file = |kind: &str| {
            world
                .path()
                .join(format!("{}.{kind}", uuid::Uuid::now_v7()))
        };
        let (out, err) = (file("out"), file("err"));
        let open = |path| File::create(path).expect("a file for its words");
        let mut command = world.bare(args);
        let command = command
            .stdin(Stdio::null())
            .stdout(open(&out))
            .stderr(open(&err));
        Beside {
            child: command.spawn().expect("the program starts"),
            out,
            err,
        }
    }

    fn out(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap_or_default()
    }

    fn err(&self) -> String {
        std::fs::read_to_string(&self.err).unwrap_or_default()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it can be signalled");
    }

    /// Waits until it routes, because no other process does.
    #[track_caller]
    fn routes(&mut self, world: &World) {
        let pid = self.child.id();
        world.wait("it routes", || {
            assert!(
                self.child.try_wait().expect("a child").is_none(),
                "it ended: {}{}",
                self.out(),
                self.err()
            );
            let router = world.json(&["status"])["router"].clone();
            router["pid"] == pid && router["mode"] == "alongside"
        });
    }

    #[track_caller]
    fn ended(&mut self, world: &World) -> ExitStatus {
        let mut status = None;
        world.wait("it ends", || {
            status = self.child.try_wait().expect("a child");
            status.is_some()
        });
        status.expect("it has ended")
    }

    /// Waits until it ends with this status, and returns its output.
    #[track_caller]
    fn ends(mut self, world: &World, code: i32) -> String {
        let status = self.ended(world);
        assert_eq!(status.code(), Some(code), "{}{}", self.out(), self.err());
        self.out()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns true if no process routes.
fn is_free(world: &World) -> bool {
    world.json(&["status"])["router"].is_null()
}
