//! Temporary obstacles: the message waits, other mail is delivered, `status` shows the reason, and
//! the message arrives once the cause is removed.

use crate::files;
use crate::town::{PATIENCE, Town, is_root, so_within, tool};
use crate::world::{World, skip};
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

/// One obstacle in front of bob's inbox: the message waits while carol's arrives, and is delivered
/// when the obstacle is removed.
fn mail_waits_for(obstacle: impl FnOnce(&Town), reason: &str, removed: impl FnOnce(&Town)) {
    let town = Town::of("alice bob carol").run();
    obstacle(&town);
    town.mail(
        "alice",
        "x.json",
        json!({"to": ["bob", "carol"], "body": "to both"}),
    );
    town.wait_for_bodies("carol", &["to both"]);
    town.is_alive("alice", "carol");
    town.wait_for_reason(reason);
    removed(&town);
    // The new message is delivered, together with the waiting ones.
    town.mail(
        "alice",
        "y.json",
        json!({"to": "bob", "body": "afterwards"}),
    );
    town.wait_for_bodies("bob", &["to both", "afterwards"]);
    town.wait_for_bodies("carol", &["to both"]);
    town.wait_until_nothing_waits();
    assert_eq!(town.status()["undelivered"], json!([]));
    town.verify();
}

#[test]
fn an_inbox_that_is_a_file_is_waited_for() {
    let make = |town: &Town| {
        fs::remove_dir(town.room("inbox/bob")).expect("it is empty");
        files::write(town.room("inbox/bob"), "mine");
    };
    mail_waits_for(make, "inbox/bob", |town| {
        assert_eq!(town.text("inbox/bob"), "mine");
        files::remove_file(town.room("inbox/bob"));
    });
}

#[test]
fn mail_waits_while_an_inbox_is_a_symlink_and_its_target_is_not_touched() {
    let elsewhere = |town: &Town| town.path().join("elsewhere");
    let make = |town: &Town| {
        files::make_dir(elsewhere(town));
        fs::remove_dir(town.room("inbox/bob")).expect("it is empty");
        symlink(elsewhere(town), town.room("inbox/bob")).expect("its parent is there");
    };
    mail_waits_for(make, "inbox/bob", |town| {
        assert_eq!(fs::read_dir(elsewhere(town)).expect("it stays").count(), 0);
        files::remove_file(town.room("inbox/bob"));
    });
}

#[test]
fn a_missing_inbox_is_made_again() {
    mail_waits_for(
        |town| fs::remove_dir(town.room("inbox/bob")).expect("it is empty"),
        "",
        |_| {},
    );
}

#[test]
fn an_inbox_that_is_immutable_is_waited_for() {
    if !is_root("an immutable inbox") {
        return;
    }
    let change = |town: &Town, how| {
        Command::new("chattr")
            .arg(how)
            .arg(town.room("inbox/bob"))
            .output()
    };
    let probe = Town::of("bob");
    if !change(&probe, "+i").is_ok_and(|output| output.status.success()) {
        skip("an immutable inbox: chattr fails on this file system");
        return;
    }
    change(&probe, "-i").expect("it worked before");
    mail_waits_for(
        |town| {
            assert!(
                change(town, "+i")
                    .expect("it worked before")
                    .status
                    .success()
            )
        },
        "not permitted",
        |town| {
            assert!(
                change(town, "-i")
                    .expect("it worked before")
                    .status
                    .success()
            )
        },
    );
}

/// Something mounted in a world's room, and unmounted with it.
struct Mounted(PathBuf);

impl Mounted {
    fn tmpfs(place: PathBuf, options: &str) -> Mounted {
        files::make_dir(&place);
        let words = ["-t", "tmpfs", "-o", options, "mailbag-test"].map(OsStr::new);
        tool("mount", words.into_iter().chain([place.as_os_str()]));
        Mounted(place)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn an_inbox_on_another_file_system_is_waited_for() {
    if !is_root("an inbox on another file system") {
        return;
    }
    let (send, take) = std::sync::mpsc::channel::<Mounted>();
    mail_waits_for(
        |town| {
            send.send(Mounted::tmpfs(town.room("inbox/bob"), "size=1m"))
                .expect("it is taken below")
        },
        "inbox/bob",
        |_| drop(take.recv().expect("it was mounted")),
    );
}

#[test]
fn an_unreadable_outbox_delays_no_other_agent() {
    let town = Town::of("alice bob carol");
    fs::remove_dir(town.room("outbox/alice")).expect("it is empty");
    files::write(town.room("outbox/alice"), "mine");
    let town = town.run();
    town.is_alive("carol", "bob");
    town.wait_for_reason("outbox/alice");
    files::remove_file(town.room("outbox/alice"));
    town.mail("alice", "x.json", json!({"to": "bob", "body": "at last"}));
    town.wait_for_bodies("bob", &["at last"]);
}

#[test]
fn a_full_disk_is_waited_out_and_logged() {
    if !is_root("a full disk") {
        return;
    }
    let world = World::empty();
    let mounted = Mounted::tmpfs(world.room(""), "size=1m,nr_inodes=50");
    let agents = ["alice", "bob", "carol"].map(|id| json!({"id": id}));
    let town = Town::on(world, &agents).run();
    town.is_alive("alice", "bob");
    for (n, to) in ["bob", "carol", "all"].iter().enumerate() {
        let message = json!({"id": format!("m{n}"), "to": to, "body": "x".repeat(5000)});
        town.mail("alice", &format!(".waits-{n}"), message);
    }
    let filler = town.room("context");
    for n in 0.. {
        if fs::write(
            filler.join(n.to_string()),
            vec![0; if n == 0 { 1 << 20 } else { 0 }],
        )
        .is_err()
            && n > 0
        {
            break;
        }
    }
    for n in 0..3 {
        let waits = town.room(&format!("outbox/alice/.waits-{n}"));
        files::rename(&waits, waits.with_file_name(format!("{n}.json")));
    }
    town.wait("the full disk is logged", || {
        town.words().contains("No space left")
    });
    assert_eq!((town.count("bob"), town.count("carol")), (0, 0));
    files::remove_dir(&filler);
    town.wait("both have both", || {
        (town.count("bob"), town.count("carol")) == (2, 2)
    });
    town.is_alive("alice", "carol");
    town.wait_until_nothing_waits();
    assert_eq!((town.count("bob"), town.count("carol")), (2, 2));
    assert!(town.names("rejected/alice").is_empty());
    town.verify();
    drop(town);
    drop(mounted);
}

/// Sets the limit of open descriptors of a process.
fn limit(pid: u32, open: usize) {
    tool(
        "prlimit",
        [format!("--pid={pid}"), format!("--nofile={open}:4096")]
            .iter()
            .map(OsStr::new),
    );
}

#[test]
fn without_descriptors_mail_waits_and_the_router_lives() {
    if !is_root("no descriptors left") {
        return;
    }
    let town = Town::alice_and_bob().run();
    town.is_alive("alice", "bob");
    town.wait_until_nothing_waits();
    let pid = town.router().pid();
    let descriptors = || {
        fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten()
    };
    // The files that wait for the barrier are closed soon.
    town.wait("the delivery is durable", || {
        !descriptors()
            .filter_map(|fd| fs::read_link(fd.path()).ok())
            .any(|path| path.starts_with(town.room("inbox").canonicalize().expect("a directory")))
    });
    let open = descriptors().count();
    // Below the current number: no file can be opened.
    limit(pid, open.saturating_sub(3));
    town.mail(
        "alice",
        "x.json",
        json!({"to": "bob", "body": "no descriptors"}),
    );
    // Whatever makes it look around must not end it.
    files::make_dir(town.room("outbox/nobody-s"));
    town.router().signal(rustix::process::Signal::HUP);
    town.wait("it says so", || {
        town.words().contains("Too many open files")
    });
    assert_eq!(town.count("bob"), 0);
    limit(pid, 1024);
    town.wait_for_bodies("bob", &["no descriptors"]);
    town.wait("nothing waits", || {
        !town.status()["blocked"].to_string().contains("open files")
    });
    assert!(
        so_within(PATIENCE, || town.inbox("human").is_empty()),
        "it is not the registry that was bad"
    );
    town.verify();
}

#[test]
fn with_few_descriptors_a_message_to_many_still_arrives() {
    let agents: Vec<String> = (0..60).map(|n| format!("a{n}")).collect();
    let mut town = Town::of(&agents.iter().map(String::as_str).collect::<Vec<_>>());
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 40 && exec \"$@\"", "sh"]);
    let run = town.bare("run");
    command
        .arg(run.get_program())
        .args(run.get_args())
        .current_dir(town.path())
        .env("NO_COLOR", "1");
    town.start_by(command);
    town.mail("a0", "x.json", json!({"to": "all", "body": "to many"}));
    town.wait("all have it", || {
        agents[1..].iter().all(|agent| town.count(agent) == 1)
    });
    town.is_alive("a1", "a2");
}

#[test]
fn a_blocked_roster_is_reported_until_it_is_moved_aside() {
    // P76
    let world = World::alice_and_bob();
    files::make_dir(world.room("roster.json"));
    world.send("alice", "bob", "hello");
    let status = world.json("status");
    let blocked = &status["blocked"][0];
    assert_eq!(blocked["path"], "roster.json", "{status}");
    let fix = blocked["fix"].as_str().expect("a command");
    let ran = Command::new("sh")
        .args(["-c", fix])
        .current_dir("/")
        .status();
    assert!(ran.is_ok_and(|status| status.success()), "{fix}");
    world.send("alice", "bob", "again");
    assert_eq!(world.json("status")["blocked"], json!([]));
    assert!(world.room("roster.json").is_file());
}
