//! Tests of the power cut: synced data stays, other data is lost, and no device is left over.

use super::device::{Cut, KINDS, Kind, PowerDevice};
use crate::world::skip;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

type Done = Result<(), Box<dyn std::error::Error>>;

fn each(test: fn(Kind) -> Done) -> Done {
    for kind in KINDS {
        match kind.unavailable() {
            Some(why) => skip(format_args!("power cuts on {kind}: {why}")),
            None => test(kind)?,
        }
    }
    Ok(())
}

fn write(path: &Path, sync: bool) -> Done {
    let mut file = File::create(path)?;
    file.write_all(&[7; 10_000])?;
    if sync {
        file.sync_all()?;
        File::open(path.parent().ok_or("no parent")?)?.sync_all()?;
    }
    Ok(())
}

#[test]
fn a_cut_keeps_what_was_synced_and_nothing_that_came_after() -> Done {
    each(|kind| {
        let mut device = PowerDevice::new(kind)?;
        write(&device.path().join("synced"), true)?;
        write(&device.path().join("lost"), false)?;
        device.cut(Cut::Hard)?;
        let later = File::create(device.path().join("later"));
        assert!(
            kind == Kind::Btrfs || later.is_err(),
            "{kind} takes writes without power"
        );
        drop(later);
        device.remount()?;
        assert!(
            !device.path().join("later").exists(),
            "{kind} kept what came without power"
        );
        assert_eq!(fs::read(device.path().join("synced"))?, [7; 10_000]);
        assert!(
            !device.path().join("lost").exists(),
            "{kind} kept a file that nobody synced"
        );
        write(&device.path().join("again"), false)
    })
}

#[test]
fn a_commit_just_before_keeps_names_but_not_their_bytes() -> Done {
    each(|kind| {
        let mut device = PowerDevice::new(kind)?;
        write(&device.path().join("a"), false)?;
        fs::rename(device.path().join("a"), device.path().join("b"))?;
        device.cut(Cut::AfterCommit)?;
        device.remount()?;
        // This is what makes the variant worth its time: a renamed file without its bytes.
        assert_eq!(fs::read(device.path().join("b"))?.len(), 0, "{kind}");
        assert!(!device.path().join("a").exists());
        Ok(())
    })
}

#[test]
fn nothing_is_left_over_even_after_a_panic() -> Done {
    each(|kind| {
        let device = PowerDevice::new(kind)?;
        let (path, file) = (device.path(), File::create(device.path().join("open"))?);
        let panicked = std::thread::spawn(move || {
            let _device = device;
            std::panic::resume_unwind(Box::new("as a failed assertion would"));
        });
        assert!(panicked.join().is_err());
        let mounts = fs::read_to_string("/proc/thread-self/mounts")?;
        assert!(
            !mounts.contains(&*path.to_string_lossy()),
            "still mounted: {mounts}"
        );
        drop(file);
        let image = path.with_file_name("image");
        // The kernel lets go of the device in its own time once the last file is closed.
        let deadline = Instant::now() + Duration::from_secs(10);
        while loops()?
            .iter()
            .any(|backing| backing.starts_with(&*image.to_string_lossy()))
        {
            assert!(Instant::now() < deadline, "{:?}", loops()?);
            std::thread::yield_now();
        }
        Ok(())
    })
}

/// The image files of the loop devices in use.
fn loops() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    for device in fs::read_dir("/sys/block")? {
        let backing: PathBuf = device?.path().join("loop/backing_file");
        files.extend(fs::read_to_string(backing));
    }
    Ok(files)
}

#[test]
#[ignore = "a measurement: how long a cut and a return of the power take"]
fn speed() -> Done {
    each(|kind| {
        let start = Instant::now();
        let mut device = PowerDevice::new(kind)?;
        let made = start.elapsed();
        let start = Instant::now();
        for _ in 0..20 {
            write(&device.path().join("a"), true)?;
            device.cut(Cut::Hard)?;
            device.remount()?;
        }
        println!("{kind}: made in {made:?}, 20 cuts in {:?}", start.elapsed());
        Ok(())
    })
}
