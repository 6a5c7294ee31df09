//! Outboxes that the router does not read, and the next step of a person.

use crate::base::text::shell_path;
use crate::disk::{Dir, layout};
use crate::message::{address, id};
use crate::room::registry::Registry;

/// An outbox of a directory name that is not the id of an active agent.
#[derive(Debug, PartialEq, Eq)]
pub struct UnreadOutbox {
    /// Why the router does not read it.
    pub reason: &'static str,
    /// The command that fixes it, or an instruction.
    pub fix: String,
}

impl UnreadOutbox {
    /// The reason and the fix for this directory name. Without a registry, no agent is known.
    pub fn of<'r>(room: &Dir, registry: Option<&'r Registry>, outbox: &str) -> UnreadOutbox {
        let named = |registry: &'r Registry| registry.find(outbox).or_else(|| registry.now(outbox));
        let (reason, fix) = match registry.and_then(named) {
            Some(agent) if &*agent.id == outbox => (
                "the agent is retired",
                format!("mailbag agent set {outbox} --status offline"),
            ),
            Some(agent) => {
                let from = shell_path(&room.at(layout::outbox(outbox)));
                let to = shell_path(&room.at(layout::outbox(&agent.id)));
                (
                    "the directory's name is not the agent's id",
                    format!("mv -n {from}/* {to}/"),
                )
            }
            None if is_free_name(outbox) && registry.is_none_or(|known| known.is_free(outbox)) => (
                "no agent with that id is registered",
                format!("mailbag agent add {outbox}"),
            ),
            None => (
                "the directory name is not a valid agent id",
                "rename the directory to an agent's id".to_owned(),
            ),
        };
        UnreadOutbox { reason, fix }
    }
}

/// Returns true if an agent can have this id.
pub fn is_free_name(name: &str) -> bool {
    id::is_name(name) && address::reserved(name).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_fix_leads_to_an_agent() {
        let agents = json!([{"id": "bob"}, {"id": "old", "status": "retired"}]);
        let aliases = json!({"bobby": "bob", "web": "cap:web"});
        let registry = json!({"version": 1, "agents": agents, "aliases": aliases}).to_string();
        let registry = Registry::parse(registry.as_bytes()).expect("a registry");
        let directory = tempfile::tempdir().expect("a directory");
        let room = Dir::open(directory.path()).expect("the directory");
        let moved = format!(
            "mv -n {0}/outbox/Bob/* {0}/outbox/bob/",
            room.path().display()
        );
        for (outbox, fix) in [
            ("carol", "mailbag agent add carol"),
            ("old", "mailbag agent set old --status offline"),
            ("Bob", moved.as_str()),
            ("bobby", &moved.replace("Bob", "bobby")),
            ("web", "rename the directory to an agent's id"),
            ("all", "rename the directory to an agent's id"),
            ("any_writer", "rename the directory to an agent's id"),
            ("a b", "rename the directory to an agent's id"),
        ] {
            assert_eq!(UnreadOutbox::of(&room, Some(&registry), outbox).fix, fix);
        }
    }
}
