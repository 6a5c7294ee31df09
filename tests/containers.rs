//! Rooms that are used from a container and from outside. Namespaces and mounts replace containers.
//! Each container has its own view of the files, its own processes, its own network and its own
//! home, and is removed after its test.
#![cfg(target_os = "linux")]

use crate::files;
use crate::town::{Town, copy_program, is_root, tool};
use crate::world::{Ran, Words, World, lossy, skip, wait};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const NOBODY: u32 = 65534;
/// The options that make a container, and the users that it can have.
const NAMESPACES: [&str; 6] = [
    "--mount",
    "--pid",
    "--net",
    "--fork",
    "--kill-child",
    "--mount-proc",
];

/// Mounts each directory of `BIND` at its place, then hides the directories of `HIDE`, and runs the rest of the words.
const ENTER: &str = r#"
for one in $BIND; do from=${one%%=*} rest=${one#*=}; to=${rest%%=*} how=${rest#*=}
  mkdir -p "$to"; mount --bind "$from" "$to"; mount -o remount,bind,"$how" "$to"; done
for place in $HIDE; do mount -t tmpfs none "$place"; done
cd "$WORK"; "$@"; exit $?
"#;

/// A container that sees directories of this machine at other places, and does not see these themselves.
struct Container {
    root: tempfile::TempDir,
    binds: Vec<String>,
    hidden: Vec<PathBuf>,
    /// The unprivileged user who made it, if it is not the tester.
    user: Option<u32>,
}

impl Container {
    /// `None` where none can be made, and the test is skipped.
    fn new() -> Option<Container> {
        let made = Command::new("unshare")
            .args(NAMESPACES)
            .arg("true")
            .output();
        if !made.is_ok_and(|made| made.status.success()) {
            skip("this user can make no namespaces with `unshare`");
            return None;
        }
        let root = tempfile::Builder::new()
            .prefix("mailbag-container-")
            .tempdir()
            .expect("a directory");
        let container = Container {
            root,
            binds: Vec::new(),
            hidden: Vec::new(),
            user: None,
        };
        files::set_mode(container.root.path(), 0o777);
        files::make_dir(container.at("home"));
        files::set_mode(container.at("home"), 0o777);
        copy_program(
            assert_cmd::cargo::cargo_bin!("mailbag"),
            &container.at("mailbag"),
        );
        Some(container)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// With this directory at `name`, and no longer at its own place.
    fn with(mut self, from: &Path, name: &str) -> Container {
        self.hidden.push(from.to_path_buf());
        self.mount(from, name, "rw");
        self
    }

    /// Mounts the directory at `name` read-only.
    fn read_only(mut self, name: &str) -> Container {
        let place = self.at(name);
        self.mount(&place, name, "ro");
        self
    }

    fn mount(&mut self, from: &Path, name: &str, how: &str) {
        self.binds.push(format!(
            "{}={}={how}",
            from.display(),
            self.at(name).display()
        ));
    }

    /// A program in the container, in this directory of it.
    fn run(&self, directory: &str, program: &str, args: &(impl Words + ?Sized)) -> Command {
        let mut command = Command::new("unshare");
        if let Some(user) = self.user {
            command = Command::new("setpriv");
            command.args([
                &format!("--reuid={user}"),
                &format!("--regid={user}"),
                "--clear-groups",
                "unshare",
            ]);
            command.args(["--user", "--map-root-user"]);
        }
        command
            .args(NAMESPACES)
            .args(["sh", "-ec", ENTER, "sh", program])
            .args(args.words())
            .stdin(Stdio::null());
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", self.at("home"))
            .env("NO_COLOR", "1")
            .env("MAILBAG_TEST_ANCESTRY", "person")
            .env("MAILBAG_TEST_KEEPS", "all");
        command
            .env("BIND", self.binds.join(" "))
            .env("WORK", self.at(directory))
            .current_dir("/");
        let hidden: Vec<String> = self
            .hidden
            .iter()
            .map(|place| place.display().to_string())
            .collect();
        command.env("HIDE", hidden.join(" "));
        command
    }

    /// The program, not yet run.
    fn mailbag(&self, directory: &str, args: &(impl Words + ?Sized)) -> Command {
        self.run(directory, &self.at("mailbag").display().to_string(), args)
    }

    #[track_caller]
    fn ok(&self, directory: &str, args: &(impl Words + ?Sized)) -> String {
        ran(&mut self.mailbag(directory, args)).ok()
    }

    #[track_caller]
    fn sh(&self, directory: &str, script: &str) -> String {
        ran(&mut self.run(directory, "sh", &["-ec", script])).ok()
    }
}

#[track_caller]
fn ran(command: &mut Command) -> Ran {
    let output = command.output().expect("the container starts");
    Ran::new(command.get_args(), &output)
}

/// The status of the copy of a message.
fn status(world: &World, id: &str) -> Value {
    world.json(&["trace", id])["recipients"][0]["status"].clone()
}

#[test]
fn a_room_on_a_bind_mount_at_another_path_is_one_room_from_both_sides() {
    let Some(container) = Container::new() else {
        return;
    };
    let mut town = Town::alice_and_bob().run();
    let container = container.with(town.path(), "work");
    assert!(
        !container
            .sh("work", &format!("ls -A {}", town.path().display()))
            .contains(".mailbag")
    );
    container.ok("work", "send bob 'from within' --as alice");
    town.wait_for_bodies("bob", &["from within"]);
    // It waits inside, and is woken by an event from outside.
    let mut waits = container.mailbag("work", "wait --read --as alice --timeout 50s");
    let waits = waits
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    town.send("bob", "alice", "from outside");
    let waited = waits.wait_with_output().expect("it ends");
    let said = lossy(&waited.stdout);
    assert!(
        waited.status.success() && said.contains("from outside"),
        "{waited:?}"
    );
    // The router is inside, and dies with the container.
    town.stop();
    town.start_by(container.mailbag("work", "run"));
    town.mail("alice", "x.json", json!({"to": "bob", "body": "again"}));
    town.wait_for_bodies("bob", &["from within", "again"]);
    town.router().signal(rustix::process::Signal::KILL);
    town.ended();
    // The kernel ends the processes inside shortly after their parent.
    town.wait("nobody is the router any more", || {
        town.json("status")["router"].is_null()
    });
    town.send("alice", "bob", "after its death");
    town.wait_for_bodies("bob", &["from within", "again", "after its death"]);
    town.verify();
}

#[test]
fn a_router_without_events_finds_mail_of_a_container_within_seconds() {
    let Some(container) = Container::new() else {
        return;
    };
    let mut town = Town::alice_and_bob();
    let container = container.with(town.path(), "work");
    let mut router = container.mailbag("work", "run");
    router.env("MAILBAG_TEST_SILENT", "1");
    town.start_by(router);
    town.mail(
        "alice",
        "x.json",
        json!({"to": "bob", "body": "without an event"}),
    );
    town.wait_for_bodies("bob", &["without an event"]);
    let mut waits = container.mailbag("work", "wait --as alice --timeout 50s");
    let waits = waits
        .env("MAILBAG_TEST_SILENT", "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    town.mail("bob", "y.json", json!({"to": "alice", "body": "nor here"}));
    let waited = waits.wait_with_output().expect("it ends");
    assert!(waited.status.success(), "{waited:?}");
}

#[test]
fn mail_in_a_read_only_inbox_is_seen_by_a_dropped_ack_and_the_router_moves_it() {
    // P247
    let Some(container) = Container::new() else {
        return;
    };
    let town = Town::alice_and_bob().run();
    let container = container
        .with(town.path(), "work")
        .read_only("work/.mailbag/inbox");
    let id = town.send("alice", "bob", "hello");
    town.wait_for_mail("bob", 1);
    let ack = json!({"type": "ack", "refs": [id], "status": "seen"}).to_string();
    assert_contains!(
        container.sh(
            "work",
            &format!("cat .mailbag/inbox/bob/*.json; echo '{ack}' > .mailbag/outbox/bob/a.json"),
        ),
        "hello"
    );
    town.wait("it is read", || {
        town.count("bob") == 0 && town.names("inbox/bob/seen").len() == 1
    });
    town.wait("its sender sees that", || status(&town, &id) == "seen");
    // An earlier acknowledgement is not undone.
    let id = town.send("alice", "bob", "and this");
    town.wait_for_mail("bob", 1);
    town.ok(&["ack", &id, "--status", "actioned", "--as", "bob"]);
    town.ok(&["ack", &id, "--status", "seen", "--as", "bob"]);
    town.wait("it is read, too", || {
        town.count("bob") == 0 && town.names("inbox/bob/seen").len() == 2
    });
    assert_eq!(status(&town, &id), "actioned");
    assert_contains!(
        town.fails(65, &["ack", &id, "--status", "seen", "--as", "alice"]),
        "only its recipients"
    );
    town.verify();
}

#[test]
fn the_command_that_reads_tells_the_router_where_the_inbox_is_read_only() {
    // P247
    let Some(container) = Container::new() else {
        return;
    };
    let world = World::alice_and_bob();
    let container = container
        .with(world.path(), "work")
        .read_only("work/.mailbag/inbox");
    let ids = ["one", "two"].map(|body| world.send("alice", "bob", body));
    assert_contains!(container.ok("work", "read --all --as bob"), "one", "two");
    assert_eq!(
        world.bodies("bob"),
        ["one", "two"],
        "nobody who can has moved them yet"
    );
    world.pass();
    assert_eq!(
        (
            world.names("inbox/bob").len(),
            world.names("inbox/bob/seen").len()
        ),
        (0, 2)
    );
    world.pass();
    assert_eq!(ids.map(|id| status(&world, &id)), ["seen", "seen"]);
    world.verify();
}

#[test]
fn the_root_of_a_container_is_the_user_who_made_it() {
    if !is_root("another user") {
        return;
    }
    let Some(mut container) = Container::new() else {
        return;
    };
    container.user = Some(NOBODY);
    let mut may = Command::new("setpriv");
    may.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "unshare",
        "--user",
        "--map-root-user",
    ]);
    if !may
        .args(["--mount", "true"])
        .output()
        .is_ok_and(|made| made.status.success())
    {
        return skip("users can make no namespaces here");
    }
    let town = Town::alice_and_bob();
    tool(
        "chown",
        [
            "-R".as_ref(),
            "65534:65534".as_ref(),
            town.path().as_os_str(),
        ],
    );
    let container = container.with(town.path(), "work");
    container.ok("work", "send bob 'from within' --as alice");
    assert_eq!(container.sh("work", "id -u").trim(), "0");
    assert_contains!(container.ok("work", "read --as bob"), "from within");
    for below in ["inbox/bob/seen", "log", "sent/alice"] {
        for entry in fs::read_dir(town.room(below))
            .expect("it was made")
            .flatten()
        {
            assert_eq!(entry.metadata().expect("a file").uid(), NOBODY, "{entry:?}");
        }
    }
}

#[test]
fn rooms_that_two_containers_see_at_different_paths_are_linked_by_the_tag_of_each() {
    // P246
    let (Some(one), Some(other)) = (Container::new(), Container::new()) else {
        return;
    };
    let (fit, po) = (World::with("alice"), World::with("sintra"));
    let one = one.with(fit.path(), "work").with(po.path(), "beside");
    let other = other.with(po.path(), "src").with(fit.path(), "neighbour");
    for (container, directory, tag, there, known_as) in [
        (&one, "work", "po", "beside", "fit"),
        (&other, "src", "fit", "neighbour", "po"),
    ] {
        let there = container.at(there).display().to_string();
        container.ok(
            directory,
            &["link", "add", tag, &there, "--known-as", known_as],
        );
    }
    one.ok("work", "send po:sintra 'which port?' --as alice");
    assert_eq!(po.bodies("sintra"), ["which port?"]);
    other.ok("src", "send fit:alice 8080 --as sintra");
    assert_eq!(fit.bodies("alice"), ["8080"]);
    for _ in 0..3 {
        one.ok("work", "run --once");
        other.ok("src", "run --once");
    }
    let status = one.ok("work", "link status");
    assert!(
        status.contains("waiting 0") && !status.contains("problem"),
        "{status}"
    );
    // A name is not enough where the path leads to another room.
    let third = World::with("mallory");
    po.write(
        "settings.toml",
        format!("[links.fit]\naddress = {:?}\nas = \"po\"\n", third.room("")),
    );
    fit.write(
        "settings.toml",
        format!("[links.po]\naddress = {:?}\nas = \"fit\"\n", po.room("")),
    );
    fit.send("alice", "po:sintra", "not yet");
    wait("it says so", || {
        fit.run("link status").out.contains("has no link to this")
    });
    assert_eq!(po.bodies("sintra"), ["which port?"]);
}
