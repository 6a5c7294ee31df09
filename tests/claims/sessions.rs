//! Sessions and claims: a claim lives as long as the client of its owner runs, and not much longer. The clients are Python
//! programs that run the hook, as real clients do.

use super::{claim, ledger, notices, owned, owner, release_all};
use crate::hooks::recorded;
use crate::world::{KilledChild, World, lossy, parse_json, skip};
use mailbag::base::clock::Stamp;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs each event of standard input through the hook, and reports it.
const CLIENT: &str = "
import subprocess, sys
for line in sys.stdin:
    subprocess.run([sys.argv[1], 'hook', 'claude'], input=line.encode(), stdout=subprocess.DEVNULL)
    print('done', flush=True)
";

/// A client that was started in the room's directory as alice.
struct Client {
    child: KilledChild,
}

impl Client {
    /// Starts it, perhaps by another program; `None` where that is missing.
    fn start(world: &World, before: &[&str]) -> Option<Client> {
        let program = assert_cmd::cargo::cargo_bin!("mailbag");
        let words: Vec<&str> = before
            .iter()
            .copied()
            .chain(["python3", "-u", "-c", CLIENT])
            .collect();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .arg(program)
            .current_dir(world.path());
        command
            .env("MAILBAG_AGENT", "alice")
            .env("MAILBAG_TRUST_DIR", world.trust())
            .env("NO_COLOR", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        match command.spawn() {
            Ok(child) => Some(Client {
                child: KilledChild(child),
            }),
            Err(e) => {
                skip(format_args!("{} does not start: {e}", words[0]));
                None
            }
        }
    }

    /// An event of the client; returns after its hook.
    fn event(&mut self, name: &str) {
        let event = parse_json(recorded("claude", name));
        let mut event = event;
        event.as_object_mut().expect("an object").remove("cwd");
        writeln!(self.child.stdin.as_mut().expect("its input"), "{event}").expect("it reads");
        let mut said = [0; 5];
        std::io::Read::read_exact(self.child.stdout.as_mut().expect("its output"), &mut said)
            .expect("it answers");
    }

    /// Begins its session, and returns once a process watches it.
    #[track_caller]
    fn begin(&mut self, world: &World) {
        self.event("SessionStart-startup");
        world.wait("the session is watched", || {
            holds(world).iter().any(|hold| hold["lasting"] == true)
        });
    }

    /// Kills it, and returns once the process that watches it has recorded the end.
    #[track_caller]
    fn kill_seen(&mut self, world: &World) {
        self.kill();
        world.wait("its end is seen", || {
            holds(world).iter().any(|hold| hold["ended"].is_string())
        });
    }

    /// Kills it as `kill -9` does.
    fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was started here");
    }
}

/// Delivers the waiting mail, this many minutes from now.
#[track_caller]
fn pass_in(world: &World, minutes: u64) {
    let at = Stamp::now()
        .after(Duration::from_secs(60 * minutes))
        .to_string();
    let set_time = |command: &mut assert_cmd::Command| {
        command.env("MAILBAG_TEST_NOW", at);
    };
    world.run_with("run --once", set_time).ok();
    ledger::check(world);
}

/// A room with alice as the owner of src, by a dropped file.
fn office() -> World {
    let world = World::alice_and_bob();
    world.route("alice", "c.json", claim(&["src"]));
    world
}

/// The files of processes that hold alice.
fn holds(world: &World) -> Vec<Value> {
    let entries = fs::read_dir(world.room("sessions/holds"))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok())
        .collect()
}

#[test]
fn the_claims_of_a_client_that_works_for_hours_without_mail_stay() {
    // P123
    let world = office();
    let Some(mut client) = Client::start(&world, &[]) else {
        return;
    };
    client.begin(&world);
    pass_in(&world, 6 * 60);
    assert_eq!(owner(&world, "src"), "alice");
    assert_eq!(notices(&world, "alice"), [""; 0], "nobody is warned");
}

#[test]
fn claims_of_a_killed_client_lapse_fifteen_minutes_later_with_notices() {
    // P126
    let world = office();
    let Some(mut client) = Client::start(&world, &[]) else {
        return;
    };
    client.begin(&world);
    client.kill_seen(&world);
    pass_in(&world, 1);
    let told = notices(&world, "alice");
    assert!(
        told.len() == 1 && told[0].starts_with("your claims lapse at"),
        "{told:?}"
    );
    pass_in(&world, 10);
    pass_in(&world, 14);
    assert_eq!(owner(&world, "src"), "alice");
    pass_in(&world, 16);
    assert_eq!(owned(&world), []);
    assert_contains!(
        world.inbox("human")[0]["body"].to_string(),
        "The session of alice ended at"
    );
}

#[test]
fn the_end_of_a_client_is_recorded_although_no_router_ran_then() {
    // P126
    let world = office();
    let Some(mut client) = Client::start(&world, &[]) else {
        return;
    };
    client.begin(&world);
    client.kill_seen(&world);
    pass_in(&world, 16);
    assert_eq!(owned(&world), []);
}

#[test]
fn a_client_in_a_pid_namespace_of_its_own_behaves_alike() {
    // P126
    let world = office();
    if !crate::town::is_root("claims of a client in a PID namespace") {
        return;
    }
    let Some(mut client) = Client::start(
        &world,
        &["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"],
    ) else {
        return;
    };
    client.begin(&world);
    pass_in(&world, 6 * 60);
    assert_eq!(owner(&world, "src"), "alice");
    client.kill();
    world.wait("the lock is free", || {
        world.ok("who --json").contains("\"id\":\"alice\"") && !is_held(&world)
    });
    pass_in(&world, 1);
    pass_in(&world, 17);
    assert_eq!(owned(&world), []);
}

/// Returns true if a process holds a lock for alice.
fn is_held(world: &World) -> bool {
    let entries = fs::read_dir(world.room("sessions/holds"))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| fs::File::open(entry.path()).ok())
        .any(|file| file.try_lock_shared().is_err())
}

#[test]
fn an_owner_that_returns_keeps_its_claims() {
    // P126
    let world = office();
    let Some(mut client) = Client::start(&world, &[]) else {
        return;
    };
    client.begin(&world);
    client.kill_seen(&world);
    pass_in(&world, 1);
    world.mail(
        "alice",
        "back.json",
        json!({"to": "bob", "body": "I am back"}),
    );
    pass_in(&world, 2);
    pass_in(&world, 60);
    assert_eq!(owner(&world, "src"), "alice");
}

#[test]
fn the_end_of_a_session_releases_its_claims_and_a_cleared_context_does_not() {
    // P127
    let world = office();
    let Some(mut client) = Client::start(&world, &[]) else {
        return;
    };
    client.event("SessionStart-startup");
    client.event("SessionEnd-clear");
    assert_eq!(owner(&world, "src"), "alice");
    client.event("SessionEnd-other");
    world.wait("the claim is released", || owned(&world).is_empty());
    assert_eq!(notices(&world, "human"), [""; 0]);
}

#[test]
fn the_watch_of_a_session_ends_with_its_last_claim() {
    let world = office();
    let Some(mut client) = Client::start(&world, &[]) else {
        return;
    };
    client.begin(&world);
    world.route("alice", "r.json", release_all());
    world.wait("the watch ends", || holds(&world).is_empty());
}

#[test]
fn a_tool_server_ends_the_session_when_its_client_has_ended() {
    // P126
    let world = office();
    let mut server = world.bare("mcp");
    server
        .env("MAILBAG_AGENT", "alice")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut server = server.spawn().expect("the program starts");
    world.wait("the server holds alice", || is_held(&world));
    drop(server.stdin.take());
    server.wait().expect("it was started here");
    pass_in(&world, 1);
    pass_in(&world, 20);
    assert_eq!(owned(&world), []);
}

#[test]
fn the_claims_of_a_command_that_ran_as_an_agent_are_free_fifteen_minutes_after_its_end() {
    // P126
    let world = World::alice_and_bob();
    let program = assert_cmd::cargo::cargo_bin!("mailbag")
        .display()
        .to_string();
    world.ok(&["exec", "--id", "alice", "--", &program, "claim", "src"]);
    assert_eq!(owner(&world, "src"), "alice");
    pass_in(&world, 1);
    let told = notices(&world, "alice");
    assert!(
        told.len() == 1 && told[0].starts_with("your claims lapse at"),
        "{told:?}"
    );
    pass_in(&world, 14);
    assert_eq!(owner(&world, "src"), "alice");
    pass_in(&world, 17);
    assert_eq!(owned(&world), []);
}

#[test]
fn the_end_of_a_killed_exec_command_releases_its_claims() {
    // P126
    let world = World::alice_and_bob();
    let program = assert_cmd::cargo::cargo_bin!("mailbag")
        .display()
        .to_string();
    let script = format!("{program} claim src && read line");
    let mut exec = world.bare(&["exec", "--id", "alice", "--", "sh", "-c", &script]);
    let mut exec = exec
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    world.wait("the claim is granted", || {
        world.room("claims.json").exists()
    });
    exec.kill().expect("it runs");
    exec.wait().expect("it was started here");
    // Its reading is recorded first, since a receipt is activity at the time of its record.
    pass_in(&world, 0);
    pass_in(&world, 1);
    pass_in(&world, 17);
    assert_eq!(owned(&world), []);
}

#[test]
fn a_command_without_claims_leaves_nothing_behind() {
    let world = World::with("alice");
    world.ok("exec --id alice -- true");
    assert_eq!(
        (holds(&world).len(), world.names("sessions")),
        (0, Vec::<String>::new())
    );
}

#[test]
fn a_room_that_is_removed_ends_the_watch() {
    let world = office();
    let Some(mut client) = Client::start(&world, &[]) else {
        return;
    };
    client.event("SessionStart-startup");
    world.wait("the session is watched", || is_held(&world));
    let watches = || {
        let ps = Command::new("ps")
            .args(["-eo", "args"])
            .output()
            .expect("ps runs");
        let path = Path::new(world.path()).display().to_string();
        lossy(&ps.stdout)
            .lines()
            .any(|line| line.contains("--watch") && line.contains(&path))
    };
    assert!(watches());
    world.wait("the room is removed", || {
        fs::remove_dir_all(world.room("")).is_ok()
    });
    world.wait("the watch ends", || !watches());
}
