//! The floor: a relay that does only the file calls of the router's work, with no validation, no registry and no hash.
//!
//! `floor --room DIR [--once] [--one-by-one N]`. Single-threaded. Its file calls are all in `calls.rs`.

mod batch;
mod calls;
mod copy;
mod intake;

use anyhow::{Context, Result, bail};
use batch::Relay;
use intake::{Intake, Notice};
use mailbag::base::limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs the floor on a room with existing directories, until SIGTERM, or once.
pub(crate) fn main(args: &[String]) -> Result<()> {
    let mut room = None;
    let mut once = false;
    let mut one_by_one = limits::SYNC_ONE_BY_ONE;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--room" => room = args.next().map(PathBuf::from),
            "--once" => once = true,
            // Another limit than the router's, to measure the value of the limit.
            "--one-by-one" => one_by_one = args.next().context("--one-by-one N")?.parse()?,
            other => bail!("floor: {other}?"),
        }
    }
    let room = room.context("floor: --room DIR is missing")?;
    // Opening for writing what we hold a lease on sends SIGIO, which kills by default.
    signal_hook::flag::register(signal_hook::consts::SIGIO, Arc::new(AtomicBool::new(false)))?;
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: most,
            maximum: most,
        },
    )?;

    let mut relay = Relay::open(&room, one_by_one)?;
    let mut intake = Intake::new(relay.names().len());
    if once {
        while relay.route(&mut intake)? {}
        return relay.settle();
    }
    let notice = Notice::start(&room.join("outbox"), relay.names())?;
    sd_notify::notify(&[sd_notify::NotifyState::Ready])?;
    let mut buffer = vec![MaybeUninit::uninit(); 64 << 10];
    loop {
        while relay.route(&mut intake)? {}
        notice.wait(&mut buffer, &mut intake)?;
    }
}
