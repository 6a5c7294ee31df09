//! The calls, without a crash.

use super::*;

#[test]
fn locks_belong_to_open_files() -> Result<()> {
    let machine = machine();
    let file = durable_file(&machine, b"")?;
    let other = machine.root().open(Path::new("/a/x"), Open::Look)?;
    assert!(file.lock(Lock::Exclusive)?);
    assert!(file.lock(Lock::Exclusive)?);
    assert!(!other.lock(Lock::Shared)?);
    assert!(
        directory(&machine.copy(), "/a")
            .open(Path::new("x"), Open::Look)?
            .lock(Lock::Exclusive)?
    );
    let same = Arc::clone(&file);
    drop(file);
    assert!(
        !other.lock(Lock::Shared)?,
        "the last reference ends the lock"
    );
    drop(same);
    assert!(other.lock(Lock::Shared)?);
    let third = machine.root().open(Path::new("/a/x"), Open::Look)?;
    assert!(third.lock(Lock::Shared)?);
    assert!(!third.lock(Lock::Exclusive)?);
    other.lock(Lock::Free)?;
    assert!(third.lock(Lock::Exclusive)?);
    Ok(())
}

#[test]
fn a_lease_shows_a_writer() -> Result<()> {
    let machine = machine();
    let writer = durable_file(&machine, b"")?;
    let reader = machine.root().open(Path::new("/a/x"), Open::Look)?;
    assert_eq!(reader.lease(), ReadLeaseResult::Writer);
    drop(writer);
    assert_eq!(reader.lease(), ReadLeaseResult::Free);
    Ok(())
}

#[test]
fn links_are_followed_only_outside() -> Result<()> {
    let machine = machine();
    machine.write("/b/deep/x", "1");
    machine.link("/a/link", "../b/./deep");
    let a = directory(&machine, "/a");
    let errno = |result: Result<Arc<dyn Fs>>| result.err().and_then(|e| e.raw_os_error());
    assert_eq!(
        errno(a.open(Path::new("link/x"), Open::Look)),
        Some(libc::ELOOP)
    );
    assert_eq!(
        errno(a.open(Path::new("link"), Open::Directory)),
        Some(libc::ELOOP)
    );
    assert!(directory(&machine, "/a/link").stat(Path::new("x")).is_ok());
    assert_eq!(a.canonical(Path::new("link/x"))?, Path::new("/b/deep/x"));
    assert_eq!(a.read_link(Path::new("link"))?, Path::new("../b/./deep"));
    machine.link("/a/loop", "loop");
    assert_eq!(
        errno(a.open(Path::new("loop"), Open::Outside)),
        Some(libc::ELOOP)
    );
    Ok(())
}

#[test]
fn calls_fail_as_the_system_does() -> Result<()> {
    let machine = machine();
    let file = durable_file(&machine, b"12")?;
    let (root, a) = (machine.root(), directory(&machine, "/a"));
    let open = |name: &str, how| a.open(Path::new(name), how).map(|_| ());
    let look = root.open(Path::new("a/x"), Open::Look)?;
    let replace = |name: &str, new: &str| {
        root.rename(Path::new(name), &*root, Path::new(new), Existing::Replace)
    };
    let cases = [
        (open("x", Open::Make(0o600)), libc::EEXIST),
        (open("y", Open::Change), libc::ENOENT),
        (open("x", Open::Directory), libc::ENOTDIR),
        (open("x/y", Open::Look), libc::ENOTDIR),
        (open("", Open::Directory), libc::ENOENT),
        (open("/b", Open::Append), libc::EISDIR),
        (a.stat(Path::new("")).map(|_| ()), libc::ENOENT),
        (a.make_directory(Path::new("x"), 0o700), libc::EEXIST),
        (a.remove(Path::new("/b")), libc::EISDIR),
        (root.remove_directory(Path::new("a")), libc::ENOTEMPTY),
        (root.remove_directory(Path::new("a/x")), libc::ENOTDIR),
        (replace("b", "a"), libc::ENOTEMPTY),
        (replace("a/x", "b"), libc::EISDIR),
        (replace("b", "a/x"), libc::ENOTDIR),
        (replace("a", "a/below"), libc::EINVAL),
        (move_file(&a, "x", &root, "b"), libc::EEXIST),
        (move_file(&a, "y", &root, "b"), libc::ENOENT),
        (look.write_at(b"3", 0).map(|_| ()), libc::EBADF),
        (a.read_at(&mut [0], 0).map(|_| ()), libc::EISDIR),
    ];
    for (number, (result, errno)) in cases.into_iter().enumerate() {
        let found = result.err().and_then(|e| e.raw_os_error());
        assert_eq!(found, Some(errno), "case {number}");
    }
    let mut bytes = [0; 8];
    a.remove(Path::new("x"))?;
    assert_eq!(file.read_at(&mut bytes, 0)?, 2, "an open file stays");
    assert_eq!(file.meta()?.links, 0);
    assert!(machine.tree(Path::new("/a")).is_empty());
    Ok(())
}

#[test]
fn appended_bytes_go_to_the_end_and_every_change_has_its_time() -> Result<()> {
    let machine = machine();
    let a = directory(&machine, "/a");
    let file = a.open(Path::new("x"), Open::AppendOrMake(0o666))?;
    let mut times = BTreeSet::from([file.meta()?.modified]);
    for byte in [b"1", b"2", b"3"] {
        file.write_at(byte, 0)?;
        assert!(times.insert(file.meta()?.modified));
    }
    assert_eq!(file.meta()?.mode, 0o644);
    let x = Path::new("/a/x").to_owned();
    assert_eq!(
        machine.tree(Path::new("/a")),
        [(x, Node::File(b"123".into()))].into()
    );
    let names: Vec<_> = a
        .list()?
        .map(|entry| entry.map(|e| e.name))
        .collect::<Result<_>>()?;
    assert_eq!(names, ["x"]);
    file.set_modified(Some(7))?;
    assert_eq!(file.meta()?.modified, 7);
    Ok(())
}
