//! Who is the human: sessions of clients are not, and a signed gate needs the person's key.

use super::{approval, codes, decision, outcomes, steps};
use crate::world::World;
use serde_json::json;

#[test]
fn a_session_of_a_client_cannot_act_as_the_human() {
    // P135
    let world = World::with(&["alice"]);
    world.drop_file("alice", "a.json", approval("d", json!("human"), json!({})).to_string());
    world.ok(&["run", "--once"]);
    for (variable, client) in
        [("CLAUDE_CODE_SESSION_ID", "claude"), ("CODEX_SESSION_ID", "codex"), ("GEMINI_CLI", "gemini")]
    {
        for command in [&["decide", "--as", "human", "d", "yes"][..], &["send", "alice", "yes", "--as", "Human"]] {
            let said = world
                .run_with(command, |c| {
                    c.env(variable, "s1");
                })
                .fails(2, command);
            assert!(said.contains(&format!("a session of {client} cannot act as human")), "{said}");
        }
    }
    assert_eq!(steps(&world), ["ask"]);
}

#[test]
fn an_agent_that_writes_the_outbox_of_the_human_opens_no_signed_gate() {
    // P134
    let world = World::with(&["alice"]);
    world.drop_file("alice", "a.json", approval("d", json!("human"), json!({"signature": "required"})).to_string());
    world.ok(&["run", "--once"]);
    std::fs::create_dir_all(world.trust()).expect("a directory");
    let key = world.trust().join("decision.key");
    std::fs::write(&key, "00".repeat(32) + "\n").expect("a key");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("permissions");
    world.drop_file("human", "forged.json", decision("alice/d", "yes").to_string());
    let mut signed = decision("alice/d", "yes");
    signed["signature"] = json!("ab".repeat(32));
    world.drop_file("human", "signed.json", signed.to_string());
    world.ok(&["run", "--once"]);
    assert_eq!((codes(&world, "human"), steps(&world)), (vec!["not_signed".to_owned(); 2], vec!["ask".to_owned()]));
    // Without a terminal the command does not sign.
    let said = world.decide("human", "d", "yes", &[]).fails(2, &["decide"]);
    assert!(
        said.contains("needs the signature of the person; run `mailbag decide` as the human in a terminal"),
        "{said}"
    );
    assert_eq!(outcomes(&world, "alice"), []);
}

#[test]
fn the_person_at_a_terminal_opens_it() {
    // P134
    let world = World::with(&["alice"]);
    world.drop_file("alice", "a.json", approval("d", json!("human"), json!({"signature": "required"})).to_string());
    world.ok(&["run", "--once"]);
    let output = world.at_terminal(&["decide", "d", "yes"], "y\n");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("decided alice/d: yes"), "{said}");
    assert_eq!(outcomes(&world, "alice"), [("yes".to_owned(), "human".to_owned())]);
    let mode = std::os::unix::fs::MetadataExt::mode(&world.trust().join("decision.key").metadata().expect("the key"));
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn without_the_key_a_signed_decision_waits() {
    // P134
    let world = World::with(&["alice"]);
    world.drop_file("alice", "a.json", approval("d", json!("human"), json!({"signature": "required"})).to_string());
    let mut signed = decision("alice/d", "yes");
    signed["signature"] = json!("ab".repeat(32));
    world.ok(&["run", "--once"]);
    world.drop_file("human", "signed.json", signed.to_string());
    world.ok(&["run", "--once"]);
    assert_eq!((codes(&world, "human"), steps(&world)), (Vec::new(), vec!["ask".to_owned()]));
    assert!(world.ok(&["status"]).contains("there is no key to check the signature"), "{}", world.ok(&["status"]));
}
