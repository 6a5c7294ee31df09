//! The human's identity: sessions of clients cannot act as the human, and a signed approval needs
//! the pinned key.

use super::{approval, codes, decision, outcomes, pass, say, steps};
use crate::files;
use crate::records::flat_record;
use crate::world::{World, lossy};
use ring::signature::Ed25519KeyPair;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

/// A room with a signed approval `d` from alice.
fn asked() -> World {
    let world = World::with("alice");
    ask(&world, "d");
    world
}

fn ask(world: &World, id: &str) {
    let signed = approval(id, json!("human"), json!({"signature": "required"}));
    world.route("alice", &format!("{id}.json"), &signed);
}

fn said(output: &Output) -> String {
    lossy(&output.stdout)
}

/// The person decides at a terminal.
#[track_caller]
fn decides(world: &World, id: &str, option: &str) -> String {
    let output = world.at_terminal(&["decide", id, option], "y\n");
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

/// A key of an agent, which can sign as the person does.
struct ForgedKey(Ed25519KeyPair);

impl ForgedKey {
    fn new() -> ForgedKey {
        ForgedKey(Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("a key"))
    }

    fn sign(&self, parts: &[&str]) -> String {
        let framed = parts
            .iter()
            .flat_map(|part| [&(part.len() as u64).to_be_bytes(), part.as_bytes()].concat());
        hex(self.0.sign(&framed.collect::<Vec<u8>>()).as_ref())
    }

    fn decision(&self, world: &World, id: &str) -> Value {
        let (digest, seq) = (world.digest("human", id), seq_of(world, id));
        let name = format!("alice/{id}");
        let signature = self.sign(&[
            "mailbag decision",
            &room_id(world),
            &name,
            &seq,
            &digest,
            "yes",
        ]);
        let mut signed = decision(&name, "yes");
        (signed["digest"], signed["signature"]) = (json!(digest), json!(signature));
        signed
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn room_id(world: &World) -> String {
    world.text("spool/room").trim().to_owned()
}

fn seq_of(world: &World, id: &str) -> String {
    let items = world.json("pending --as human")["items"].clone();
    let item = items
        .as_array()
        .expect("items")
        .iter()
        .find(|item| item["message"] == format!("alice/{id}"));
    item.expect("the approval")["seq"].to_string()
}

/// Passes the room with an agent's home and its variables.
fn run_with_home(world: &World, home: &Path) {
    let set = |command: &mut assert_cmd::Command| {
        command
            .env("HOME", home)
            .env("XDG_DATA_HOME", home)
            .env("MAILBAG_TRUST_DIR", home);
    };
    world.run_with("run --once", set).ok();
}

/// The number of pins in the log.
fn pins(world: &World) -> usize {
    let log = world.log("");
    let records = log.lines().map(flat_record);
    records
        .filter(|record| record["facts"]["approvals"]["decide"]["pin"].is_object())
        .count()
}

#[test]
fn a_session_of_a_client_cannot_act_as_the_human() {
    // P135
    let world = World::with("alice");
    world.route("alice", "a.json", approval("d", json!("human"), json!({})));
    for variable in ["CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID", "GEMINI_CLI"] {
        for command in [
            &["decide", "--as", "human", "d", "yes"][..],
            &["send", "alice", "yes", "--as", "Human"],
        ] {
            assert_contains!(
                world.run_env(command, variable, "s1").fails(2),
                &format!(
                    "only a person can act as human, and the caller is an agent: the environment has {variable}"
                )
            );
        }
    }
    assert_eq!(steps(&world), ["ask"]);
}

#[test]
fn an_agent_cannot_act_under_any_name_of_the_human() {
    // P135
    let world = World::with("alice");
    world.ok("agent set human --name Anna");
    world.write("sessions/human.json", lease_of_the_human());
    let before = world.names("outbox/human");
    for (args, name) in [
        ("send alice hi --as Anna", ""),
        ("send alice hi --as @anna", ""),
        ("inbox --as Anna", ""),
        ("claim src --as Anna", ""),
        ("send alice hi", "Anna"),
        ("inbox", "Anna"),
        ("send alice hi", ""),
        ("inbox", ""),
    ] {
        let ran = world.run_with(args, |command| {
            command.env("CLAUDE_CODE_SESSION_ID", "s1");
            if !name.is_empty() {
                command.env("MAILBAG_AGENT", name);
            }
        });
        assert_contains!(ran.fails(2), "only a person can act as human"; "{args} {name}");
    }
    assert_eq!(
        (before, world.names("inbox/alice")),
        (Vec::new(), Vec::new())
    );
}

/// A session file that a program has written by itself.
fn lease_of_the_human() -> String {
    let now = "2026-01-01T00:00:00Z";
    json!({"agent": "human", "client": "claude", "session": "s1", "since": now, "last": now, "joined": true})
        .to_string()
}

#[test]
fn no_session_becomes_the_human() {
    // P135
    let world = World::with("alice");
    world.ok("agent set human --name Anna");
    let error = "no session acts as the person";
    for name in ["human", "Human", "anna"] {
        for args in [
            &["join", name][..],
            &["join", name, "--take-over"],
            &["join", name, "--session", "s9"],
            &["exec", "--id", name, "--", "true"],
            &["install", "claude", "--agent", name],
        ] {
            let ran = world.run_env(args, "CLAUDE_CODE_SESSION_ID", "s1");
            assert_contains!(ran.fails(2), error; "{args:?}");
        }
    }
    assert!(world.names("sessions").is_empty());
}

#[test]
fn before_a_key_is_pinned_a_signed_approval_stays_open_and_the_answer_says_how_to_decide() {
    // P134
    let world = asked();
    let forged = ForgedKey::new();
    world.mail("human", "forged.json", decision("alice/d", "yes"));
    world.route("human", "signed.json", forged.decision(&world, "d"));
    assert_eq!(
        (codes(&world, "human"), steps(&world)),
        (vec!["not_signed".to_owned()], vec!["ask".to_owned()])
    );
    assert_contains!(
        world.ok("status"),
        "cannot read the decision key of the person"
    );
    assert_contains!(
        world.ok("read --all --as human"),
        "run `mailbag decide alice/d yes` in a terminal"
    );
    let command = ["decide", "--as", "human", "d", "yes"];
    let unknown = world.run_env(&command, "MAILBAG_TEST_ANCESTRY", "unknown");
    assert_contains!(unknown.fails(2), "only a person can decide as human");
    assert_eq!(outcomes(&world, "alice"), []);
    // The first rejection is read. The forged decision is rejected when a router can read the key.
    assert_eq!(codes(&world, "human"), Vec::<String>::new());
    decides(&world, "d", "no");
    world.pass();
    assert_eq!(
        (codes(&world, "human"), pins(&world)),
        (vec!["not_signed".to_owned()], 1)
    );
    assert_eq!(
        outcomes(&world, "alice"),
        [("no".to_owned(), "human".to_owned())]
    );
}

#[test]
fn the_person_at_a_terminal_pins_the_key_with_the_first_decision() {
    // P134
    let world = asked();
    assert_contains!(
        decides(&world, "d", "yes"),
        "decided alice/d: yes; your decision key ",
        "is now pinned"
    );
    assert_eq!(
        outcomes(&world, "alice"),
        [("yes".to_owned(), "human".to_owned())]
    );
    let mode =
        std::os::unix::fs::MetadataExt::mode(&world.decision_key().metadata().expect("the key"));
    assert_eq!(mode & 0o777, 0o600);
    ask(&world, "e");
    assert!(!decides(&world, "e", "no").contains("pinned"));
    assert_eq!((pins(&world), steps(&world).len()), (1, 4));
}

#[test]
fn a_key_of_another_home_decides_nothing_in_any_router() {
    // P134
    for is_pinned in [false, true] {
        let world = asked();
        if is_pinned {
            ask(&world, "before");
            decides(&world, "before", "no");
        }
        let forged = ForgedKey::new();
        let home = tempfile::tempdir().expect("a directory");
        for data in ["", ".local/share/mailbag", "mailbag"] {
            files::make_dir(home.path().join(data));
            let key = home.path().join(data).join("decision.key");
            files::write(&key, "07".repeat(32) + "\n");
            std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600))
                .expect("permissions");
        }
        files::make_dir(world.decision_key().parent().expect("a directory"));
        if !is_pinned {
            files::write(world.decision_key(), "09".repeat(32) + "\n");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(world.decision_key(), mode).expect("permissions");
        }
        let before = pins(&world);
        for pass in [
            |world: &World, home: &Path| run_with_home(world, home),
            |world: &World, _: &Path| {
                world.pass();
            },
        ] {
            world.mail("human", "signed.json", forged.decision(&world, "d"));
            pass(&world, home.path());
        }
        let rejected = codes(&world, "human");
        assert_eq!(rejected, ["not_signed"; 2]);
        assert_eq!(pins(&world), before);
        assert_eq!(
            steps(&world).iter().filter(|step| *step == "ask").count(),
            1 + usize::from(is_pinned)
        );
        assert_contains!(world.ok("pending --as human"), "mailbag decide"; "the approval is still open");
    }
}

#[test]
fn a_router_that_cannot_read_the_key_of_the_person_decides_nothing_and_the_next_one_does() {
    // P134
    let world = asked();
    let place = world.decision_key();
    files::make_dir(place.parent().expect("a directory"));
    // This time the key is the person's.
    let own = ForgedKey::new();
    world.route("human", "signed.json", own.decision(&world, "d"));
    assert_contains!(
        world.ok("status"),
        "cannot read the decision key of the person"
    );
    assert_eq!(pins(&world), 0);
    files::write(&place, "07".repeat(32) + "\n");
    std::fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("permissions");
    world.pass();
    assert_eq!((pins(&world), outcomes(&world, "alice").len()), (1, 1));
}

#[test]
fn a_signature_counts_for_one_approval_one_text_and_one_option() {
    // P134
    let world = asked();
    decides(&world, "d", "no");
    let sent = world.room("sent/human");
    let names = crate::town::listing(&sent).into_iter();
    let texts = names.map(|name| files::read_text(sent.join(name)));
    let signed: Vec<Value> = texts
        .map(|text| serde_json::from_str(&text).expect("JSON"))
        .collect();
    let signed = signed
        .into_iter()
        .find(|message| message["type"] == "decision")
        .expect("the decision");
    ask(&world, "e");
    for (field, value) in [
        ("in_reply_to", json!("alice/e")),
        ("option", json!("yes")),
        ("digest", json!(null)),
    ] {
        let mut replayed = signed.clone();
        for field in ["id", "digest"] {
            replayed.as_object_mut().expect("fields").remove(field);
        }
        replayed["in_reply_to"] = json!("alice/e");
        if !value.is_null() {
            replayed[field] = value;
        }
        world.route("human", "replayed.json", &replayed);
    }
    assert_eq!(codes(&world, "human"), ["not_signed"; 3]);
}

#[test]
fn a_lost_key_is_named_and_an_adopted_room_takes_a_new_one() {
    // P134
    let world = asked();
    decides(&world, "d", "yes");
    ask(&world, "e");
    files::remove_file(world.decision_key());
    let lost = world.at_terminal(&["decide", "e", "yes"], "y\n");
    assert!(
        !lost.status.success() && said(&lost).contains("run `mailbag init --adopt "),
        "{}",
        said(&lost)
    );
    assert!(
        !world.decision_key().exists(),
        "a decision with a lost key makes no key"
    );
    assert_contains!(world.run("doctor").out, "that is pinned in this room");
    world.ok("init --adopt");
    decides(&world, "e", "yes");
    assert_eq!((pins(&world), outcomes(&world, "alice").len()), (2, 2));
}

#[test]
fn only_a_person_decides_a_signed_approval() {
    // P134
    let world = asked();
    decides(&world, "d", "yes");
    for caller in ["agent", "unknown"] {
        ask(&world, caller);
        let output = world.at_terminal_with(
            &["decide", caller, "yes", "--as", "human"],
            "y\n",
            |command| {
                command.env("MAILBAG_TEST_ANCESTRY", caller);
            },
        );
        assert!(
            !output.status.success() && said(&output).contains("only a person can"),
            "{caller}: {}",
            said(&output)
        );
    }
    assert_eq!((pins(&world), outcomes(&world, "alice").len()), (1, 1));
}

#[test]
fn a_copied_room_needs_a_new_pin_and_takes_no_signature_of_the_original() {
    // P134
    let world = asked();
    ask(&world, "e");
    decides(&world, "e", "yes");
    let copy = World::empty();
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(world.room(""))
        .arg(copy.path())
        .status();
    assert!(copied.expect("cp").success());
    decides(&world, "d", "yes");
    let sent = world.room("sent/human");
    let names = crate::town::listing(&sent).into_iter();
    let texts = names.map(|name| files::read_text(sent.join(name)));
    let signed = texts
        .into_iter()
        .find(|text| text.contains("\"alice/d\""))
        .expect("the decision on d");
    // The copy has the same person, with the same key.
    files::make_dir(copy.decision_key().parent().expect("a directory"));
    files::copy(world.decision_key(), copy.decision_key());
    copy.route("human", "before.json", signed.clone());
    assert_eq!(codes(&copy, "human"), ["copied_room"]);
    copy.ok(&["init", "--adopt"]);
    let again = |name: &str| {
        let mut message: Value = serde_json::from_str(&signed).expect("JSON");
        message["id"] = json!(name);
        copy.route("human", &format!("{name}.json"), &message);
    };
    again("unpinned");
    assert_eq!(codes(&copy, "human"), ["copied_room", "not_signed"]);
    ask(&copy, "f");
    assert_contains!(decides(&copy, "f", "no"), "is now pinned");
    again("pinned");
    assert_eq!(
        codes(&copy, "human"),
        ["copied_room", "not_signed", "not_signed"]
    );
}

#[test]
fn the_deadline_of_a_signed_approval_cannot_choose_an_option() {
    // P134
    let world = World::with("alice");
    for (n, outcome) in ["no", "delete", "deny", "escalate"].iter().enumerate() {
        let id = format!("d{n}");
        let terms = json!({"signature": "required", "options": ["yes", "no", "delete"],
            "deadline": "30m", "on_deadline": outcome});
        say(&world, 0, "alice", approval(&id, json!("human"), terms));
    }
    assert_eq!(codes(&world, "alice"), ["bad_on_deadline"; 2]);
    pass(&world, 31);
    assert_eq!(steps(&world), ["ask", "ask", "expire", "escalate"]);
    assert_eq!(outcomes(&world, "alice"), [("denied".into(), "".into())]);
}
