//! All faces agree on open questions and on decisions.

use super::{echo, room, worklog};
use crate::world::World;
use serde_json::Value;

/// The part of a Markdown text below this heading.
#[track_caller]
fn part<'t>(text: &'t str, title: &str) -> &'t str {
    let part = text
        .split_once(&format!("\n## {title}\n\n"))
        .unwrap_or_else(|| panic!("{title}: {text}"))
        .1;
    part.split("\n\n").next().unwrap_or_default()
}

/// The numbers of the open questions, by each face.
fn questions(world: &World) -> [Vec<u64>; 2] {
    let mut pending: Vec<u64> = Vec::new();
    for agent in ["alice", "bob", "human"] {
        let items = world.json(&["pending", "--as", agent])["items"].clone();
        let open = items.as_array().into_iter().flatten();
        let open = open.filter(|item| {
            ["question", "approval"].contains(&item["kind"].as_str().unwrap_or_default())
        });
        pending.extend(open.filter_map(|item| item["seq"].as_u64()));
    }
    pending.sort_unstable();
    pending.dedup();
    let text = worklog(world);
    let lines = part(&text, "Open questions")
        .lines()
        .filter_map(|line| line.strip_prefix("- #"));
    let listed = lines
        .filter_map(|line| line.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(
        world.json("status")["questions"]["items"],
        pending.len(),
        "status"
    );
    [pending, listed]
}

fn awaits(world: &World, agent: &str) -> bool {
    let context = world.json(&["context", "--as", agent]);
    context["conversation"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|thread| thread["awaits_answer"] == true)
}

#[test]
fn all_faces_agree_on_open_questions() {
    // P365
    let world = room("alice bob carol");
    let says = |agent: &str, message: &str| {
        echo(&world, agent, message);
        world.pass();
    };
    says(
        "alice",
        r#"{"id":"q1","to":"bob","type":"question","body":"which port?"}"#,
    );
    says(
        "alice",
        r#"{"id":"q2","to":["bob","human"],"requires_response":true,"thread_id":"t","body":"and host?"}"#,
    );
    says(
        "alice",
        r#"{"id":"q3","to":"human","type":"approval","body":"Deploy?"}"#,
    );
    says("carol", r#"{"to":"bob","body":"no question"}"#);
    says("alice", r#"{"type":"milestone","body":"done"}"#);
    assert_eq!(questions(&world), [[2, 3, 4]; 2]);
    assert!(awaits(&world, "bob") && awaits(&world, "human") && !awaits(&world, "carol"));
    says(
        "bob",
        r#"{"to":"alice","type":"answer","in_reply_to":"q1","body":"8080"}"#,
    );
    assert_eq!(questions(&world), [[3, 4]; 2]);
    assert!(awaits(&world, "bob"));
    says("bob", r#"{"to":"alice","thread_id":"t","body":"here"}"#);
    assert!(!awaits(&world, "bob"));
    says(
        "human",
        r#"{"type":"decision","in_reply_to":"q3","option":"yes"}"#,
    );
    assert_eq!(questions(&world), [[3]; 2], "the human has not answered");
    says(
        "alice",
        r#"{"type":"ack","refs":["q2"],"status":"withdrawn"}"#,
    );
    assert_eq!(questions(&world), [const { Vec::<u64>::new() }; 2]);
    assert!(!awaits(&world, "human"));
}

#[test]
fn all_faces_agree_on_decisions_and_show_their_kinds() {
    // P365
    let world = room("alice bob");
    let says = |agent: &str, message: &str| {
        echo(&world, agent, message);
        world.pass();
    };
    says(
        "alice",
        r#"{"type":"decision.recorded","subject":"Port","body":"8080"}"#,
    );
    says(
        "alice",
        r#"{"id":"a1","to":"bob","type":"approval","body":"Deploy?"}"#,
    );
    says(
        "bob",
        r#"{"type":"decision","in_reply_to":"a1","option":"yes"}"#,
    );
    says(
        "bob",
        r#"{"to":"alice","type":"decision","body":"We keep tokio"}"#,
    );
    let wanted = ["decision.recorded", "approval.decided", "decision"];
    let kinds = |items: &Value, field: &str| -> Vec<String> {
        items
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| one[field].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    for agent in ["alice", "bob"] {
        let mut of_context = kinds(
            &world.json(&["context", "--as", agent])["session"]["decisions"],
            "type",
        );
        of_context.reverse();
        assert_eq!(of_context, wanted, "{agent}");
    }
    assert_eq!(world.json("status")["decisions"], 3);
    let text = worklog(&world);
    let lines: Vec<&str> = part(&text, "Decisions").lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    for (line, kind) in lines.iter().zip(wanted) {
        assert_contains!(line, &format!(" · {kind} · "));
    }
}
