//! Bad surroundings of the program: an output that accepts no bytes, and a wrong clock.

use crate::files;
use crate::world::{World, skip, wait};
use std::fs::{self, File};
use std::process::{Command, Stdio};

/// A file that accepts no bytes, like a full disk.
fn full() -> File {
    File::options()
        .write(true)
        .open("/dev/full")
        .expect("the system has it")
}

#[test]
#[cfg(target_os = "linux")]
fn a_router_continues_although_its_own_log_output_fails() {
    let world = World::alice_and_bob();
    for format in ["text", "json"] {
        // The damaged end also makes recovery warn.
        let log = world.room("log/00000001.ndjson");
        let torn = fs::read(&log).unwrap_or_default();
        world.write("log/00000001.ndjson", [&torn[..], b"{"].concat());
        let mut command = world.bare(&format!("run -vv --log-format {format}"));
        command.stdin(Stdio::null()).stdout(full()).stderr(full());
        let mut router = command.spawn().expect("it starts");
        world.drop_file("alice", "x.json", r#"{"to":"bob","body":"hi"}"#);
        world.drop_file("alice", "y.json", "{}");
        wait("it is delivered", || {
            world.inbox("bob").len() == 1 && world.names("rejected/alice").len() == 2
        });
        files::remove_dir(world.room("rejected/alice"));
        files::remove_dir(world.room("inbox/bob"));
        let pid = rustix::process::Pid::from_child(&router);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        assert_eq!(router.wait().expect("it ends").code(), Some(0), "{format}");
        assert_eq!(
            fs::read_dir(world.room("spool/claim"))
                .expect("a directory")
                .count(),
            0,
            "{format}"
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_command_panics_where_nothing_can_be_said() {
    const COMMANDS: &[&[&str]] = &[
        &["send", "bob", "hi", "--as", "alice", "-v"],
        &["send", "nobody", "hi", "--as", "alice"],
        &["inbox", "bob", "-vv"],
        &["read", "--as", "bob"],
        &["read", "--all", "--as", "bob", "--json"],
        &["reply", "1", "x", "--as", "bob"],
        &["list"],
        &["search", "hi"],
        &["thread", "1"],
        &["trace", "1"],
        &["status"],
        &["status", "--json"],
        &["doctor"],
        &["who"],
        &["log", "head"],
        &["log", "verify"],
        &["send", "--dry-run", "all", ""],
        &["agent", "list"],
        &["agent", "add", "carol"],
        &["who", "--channel"],
        &["rejected"],
        &["settings"],
        &["generate", "schema"],
        &["generate", "completions", "bash"],
        &["archive", "--dry-run"],
        &["run", "--once", "-vv"],
        &["hook", "claude", "--as", "bob"],
        &["wait", "--as", "bob", "--timeout", "10ms"],
        &["list", "--follow", "--as", "bob", "--timeout", "10ms"],
        &["mcp", "--as", "bob"],
        &[
            "exec",
            "--id",
            "carol",
            "--",
            "sh",
            "-c",
            "echo x; echo y >&2",
        ],
        &["nonsense"],
        &["--help"],
        &["list", "--nonsense"],
    ];
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hi");
    for args in COMMANDS {
        for (out, err) in [(true, true), (true, false), (false, true)] {
            let sink = |is_full| {
                if is_full {
                    Stdio::from(full())
                } else {
                    Stdio::null()
                }
            };
            let status = world
                .bare(args)
                .stdin(Stdio::null())
                .stdout(sink(out))
                .stderr(sink(err))
                .status();
            let code = status.expect("it runs").code();
            assert!(
                code.is_some_and(|code| code != 101),
                "{args:?} ended with {code:?}, full: {out} and {err}"
            );
        }
    }
    assert_eq!(
        fs::read_dir(world.room("spool/claim"))
            .expect("a directory")
            .count(),
        0
    );
}

/// A library that sets a program's clock to this many seconds after 1970; `None` without a
/// compiler.
fn clock(world: &World, seconds: i64) -> Option<std::path::PathBuf> {
    let source = "#define _GNU_SOURCE\n#include <time.h>\n#include <unistd.h>\n#include <sys/syscall.h>\n\
        int clock_gettime(clockid_t id, struct timespec *t) {\n\
        if (id != CLOCK_REALTIME) return syscall(SYS_clock_gettime, id, t);\n\
        t->tv_sec = SECONDS; t->tv_nsec = 5; return 0; }\n";
    let (c, library) = (
        world.path().join("clock.c"),
        world.path().join(format!("clock{seconds}.so")),
    );
    files::write(&c, source);
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", &format!("-DSECONDS={seconds}LL"), "-o"])
        .arg(&library)
        .arg(&c);
    cc.status()
        .is_ok_and(|status| status.success())
        .then_some(library)
}

#[test]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn a_clock_before_1970_or_after_9999_keeps_no_mail_and_no_order() {
    let world = World::alice_and_bob();
    let (year, mut sent) = (31_557_600, Vec::new());
    // There and back: no name may sort before an earlier one.
    for seconds in [
        -9 * year,
        0,
        40 * year,
        8_000 * year,
        9_000 * year,
        -1,
        50 * year,
    ] {
        let Some(library) = clock(&world, seconds) else {
            return skip("cc compiles no library");
        };
        let body = format!("at {seconds}");
        let ran = |args: &[&str]| world.run_env(args, "LD_PRELOAD", &library).ok();
        ran(&["send", "bob", &body, "--as", "alice"]);
        for args in [
            &["status"][..],
            &["inbox", "bob"],
            &["who"],
            &["log", "verify"],
            &["trace", "1"],
            &["doctor"],
        ] {
            let ran = world.run_env(args, "LD_PRELOAD", &library);
            assert_ne!(ran.code, 101, "{args:?} at {seconds}: {ran:?}");
        }
        sent.push(body);
        assert_eq!(world.bodies("bob"), sent);
    }
}
