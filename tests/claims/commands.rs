//! The claim commands: their output and exit status.

use super::{answer, claim, office, owner, release_all, time};
use crate::files;
use crate::world::{Words, World, lossy, parse_json, wait};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::{Child, Stdio};

/// Starts a command that waits.
fn waiting(world: &World, args: &(impl Words + ?Sized)) -> Child {
    let mut command = world.bare(args);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

#[test]
fn a_repeated_accept_accepts_no_later_offer_with_the_same_id() {
    // P120
    let world = office();
    world.ok("claim src --as alice");
    world.ok("claim docs --as carol");
    let drop = |agent: &str, message: Value| {
        world.mail(agent, "1.json", message);
        world.pass();
    };
    let offer = |subject: &str| json!({"id": "h", "type": "handoff", "to": "bob", "claims": [subject], "body": "yours"});
    drop("alice", offer("src"));
    let accept = json!({"type": "accept", "in_reply_to": "h"});
    drop("bob", accept.clone());
    assert_eq!(owner(&world, "src"), "bob");
    drop("carol", offer("docs"));
    drop("bob", accept);
    assert_contains!(
        world.fails(2, "handoff --accept h --as bob"),
        "\"h\" is ambiguous",
        "(carol/h)"
    );
    assert_eq!(owner(&world, "docs"), "carol");
    world.ok("handoff --accept carol/h --as bob");
    assert_eq!(owner(&world, "docs"), "bob");
}

#[test]
fn claim_ends_with_0_if_it_is_granted_and_with_1_if_another_agent_owns_a_part() {
    // P140
    let world = office();
    let out = world.ok("claim src/auth/** --note Passkeys --lease 2h --as alice");
    assert_eq!(out, "granted: src/auth/** (lease 2h)\n");
    let complaint = world.fails(1, "claim docs src/auth/x.rs --as bob");
    for word in [
        "alice owns src/auth/** since 20",
        "Passkeys",
        "mailbag send alice",
        "--wait",
    ] {
        assert!(complaint.contains(word), "{word}: {complaint}");
    }
    let error = parse_json(world.fails(1, "claim src --as bob --json"));
    assert_eq!(error["error"]["problems"][0]["code"], "claimed");
    let data = world.json("claim task:login --as bob");
    assert_fields!(data, status: "granted", claims: ["task:login"]);
    assert_contains!(
        world.fails(2, "claim /etc/hosts --as bob"),
        "in no repository"
    );
    assert_contains!(
        world.fails(65, "claim 'task:a b' --as bob"),
        "not the name of a task"
    );
}

#[test]
fn a_claim_command_marks_its_own_answer_as_read() {
    let world = office();
    world.ok("claim src --as alice");
    world.fails(1, "claim src --as bob");
    assert_eq!(
        (world.inbox("alice").len(), world.inbox("bob").len()),
        (0, 0)
    );
    assert_eq!(
        (
            world.names("inbox/alice/seen").len(),
            world.names("inbox/bob/seen").len()
        ),
        (1, 1)
    );
}

#[test]
fn with_a_router_the_command_waits_for_its_decision() {
    let world = office();
    let _router = world.router("");
    assert_eq!(
        world.ok("claim src --as alice"),
        "granted: src (lease 4h)\n"
    );
    world.fails(1, "claim src --as bob");
    assert_eq!(world.ok("release --as alice"), "released: src\n");
    assert_eq!(world.ok("claim src --as bob"), "granted: src (lease 4h)\n");
    assert_eq!(
        (world.inbox("alice").len(), world.inbox("bob").len()),
        (0, 0)
    );
}

#[test]
fn without_a_decision_in_time_the_status_is_75() {
    // P140
    let world = office();
    let router = world.router("");
    router.signal(Signal::STOP);
    let complaint = world.fails(75, "claim src --as alice");
    router.signal(Signal::CONT);
    assert_contains!(complaint, "the router has not decided yet: ", "is stopped");
    wait("the claim is granted", || {
        world.json("claims")["claims"][0]["owner"] == "alice"
    });
}

#[test]
fn a_dropped_file_has_the_same_effect_as_the_command() {
    let world = office();
    world.ok("claim src --as alice");
    world.ok("handoff bob src --as alice");
    world.route("bob", "a.json", answer(&world, "accept"));
    assert_eq!(owner(&world, "src"), "bob");
    world.drop_file(
        "bob",
        "b.json",
        r#"{"type": "handoff", "to": "alice", "claims": ["src"]}"#,
    );
    let data = world.json("handoff --accept --as alice");
    assert_fields!(data, status: "granted", owner_before: "bob", claims: ["src"]);
    // The command has read the offer.
    let unread = world.items("inbox --as alice");
    assert!(!unread.to_string().contains("handoff"), "{unread}");
    world.mail("alice", "c.json", release_all());
    assert_eq!(world.ok("claims"), "");
}

#[test]
fn an_offer_is_accepted_by_its_number_declined_or_withdrawn() {
    let world = office();
    world.ok("claim src docs --as alice");
    let first = world.json("handoff bob src --note please --as alice");
    let second = world.json("handoff bob docs --as alice");
    assert_fields!(first, status: "offered", to: "bob");
    assert_contains!(
        world.fails(2, "handoff --accept --as bob"),
        "there are 2 open offers"
    );
    assert_eq!(
        world.ok(&[
            "handoff",
            "--accept",
            &second["seq"].to_string(),
            "--as",
            "bob"
        ]),
        "granted: docs from alice\n"
    );
    assert_eq!(
        world.ok("handoff --decline --note 'no time' --as bob"),
        "declined: src of alice\n"
    );
    assert_eq!(world.bodies("alice"), ["", "no time"]);
    world.ok("handoff carol --as alice");
    world.ok("handoff --decline --as alice");
    assert_contains!(
        world.fails(1, "handoff --accept --as carol"),
        "no such offer is open"
    );
    assert_eq!(
        (owner(&world, "src"), owner(&world, "docs")),
        ("alice".into(), "bob".into())
    );
}

#[test]
fn the_human_releases_the_claims_of_another_agent() {
    let world = office();
    world.ok("claim src --as bob");
    assert_contains!(
        world.fails(1, "release --of bob --as carol"),
        "cannot release the claims of bob"
    );
    let data = world.json("release src --of bob --note crashed --as human");
    assert_fields!(data, status: "released", owner_before: "bob");
    assert_eq!(world.bodies("bob"), ["crashed"], "the owner is told why");
    assert_contains!(world.fails(1, "release --as bob"), "bob owns nothing");
}

#[test]
fn paths_are_relative_to_the_current_directory() {
    let world = office();
    files::make_dir(world.path().join("src/auth"));
    let inside = |args: &[&str]| {
        world.run_with(args, |command| {
            command.current_dir(world.path().join("src"));
        })
    };
    assert_eq!(
        inside(&["claim", "auth/*.rs", "--as", "alice"]).ok(),
        "granted: src/auth/*.rs (lease 4h)\n"
    );
    assert_eq!(inside(&["claims", "auth/x.rs", "--as", "bob"]).code, 1);
    assert_eq!(inside(&["claims", "../auth/x.rs", "--as", "bob"]).code, 0);
    let released = inside(&["release", "src/auth/*.rs", "--as", "alice"]).ok();
    assert_eq!(released, "released: src/auth/*.rs\n");
}

#[test]
fn claims_tells_whether_a_path_is_free() {
    // P141
    let world = office();
    world.ok("claim src/auth/** task:login --note Passkeys --as alice");
    assert_eq!(
        world
            .ok("claims src/auth/x.rs README.md --as alice")
            .lines()
            .last(),
        Some("README.md: free")
    );
    for path in ["src/auth/x.rs", "src", "SRC/Auth", "task:Login"] {
        let ran = world.run(&["claims", path, "README.md", "--as", "bob"]);
        assert!(
            ran.code == 1 && ran.out.contains(": owned by alice ("),
            "{ran:?}"
        );
        assert_contains!(ran.out, ": Passkeys"; "{ran:?}");
    }
    let ran = world.run("claims src/auth/x.rs --as bob --json");
    let data = parse_json(&ran.out);
    assert_fields!(data["paths"][0], status: "owned", claims.0.owner: "alice");
    world.fails(2, "claims src/[ --as bob");
    assert_eq!(
        world.run("claims src/auth/x.rs").code,
        1,
        "an unidentified session owns nothing"
    );
}

#[test]
fn claims_ends_with_75_if_the_owner_is_unknown() {
    // P141
    let world = World::empty();
    assert_contains!(
        world.fails(75, "claims src --as alice"),
        "it is unknown who owns the work"
    );
    let world = office();
    world.ok("claim src --as alice");
    ["one", "two", "three"]
        .into_iter()
        .for_each(|body| drop(world.send("bob", "carol", body)));
    let log = world.room("log/00000001.ndjson");
    let text = files::read_text(&log);
    files::write(
        &log,
        text.replacen("\"event\":{\"accepted\"", "\"event\":{\"accepte\u{1}\"", 1),
    );
    files::remove_file(world.room("claims.json"));
    world.fails(75, "claims src --as bob");
}

#[test]
fn a_missing_or_damaged_file_changes_no_answer() {
    // P141
    let world = office();
    world.ok("claim src --as alice");
    let text = files::read(world.room("claims.json"));
    files::remove_file(world.room("claims.json"));
    assert_eq!(world.run("claims src --as bob").code, 1);
    for bytes in [&text[..text.len() / 2], b"[]", b"", b"{\"claims\": []}"] {
        world.write("claims.json", bytes);
        assert_eq!(world.run("claims src --as bob").code, 1);
        assert_eq!(world.run("claims src --as alice").code, 0);
    }
}

#[test]
fn the_list_shows_claims_and_offers() {
    let world = office();
    assert_eq!(world.ok("claims"), "");
    world.ok("claim src/auth/** --note Pass\u{1b}[2Jkeys --as alice");
    world.ok("handoff bob --as alice");
    let out = world.ok("claims");
    let lines: Vec<&str> = out.lines().collect();
    let has = |n: usize, words: &[&str]| words.iter().all(|word| lines[n].contains(word));
    assert!(
        has(0, &["src/auth/**  alice", " left", "keys"]) && !out.contains('\u{1b}'),
        "{out}"
    );
    assert!(
        has(1, &["alice", "offered to bob", "mailbag handoff --accept "]),
        "{out}"
    );
    assert_eq!(lines.len(), 2, "{out}");
    let mine = world.json("claims --mine --as bob");
    let counts = ["claims", "offers"].map(|list| mine[list].as_array().expect("a list").len());
    assert_eq!(counts, [0, 1]);
}

#[test]
fn a_claim_that_has_lapsed_without_a_router_is_free() {
    let world = office();
    super::run_at(&world, 0, "claim src --lease 10m --as alice");
    let at = |minutes, args: &[&str]| world.run_env(args, "MAILBAG_TEST_NOW", time(minutes));
    let owned =
        |minutes| parse_json(at(minutes, &["status", "--json"]).out)["claims"]["owned"].clone();
    assert_eq!((owned(9), owned(11)), (json!(1), json!(0)));
    assert_contains!(at(8, &["claims"]).out, "2m left");
    assert_eq!(at(9, &["claims", "src", "--as", "bob"]).code, 1);
    assert_eq!(at(11, &["claims", "src", "--as", "bob"]).code, 0);
    assert_eq!(at(11, &["claims"]).out, "");
    for unknown in [
        "claims --as nosuch",
        "release --of nosuch --as human",
        "handoff --accept nosuch --as bob",
        "handoff --decline 99 --as bob",
        "watch --as nosuch",
    ] {
        world.fails(3, unknown);
    }
}

/// Waits until a claim with --wait looks at the claims.
fn wait_until_online(world: &World, agent: &str) {
    wait("it waits", || {
        let who = world.json("who");
        let mut agents = who["agents"].as_array().expect("agents").iter();
        agents.any(|one| one["id"] == agent && one["presence"] == "online")
    });
}

#[test]
fn wait_ends_when_the_owner_releases_the_work() {
    let world = office();
    world.ok("claim src --as alice");
    let waiting = waiting(&world, "claim src/x.rs --wait --as bob");
    wait_until_online(&world, "bob");
    assert_eq!(world.names("sent/bob").len(), 0, "nothing is sent before");
    world.mail("alice", "r.json", release_all());
    let ran = waiting.wait_with_output().expect("it ends");
    assert!(
        ran.status.success() && ran.stdout == b"granted: src/x.rs (lease 4h)\n",
        "{ran:?}"
    );
    assert_contains!(lossy(&ran.stderr), "waiting for src/x.rs: alice owns src since"; "{ran:?}");
    assert_eq!(world.inbox("bob").len(), 0, "the command has told it");
}

#[test]
fn of_two_that_wait_one_is_granted_and_the_other_waits_on() {
    // P140
    let world = office();
    world.ok("claim src --as alice");
    let mut both = ["bob", "carol"].map(|agent| {
        let args = ["claim", "src", "--wait", "--as", agent];
        let child = waiting(&world, &args[..]);
        wait_until_online(&world, agent);
        (agent, child)
    });
    world.ok("release --as alice");
    // `claims.json` can show the former owner for a moment.
    wait("one owns it", || {
        ["bob", "carol"].contains(&&*owner(&world, "src"))
    });
    let first = owner(&world, "src");
    both.sort_by_key(|(agent, _)| *agent != first);
    let [(_, mut winner), (second, mut loser)] = both;
    assert!(winner.wait().expect("it ends").success());
    assert!(loser.try_wait().expect("a status").is_none(), "it waits on");
    world.ok(&["release", "--as", &first]);
    assert!(loser.wait().expect("it ends").success());
    assert_eq!(owner(&world, "src"), second);
}

#[test]
fn a_wait_that_ends_in_vain_leaves_nothing_behind() {
    // P140
    let world = office();
    world.ok("claim src --as alice");
    assert_contains!(
        world.fails(75, "claim src --wait --timeout 100ms --as bob"),
        "src was not granted within 100ms: alice owns src since"
    );
    let interrupted = waiting(&world, "claim src --wait --as bob");
    wait_until_online(&world, "bob");
    kill_process(Pid::from_child(&interrupted), Signal::INT).expect("a signal");
    let ran = interrupted.wait_with_output().expect("it ends");
    assert!(!ran.status.success());
    world.ok("release --as alice");
    assert_eq!(owner(&world, "src"), "");
    assert_eq!(world.names("sent/bob").len(), 0);
}

#[test]
fn one_of_two_simultaneous_claims_is_granted() {
    let world = office();
    for round in 0..5 {
        let subject = format!("src/{round}");
        let both =
            ["alice", "bob"].map(|agent| waiting(&world, &["claim", &subject, "--as", agent]));
        let codes = both.map(|child| child.wait_with_output().expect("it ends").status.code());
        let mut sorted = codes;
        sorted.sort();
        assert_eq!(sorted, [Some(0), Some(1)], "{subject}");
        let winner = if codes[0] == Some(0) { "alice" } else { "bob" };
        assert_eq!(owner(&world, &subject), winner);
    }
}

#[test]
fn a_closed_standard_output_does_not_change_the_decision() {
    let world = office();
    let mut command = world.bare("claim src --as alice");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    assert!(child.wait().expect("it ends").success());
    assert_eq!(owner(&world, "src"), "alice");
    for (agent, code) in [("alice", 0), ("bob", 1)] {
        let mut child = waiting(&world, &["claims", "src", "--as", agent]);
        drop(child.stdout.take());
        assert_eq!(
            child.wait().expect("it ends").code(),
            Some(code),
            "the status is an answer too"
        );
    }
}

#[test]
fn thousands_of_claims_are_listed_and_asked_about() {
    let world = World::with("zed");
    for n in 0..10 {
        world.ok(&["agent", "add", &format!("a{n}")]);
        let lines: String = (0..100)
            .map(|m| claim(&[&format!("src/{n}/{m}/**")]).to_string() + "\n")
            .collect();
        world.drop_file(&format!("a{n}"), "claims.ndjson", lines);
    }
    world.pass();
    assert_eq!(
        world.json("claims")["claims"]
            .as_array()
            .expect("a list")
            .len(),
        1000
    );
    assert_eq!(world.run("claims src/9/99/x.rs --as zed").code, 1);
    assert_eq!(world.run("claims docs/x.md --as zed").code, 0);
}

#[test]
fn who_and_status_show_claims() {
    let world = office();
    let subjects: Vec<String> = (0..8).map(|n| format!("src/{n}")).collect();
    let words: Vec<&str> = subjects.iter().map(String::as_str).collect();
    world.ok(&[&["claim", "--as", "alice"], &words[..]].concat());
    world.ok("handoff bob --as alice");
    assert_contains!(
        world.ok("who"),
        "owns src/0, src/1, src/2, src/3, src/4, 3 more\n"
    );
    let alice = &world.read("roster.json")["agents"][1];
    assert_fields!(alice, owns.0: "src/0", owns_more: 3);
    assert_eq!(
        world.json("status")["claims"],
        json!({"owned": 8, "offers": 1})
    );
    assert_contains!(world.ok("status"), "claims      8 owned, 1 open offer\n");
}

#[test]
fn the_path_of_an_owner_address_is_read_like_a_path_of_claims() {
    // P122
    let world = office();
    world.ok("agent add eve");
    let page = "app/[id]/page.tsx";
    for file in [
        "package.json",
        "web/package.json",
        page,
        "app/{x}.ts",
        "notes.md",
    ] {
        world.write(&format!("../{file}"), "");
    }
    world.ok(&["claim", "package.json", page, "app/{x}.ts", "--as", "alice"]);
    world.ok("claim web/package.json --as bob");
    let from = |directory: &str, args: &[&str]| {
        let args = [args, &["--as", "eve"]].concat();
        world.run_with(&args, |command| {
            command.current_dir(world.path().join(directory));
        })
    };
    for (directory, path, owner) in [
        ("web", "package.json", "bob"),
        ("web", "../package.json", "alice"),
        ("web", "../app", "alice"),
        ("", "package.json", "alice"),
        ("", page, "alice"),
        ("", "app/{x}.ts", "alice"),
        ("app", "{x}.ts", "alice"),
        ("app/[id]", "page.tsx", "alice"),
    ] {
        let (claims, address) = (from(directory, &["claims", path]), format!("owner:{path}"));
        assert_contains!(claims.out, &format!("owned by {owner} ("));
        let sent = from(directory, &["send", &address, "may I?"]).ok();
        assert_contains!(sent, &format!(" to {owner}\n"));
        let dry_run = from(directory, &["send", "--dry-run", &address, "may I?"]).ok();
        assert_contains!(dry_run, &format!("reaches {owner} ("));
        let asked = from(directory, &["ask", &address, "may I?", "--timeout", "1ms"]);
        assert_contains!(asked.fails(4), &format!("asked {owner}: "));
    }
    let shared = from(
        "web",
        &[
            "share",
            "../notes.md",
            "--category",
            "plans",
            "--to",
            "owner:package.json",
            "--json",
        ],
    );
    let shared = parse_json(shared.ok());
    assert_eq!(shared["message"]["recipients"][0]["agent"], "bob");
    assert_contains!(
        from("", &["send", "owner:../x", "?"]).fails(2),
        "in no repository"
    );
    assert_contains!(from("", &["send", "owner:src/[", "?"]).fails(65), "src/[");
    // A pasted suggestion means the same path.
    let suggestion = from("web", &["send", "owner:package.json", "nobody", "?"]).fails(65);
    assert_contains!(suggestion, "`mailbag send owner:package.json ");
    // A dropped file has no directory, so its paths are relative to the project.
    world.route(
        "eve",
        "a.json",
        json!({"to": "owner:package.json", "body": "dropped"}),
    );
    assert!(world.bodies("alice").contains(&"dropped".to_owned()));
}
