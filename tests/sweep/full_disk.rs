//! A router that starts while the disk is full: it runs, logs the reason, and all mail arrives when there
//! is space again.

use super::device::{Kind, PowerDevice};
use super::sweeps::Done;
use crate::world::{World, wait};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Writes until the file system takes no further byte.
fn fill(place: &Path) {
    for (n, size) in [1 << 20, 4096, 1024, 1].into_iter().enumerate() {
        let mut file = File::create(place.join(format!("fill-{n}"))).expect("a file");
        let piece = vec![b'x'; size];
        while file.write_all(&piece).and_then(|()| file.sync_data()).is_ok() {}
    }
}

#[test]
fn a_router_that_starts_on_a_full_disk_runs() -> Done {
    if let Some(why) = Kind::Ext4.unavailable() {
        crate::world::skip(why);
        return Ok(());
    }
    let (device, world) = (PowerDevice::new(Kind::Ext4)?, World::empty());
    let place = device.path().join("room");
    let room = place.display().to_string();
    world.ok(&["init", &room]);
    world.ok(&["--room", &room, "agent", "add", "alice", "bob"]);
    let outbox = place.join("outbox/alice");
    for n in 0..6 {
        fs::write(outbox.join(format!(".{n}")), format!(r#"{{"to": "bob", "body": "{n}"}}"#))?;
    }
    fill(&device.path());
    for n in 0..6 {
        fs::rename(outbox.join(format!(".{n}")), outbox.join(format!("{n}.json")))?;
    }
    let router = world.router(&["--room", &room]);
    let status = || world.json(&["--room", &room, "status"]);
    wait("the full disk is logged", || router.log().contains("No space left"));
    let said = world.ok(&["--room", &room, "status"]);
    assert_contains!(said, "6 picked up");
    assert!(status()["router"]["since"].as_str().is_some_and(|since| since.starts_with("20")), "{said}");
    router.signal(rustix::process::Signal::STOP);
    wait("the stop", || status()["stalled"]["stopped"] == true);
    assert_contains!(world.ok(&["--room", &room, "status"]), "6 files wait");
    router.signal(rustix::process::Signal::CONT);
    for n in 0..4 {
        fs::remove_file(device.path().join(format!("fill-{n}")))?;
    }
    wait("all mail", || fs::read_dir(place.join("inbox/bob")).is_ok_and(|names| names.count() >= 6));
    assert_eq!(router.end(), 0);
    world.ok(&["--room", &room, "log", "verify"]);
    Ok(())
}

#[test]
fn a_router_without_a_text_in_its_lock_has_a_date() -> Done {
    let world = World::with("alice");
    let lock = File::options().write(true).open(world.room("spool/lock"))?;
    let second = File::create(world.room("spool/routing.lock"))?;
    lock.set_len(0)?;
    lock.lock().and_then(|()| second.lock())?;
    let router = &world.json("status")["router"];
    assert!(router["since"].as_str().is_some_and(|since| since.starts_with("20")), "{router}");
    Ok(())
}
