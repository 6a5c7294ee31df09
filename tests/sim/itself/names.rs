//! Names after a crash.

use super::*;

#[test]
fn a_name_is_certain_only_after_a_sync_of_its_directory() -> Result<()> {
    for fate in CUTS {
        let machine = machine();
        let a = directory(&machine, "/a");
        let file = new_file(&a, "x", b"12")?;
        file.sync(Sync::Full)?;
        // btrfs also writes the name of a new file that is synced.
        let is_certain = fate == Fate::PerDirectory;
        let wanted = if is_certain {
            texts(["12"])
        } else {
            texts(["-", "12"])
        };
        assert_eq!(contents(&machine, fate, "/a/x"), wanted);
        a.sync(Sync::Full)?;
        assert_eq!(contents(&machine, fate, "/a/x"), texts(["12"]), "{fate:?}");
        a.remove(Path::new("x"))?;
        assert_eq!(contents(&machine, fate, "/a/x"), texts(["-", "12"]));
    }
    Ok(())
}

#[test]
fn a_journal_keeps_names_in_their_order() -> Result<()> {
    let machine = machine();
    let (a, b) = (directory(&machine, "/a"), directory(&machine, "/b"));
    for name in ["1", "2", "3"] {
        new_file(&a, name, b"")?;
    }
    let paths = ["/a/1", "/a/2", "/a/3"];
    let found = there(&machine, Fate::Journal, &paths);
    let prefixes = [
        [false; 3],
        [true, false, false],
        [true, true, false],
        [true; 3],
    ];
    assert_eq!(found, prefixes.map(Vec::from).into());
    new_file(&b, "4", b"")?;
    b.sync(Sync::Full)?;
    let found = there(&machine, Fate::Journal, &paths);
    assert_eq!(
        found,
        [vec![true; 3]].into(),
        "what was before a durable name is also there"
    );
    assert_eq!(there(&machine, Fate::Unordered, &paths).len(), 8);
    Ok(())
}

#[test]
fn only_btrfs_shows_a_moved_file_under_both_names_and_none_loses_it() -> Result<()> {
    let (old, new, both) = (vec![true, false], vec![false, true], vec![true, true]);
    for fate in CUTS {
        let machine = machine();
        durable_file(&machine, b"12")?;
        let (a, b) = (directory(&machine, "/a"), directory(&machine, "/b"));
        move_file(&a, "x", &b, "y")?;
        let wanted = BTreeSet::from([old.clone(), new.clone()]);
        assert_eq!(there(&machine, fate, &["/a/x", "/b/y"]), wanted, "{fate:?}");
        let one = machine.copy();
        b.sync(Sync::Full)?;
        let found = there(&machine, fate, &["/a/x", "/b/y"]);
        assert!(found.contains(&new) && !found.contains(&vec![false, false]));
        assert_eq!(found.contains(&both), fate == Fate::PerDirectory);
        directory(&one, "/a").sync(Sync::Full)?;
        let found = there(&one, fate, &["/a/x", "/b/y"]);
        let is_whole = fate == Fate::PerDirectory;
        let wanted = if is_whole {
            BTreeSet::from([new.clone()])
        } else {
            [old.clone(), new.clone()].into()
        };
        assert_eq!(found, wanted, "{fate:?}");
        a.sync(Sync::Full)?;
        assert_eq!(
            there(&machine, fate, &["/a/x", "/b/y"]),
            [new.clone()].into()
        );
    }
    Ok(())
}

#[test]
fn both_names_of_a_moved_file_are_one_file() -> Result<()> {
    let machine = machine();
    durable_file(&machine, b"12")?;
    let (a, b) = (directory(&machine, "/a"), directory(&machine, "/b"));
    move_file(&a, "x", &b, "y")?;
    b.sync(Sync::Full)?;
    let mut crashes = crashes(&machine, Fate::PerDirectory);
    crashes.retain(|crash| crash.machine.exists("/a/x") && crash.machine.exists("/b/y"));
    let root = crashes[0].machine.root();
    let (one, other) = (root.stat(Path::new("/a/x"))?, root.stat(Path::new("/b/y"))?);
    assert!(one.is_same_file(&other));
    assert_eq!(one.links, 2);
    let b = directory(&crashes[0].machine, "/b");
    assert!(move_file(&directory(&crashes[0].machine, "/a"), "x", &b, "y").is_err());
    b.remove(Path::new("y"))?;
    assert_eq!(root.stat(Path::new("/a/x"))?.links, 1);
    Ok(())
}

#[test]
fn a_replacement_leaves_the_old_or_the_new_file() -> Result<()> {
    for fate in CUTS {
        let machine = machine();
        durable_file(&machine, b"old")?;
        let a = directory(&machine, "/a");
        new_file(&a, ".x", b"new")?.sync(Sync::Full)?;
        a.rename(Path::new(".x"), &*a, Path::new("x"), Existing::Replace)?;
        assert_eq!(contents(&machine, fate, "/a/x"), texts(["old", "new"]));
        for crash in crashes(&machine, fate) {
            let is_both = crash.machine.exists("/a/.x") && content(&crash.machine, "/a/x") == "new";
            assert!(!is_both, "{}", crash.fate);
        }
    }
    Ok(())
}

#[test]
fn a_file_in_a_new_directory_needs_a_sync_of_both() -> Result<()> {
    let machine = machine();
    durable_file(&machine, b"12")?;
    let a = directory(&machine, "/a");
    a.make_directory(Path::new("new"), 0o755)?;
    let new = directory(&machine, "/a/new");
    move_file(&a, "x", &new, "x")?;
    new.sync(Sync::Full)?;
    for fate in CUTS {
        let found = there(&machine, fate, &["/a/x", "/a/new/x"]);
        assert!(
            !found.contains(&vec![false, false]),
            "{fate:?} loses a moved file"
        );
        // btrfs also writes the name of a new directory that is synced.
        let is_old = found.contains(&vec![true, false]);
        assert_eq!(is_old, fate != Fate::PerDirectory, "{fate:?}");
    }
    a.sync(Sync::Full)?;
    for fate in CUTS {
        let found = there(&machine, fate, &["/a/x", "/a/new/x"]);
        assert_eq!(found, [vec![false, true]].into(), "{fate:?}");
    }
    Ok(())
}

#[test]
fn a_removed_directory_takes_no_file_with_it() -> Result<()> {
    for fate in CUTS {
        let machine = machine();
        durable_file(&machine, b"12")?;
        move_file(
            &directory(&machine, "/a"),
            "x",
            &directory(&machine, "/b"),
            "x",
        )?;
        machine.root().remove_directory(Path::new("a"))?;
        let found = there(&machine, fate, &["/a/x", "/b/x"]);
        assert!(!found.contains(&vec![false, false]), "{fate:?}");
        assert!(found.len() > 1, "{fate:?}");
        machine.root().sync(Sync::All)?;
        assert_eq!(
            there(&machine, fate, &["/a/x", "/b/x"]),
            [vec![false, true]].into()
        );
    }
    Ok(())
}

#[test]
fn a_failed_sync_of_a_directory_loses_no_name() -> Result<()> {
    let machine = machine();
    let a = directory(&machine, "/a");
    machine.watch();
    new_file(&a, "x", b"1")?.sync(Sync::Full)?;
    machine.fail(Some(Failure {
        call: 3,
        errno: libc::EIO,
        lasts: false,
        short: false,
    }));
    a.sync(Sync::Full).expect_err("the fourth call fails");
    assert_eq!(contents(&machine, Fate::Journal, "/a/x"), texts(["-", "1"]));
    a.sync(Sync::Full)?;
    assert_eq!(contents(&machine, Fate::Journal, "/a/x"), texts(["1"]));
    Ok(())
}

#[test]
fn a_swallowed_sync_makes_nothing_durable() -> Result<()> {
    let machine = machine();
    machine.swallow(control(ControlKind::Swallow, CallName::SyncDirectory));
    let a = directory(&machine, "/a");
    new_file(&a, "x", b"1")?.sync(Sync::Full)?;
    a.sync(Sync::Full)?;
    assert_eq!(contents(&machine, Fate::Journal, "/a/x"), texts(["-", "1"]));
    machine.swallow(None);
    a.sync(Sync::Full)?;
    assert_eq!(contents(&machine, Fate::Journal, "/a/x"), texts(["1"]));
    Ok(())
}

#[test]
fn a_late_rename_needs_a_sync_after_one_of_data() -> Result<()> {
    let machine = machine();
    durable_file(&machine, b"1")?;
    let a = directory(&machine, "/a");
    machine.swallow(control(ControlKind::Late, CallName::Rename));
    move_file(&a, "x", &a, "y")?;
    assert!(machine.exists("/a/y"));
    a.sync(Sync::Full)?;
    a.sync(Sync::Full)?;
    new_file(&a, "log", b"1")?.sync(Sync::Data)?;
    for fate in CUTS {
        assert_eq!(contents(&machine, fate, "/a/y"), texts(["-", "1"]));
    }
    a.sync(Sync::Full)?;
    assert_eq!(contents(&machine, Fate::Journal, "/a/y"), texts(["1"]));
    Ok(())
}
