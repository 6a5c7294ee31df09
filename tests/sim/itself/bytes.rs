//! Bytes after a crash or a failure.

use super::*;

#[test]
fn a_kill_in_a_write_leaves_a_part() -> Result<()> {
    let machine = machine();
    new_file(&directory(&machine, "/a"), "x", b"123456")?;
    let crashes = machine.crashes(1, &[Fate::Kill], &mut Random::new(1));
    let found: Vec<String> = crashes
        .iter()
        .map(|c| content(&c.machine, "/a/x"))
        .collect();
    assert_eq!(found, ["", "123", "12345"]);
    Ok(())
}

#[test]
fn bytes_without_a_sync_are_whole_short_or_zeros() -> Result<()> {
    for fate in [Fate::Journal, Fate::PerDirectory] {
        let machine = machine();
        let file = durable_file(&machine, b"abc")?;
        file.write_at(b"DEF", 2)?;
        assert_eq!(
            contents(&machine, fate, "/a/x"),
            texts(["abDEF", "abc", "abc00"])
        );
        file.sync(Sync::Data)?;
        assert_eq!(contents(&machine, fate, "/a/x"), texts(["abDEF"]));
        file.set_len(1)?;
        assert_eq!(contents(&machine, fate, "/a/x"), texts(["abDEF", "a"]));
    }
    Ok(())
}

#[test]
fn without_order_there_is_every_part_of_three_writes() -> Result<()> {
    let machine = machine();
    let file = durable_file(&machine, b"ab")?;
    for (place, byte) in [b"A", b"B", b"C"].into_iter().enumerate() {
        file.write_at(byte, place as u64)?;
    }
    // Each byte is old or new. The last one is missing, new or zero. One byte cannot be torn.
    assert_eq!(contents(&machine, Fate::Unordered, "/a/x").len(), 12);
    assert_eq!(crashes(&machine, Fate::Unordered).len(), 12);
    Ok(())
}

#[test]
fn without_order_the_last_write_can_be_torn() -> Result<()> {
    let machine = machine();
    let file = durable_file(&machine, b"")?;
    file.write_at(b"12", 0)?;
    let found = contents(&machine, Fate::Unordered, "/a/x");
    assert_eq!(found, texts(["", "12", "00", "1"]));
    file.write_at(b"3", 2)?;
    let found = contents(&machine, Fate::Unordered, "/a/x");
    assert!(found.contains("003") && !found.contains("103"), "{found:?}");
    Ok(())
}

#[test]
fn a_failed_sync_shows_the_old_bytes_after_the_next_boot() -> Result<()> {
    let machine = machine();
    let file = durable_file(&machine, b"old")?;
    machine.watch();
    file.write_at(b"new!", 0)?;
    machine.fail(Some(Failure {
        call: 1,
        errno: libc::EIO,
        lasts: false,
        short: false,
    }));
    let error = file.sync(Sync::Full).expect_err("the second call fails");
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
    file.sync(Sync::Full)?;
    assert_eq!(content(&machine, "/a/x"), "new!");
    for fate in CUTS {
        assert_eq!(contents(&machine, fate, "/a/x"), texts(["old"]));
    }
    file.write_at(b"+", 4)?;
    file.sync(Sync::Full)?;
    file.forget()?;
    assert_eq!(content(&machine, "/a/x"), "old0+");
    assert_eq!(contents(&machine, Fate::Journal, "/a/x"), texts(["old0+"]));
    Ok(())
}

#[test]
fn a_full_disk_stays_full_and_a_short_write_is_half() -> Result<()> {
    let machine = machine();
    let a = directory(&machine, "/a");
    machine.watch();
    machine.fail(Some(Failure {
        call: 1,
        errno: libc::ENOSPC,
        lasts: true,
        short: true,
    }));
    let file = a.open(Path::new("x"), Open::Make(0o644))?;
    assert_eq!(file.write_at(b"1234", 0)?, 2);
    assert!(file.write_at(b"34", 2).is_err());
    assert!(a.open(Path::new("y"), Open::Make(0o644)).is_err());
    assert!(!machine.exists("/a/y"));
    file.sync(Sync::Full)?;
    let calls = machine.calls();
    let failed = calls.iter().filter(|call| call.is_injected);
    let failed: Vec<_> = failed.map(|call| (call.name, call.step)).collect();
    assert_eq!(failed, [(CallName::Write, 2), (CallName::Make, 2)]);
    machine.fail(None);
    new_file(&a, "y", b"1").map(|_| ())
}
