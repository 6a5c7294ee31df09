//! Tests of the tracer with small programs. Their files show exactly the calls that happened.

use crate::files;
use super::tracer::{End, Moment, Outcome, Plan, Tracer};
use crate::world::skip;
use std::cell::Cell;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

type Done = Result<(), Box<dyn std::error::Error>>;

/// The program `script` of a shell, in `room`.
fn shell(room: &Path, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(room);
    command
}

fn python(room: &Path, script: &str) -> Option<Command> {
    let mut command = Command::new("python3");
    command.args(["-c", script]).current_dir(room);
    match Command::new("python3").arg("--version").output() {
        Ok(version) if version.status.success() => Some(command),
        _ => {
            skip("python3 is not installed");
            None
        }
    }
}

fn run(room: &TempDir, script: &str, plan: Plan) -> io::Result<Outcome> {
    Tracer::new(room.path())?.run(shell(room.path(), script), plan)
}

fn names(room: &TempDir) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(room)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The family of a call: some shells and machines still use its oldest form.
fn family(name: &str) -> &str {
    ["open", "rename", "mkdir", "link", "unlink"].into_iter().find(|family| name.starts_with(family)).unwrap_or(name)
}

#[test]
fn counts_the_calls_that_change_the_room_and_no_others() -> Done {
    let room = TempDir::new()?;
    let script = "echo one > a; mv a b; cat b > /dev/null; echo seen; echo two | cat >> b; mkdir d; ln b d/c; rm b; \
                  rmdir d 2> /dev/null";
    let outcome = run(&room, script, Plan::Count)?;
    let top = room.path().canonicalize()?;
    let seen: Vec<_> = outcome.changes().map(|c| (c.number, family(c.name), c.shown(&top))).collect();
    let expected = [
        ("open", "a"),
        ("write", "a"),
        ("rename", "a -> b"),
        ("open", "b"),
        ("write", "b"),
        ("mkdir", "d"),
        ("link", "b -> d/c"),
        ("unlink", "b"),
        ("rmdir", "d"),
    ];
    let expected: Vec<_> = expected.iter().zip(1..).map(|((name, path), n)| (Some(n), *name, (*path).to_owned())).collect();
    assert_eq!(seen, expected);
    assert_eq!(outcome.changes().nth(1).and_then(|call| call.bytes), Some(4));
    assert_eq!(outcome.stdout, "seen\n");
    assert!(outcome.names().contains_key("read"), "what only looks is reported too: {:?}", outcome.names());
    Ok(())
}

#[test]
fn kills_exactly_before_and_exactly_after_the_nth_call() -> Done {
    for n in 1..=5 {
        for moment in [Moment::Before, Moment::Halfway, Moment::After] {
            let room = TempDir::new()?;
            let outcome = run(&room, "mkdir 1 2 3 4 5; echo on", Plan::Kill { call: n, moment })?;
            assert_eq!(outcome.end, End::Killed);
            assert_eq!(outcome.stdout, "", "it went on after {n} {moment:?}");
            let there = if moment == Moment::After { n } else { n - 1 };
            assert_eq!(names(&room)?, (1..=there).map(|n| n.to_string()).collect::<Vec<_>>(), "{n} {moment:?}");
        }
    }
    let room = TempDir::new()?;
    let outcome = run(&room, "mkdir 1; exit 7", Plan::Kill { call: 2, moment: Moment::Before })?;
    assert_eq!(outcome.end, End::Exited(7), "a point that is never reached kills nothing");
    Ok(())
}

#[test]
fn a_half_write_is_half() -> Done {
    let room = TempDir::new()?;
    let outcome = run(&room, "printf 0123456789 > a", Plan::Kill { call: 2, moment: Moment::Halfway })?;
    assert_eq!(outcome.end, End::Killed);
    assert_eq!(fs::read_to_string(room.path().join("a"))?, "01234");

    let lists = "import os\nf = os.open('a', os.O_CREAT | os.O_WRONLY | os.O_TRUNC)\n\
                 os.writev(f, [b'0123', b'4567', b'89'])\nos.mkdir('on')";
    if let Some(command) = python(room.path(), lists) {
        Tracer::new(room.path())?.run(command, Plan::Kill { call: 2, moment: Moment::Halfway })?;
        assert_eq!(fs::read_to_string(room.path().join("a"))?, "01234");
        assert_eq!(names(&room)?, ["a"]);
    }
    Ok(())
}

#[test]
fn counts_over_all_threads() -> Done {
    let script = "import os, threading\n\
                  def make(n):\n    for i in range(25): os.mkdir(f'{n}.{i}')\n\
                  ts = [threading.Thread(target=make, args=(n,)) for n in range(4)]\n\
                  [t.start() for t in ts]; [t.join() for t in ts]";
    for (moment, never_made) in [(Moment::Before, 1), (Moment::After, 0)] {
        let room = TempDir::new()?;
        let Some(command) = python(room.path(), script) else { return Ok(()) };
        let outcome = Tracer::new(room.path())?.run(command, Plan::Kill { call: 40, moment })?;
        assert_eq!((outcome.end, outcome.changes().count() >= 40), (End::Killed, true));
        // However many threads were in the middle of a call at that moment: one that was left was made, and none was made
        // that was not entered.
        let (entered, made) = (outcome.changes().count() - never_made, names(&room)?.len());
        let left = outcome.changes().filter(|call| call.result == Some(0)).count();
        assert!((left..=entered).contains(&made), "{made} directories of {left} to {entered}, {moment:?}");
    }
    Ok(())
}

#[test]
fn makes_a_call_fail_once_or_from_then_on() -> Done {
    for (lasting, left, failed) in [(false, vec!["1", "3", "4"], 1), (true, vec!["1"], 3)] {
        let room = TempDir::new()?;
        let name = run(&room, "mkdir 0; rmdir 0", Plan::Count)?.changes().next().expect("it makes one").name;
        let plan = Plan::Fail { name, nth: 2, errno: libc::ENOSPC, lasting };
        let outcome = run(&room, "mkdir 1 2 3 4", plan)?;
        assert_eq!(names(&room)?, left);
        assert_eq!(outcome.failed, failed);
        assert_contains!(outcome.stderr, "No space left on device");
        assert_eq!(outcome.end, End::Exited(1));
    }
    Ok(())
}

#[test]
fn signals_get_through() -> Done {
    let room = TempDir::new()?;
    let outcome = run(&room, "trap 'mkdir caught' USR1; kill -USR1 $$; exit 3", Plan::Count)?;
    assert_eq!((outcome.end, names(&room)?), (End::Exited(3), vec!["caught".to_owned()]));
    assert_eq!(run(&room, "kill -TERM $$", Plan::Count)?.end, End::Signalled(libc::SIGTERM));
    Ok(())
}

#[test]
fn a_stopped_program_stays_stopped_until_it_is_continued() -> Done {
    let room = TempDir::new()?;
    let stopped = shell(room.path(), "kill -STOP $$; mkdir on");
    let outcome = Tracer::new(room.path())?.deadline(Duration::from_millis(300)).run(stopped, Plan::Count)?;
    assert_eq!((outcome.end, names(&room)?.len()), (End::Hung, 0));
    assert_contains!(outcome.stderr, "thread: Name:"; "what each thread was doing");

    let continued = "(until [ -d on ]; do kill -CONT $$; done) & kill -STOP $$; mkdir on; wait";
    assert_eq!(run(&room, continued, Plan::Count)?.end, End::Exited(0));
    assert_eq!(names(&room)?, ["on"]);
    Ok(())
}

#[test]
fn nothing_that_the_program_started_outlives_the_kill() -> Done {
    let room = TempDir::new()?;
    let script = "mkdir 1; (while :; do :; done) & setsid sh -c 'while :; do :; done' & mkdir 2";
    let outcome = run(&room, script, Plan::Kill { call: 2, moment: Moment::Before })?;
    // The run ends only after the last process, so an endless process would have made it hang.
    assert_eq!((outcome.end, names(&room)?), (End::Killed, vec!["1".to_owned()]));
    Ok(())
}

#[test]
fn others_can_act_at_the_very_moment_of_a_call() -> Done {
    let room = TempDir::new()?;
    let cut = Cell::new(0);
    let outcome = Tracer::new(room.path())?
        .at_call(|call| {
            if call.number == Some(2) {
                files::make_dir(room.path().join("2"));
            }
        })
        .before_kill(|| cut.set(names(&room).map_or(0, |names| names.len())))
        .run(shell(room.path(), "mkdir 1 2 3 4"), Plan::Kill { call: 4, moment: Moment::Before })?;
    assert_contains!(outcome.stderr, "File exists");
    assert_eq!((cut.get(), outcome.end), (3, End::Killed));
    Ok(())
}

#[test]
fn a_program_that_is_not_there_is_an_error() -> Done {
    let room = TempDir::new()?;
    let missing = Command::new(room.path().join("missing"));
    assert!(Tracer::new(room.path())?.run(missing, Plan::Count).is_err());
    Ok(())
}

#[test]
#[ignore = "a measurement: how long a traced system call takes"]
fn speed() -> Done {
    let room = TempDir::new()?;
    let script = "dd if=/dev/zero of=f bs=1 count=20000 2> /dev/null";
    let start = std::time::Instant::now();
    shell(room.path(), script).status()?;
    let plain = start.elapsed();
    run(&room, script, Plan::Count)?;
    println!("20,000 writes and as many reads: plain {plain:?}, traced {:?}", start.elapsed() - plain);
    Ok(())
}
