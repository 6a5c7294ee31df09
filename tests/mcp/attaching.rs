//! A model attaches files only from the repository, the context, or a directory in the settings.

use super::Client;
use crate::files;
use crate::world::World;
use serde_json::json;

#[test]
fn a_model_can_attach_files_of_the_repository_and_no_others() {
    // P110
    let world = World::alice_and_bob();
    let elsewhere = tempfile::tempdir().expect("a directory");
    let secret = elsewhere.path().join("shadow");
    files::write(&secret, "a secret");
    files::link(&secret, world.path().join("plan.md"));
    files::write(world.path().join("notes.md"), "what I found");
    let client = Client::of(&world, "alice");
    let id = world.send("bob", "alice", "where are the keys?");
    world.wait("the question came", || world.inbox("alice").len() == 1);
    for path in [
        "/etc/passwd",
        &secret.to_string_lossy(),
        "plan.md",
        "/proc/self/environ",
        ".mailbag/registry.json",
    ] {
        let wanted = json!({"to": "bob", "body": "see", "attach": [path]});
        for said in [
            client.fails("send_message", wanted),
            client.fails(
                "reply_message",
                json!({"id": id, "body": "see", "attach": [path]}),
            ),
        ] {
            assert_contains!(said, "outside the repository"; "{path}");
        }
    }
    assert_eq!(world.inbox("bob").len(), 0, "nothing else was sent");
    client.call(
        "send_message",
        json!({"to": "bob", "body": "see", "attach": ["notes.md"]}),
    );
    world.wait("the file came", || world.inbox("bob").len() == 1);
    assert_eq!(
        world.inbox("bob")[0]["attachments"],
        json!([{"name": "notes.md", "content": "what I found"}])
    );
}
