//! A program that a registry names is started only if the person agreed to exactly that program.

use super::{bell, rung};
use crate::files;
use crate::town::Town;
use crate::world::{World, lossy};
use serde_json::json;

const TOLD: &str = "the user has not agreed to start its program";

/// A room with a program in its registry, as from another person's repository.
fn brought(word: &str) -> Town {
    let town = Town::alice_and_bob().quick();
    town.register(&[
        json!({"id": "alice"}),
        json!({"id": "bob", "wake": bell(word)}),
    ]);
    town
}

fn mail(town: &Town, name: &str) {
    town.mail(
        "alice",
        &format!("{name}.json"),
        json!({"to": "bob", "body": name}),
    );
}

#[test]
fn a_program_of_a_registry_that_arrived_is_not_started_before_the_person_agreed() {
    // P107
    let town = brought("first").run();
    mail(&town, "one");
    town.wait("the router says why it starts nothing", || {
        town.words().contains(TOLD)
    });
    assert_eq!(rung(&town), [""; 0]);
    assert_contains!(town.ok("trust --yes"), "for bob: not trusted", "echo");
    mail(&town, "two");
    town.wait("it is started once that is agreed", || {
        rung(&town) == ["first"]
    });
}

#[test]
fn a_registry_that_is_edited_afterwards_names_a_program_that_was_not_agreed_to() {
    // P107
    let town = brought("first");
    town.ok("trust --yes");
    town.register(&[
        json!({"id": "alice"}),
        json!({"id": "bob", "wake": bell("second")}),
    ]);
    let town = town.run();
    mail(&town, "one");
    town.wait("the router says why it starts nothing", || {
        town.words().contains(TOLD)
    });
    assert_eq!(rung(&town), [""; 0]);
}

#[test]
fn setting_a_wake_program_is_consent_to_this_program_only() {
    // P107
    let town = Town::alice_and_bob().quick();
    town.ok(&["agent", "set", "bob", "--wake", &bell("mine").to_string()]);
    assert_eq!(town.json("agent show bob")["wake_trusted"], true);
    town.ok(&["agent", "add", "carol", "--wake", r#"["true"]"#]);
    assert_eq!(town.json("agent show carol")["wake_trusted"], true);
    assert_eq!(town.json("status")["not_trusted"], json!([]));
    let town = town.run();
    mail(&town, "one");
    town.wait("it is started", || rung(&town) == ["mine"]);
}

#[test]
fn status_doctor_and_agent_show_say_what_is_not_agreed_to() {
    let town = brought("first");
    let status = town.json("status");
    assert_eq!(status["not_trusted"][0]["agent"], "bob", "{status:#}");
    assert_contains!(town.ok("status"), "you have not trusted");
    assert_contains!(town.pipe("doctor --json", "").out, "program_not_trusted");
    assert_eq!(town.json("agent show bob")["wake_trusted"], false);
    assert_contains!(town.ok("agent show bob"), "wake_trusted  false");
    assert_eq!(town.json("agent show alice").get("wake_trusted"), None);
}

#[test]
fn an_agent_can_not_agree_in_place_of_the_person() {
    // P108
    let town = brought("first");
    let in_session = |args: &[&str]| town.run_env(args, "CLAUDE_CODE_SESSION_ID", "s1");
    assert_contains!(
        in_session(&["trust", "--yes"]).fails(2),
        "only a person can change consent"
    );
    assert_contains!(
        in_session(&["agent", "set", "bob", "--wake", &bell("second").to_string()]).fails(2),
        "only a person can set a program that wakes an agent"
    );
    assert_eq!(town.json("trust --list"), json!({"rooms": []}));
}

#[test]
fn without_a_terminal_and_without_yes_nothing_is_agreed_to() {
    // P108
    let town = brought("first");
    assert_contains!(
        town.fails(2, "trust"),
        "cannot ask for consent without a terminal"
    );
    assert_eq!(town.json("trust --list"), json!({"rooms": []}));
}

#[test]
fn at_a_terminal_it_asks_and_only_a_yes_agrees() {
    // P108
    let town = brought("first");
    let ask = |answer: &str| {
        let program = town.bare("trust");
        let line = format!("'{}' trust", program.get_program().to_string_lossy());
        let mut command = assert_cmd::Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .current_dir(town.path())
            .env("NO_COLOR", "1");
        let output = command
            .env("MAILBAG_TRUST_DIR", town.trust())
            .env("MAILBAG_TEST_ANCESTRY", "person")
            .write_stdin(answer)
            .output()
            .expect("script");
        (output.status.code(), lossy(&output.stdout))
    };
    for no in ["n\n", "\n", "yess\n"] {
        let (code, said) = ask(no);
        assert!(
            code == Some(1) && said.contains("[y/N]") && said.contains("not trusted"),
            "{said}"
        );
        assert_eq!(town.json("trust --list"), json!({"rooms": []}), "{no:?}");
    }
    let (code, said) = ask("y\n");
    assert!(code == Some(0) && said.contains("trusted"), "{said}");
    assert_eq!(town.json("trust")["programs"][0]["trusted"], true);
}

#[test]
fn consent_can_be_listed_and_revoked() {
    // P109
    let town = brought("first");
    town.ok("trust --yes");
    assert_contains!(town.ok("trust --list"), ".mailbag", "start [\"sh\"");
    assert_contains!(town.ok("trust --revoke"), "revoked for");
    assert_eq!(town.json("agent show bob")["wake_trusted"], false);
    town.fails(3, "trust --revoke");
}

#[test]
fn consent_is_for_one_room_and_no_copy_of_it_or_room_in_its_place() {
    // P109
    let town = brought("first");
    town.ok("trust --yes");
    let elsewhere = town.path().join("elsewhere");
    crate::town::tool(
        "cp",
        [
            "-a".as_ref(),
            town.room("").as_os_str(),
            elsewhere.as_os_str(),
        ],
    );
    let room = elsewhere.to_string_lossy();
    assert_eq!(
        town.json(&["--room", &room, "agent", "show", "bob"])["wake_trusted"],
        false
    );
    files::write(town.room("spool/room"), "another-room\n");
    assert_eq!(town.json("agent show bob")["wake_trusted"], false);
}

#[test]
fn waking_by_codex_also_needs_consent() {
    // P107
    let town = Town::alice_and_bob().quick();
    town.register(&[
        json!({"id": "alice"}),
        json!({"id": "bob", "wake": {"by": "codex"}}),
    ]);
    assert_eq!(town.json("agent show bob")["wake_trusted"], false);
    let town = town.run();
    mail(&town, "one");
    town.wait("the router says why it starts nothing", || {
        town.words().contains(TOLD)
    });
}

#[test]
fn doctor_reports_a_registry_and_settings_that_others_can_write() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let mode = |below: &str, mode| {
        std::fs::set_permissions(world.room(below), std::fs::Permissions::from_mode(mode))
            .expect("one's own file");
    };
    world.write("settings.toml", "");
    mode("", 0o755);
    mode("registry.json", 0o600);
    mode("settings.toml", 0o644);
    assert_eq!(world.json("doctor")["findings"], json!([]));
    for below in ["registry.json", "settings.toml", ""] {
        mode(below, 0o777);
        let ran = world.run("doctor --json");
        assert!(
            ran.code == 1 && ran.out.contains("others_can_write"),
            "{below}: {ran:?}"
        );
        mode(below, 0o700);
    }
}
