//! Agents that run as separate users: their access, and the advice of the docs.

use crate::files;
use crate::town::{is_root, so_within};
use crate::world::{World, lossy};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const ALICE: u32 = 65_501;
const BOB: u32 = 65_502;
const MALLORY: u32 = 65_503;
const GROUP: u32 = 65_511;

/// A room made by the recipe in `docs/security.md`, with other users and another place.
struct Isolated {
    world: World,
    room: PathBuf,
}

impl Isolated {
    fn new() -> Isolated {
        let world = World::empty();
        fs::set_permissions(world.path(), fs::Permissions::from_mode(0o755))
            .expect("its own directory");
        let room = world.path().join("mail");
        let security =
            files::read_text(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md"));
        let recipe = security
            .split("```sh\nsudo mailbag init")
            .nth(1)
            .and_then(|rest| rest.split("```").next());
        let recipe = format!("mailbag init{}", recipe.expect("the recipe"));
        let users = format!(
            "set -e; sudo() {{ \"$@\"; }}; id() {{ case $2 in alice) echo {ALICE} ;; bob) echo {BOB} ;; esac; }}\n"
        );
        let recipe = recipe.replace(
            "mailbag",
            &assert_cmd::cargo::cargo_bin!("mailbag")
                .display()
                .to_string(),
        );
        let recipe = recipe.replace("/srv/mail", &room.display().to_string());
        let ran = Command::new("sh")
            .args(["-c", &format!("umask 000; {users}{recipe}")])
            .output()
            .expect("a shell");
        assert!(ran.status.success(), "{ran:?}");
        Isolated { world, room }
    }

    fn run_once(&self) {
        self.world
            .ok(&["--room", &self.room.display().to_string(), "run", "--once"]);
    }

    /// The result of a shell of this user in the room's directory.
    fn shell(&self, user: u32, script: &str) -> Output {
        let user = user.to_string();
        let mut shell = Command::new("setpriv");
        shell.args([
            &format!("--reuid={user}"),
            &format!("--regid={user}"),
            "--clear-groups",
        ]);
        shell
            .args(["sh", "-c", script])
            .current_dir(&self.room)
            .output()
            .expect("setpriv")
    }

    fn can(&self, user: u32, script: &str) -> bool {
        self.shell(user, script).status.success()
    }
}

#[test]
fn the_recipe_of_the_docs_keeps_three_users_apart() {
    if !is_root("agents of three users") {
        return;
    }
    let isolated = Isolated::new();
    assert!(isolated.can(
        ALICE,
        r#"echo '{"to": "bob", "body": "for bob"}' > outbox/alice/x.json"#
    ));
    isolated.run_once();
    let read = isolated.shell(
        BOB,
        "cat inbox/bob/*.json && mv inbox/bob/*.json inbox/bob/seen/",
    );
    assert!(
        read.status.success() && lossy(&read.stdout).contains("for bob"),
        "{read:?}"
    );
    assert!(isolated.can(
        BOB,
        r#"echo '{"to": "alice", "body": "thanks"}' > outbox/bob/y.json"#
    ));
    isolated.run_once();
    assert!(isolated.can(
        ALICE,
        "grep -q thanks inbox/alice/*.json && rm inbox/alice/*.json"
    ));

    for (user, name) in [(MALLORY, "mallory"), (ALICE, "alice")] {
        let foreign = [
            "ls outbox",
            "ls inbox",
            "ls inbox/bob",
            "cat inbox/bob/seen/*.json",
            "ls outbox/bob",
            "ls log",
            "cat log/00000001.ndjson",
            "ls sent",
            "cat sent/bob/*",
            "ls rejected",
            "ls spool",
            "cat spool/room",
            "ls channels",
            "cat channels/main/messages.ndjson",
            "echo '{}' > outbox/bob/forged.json",
            "echo '{}' > inbox/bob/forged.json",
            "echo x >> registry.json",
            "rm -f registry.json",
            "mkdir outbox/new",
            "touch new",
            "mv inbox/bob inbox/gone",
            "exec 9< spool/lock",
        ];
        for script in foreign {
            assert!(!isolated.can(user, script), "{name} can {script}");
            let only_reads = script.starts_with("ls") || script.starts_with("cat");
            assert!(
                !only_reads || isolated.can(0, script),
                "there is nothing to read for {script}"
            );
        }
    }
    assert!(!isolated.can(
        MALLORY,
        "ls outbox/alice || ls inbox/alice || echo '{}' > outbox/alice/forged.json"
    ));
    isolated.world.ok(&[
        "--room",
        &isolated.room.display().to_string(),
        "log",
        "verify",
    ]);
}

#[test]
fn with_a_user_of_its_own_an_agent_s_bounces_and_directories_are_its_own() {
    if !is_root("files of other users") {
        return;
    }
    let isolated = Isolated::new();
    assert!(isolated.can(
        ALICE,
        "echo '{\"to\": \"nobody\", \"body\": \"x\"}' > outbox/alice/x.json"
    ));
    isolated.run_once();
    assert!(isolated.can(ALICE, "grep -q unknown_recipient inbox/alice/*.json"));
    for directory in ["outbox/alice", "inbox/alice", "inbox/alice/seen"] {
        let meta = fs::metadata(isolated.room.join(directory)).expect("it was made");
        assert_eq!(
            (meta.uid(), meta.mode() & 0o7777),
            (ALICE, 0o700),
            "{directory}"
        );
    }
}

#[test]
fn a_copy_that_root_makes_belongs_to_its_reader_and_to_the_group_of_the_inbox() {
    if !is_root("files of other users") {
        return;
    }
    let isolated = Isolated::new();
    let inbox = isolated.room.join("inbox/bob");
    std::os::unix::fs::chown(&inbox, None, Some(GROUP)).expect("the group of bob's inbox");
    assert!(isolated.can(
        ALICE,
        r#"echo '{"to": "bob", "body": "for bob"}' > outbox/alice/x.json"#
    ));
    isolated.run_once();
    let entries = fs::read_dir(&inbox)
        .expect("bob's inbox")
        .map(|entry| entry.expect("an entry"));
    let copies: Vec<_> = entries
        .map(|entry| entry.metadata().expect("it stands"))
        .filter(fs::Metadata::is_file)
        .collect();
    let owners: Vec<_> = copies.iter().map(|copy| (copy.uid(), copy.gid())).collect();
    assert_eq!(owners, [(BOB, GROUP)]);
}

/// Every file and directory below the room, with its permissions, except the files that a sender
/// dropped.
fn permissions(room: &Path) -> Vec<(PathBuf, u32)> {
    let entries = walkdir::WalkDir::new(room)
        .into_iter()
        .map(|entry| entry.expect("an entry"));
    let kept = |path: &Path| {
        path.parent()
            .is_some_and(|parent| parent.ends_with("sent/alice"))
    };
    let own = entries.filter(|entry| !entry.file_type().is_symlink() && !kept(entry.path()));
    own.map(|entry| {
        (
            entry.path().to_owned(),
            entry.metadata().expect("it stands").mode() & 0o7777,
        )
    })
    .collect()
}

fn used(world: &World, init: &[&str], umask: &str) {
    let program = assert_cmd::cargo::cargo_bin!("mailbag")
        .display()
        .to_string();
    let script = format!(
        r#"set -e; umask {umask}; {program} {}; {program} agent add alice bob
        {program} send bob hello --as alice; {program} read --all --as bob; {program} send nobody x --as alice || true
        echo '{{"to": "nobody"}}' > .mailbag/outbox/alice/x.json; {program} run --once; {program} archive --older-than 0s"#,
        init.join(" ")
    );
    let ran = Command::new("sh")
        .args(["-c", &script])
        .current_dir(world.path())
        .env_remove("MAILBAG_ROOM")
        .output();
    let ran = ran.expect("a shell");
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn a_room_is_private_to_its_owner_under_every_umask() {
    for umask in ["000", "022", "077"] {
        let world = World::empty();
        // A directory that is made below this one gets its group and its set-group-ID bit.
        fs::set_permissions(world.path(), fs::Permissions::from_mode(0o2775))
            .expect("its own directory");
        used(&world, &["init"], umask);
        for (path, mode) in permissions(&world.room("")) {
            assert_eq!(mode & 0o2077, 0, "{umask}: {} has {mode:o}", path.display());
        }
    }
}

#[test]
fn a_group_can_read_its_room_but_not_change_it() {
    for umask in ["000", "077"] {
        let world = World::empty();
        used(&world, &["init", "--group"], umask);
        for (path, mode) in permissions(&world.room("")) {
            // Only the owner may open files that are locked or rewritten in place: another user
            // that opened one could hold its lock.
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            let held = ["lock", "wanted", "turn", "waiting.json"]
                .iter()
                .any(|end| name.ends_with(end));
            let wanted = if path.is_dir() { 0o2750 } else { 0o640 };
            assert!(
                mode == wanted || held && mode == 0o600,
                "{umask}: {} has {mode:o}",
                path.display()
            );
        }
    }
}

#[test]
fn a_user_without_the_uid_has_lost_the_agent() {
    if !is_root("agents of other users") {
        return;
    }
    let world = World::with("bob");
    let uid = ALICE.to_string();
    for agent in ["web", "dev"] {
        world.ok(&["agent", "add", agent, "--uid", &uid]);
    }
    let owner = |place: &str| fs::metadata(world.room(place)).expect("it exists").uid();
    assert_eq!([owner("inbox/web"), owner("outbox/dev")], [ALICE, ALICE]);

    world.ok("agent remove web");
    world.ok("agent add web");
    world.ok(&["agent", "set", "dev", "--uid", ""]);
    for agent in ["web", "dev"] {
        for place in [format!("outbox/{agent}"), format!("inbox/{agent}")] {
            assert_eq!(owner(&place), 0, "{place}");
        }
        world.ok(&["send", agent, "secret", "--as", "bob"]);
        let copy = format!(
            "inbox/{agent}/{}",
            world.names(&format!("inbox/{agent}"))[0]
        );
        assert_eq!(owner(&copy), 0, "{copy}");
    }
}

#[test]
fn a_link_in_one_agent_s_inbox_keeps_no_directory_from_other_agents() {
    if !is_root("agents of other users") {
        return;
    }
    let world = World::empty();
    world.ok("init");
    world.ok(&["agent", "add", "alice", "--uid", &ALICE.to_string()]);
    let seen = world.room("inbox/alice/seen");
    fs::remove_dir(&seen).expect("an empty directory");
    std::os::unix::fs::symlink("/etc", &seen).expect("a link");
    let etc = fs::metadata("/etc").expect("it exists").uid();

    world.ok(&["agent", "set", "alice", "--uid", &BOB.to_string()]);
    world.ok(&["agent", "add", "mallory", "--uid", &MALLORY.to_string()]);
    let owner = |place: &str| fs::metadata(world.room(place)).expect("it exists").uid();
    assert_eq!(
        [owner("inbox/alice"), owner("inbox/mallory")],
        [BOB, MALLORY]
    );
    assert_eq!(fs::metadata("/etc").expect("it exists").uid(), etc);
}

#[test]
fn commands_keep_the_permissions_of_the_registry() {
    let world = World::with("alice");
    fs::set_permissions(
        world.room("registry.json"),
        fs::Permissions::from_mode(0o644),
    )
    .expect("its own file");
    world.ok("agent add bob");
    assert_eq!(
        fs::metadata(world.room("registry.json"))
            .expect("it stands")
            .mode()
            & 0o777,
        0o644
    );
}

#[test]
fn root_leaves_only_files_that_the_room_s_owner_can_use() {
    if !is_root("a room of another user") {
        return;
    }
    let world = World::alice_and_bob();
    for entry in walkdir::WalkDir::new(world.path()) {
        let path = entry.expect("an entry").into_path();
        std::os::unix::fs::chown(path, Some(ALICE), Some(ALICE)).expect("root may");
    }
    let room = world.room("").display().to_string();
    world
        .program(&["trust", "--yes", &room])
        .output()
        .expect("it runs");
    world.drop_file(
        "alice",
        "x.json",
        r#"{"to": ["bob", "alice"], "body": "hi"}"#,
    );
    world.route("alice", "y.json", r#"{"to": "nobody", "body": "hi"}"#);
    let foreign = || -> Vec<PathBuf> {
        let entries = walkdir::WalkDir::new(&room)
            .into_iter()
            .map(|entry| entry.expect("an entry"));
        let foreign = entries.filter(|entry| {
            !entry.file_type().is_symlink()
                && entry.metadata().is_ok_and(|meta| meta.uid() != ALICE)
        });
        // The dropped file keeps its owner, here the tester.
        let kept = |path: &Path| {
            ["sent", "rejected"]
                .iter()
                .any(|kept| path.starts_with(world.room(kept)))
        };
        foreign
            .map(walkdir::DirEntry::into_path)
            .filter(|path| !kept(path))
            .collect()
    };
    assert!(
        so_within(Duration::from_secs(5), || foreign().is_empty()),
        "{:?}",
        foreign()
    );
}

#[test]
fn with_a_user_of_its_own_an_agent_is_not_warned_that_it_may_not_route() {
    // P116
    if !is_root("a command of another user") {
        return;
    }
    let isolated = Isolated::new();
    let mailbag = assert_cmd::cargo::cargo_bin!("mailbag")
        .display()
        .to_string();
    let trust = isolated.world.path().join("trust-of-alice");
    files::make_dir(&trust);
    std::os::unix::fs::chown(&trust, Some(ALICE), Some(ALICE)).expect("it is hers");
    // The program is run from a place that its user can reach.
    let program = isolated.world.path().join("program");
    files::copy(&mailbag, &program);
    let as_alice = |args: &str| {
        let (trust, program, room) = (trust.display(), program.display(), isolated.room.display());
        let script = format!(
            "MAILBAG_TEST_ANCESTRY=person MAILBAG_TRUST_DIR={trust} {program} --room {room} {args}"
        );
        let ran = isolated.shell(ALICE, &script);
        (ran.status.success(), lossy(&ran.stdout), lossy(&ran.stderr))
    };
    assert!(as_alice(&format!("trust --yes {}", isolated.room.display())).0);
    for args in [
        "send bob hello --as alice",
        "inbox --as alice",
        "read --as alice",
    ] {
        let (_, _, told) = as_alice(args);
        assert!(
            !told.contains("warning") && !told.contains("permission"),
            "{args}: {told}"
        );
    }
    let begun = std::time::Instant::now();
    assert!(as_alice("send bob again --as alice").0);
    assert!(
        begun.elapsed() < mailbag::base::limits::WRITER_WAIT,
        "no router runs, so the command waits for none"
    );
    // Only the owner routes; a router that alice starts herself ends with an error that explains
    // this.
    let (done, _, told) = as_alice("run --once");
    assert!(!done && told.contains("no permission to route"), "{told}");
    isolated.run_once();
    assert!(isolated.can(BOB, "grep -q hello inbox/bob/*.json"));
}
