//! Any number of waiting calls blocks no other call.

use super::Client;
use crate::town::PATIENCE;
use crate::world::World;
use serde_json::json;

#[test]
fn more_waits_than_there_are_threads_starve_no_other_call() {
    let world = World::alice_and_bob();
    let client = Client::of(&world, "bob");
    let waits: Vec<u64> = (0..520)
        .map(|_| client.ask_tool("wait_for_message", json!({"timeout_s": 50})))
        .collect();
    let listed = client.ask_tool("list_agents", json!({}));
    // No wait has ended yet.
    let answer = client
        .answer_within(listed, PATIENCE / 2)
        .expect("an answer while they wait");
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let last = client.answer(*waits.last().expect("some"));
    let said = last["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default();
    assert!(
        last["result"]["isError"] == true
            && said.contains("64 calls of wait_for_message wait already"),
        "{last}"
    );
    waits.iter().for_each(|id| client.cancel(*id));
    world.wait("places are free again", || {
        let answer = client.request(
            "tools/call",
            json!({"name": "wait_for_message", "arguments": {"timeout_s": 0}}),
        );
        answer["result"]["isError"] == false
    });
}
